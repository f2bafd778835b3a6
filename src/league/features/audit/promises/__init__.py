"""The promises of a league, as checks of journals and recorded traffic.

Theory of operation. `Evidence` holds what was observed of one league. Each promise is a search for breaches in it, and
a function that tells whether the evidence suffices. So a promise is broken if a breach was found, unobservable if the
evidence does not suffice, and kept otherwise.

What must never happen: a check shares logic with the machines that it judges. Whatever the promises need to know about
games, draws and tables is written here a second time (`rules`). Nor may a check fail, whatever anybody sent.
"""

from league.features.audit.promises.checking import PROMISES, check
from league.features.audit.promises.grounds.evidence import Evidence, RecordedCall, Recovery
from league.features.audit.promises.grounds.promise_findings import PromiseFinding, PromiseReport

__all__ = [
    "PROMISES",
    "Evidence",
    "PromiseFinding",
    "PromiseReport",
    "RecordedCall",
    "Recovery",
    "check",
]
