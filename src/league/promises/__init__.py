"""The promises as checkers over journals and traffic; they share no logic with what they judge."""

from league.promises.checking import PROMISES, check
from league.promises.evidence import Evidence, RecordedCall, Recovery
from league.promises.findings import PromiseFinding, PromiseReport

__all__ = ["PROMISES", "Evidence", "PromiseFinding", "PromiseReport", "RecordedCall", "Recovery", "check"]
