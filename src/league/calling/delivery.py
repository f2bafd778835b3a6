"""A delivery: one message on its way to one peer, through all its attempts; how it is retried, and how it may end.

The role that makes a delivery sets its policy and its callbacks; after that only the engine changes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Self

from msgspec import Struct, field

from league.calling.line import PLAIN, Line
from league.machine import Address, Content, Failure, NoConnection, Ping, Refusal
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import ONCE, RetrySchedule
from league.protocol.message.messages import GameError, LeagueErrorReply, Message
from league.protocol.table_key import TableKey


class Ending(Enum):
    """How a delivery ended."""

    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"


class Reaction(TableKey):
    """The meaning of an answer for the delivery."""

    ANSWERED = "it is the answer"
    ACKNOWLEDGED = "received; the answer may still come as a request of its own"
    REFUSED = "an error that ends the delivery"
    FAILED = "an error that counts as a failed attempt"
    NOT_UNDERSTOOD = "the call itself was not understood"
    WRONG = "read, and wrong: its consequence decides"
    CORRECTABLE = "wrong, and may be corrected: call again under the same deadline, after a pause"
    EXHAUSTED = "wrong once too often: there is no other call, but a request of its own may still bring the answer"
    CALL_AGAIN = "no answer to this call, but another one will get it"
    FINALLY_WRONG = "wrong, and no other answer can help"


class Interpretation(Struct, frozen=True):
    """An answer as its reader understands it.

    `tells_more`: it is about more than the form of the call. `consequence` follows an answer that is WRONG, or one
    NOT_UNDERSTOOD when no other form helps. `is_promise`: an ACKNOWLEDGED call was told that its answer will come.
    `pause_s`: the time before the call that corrects a CORRECTABLE answer.
    """

    reaction: Reaction
    detail: str = ""
    tells_more: bool = False
    consequence: Callable[[float], Interpretation] | None = None
    is_promise: bool = False
    pause_s: float = 0.0


ANSWERED = Interpretation(Reaction.ANSWERED)
_REFUSED = Interpretation(Reaction.REFUSED)
_ERRORS = (LeagueErrorReply, GameError)


class Policy(Struct, frozen=True):
    """How long an attempt may take and when it is repeated."""

    limit_s: float
    retries: RetrySchedule = ONCE
    is_guarded: bool = False
    """True if the circuit breaker counts and stops these calls."""
    if_not_understood: Reaction = Reaction.REFUSED
    """How a call counts that was understood in no form."""
    accepts_late_answers: bool = False
    """True if an answer to an attempt that timed out counts, as long as no other answer came."""
    is_waited_for: bool = True
    """True if the league does not end before this delivery has."""


_IN_WORDS: Mapping[Failure, str] = {
    Failure.REFUSED: "connection refused",
    Failure.FORBIDDEN: "this address may not be called (spec section 7.5)",
    Failure.TIMEOUT: "no answer in time",
    Failure.BROKEN: "the connection broke",
    Failure.BUSY: "busy",
}
EXACT = frozenset(map(str, NoConnection))


def in_words(failure: Failure, detail: str) -> str:
    """Return why a call got no answer, in plain words."""
    if detail in EXACT:
        return detail
    return _IN_WORDS.get(failure, detail)


class FailedAttempt(Struct, frozen=True):
    """A failure that counts. `retry_at` is the time of the next attempt, None after the last."""

    failure: Failure
    detail: str
    retry_at: float | None
    is_reached: bool = False
    """True if the peer answered a call of this attempt, if only with an error."""

    @property
    def in_words(self) -> str:
        """The failure in plain words."""
        return in_words(self.failure, self.detail)


class CallAttempt(Struct):
    """The attempt that is open, or was last. Several calls may belong to one: in another form, or to correct a wrong
    answer."""

    ends: float | None = None
    """Its deadline; None between attempts."""
    key: str | None = None
    """The newest call, while it is under way."""
    begun_at: float = 0.0
    """The time of its first call."""
    sent_at: float = 0.0
    """The time of its newest call."""
    to: Address | None = None
    """Where and how the newest call was made."""
    is_acknowledged: bool = False
    is_reached: bool = False
    """True if the peer answered one of its calls, though not with the answer."""
    timed_out: tuple[str, ...] = ()
    """Earlier calls whose answer would still count."""
    is_last: bool = False
    """True after a wrong answer: its corrections are made under this deadline, and there is no other attempt."""

    def close(self) -> None:
        """End the attempt: the next call has a deadline of its own."""
        self.ends = None
        self.is_acknowledged = False
        self.is_reached = False


def is_refusal(content: Content) -> bool:
    """Is it an error, or unreadable: an answer, but no acknowledgement?"""
    if type(content) is Unsealed:
        return content.message is None or type(content.message) in _ERRORS
    return type(content) is Refusal


def interpret_plainly(_: Delivery, content: Content, __: float) -> Interpretation:
    """Read an error as a refusal, and anything else as the answer."""
    # Types are compared, not asked for with isinstance: this runs for every answer to a broadcast.
    if type(content) is Refusal and not content.understood:
        return Interpretation(Reaction.NOT_UNDERSTOOD, content.detail)
    if is_refusal(content):
        return _REFUSED
    return ANSWERED


def _nowhere() -> None:
    """Return the address of a peer that is not called again."""


class Delivery(Struct, eq=False):
    """One message to one peer. The callbacks are called when something happens; none of them has to be set."""

    peer: str
    label: str
    message: Message | Ping
    policy: Policy
    address: Callable[[], Address | None]
    """Where to call, asked before each call; None if the peer is not to be called any more."""
    on_end: Callable[[Self, Ending, float], None] = lambda *_: None
    on_attempt_failed: Callable[[Self, FailedAttempt, float], None] = lambda *_: None
    interpret: Callable[[Delivery, Content, float], Interpretation] = interpret_plainly
    """Says what an answer means."""
    compose: Callable[[Delivery, float], Message | None] | None = None
    """Writes the message of each call, if it changes; None if it is no longer wanted."""
    line: Line = PLAIN
    """The form in which the peer is called."""
    failures: int = 0
    busy_s: float = 0.0
    """How long we have waited because the peer said that it is busy."""
    attempt: CallAttempt = field(default_factory=CallAttempt)
    answer: Content | None = None
    refusal: str = ""
    """Why the peer understood no form of the call, as it said in its answer to the likeliest one."""
    is_over: bool = False
    has_timer: bool = False
    """True if something is done later, unless the delivery is over before."""

    def stop_repeating(self) -> None:
        """Make no further call."""
        self.address = _nowhere
