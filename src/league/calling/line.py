"""Lines: the form in which a call reaches a peer.

The calling engine speaks league.v2 and nothing else. Peers that other people wrote may want the same message in another
form: another calling convention, or another path. So every delivery has a line, and the engine asks it three things:
where and in which form the next call goes (`routed`), how long an acknowledgement is believed (`acknowledged`), and,
when a call was not understood, whether there is another form to try (`next_form`).

The engine changes a line by telling it what happened; the gateway's lines remember what they were told, `PLAIN` does
not: it has one form, the documents'. Three things must never happen. A form must not count as an attempt: each one
gets a time limit of its own. No form is tried after a wrong answer, because the peer has read the call. And a call
whose repetition could do harm (`Purpose.CHOOSE`) is repeated only after "no such method".

A book opens the lines of one role and remembers, through the role's journal, which form each peer understood.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol

from league.events import Event
from league.machine import Address, Ping
from league.protocol.conventions import Convention
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.findings import Findings

if TYPE_CHECKING:
    from league.calling.delivery import Interpretation


class Sign(Enum):
    """How a peer shows that it did not understand a call."""

    REFUSED = "it says so"
    NOT_JSON_RPC = "it answers without JSON-RPC"
    HUNG_UP = "it breaks the connection"
    IGNORED = "it acknowledges the call, and nothing follows"


class Purpose(Enum):
    """What a call is for: this decides which forms there are, and what their repetition may cost."""

    TELL = "a message that may arrive twice"
    INVITE = "the first call of a match to a player"
    CHOOSE = "a call for a choice, which must not be understood twice"
    REGISTER = "a registration with a manager"
    START = "one match for a referee"


class Line:
    """The forms of one delivery. This one is for a peer that is called in one form only."""

    is_proven: bool = True
    """True if the peer answered in the first form before: then a broken connection says nothing about the form."""
    learns: bool = False
    """True if the line wants to be told in which form it was understood."""
    verdict: Interpretation | None = None
    """The answer to the likeliest form that was not understood; it counts when no form helps."""

    def routed(self, address: Address) -> Address:
        """Return where and in which form the next call goes."""
        return address

    def likeliest(self, address: Address) -> Address:
        """Return where and in which form the peer probably reads a message, after calls in several forms."""
        return address

    def understood(self, to: Address, now: float) -> None:
        """The peer answered a call to this address."""

    def understood_by_request(self, convention: Convention, now: float) -> None:
        """The peer answered a call by a request of its own, in this convention."""

    def acknowledged(self) -> float | None:
        """The call was acknowledged: return after how many seconds of silence to doubt that, None for never."""
        return None

    def next_form(self, sign: Sign, verdict: Interpretation | None, tells_more: bool) -> float | None:
        """Go to the next form: return the pause before it, None if there is no other. `tells_more`: the answer is about
        more than the form of the call."""
        return None

    def begin_again(self) -> None:
        """Another attempt begins."""

    def rule_out(self) -> None:
        """The current form is better not used in the next attempt."""

    def forget(self) -> None:
        """Somebody else may be at this address by now: no form is ruled out any more."""


PLAIN: Final = Line()


class Conventions(Protocol):
    """The convention of each peer, by its agent id or its endpoint."""

    def get(self, key: str, /) -> Convention | None:
        """Return the convention, None if nothing is known of this peer."""


class Book:
    """What a role knows about the forms in which its peers are called. This one calls everybody by the documents."""

    def __init__(
        self,
        happened: Callable[[Event], None],
        is_strict: Callable[[], bool],
        roster: Conventions | None = None,
        /,
    ) -> None:
        self.conventions: Conventions = {}

    def line(self, to: Address, purpose: Purpose, pause_s: float = 0.0) -> Line:
        """Open a line for a delivery to this address; `pause_s` is the pause before each further form."""
        return PLAIN

    def learn(self, agent_id: str, endpoint: str, convention: Convention, now: float) -> None:
        """This agent understands this convention: record it, unless that is known."""

    def apply(self, event: Event) -> None:
        """Make an event of the journal true."""

    def forget_endpoint(self, endpoint: str) -> None:
        """Somebody else may be at this endpoint by now."""

    def probe(self, role: str, game_type: str) -> Ping:
        """Return the question that finds out how an agent of this role wants to be spoken to."""
        return Ping()

    def must_probe(self, to: Address) -> bool:
        """True if that must be found out before anything is asked that has a time limit. Asked once per endpoint."""
        return False

    def learn_from(self, findings: Findings, agent_id: str, now: float) -> None:
        """Take over what a probe found out about an agent."""

    def method_names(self, convention: Convention, message_type: str) -> str:
        """Return the names that a call goes by, for people."""
        return EXCHANGES[message_type].method

    def snapshot(self) -> Mapping[str, Any]:
        """Return all that the journal says of endpoints, as plain data."""
        return {}


class OpenBook(Protocol):
    """Opens the book of a role. `happened` journals an event; `is_strict` says whether only the documents count;
    `roster`, if given, knows the peers' conventions."""

    def __call__(
        self,
        happened: Callable[[Event], None],
        is_strict: Callable[[], bool],
        roster: Conventions | None = None,
        /,
    ) -> Book: ...
