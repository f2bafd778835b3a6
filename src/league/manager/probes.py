"""Until the league starts: can an agent be reached at the endpoint it named (R-35)? Pings, again after each failure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from league.machine import Address, Failure, Ping
from league.manager.courier import Courier, Ending, Errand, Policy
from league.manager.office import Office

PROBE_LIMIT_S, AGAIN_S = 3.0, 2.0


@dataclass(slots=True)
class Probes:
    """Which agents answered, and which did not yet."""

    office: Office
    courier: Courier
    _failed: set[str] = field(default_factory=set)
    _answered: set[str] = field(default_factory=set)
    _errands: dict[str, Errand] = field(default_factory=dict)
    _strangers: int = 0

    def all_failed(self, agent_id: str) -> bool:
        return agent_id in self._failed and agent_id not in self._answered

    def heard(self, agent_id: str) -> None:
        """Whoever speaks is there."""
        self._answered.add(agent_id)

    def begin(self, agent_id: str, now: float) -> None:
        """Probe a member, unless that is under way or it has answered already."""
        under_way = agent_id in self._errands or self.office.timers.is_set(("probe", agent_id))
        if agent_id not in self._answered and not under_way:
            self._again(agent_id, now)

    def _probe(self, agent_id: str, now: float) -> None:
        errand = Errand(agent_id, "probe", Ping(), Policy(PROBE_LIMIT_S), self._ended, self._stumbled)
        self._errands[agent_id] = errand
        self.courier.go([errand], now)

    def _stumbled(self, errand: Errand, failure: Failure, now: float) -> None:
        self._failed.add(errand.agent_id)

    def _ended(self, errand: Errand, ending: Ending, now: float) -> None:
        del self._errands[errand.agent_id]
        if ending is not Ending.FAILED:
            self._answered.add(errand.agent_id)
        elif self.office.ledger.state == "WAITING_FOR_REGISTRATIONS":
            again = max(now + AGAIN_S, self.courier.line(errand.agent_id).closed_until)
            self.office.timers.set(("probe", errand.agent_id), again, partial(self._again, errand.agent_id))

    def _again(self, agent_id: str, now: float) -> None:
        if self.office.member(agent_id).takes_part:
            self._probe(agent_id, now)

    def stop(self) -> None:
        """The league starts: from now on broadcasts and heartbeats tell. Every line gets a fresh chance."""
        for agent_id in self.office.ledger.roster.members:
            self.office.timers.clear(("probe", agent_id))
            self.courier.alive(agent_id)
        self._failed.clear()

    def first(self, endpoint: str, then: Callable[[bool, float], None], now: float) -> None:
        """`strict`: probe somebody who wants to become a member, and go on with whether it answered."""
        self._strangers += 1
        name = f"stranger-{self._strangers}"

        def ended(_: Errand, ending: Ending, later: float) -> None:
            then(ending is not Ending.FAILED, later)

        address = Address(name, endpoint)
        self.courier.go([Errand(name, "probe", Ping(), Policy(PROBE_LIMIT_S), ended, stranger=address)], now)
