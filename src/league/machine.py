"""The shape of a role: a pure state machine, what goes into it and what comes out.

A machine reads no clock, draws no number and opens nothing: time comes with every call, chance from the source it was
given. `apply` is the only place where its state changes, live and in replay; what it keeps beside the state (calls
under way, timers) is lost in a crash and rebuilt by `resume`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from msgspec import Struct

from league.events import Event
from league.protocol.conventions import Convention
from league.protocol.envelope import Unsealed
from league.protocol.errors import PeerError, Violation
from league.protocol.experiment import Provenance
from league.protocol.messages import Message

Chance = Callable[[int], bytes]
"""So many random bytes: os.urandom in life, a seeded source in the simulator."""


class Ping(Struct, frozen=True):
    """The liveness probe: a JSON-RPC `ping` without a message. Anything at all is an answer."""


class Pong(Struct, frozen=True):
    """The answer to a ping; our referees say which matches and attempts they hold, others say nothing."""

    matches: tuple[tuple[str, int], ...] | None = None


class Acknowledged(Struct, frozen=True):
    """Received, and nothing more: an answer without a message of the protocol. `is_promise`: it says itself that the
    answer is still to come (HTTP status 202)."""

    deviations: tuple[Violation, ...] = ()
    is_promise: bool = False


class RecordRequest(Ping, frozen=True):
    """`get_match_record`: like a ping no message of the protocol; our manager asks it of our referees. `token` is what
    the asker showed, when it is read."""

    match_id: str
    attempt: int
    token: str | None = None


class MatchRecord(Struct, frozen=True):
    """All that happened in one attempt of a match, as its referee journalled it (Any: events as JSON objects)."""

    match_id: str
    attempt: int
    events: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A peer answered a call of ours with an error, read by the catalogue."""

    code: str
    detail: str
    understood: bool = True
    """False if it rather means that the call itself was not understood: another calling convention may help."""
    words: str = field(default="", compare=False)
    """What the peer said, in its own words."""


ASSIGNMENTS = ("start_match", "assign_match", "match_assignment", "start_match_command", "run_match")
"""The inquiries by which managers of others give a referee a match (spec section 13.5)."""


ADDRESS_QUERIES = ("GET_REGISTRATIONS", "GET_PLAYER_DIRECTORY")
"""The LEAGUE_QUERYs by which referees of others ask for the players' addresses."""


class Inquiry(Struct, frozen=True):
    """A question that is no message of the protocol but is asked out there (Any: its params as they came)."""

    method: str
    params: Mapping[str, Any]


class Information(Struct, frozen=True):
    """The answer to an inquiry, of ours or to us (Any: it is the result as it stands)."""

    data: Mapping[str, Any]


class Operate(Struct, frozen=True):
    """An operator's order, with a key that makes its repetition harmless."""

    order: str
    key: str
    target: str = ""


Content = Unsealed | Ping | Pong | Acknowledged | MatchRecord | Refusal | Operate | Inquiry | Information
ReplyContent = Message | Pong | Acknowledged | MatchRecord | Information | PeerError
"""What a request may be answered with."""


class Letter(Struct, frozen=True):
    """What came in. With `answers`, the answer of `peer` to that outgoing message of ours; without, a request (or a
    reply as its own POST) that must be answered under `id`."""

    id: int
    content: Content
    answers: str | None = None
    peer: str = ""
    origin: str = ""
    convention: Convention = Convention.SPEC
    """How a request was put."""


class Address(Struct, frozen=True):
    """Where and to whom: the agent, its endpoint, the token it is shown (spliced into a shared body), how it is spoken
    to, and the address of whoever named the endpoint, where that is known."""

    agent_id: str
    endpoint: str
    token: str | None = None
    convention: Convention = Convention.SPEC
    origin: str = ""


class Outgoing(Struct, frozen=True):
    """A call to make: one message, one or many receivers, and the moment after which an answer is too late."""

    key: str
    to: tuple[Address, ...]
    message: Message | Ping
    deadline: float


class Ask(Struct, frozen=True):
    """A question for the strategy of a player; its answer comes back through `answered`."""

    key: str
    game_type: str
    call: Message
    deadline: float


@dataclass(frozen=True, slots=True)
class Considered:
    """What a strategy may answer instead of the bare choice: also how it came about."""

    choice: str
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True)
class NoChoice:
    """What a strategy answers that declines to choose. `is_outage`: not by its own fault (spec section 8.17)."""

    detail: str
    provenance: Provenance | None = None
    is_outage: bool = False


class Answering(Struct, frozen=True):
    """The answer to a letter: a message, or the error it gets."""

    letter_id: int
    content: ReplyContent
    about: str | None = None
    """The message type the error is about, for its JSON-RPC number."""


class Failure(Enum):
    """Why a call got no answer."""

    TIMEOUT = "timeout"
    REFUSED = "refused"
    FORBIDDEN = "forbidden"
    """Our own policy about addresses: nothing was sent."""
    BROKEN = "broken"
    BUSY = "busy"
    NOT_UNDERSTOOD = "not understood"
    ERROR = "error"
    """It was answered, with an error."""


class Blame(Enum):
    """Whose fault a failed call is, by the shell's sensors; only a peer's counts against it."""

    PEER = "peer"
    LOCAL = "local"
    NOBODY = "nobody"
    """It was sent, and its connection was needed before its answer came."""


class Undelivered(Struct, frozen=True):
    """A call that got no answer."""

    key: str
    peer: str
    failure: Failure
    blame: Blame = Blame.PEER
    retry_after: float | None = None
    detail: str = ""


class Step(Struct):
    """What a machine answers to any input. Nothing of it leaves the process before its events are durable."""

    replies: list[Answering] = []
    outbox: list[Outgoing] = []
    asks: list[Ask] = []
    news: list[object] = []
    """What somebody outside the machine is told, in order, once, and never in replay: a player's own code."""
    cancel: tuple[str, ...] = ()
    events: list[Event] = []
    secrets: dict[str, str] = {}


class Machine(ABC):
    """A role. Subclasses keep all that must survive in what `apply` builds, and everything else out of it."""

    def __init__(self, chance: Chance, secrets: Mapping[str, str] | None = None) -> None:
        self._chance = chance
        self._secrets: MutableMapping[str, str] = dict(secrets or {})
        self._step = Step()
        """The step being built: every input begins a new one, and ends with it."""
        self.deadline: float | None = None
        """When to tick, if ever."""

    @abstractmethod
    def apply(self, event: Event) -> None:
        """Make one event true."""

    @abstractmethod
    def resume(self, now: float) -> Step:
        """After the journal was replayed (or on first start): take up what is open."""

    @abstractmethod
    def handle(self, letter: Letter, now: float) -> Step:
        """A letter came in."""

    @abstractmethod
    def undelivered(self, failed: Undelivered, now: float) -> Step:
        """A call got no answer."""

    @abstractmethod
    def tick(self, now: float) -> Step:
        """`deadline` was reached."""

    def member_behind(self, content: Content) -> str | None:
        """Who has sent this, if its token proves it to be a member of the league: the id."""
        return None

    @abstractmethod
    def snapshot(self) -> Mapping[str, Any]:
        """All of the state that events build, as plain data: equal snapshots, equal states."""

    def answered(self, key: str, value: object, now: float) -> Step:
        """A strategy answered an Ask. Only players ask."""
        raise NotImplementedError(f"{type(self).__name__} asks nobody")

    # What subclasses build their steps with.

    def _happened(self, event: Event) -> None:
        """Record an event and make it true at once."""
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
        """The answers to this call are no longer wanted."""
        self._step.cancel += (key,)
