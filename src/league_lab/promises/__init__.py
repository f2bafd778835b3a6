"""The promises as checkers over journals and traffic; they share no logic with what they judge."""

from league_lab.promises.checking import PROMISES, check
from league_lab.promises.evidence import Evidence, RecordedCall, Recovery
from league_lab.promises.findings import PromiseFinding, PromiseReport

__all__ = ["PROMISES", "Evidence", "PromiseFinding", "PromiseReport", "RecordedCall", "Recovery", "check"]
