"""Is an agent alive? Until the league starts everybody is probed at the endpoint it named, again and again (R-35).
While it runs the referees are pinged that report nothing, and one that is silent for too long is dead (spec section
8.12).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from league.calling.delivery import Delivery, Ending, FailedAttempt, Policy
from league.machine import Address, Failure, Ping, Pong
from league.manager.assignments import LATE_S, Assignments
from league.manager.context import ManagerContext, ManagerPart
from league.manager.dispatch import RefereeHabits
from league.manager.outages import Outages
from league.manager.roster import Member

PING_S = 5.0
PROBE_AGAIN_S = 2.0
OURS_SILENT_S, OTHERS_SILENT_S = 20.0, 250.0
PING = Policy(limit_s=3.0, is_guarded=True, is_waited_for=False)


def ping(context: ManagerContext, member: Member, label: str) -> Delivery:
    """One ping of a member; who sends it says what comes of it."""
    return Delivery(member.agent_id, label, Ping(), PING, address=partial(context.address, member))


@dataclass(slots=True)
class Probes(ManagerPart):
    """Until the league starts: which agents answer. Everybody is probed again, who did not answer sooner."""

    failures: dict[str, str] = field(default_factory=dict)
    """Who did not answer its last probe, and why, for people."""
    _answered: set[str] = field(default_factory=set)
    _under_way: set[str] = field(default_factory=set)
    _strangers: int = 0

    def is_unreachable(self, agent_id: str) -> bool:
        """Did its last probe fail, and was nothing heard of it since?"""
        return agent_id in self.failures

    def alive(self, agent_id: str) -> None:
        """Whoever says anything is there."""
        self._answered.add(agent_id)
        self.failures.pop(agent_id, None)

    def begin(self, agent_id: str, now: float) -> None:
        """Probe a member, unless that has begun; one that has answered already, a little later."""
        if agent_id in self._under_way or self.context.timers.is_set(("probe", agent_id)):
            return
        if agent_id in self._answered:
            self._probe_at(agent_id, now + PING_S)
        else:
            self._probe(agent_id, now)

    def _probe(self, agent_id: str, now: float) -> None:
        member = self.context.member(agent_id)
        if member.takes_part:
            delivery = ping(self.context, member, "probe")
            delivery.on_end, delivery.on_attempt_failed = self._ended, self._attempt_failed
            self._under_way.add(agent_id)
            self.context.calls.deliver([delivery], now)

    def _probe_at(self, agent_id: str, at: float) -> None:
        self.context.timers.set(("probe", agent_id), at, partial(self._probe, agent_id))

    def _attempt_failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS":
            self.failures[delivery.peer] = failed.in_words

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        agent_id = delivery.peer
        self._under_way.discard(agent_id)
        if outcome is not Ending.FAILED:
            self.alive(agent_id)
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS":
            pause = PROBE_AGAIN_S if outcome is Ending.FAILED else PING_S
            self._probe_at(agent_id, max(now + pause, self.context.calls.peers[agent_id].breaker.open_until))

    def stop(self) -> None:
        """The league starts: from now on broadcasts and heartbeats tell. Every circuit breaker is closed."""
        for agent_id in self._ledger.roster.members:
            self.context.timers.clear(("probe", agent_id))
            self.context.calls.peers[agent_id].breaker.close()
        self.failures.clear()

    def probe_stranger(
        self, endpoint: str, origin: str, then: Callable[[Failure | None, float], None], now: float
    ) -> None:
        """Probe somebody who is no member yet, and go on with why it did not answer, if so. That is told when the time
        for an answer is over, and not before: how long it takes would tell what is behind an address."""
        self._strangers += 1
        name, failures = f"stranger-{self._strangers}", [Failure.TIMEOUT]
        address = Address(name, endpoint, origin=origin)
        over = now + PING.limit_s

        def ended(_: Delivery, outcome: Ending, later: float) -> None:
            self.context.calls.forget(name)
            if outcome is not Ending.FAILED:
                then(None, later)
            elif later >= over:
                then(failures[-1], later)
            else:
                self.context.timers.set(("probe", name), over, partial(then, failures[-1]))

        probe = Delivery(name, "probe", Ping(), PING, lambda: address, on_end=ended)
        probe.on_attempt_failed = lambda _, failed, __: failures.append(failed.failure)
        self.context.calls.deliver([probe], now)


@dataclass(slots=True)
class Pulse:
    """When a referee was last heard, whether it is being pinged, and whether it reported a result since the last round
    of pings: who does knows its matches."""

    heard_at: float
    is_pinged: bool = False
    has_reported: bool = False


@dataclass(slots=True)
class Heartbeats(ManagerPart):
    """While the league runs: are its referees alive?"""

    assignments: Assignments
    habits: RefereeHabits
    outages: Outages
    _pulses: dict[str, Pulse] = field(default_factory=dict)
    _next_ping: float = math.inf

    def begin(self, now: float) -> None:
        """The league starts, or we do. Whoever has just answered a probe with its matches is not asked again."""
        known = [
            one for one, pulse in self._pulses.items() if self.habits.is_ours(one) and now < pulse.heard_at + PING_S
        ]
        self._pulses = {referee_id: Pulse(now, has_reported=True) for referee_id in known}
        self._next_ping = math.inf
        self._ping_all(now)

    def _pulse(self, referee_id: str, now: float) -> Pulse:
        pulse = self._pulses.get(referee_id)
        if pulse is None:
            pulse = self._pulses[referee_id] = Pulse(now)
        return pulse

    def _silent_from(self, referee_id: str, now: float) -> float:
        """From when on it counts as dead."""
        patience_s = OURS_SILENT_S if self.habits.is_ours(referee_id) else OTHERS_SILENT_S
        return self._pulse(referee_id, now).heard_at + patience_s

    # --- pings --------------------------------------------------------------------------------------------------------

    def _ping_all(self, now: float) -> None:
        if not self._ledger.is_running:
            return
        if now > self._next_ping + LATE_S:
            self.slept(now)
        self._next_ping = now + PING_S
        self.context.timers.set("ping", self._next_ping, self._ping_all)
        self._ping([one for one in self._ledger.roster.of_role("referee") if self._is_due(one, now)], now)
        for pulse in self._pulses.values():
            pulse.has_reported = False

    def greet(self, referee: Member, now: float) -> None:
        """A new referee: whether it is one of ours decides how matches are dispatched to it."""
        if self._ledger.is_running:
            self._ping([referee], now)

    def slept(self, now: float) -> None:
        """It was us who did not listen: everybody's silence begins anew."""
        for pulse in self._pulses.values():
            pulse.heard_at = now
        self.outages.slept()

    def _is_due(self, referee: Member, now: float) -> bool:
        """The circuit breaker spares an agent that does not answer, but not past the moment that decides over it."""
        pulse = self._pulse(referee.agent_id, now)
        if pulse.is_pinged or not referee.takes_part:
            return False
        if pulse.has_reported and self.habits.is_ours(referee.agent_id) and self.assignments.has_arrived(referee):
            return False
        is_decisive = referee.state == "ACTIVE" and now >= self._silent_from(referee.agent_id, now)
        return is_decisive or self.context.is_reachable(referee, now)

    def _ping(self, referees: Sequence[Member], now: float) -> None:
        deliveries = [ping(self.context, one, "ping") for one in referees]
        for one in deliveries:
            one.on_end, one.on_attempt_failed = self._ended, self._attempt_failed
            self._pulse(one.peer, now).is_pinged = True
        self.context.calls.deliver(deliveries, now)

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._pulse(delivery.peer, now).is_pinged = False
        if outcome is Ending.FAILED or not self._ledger.is_running:
            return
        pong = delivery.answer if isinstance(delivery.answer, Pong) else Pong()
        self.assignments.ping_answered(self.context.member(delivery.peer), pong, delivery.attempt.sent_at, now)

    def _attempt_failed(self, delivery: Delivery, _: FailedAttempt, now: float) -> None:
        referee = self.context.member(delivery.peer)
        self.habits.ping_failed(referee.agent_id)
        silent_from = self._silent_from(referee.agent_id, now)
        if self.habits.is_ours(referee.agent_id):
            self.outages.interrupted(referee, "its referee did not answer", now)
        if self._ledger.is_running and referee.state == "ACTIVE" and now >= silent_from:
            self.context.change(referee, "max_fail", now, "no answer and no message for too long")
            self.assignments.reassign(now)

    # --- signs of life ------------------------------------------------------------------------------------------------

    def reported(self, referee: Member, now: float) -> None:
        """It works: it need not be pinged for a while."""
        self._pulse(referee.agent_id, now).has_reported = True

    def alive(self, referee: Member, now: float) -> None:
        """Any message or answer of a referee."""
        self._pulse(referee.agent_id, now).heard_at = now
        was_silent, is_suspended = self.habits.heard(referee.agent_id), referee.state == "SUSPENDED"
        if not (was_silent or is_suspended) or not self._ledger.is_running:
            return
        if is_suspended:
            self.context.change(referee, "recover", now)
            self.assignments.came_back(now)
        else:
            self.assignments.reassign(now)
