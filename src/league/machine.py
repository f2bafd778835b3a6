"""The shape of a role: a pure state machine, its inputs and its outputs.

Theory of operation. A machine gets an input (a letter, a failed call, a reached deadline, a strategy's answer) together
with the time, and returns a `Step`. The shell makes the step's events durable first, then carries out the rest.

State changes only in `apply(event)`, live and in replay, so replaying a journal is the restart. Whatever a machine
keeps beside the state, such as calls under way and timers, is lost in a crash; `resume` rebuilds it from the state.

What must never happen: a machine reads a clock, draws a random number or does I/O by itself. Time comes with every
call, chance from the source it was created with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any

from msgspec import Struct

from league.events import Event
from league.protocol.conventions import Convention
from league.protocol.errors import ERRORS, PeerError, Violation
from league.protocol.message.envelope import Unsealed
from league.protocol.message.findings import Findings
from league.protocol.message.messages import Message

Chance = Callable[[int], bytes]
"""Returns a number of random bytes: os.urandom in real leagues, a seeded source in the simulator."""


# --- what a letter may contain ----------------------------------------------------------------------------------------


class Ping(Struct, frozen=True):
    """The liveness probe: a JSON-RPC `ping` without a message. Anything at all is an answer."""


class Pong(Struct, frozen=True):
    """The answer to a ping. Our referees list the matches and attempts they hold, our players say who they are; others
    say nothing."""

    matches: tuple[tuple[str, int], ...] | None = None
    is_live: bool = False
    """True if the sender tells of matches that are watched (`live.v1`)."""
    player_id: str = ""


class Watch(Ping, frozen=True):
    """A ping that names matches that somebody watches; only for referees that declare `live.v1`."""

    match_ids: tuple[str, ...]
    token: str | None = None
    """The token that came with it; None in our own."""


class LiveMatch(Struct, frozen=True, omit_defaults=True):
    """What everybody may see of a match that is being played, by the ids of its players."""

    joined: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    """Those who have answered the open question, if both are asked at once."""
    turns: tuple[dict[str, str], ...] = ()
    """The moves of each finished turn by player, if they are public."""
    draws: tuple[int, ...] = ()
    clock: dict[str, float] = {}
    """The seconds that each player has left, in games with a clock."""
    board: dict[str, Any] | None = None
    """A picture, in games that hide something (Any: JSON)."""


class MatchNews(Ping, frozen=True):
    """`match_news`, by which a referee tells its manager of a watched match. Nothing is decided by it."""

    match_id: str
    attempt: int
    live: LiveMatch
    token: str | None = None
    """The token that came with it; None in our own."""


class Acknowledged(Struct, frozen=True):
    """An answer without a message of the protocol: it says only that the call was received."""

    deviations: tuple[Violation, ...] = ()
    is_promise: bool = False
    """It says that the real answer is still to come (HTTP status 202)."""
    is_empty: bool = False
    """Its body was empty."""


class DialectProbe(Ping, frozen=True):
    """A ping that also finds out how a peer wants to be spoken to. It takes several requests, on our own time; the
    answer is `Findings`."""

    role: str
    game_type: str


class RecordRequest(Ping, frozen=True):
    """`get_match_record`, which our manager asks our referees; like a ping, it is not a message of the protocol."""

    match_id: str
    attempt: int
    token: str | None = None
    """The token that came with a request; None in our own."""


class MatchRecord(Struct, frozen=True):
    """The events of one attempt of a match, as its referee journalled them (Any: events as JSON objects)."""

    match_id: str
    attempt: int
    events: tuple[dict[str, Any], ...]


# A dataclass, because two refusals are equal whatever the peer's words.
@dataclass(frozen=True, slots=True)
class Refusal:
    """A peer's error in answer to our call, translated to the catalogue."""

    code: str
    detail: str
    understood: bool = True
    """False if the peer did not understand the call itself: another calling convention may help."""
    words: str = field(default="", compare=False)
    """The peer's own words."""

    def in_words(self) -> str:
        """Quote the peer, and say what a code or a number of its own means in our catalogue."""
        words = self.words or f"{self.code} {self.detail}".strip()
        # Our code for bugs is no one else's, and says nothing that the peer did not say.
        if not self.code or self.code == "E099" or self.code in words:
            return words
        return f"{words} (that is {self.code}: {ERRORS[self.code].when})"


ASSIGNMENTS = ("start_match", "assign_match", "match_assignment", "start_match_command", "run_match")
"""The inquiries by which third-party managers give a referee a match (spec section 13.5)."""


ADDRESS_QUERIES = ("GET_REGISTRATIONS", "GET_PLAYER_DIRECTORY")
"""The LEAGUE_QUERYs by which referees of others ask for the players' addresses."""


class Inquiry(Struct, frozen=True):
    """A question that other agents ask although the protocol has no such message (Any: its params, unread)."""

    method: str
    params: Mapping[str, Any]


class Information(Struct, frozen=True):
    """The answer to an inquiry, theirs or ours (Any: the result, unread)."""

    data: Mapping[str, Any]


class Operate(Struct, frozen=True):
    """An operator's order. An order with the same key is carried out once."""

    order: str
    key: str
    target: str = ""
    secret: str = ""
    """The new value, if the order replaces a secret; it is never part of an event."""


Content = Unsealed | Ping | Pong | Acknowledged | MatchRecord | Refusal | Operate | Inquiry | Information | Findings
ReplyContent = Message | Pong | Acknowledged | MatchRecord | Information | PeerError
"""The possible answers to a request."""


class JournalHead(Struct, frozen=True):
    """The end of a journal's chain, as far as it is durable: the number of its last event, and the digest there."""

    seq: int
    digest: str


# --- inputs and outputs -----------------------------------------------------------------------------------------------


class Letter(Struct, frozen=True):
    """Something that came in: the answer to a call of ours, or else a request that must be answered.

    A reply that comes as a POST of its own counts as a request.
    """

    id: int
    """A request is answered under this number."""
    content: Content
    answers: str | None = None
    """The key of our call that `peer` answers; None for a request."""
    peer: str = ""
    origin: str = ""
    convention: Convention = Convention.SPEC
    """The calling convention of a request."""


class Address(Struct, frozen=True):
    """The receiver of a call."""

    agent_id: str
    endpoint: str
    token: str | None = None
    """The token it is shown, spliced into a shared body."""
    convention: Convention = Convention.SPEC
    origin: str = ""
    """The address of whoever named the endpoint, if known."""


class Outgoing(Struct, frozen=True):
    """A call to make: one message, one or many receivers, and the time after which an answer is too late."""

    key: str
    to: tuple[Address, ...]
    message: Message | Ping
    deadline: float


class Ask(Struct, frozen=True):
    """A question for a player's strategy; the answer comes back through `answered`."""

    key: str
    game_type: str
    call: Message
    deadline: float


class Answering(Struct, frozen=True):
    """The answer to a letter: a message or an error."""

    letter_id: int
    content: ReplyContent
    about: str | None = None
    """The message type that the error is about; it decides the error's JSON-RPC number."""


class Failure(Enum):
    """Why a call got no answer."""

    TIMEOUT = "timeout"
    REFUSED = "refused"
    FORBIDDEN = "forbidden"
    """Our own endpoint policy forbids the address: nothing was sent."""
    BROKEN = "broken"
    SERVER_ERROR = "server error"
    """The answer had a status of 500 or more, and no message."""
    UNUSABLE = "unusable"
    """The answer was HTTP, and was not read: it is too large, or compressed."""
    BUSY = "busy"
    NOT_UNDERSTOOD = "not understood"
    ERROR = "error"
    """The answer was an error."""


class NoConnection(StrEnum):
    """Details of Failure.REFUSED that say more than that a connection was refused."""

    UNKNOWN_HOST = "no host has this name"
    NO_TLS = "it speaks http: write http:// instead of https://"
    TLS = "it speaks https: write https:// instead of http://"
    NOT_TRUSTED = "its certificate is not trusted here"


UNREACHED = frozenset({Failure.TIMEOUT, Failure.REFUSED, Failure.FORBIDDEN, Failure.BROKEN})
"""Failures of calls that nobody answered. Any other answer, also an error, shows that the peer can be reached."""


class Blame(Enum):
    """The side at fault when a call failed, as the shell observed it. Only PEER counts against the peer."""

    PEER = "peer"
    LOCAL = "local"
    NOBODY = "nobody"
    """The call was sent, but its connection was needed elsewhere before the answer came."""


class Undelivered(Struct, frozen=True):
    """A call that got no answer."""

    key: str
    peer: str
    failure: Failure
    blame: Blame = Blame.PEER
    retry_after: float | None = None
    detail: str = ""


class Entry(Struct, frozen=True):
    """The events and secrets of one step, which become durable together."""

    events: tuple[Event, ...]
    secrets: Mapping[str, str] = {}


# msgspec copies empty defaults, so no two steps share a list.
class Step(Struct):
    """A machine's response to any input. Nothing of it leaves the process before its events are durable."""

    replies: list[Answering] = []
    outbox: list[Outgoing] = []
    asks: list[Ask] = []
    news: list[object] = []
    """Notices for a player's own code: delivered in order, once, and never in replay."""
    cancel: tuple[str, ...] = ()
    """Keys of calls whose answers are no longer needed."""
    events: list[Event] = []
    secrets: dict[str, str] = {}
    """Tokens and seeds, by name; the shell stores them beside the events, never in them."""


class Machine(ABC):
    """A role. The state that `apply` builds must contain everything that has to survive a crash, and nothing else."""

    def __init__(self, chance: Chance, secrets: Mapping[str, str] | None = None) -> None:
        self._chance = chance
        self._secrets: MutableMapping[str, str] = dict(secrets or {})
        # The step being built: every input begins a new one, and returns it.
        self._step = Step()
        self.deadline: float | None = None
        """When to call `tick`, if ever."""
        self.journal_head: Callable[[], JournalHead | None] = lambda: None
        """Says where the journal ends. It is for messages alone: no state may depend on it."""

    @abstractmethod
    def apply(self, event: Event) -> None:
        """Change the state by one event."""

    @abstractmethod
    def resume(self, now: float) -> Step:
        """Take up unfinished work after the journal was replayed, or begin on the first start."""

    @abstractmethod
    def handle(self, letter: Letter, now: float) -> Step:
        """Handle a letter that came in."""

    @abstractmethod
    def undelivered(self, failed: Undelivered, now: float) -> Step:
        """Handle a call that got no answer."""

    @abstractmethod
    def tick(self, now: float) -> Step:
        """Do what is due, because `deadline` was reached."""

    @property
    def sights(self) -> int:
        """Grows with what the machine has to show beside its events."""
        return 0

    def member_behind(self, content: Content) -> str | None:
        """The id of the sender, if its token proves that it is a member of the league."""
        return None

    @abstractmethod
    def snapshot(self) -> Mapping[str, Any]:
        """The whole state that events build, as plain data: equal snapshots mean equal states."""

    def answered(self, key: str, value: object, now: float) -> Step:
        """Handle a strategy's answer to an Ask. Only players ask."""
        raise NotImplementedError(f"{type(self).__name__} has no strategy")

    # Subclasses build their steps with these.

    def _happened(self, event: Event) -> None:
        """Record an event and apply it at once."""
        self._step.events.append(event)
        self.apply(event)

    def _keep_secret(self, name: str, value: str) -> None:
        self._secrets[name] = value
        self._step.secrets[name] = value

    def _reply(self, letter: Letter, content: ReplyContent, about: str | None = None) -> None:
        self._step.replies.append(Answering(letter.id, content, about))

    def _send(self, outgoing: Outgoing) -> None:
        self._step.outbox.append(outgoing)

    def _cancel(self, key: str) -> None:
        """Give up a call: its answers are no longer needed."""
        self._step.cancel += (key,)
