"""What the promises are judged by: journals, recorded traffic, and what only a simulator can know.

What is missing keeps its default, and the promises that need it are unobservable: a manager's journal alone is evidence
too. All times, those of events included, are readings of one clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from league.events import Event
from league.protocol.tokens import MANAGER

SAME_MOMENT_S = 0.001
"""Readings of a clock closer than this say nothing about what came first."""

ON_ITS_WAY_S = 1.0
"""So much later than it was decided a message may leave: when its events are on disk."""

Object = dict[str, Any]
"""A parsed JSON object (Any: anybody may have sent it)."""

CallOutcome = Literal["answered", "refused", "busy", "broken", "lost", "timeout", "cancelled", "open"]
"""How a call ended for its sender.

answered   an answer reached it in time, be it an error          refused  nobody listened
busy       429 or 503: try later                                 broken   reset, or no HTTP
lost       the simulator dropped the request or its answer       timeout  too late, or never
cancelled  no longer wanted; its sender died                     open     the recording ended
"""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call: a request and everything that came of it.

    `message` is the message itself (`params` of the JSON-RPC request; empty for a ping), `answer` the result that
    reached the sender, or with `error` the data of the JSON-RPC error. A repetition by the sender is a call of its
    own; `delivered` above 1 is a network that duplicates.
    """

    sent_at: float
    sender_node: str
    receiver_node: str
    message: Object
    answer: Object | None = None
    answered_at: float | None = None
    error: bool = False
    delivered: int = 1
    """How often the request reached the receiver."""
    answers: int = 1
    """How many answers the receiver produced, whether or not they arrived."""
    excused: int = 0
    """Deliveries without an answer that count as answered: the receiver was killed first, was made silent, or the
    recording ended."""
    outcome: CallOutcome = "answered"

    @property
    def kind(self) -> str:
        """The message type; empty for a ping and for what is no message."""
        value = self.message.get("message_type")
        return value if isinstance(value, str) else ""

    @property
    def accepted(self) -> Object | None:
        """The answer, if it came and is none of the errors."""
        return None if self.error else self.answer


@dataclass(frozen=True, slots=True)
class Recovery:
    """A node went back to its journal, because it was killed or its disk refused a group: the number of entries that
    anything it had released rests on, and the number of entries it recovered."""

    node: str
    at: float
    acknowledged: int
    recovered: int


@dataclass(frozen=True)
class Evidence:
    """Everything observed of one league. Journals and `faulted` go by agent id, traffic and recoveries by node."""

    manager: Sequence[Event] = ()
    referees: Mapping[str, Sequence[Event]] = field(default_factory=dict)
    players: Mapping[str, Sequence[Event]] = field(default_factory=dict)
    agents: Mapping[str, str] = field(default_factory=dict)
    """Node to agent id (`league_manager` for the manager); a node not in it is called by its agent's id."""
    traffic: Sequence[RecordedCall] | None = None
    """Every call, in the order of sending; None: not recorded."""
    faulted: frozenset[str] | None = None
    """Players with an injected fault, their own or of their link; None: unknown."""
    impostors: frozenset[str] | None = None
    """Referees that nobody let in on purpose; None: unknown."""
    recoveries: Sequence[Recovery] | None = None
    """Every time a node went back to its journal; None: not recorded."""
    downtimes: Mapping[str, Sequence[tuple[float, float]]] | None = None
    """By agent: from when to when its process did not run; None: not observed."""
    finished: bool = False
    waiting: str | None = None
    """What the league says at the end that it waits for, such as WAITING_FOR_OPERATOR."""
    stalled: bool | None = None
    """Time went on and nothing happened any more; None: not observed."""
    bounds: Mapping[str, tuple[int, int]] | None = None
    """By name: the largest number observed and the largest allowed."""
    twin_digest: tuple[str, str] | None = None
    """Digests of the journals of two runs with the same seed and inputs."""

    def agent(self, node: str) -> str:
        """Whose node this is."""
        return self.agents.get(node, node)

    @cached_property
    def calls(self) -> Mapping[str, Sequence[RecordedCall]]:
        """The traffic by message type, in the order of sending."""
        found: dict[str, list[RecordedCall]] = {}
        for call in self.traffic or ():
            found.setdefault(call.kind, []).append(call)
        return found

    def sent(self, kind: str, by: str | None = None) -> Sequence[RecordedCall]:
        """The calls with such a message, from that agent or from any."""
        return [call for call in self.calls.get(kind, ()) if by in (None, self.agent(call.sender_node))]

    def from_manager(self, kind: str) -> Sequence[RecordedCall]:
        """The calls with such a message from the manager."""
        return self.sent(kind, MANAGER)

    def to_manager(self, kind: str) -> Sequence[RecordedCall]:
        """The calls with such a message to the manager."""
        return [call for call in self.calls.get(kind, ()) if self.agent(call.receiver_node) == MANAGER]
