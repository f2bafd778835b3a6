"""The evidence that promises are judged by: journals, recorded traffic, and facts that only a simulator knows.

Missing parts keep their defaults, and the promises that need them are unobservable. A manager's journal alone is enough
to begin with. In a simulation all times are readings of one clock; otherwise each agent has its own, and a call says
whose clock tells its times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from league.features.audit.promises.grounds.event_log import EventLog, Source
from league.protocol.signing.tokens import MANAGER

SAME_MOMENT_S = 0.001
"""Two times closer than this do not tell what came first."""

ON_ITS_WAY_S = 1.0
"""How long after its decision a message may leave, because its events must be on disk first."""

Object = dict[str, Any]
"""A parsed JSON object (Any: it may come from anybody)."""

CallOutcome = Literal["answered", "refused", "busy", "broken", "lost", "timeout", "cancelled", "open"]
"""How a call ended for its sender.

answered   an answer reached it in time, perhaps an error        refused  nobody listened
busy       429 or 503: try later                                 broken   reset, or not HTTP
lost       the simulator dropped the request or its answer       timeout  too late, or never
cancelled  no longer needed, or its sender died                  open     the recording ended
"""


ADDRESS = "address "
"""The beginning of a node of which only the address is known."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call: a request and its consequences. A repetition by the sender is a call of its own."""

    sent_at: float
    sender_node: str
    receiver_node: str
    message: Object
    """`params` of the JSON-RPC request; empty for a ping."""
    answer: Object | None = None
    """The result that reached the sender, or (with `error`) the data of the JSON-RPC error."""
    answered_at: float | None = None
    error: bool = False
    delivered: int = 1
    """How often the request reached the receiver; more than once if the network duplicated it."""
    answers: int = 1
    """How many answers the receiver produced, whether or not they arrived."""
    excused: int = 0
    """Deliveries that need no answer: the receiver was killed first or made silent, or the recording ended."""
    outcome: CallOutcome = "answered"
    clock: str = ""
    """The agent by whose clock the times are; empty in a simulation, where the recorder's clock tells all of them."""

    @property
    def kind(self) -> str:
        """The message type; empty for a ping and for anything else without one."""
        value = self.message.get("message_type")
        return value if isinstance(value, str) else ""

    @property
    def is_strangers(self) -> bool:
        """True for a request that its receiver refused: nobody knows its sender, only the address."""
        return self.error and self.sender_node.startswith(ADDRESS)

    @property
    def accepted(self) -> Object | None:
        """The answer, if one came that is not an error."""
        if self.error:
            return None
        return self.answer


@dataclass(frozen=True, slots=True)
class Recovery:
    """A node went back to its journal, because it was killed or its disk refused a group."""

    node: str
    at: float
    acknowledged: int
    """The number of entries on which anything rests that it had sent."""
    recovered: int
    """The number of entries that it recovered."""


@dataclass(frozen=True, slots=True)
class SimulatorFacts:
    """What only a simulator knows: the faults that it injected, and what it saw inside processes."""

    faulted: frozenset[str] | None = None
    """Players with an injected fault of their own or of their link; None: unknown."""
    impostors: frozenset[str] | None = None
    """Referees that nobody admitted on purpose; None: unknown."""
    dishonest: frozenset[str] = frozenset()
    """Referees that are known to lie in their reports, or not to send them."""
    recoveries: Sequence[Recovery] | None = None
    """Every time a node went back to its journal; None: not recorded."""
    downtimes: Mapping[str, Sequence[tuple[float, float]]] | None = None
    """The times during which each agent's process did not run; None: not observed."""
    stalled: bool | None = None
    """Time passed and nothing happened; None: not observed."""
    bounds: Mapping[str, tuple[int, int]] | None = None
    """By name: the largest number observed, and the largest allowed."""
    twin_digest: tuple[str, str] | None = None
    """Digests of the journals of two runs with the same seed and inputs."""


@dataclass(frozen=True)
class Evidence(Source):
    """Everything observed of one league. Journals use agent ids, traffic uses nodes."""

    manager: EventLog = field(default_factory=EventLog)
    referees: Mapping[str, EventLog] = field(default_factory=dict)
    players: Mapping[str, EventLog] = field(default_factory=dict)
    agents: Mapping[str, str] = field(default_factory=dict)
    """The agent id of each node (`league_manager` for the manager); other nodes are named like their agents."""
    traffic: Sequence[RecordedCall] | None = None
    """Every call, in the order of sending; None: not recorded."""
    unrecorded: Mapping[str, str] = field(default_factory=dict)
    """Agents whose calls are missing in the traffic, and why."""
    restarts: Sequence[float] = ()
    """When the manager was started again."""
    unnoted: Sequence[tuple[float, float]] = ()
    """From when to when letters of the manager may be missing, because it was killed before they were on disk."""
    finished: bool = False
    waiting: str | None = None
    """What the league waits for at the end, in its own words, such as WAITING_FOR_OPERATOR."""
    simulator: SimulatorFacts = field(default_factory=SimulatorFacts)

    def is_recorded(self, agent_id: str) -> bool:
        """Whether the traffic holds all calls of an agent."""
        return self.traffic is not None and agent_id not in self.unrecorded

    def may_lack_letters(self, at: float) -> bool:
        """Whether a letter that reached the manager then may be missing in the traffic."""
        return any(since <= at <= until for since, until in self.unnoted)

    def agent(self, node: str) -> str:
        """The agent of a node."""
        return self.agents.get(node, node)

    @cached_property
    def calls(self) -> Mapping[str, Sequence[RecordedCall]]:
        """The traffic of agents by message type, in the order of sending. Strangers may write whatever they like: what
        was refused for that reason is no evidence against anybody."""
        calls: dict[str, list[RecordedCall]] = {}
        for call in self.traffic or ():
            if not call.is_strangers:
                calls.setdefault(call.kind, []).append(call)
        return calls

    def sent(
        self,
        kind: str,
        by: str | None = None,
    ) -> Sequence[RecordedCall]:
        """The calls with such a message, from that agent or from all."""
        calls = self.calls.get(kind, ())
        if by is None:
            return calls
        return [call for call in calls if self.agent(call.sender_node) == by]

    def from_manager(self, kind: str) -> Sequence[RecordedCall]:
        """The calls with such a message from the manager."""
        return self.sent(kind, MANAGER)

    def to_manager(self, kind: str) -> Sequence[RecordedCall]:
        """The calls with such a message to the manager."""
        calls = self.calls.get(kind, ())
        return [call for call in calls if self.agent(call.receiver_node) == MANAGER]
