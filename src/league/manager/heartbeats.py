"""Is an agent alive? Until the league starts, every member is probed at its endpoint again and again (R-35). While it
runs, referees that report nothing are pinged, and one that is silent for too long counts as dead (spec section 8.12).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from league.calling.delivery import (
    Delivery,
    Ending,
    FailedAttempt,
    Policy,
)
from league.machine import Address, Failure, Ping, Pong
from league.manager.assignments import LATE_S, Assignments
from league.manager.dispatch import RefereeHabits
from league.manager.manager_context import ManagerContext, ManagerPart
from league.manager.outages import Outages
from league.manager.roster import Member

PING_S = 5.0
PROBE_AGAIN_S = 2.0
OURS_SILENT_S = 20.0
OTHERS_SILENT_S = 250.0
PING = Policy(limit_s=3.0, is_guarded=True, is_waited_for=False)


def ping(context: ManagerContext, member: Member, label: str) -> Delivery:
    """Return one ping of a member. The caller says what follows from its end."""
    return Delivery(
        member.agent_id,
        label,
        Ping(),
        PING,
        address=partial(context.address, member),
    )


@dataclass(slots=True)
class Probes(ManagerPart):
    """Finds out which members answer until the league starts. Members that did not answer are probed again sooner."""

    failures: dict[str, str] = field(default_factory=dict)
    """The members that did not answer their last probe, and why, for people."""
    _answered: set[str] = field(default_factory=set)
    _under_way: set[str] = field(default_factory=set)
    _strangers: int = 0

    def is_unreachable(self, agent_id: str) -> bool:
        """True if its last probe failed and nothing was heard of it since."""
        return agent_id in self.failures

    def alive(self, agent_id: str) -> None:
        """Note that a member said something."""
        self._answered.add(agent_id)
        self.failures.pop(agent_id, None)

    def begin(self, agent_id: str, now: float) -> None:
        """Begin to probe a member. If it has answered already, the first probe comes a little later."""
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
            delivery.on_end = self._ended
            delivery.on_attempt_failed = self._attempt_failed
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
        pause_s = PROBE_AGAIN_S
        if outcome is not Ending.FAILED:
            self.alive(agent_id)
            pause_s = PING_S
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS":
            breaker = self.context.calls.peers[agent_id].breaker
            # A probe that the circuit breaker would stop is not worth a timer.
            self._probe_at(agent_id, max(now + pause_s, breaker.open_until))

    def stop(self) -> None:
        """Stop probing: the league starts, and broadcasts and heartbeats tell more from now on."""
        # Nobody misses the first announcement because of a failed probe.
        for agent_id in self._ledger.roster.members:
            self.context.timers.clear(("probe", agent_id))
            self.context.calls.peers[agent_id].breaker.close()
        self.failures.clear()

    def probe_stranger(
        self,
        endpoint: str,
        origin: str,
        then: Callable[[Failure | None, float], None],
        now: float,
    ) -> None:
        """Probe an agent that is no member yet, and call `then` with the reason if it does not answer.

        A failure is told when the time for an answer is over, and not before: how long it takes would tell the sender
        what is behind an address.
        """
        self._strangers += 1
        name = f"stranger-{self._strangers}"
        failures = [Failure.TIMEOUT]
        address = Address(name, endpoint, origin=origin)
        over_at = now + PING.limit_s

        def ended(_: Delivery, outcome: Ending, later: float) -> None:
            self.context.calls.forget(name)
            if outcome is not Ending.FAILED:
                then(None, later)
            elif later >= over_at:
                then(failures[-1], later)
            else:
                self.context.timers.set(
                    ("probe", name),
                    over_at,
                    partial(then, failures[-1]),
                )

        probe = Delivery(name, "probe", Ping(), PING, lambda: address, on_end=ended)
        probe.on_attempt_failed = lambda _, failed, __: failures.append(failed.failure)
        self.context.calls.deliver([probe], now)


@dataclass(slots=True)
class Pulse:
    """The signs of life of one referee."""

    heard_at: float
    is_pinged: bool = False
    has_reported: bool = False
    """True if it reported a result since the last round of pings: then it knows its matches."""


@dataclass(slots=True)
class Heartbeats(ManagerPart):
    """Finds out whether referees are alive while the league runs."""

    assignments: Assignments
    habits: RefereeHabits
    outages: Outages
    _pulses: dict[str, Pulse] = field(default_factory=dict)
    _next_ping: float = math.inf

    def begin(self, now: float) -> None:
        """Begin to ping, because the league starts or this process does."""
        # Referees of ours list their matches in every answer to a ping. Those that were asked just now are not asked
        # again.
        pulses = {}
        for referee_id, pulse in self._pulses.items():
            if self.habits.is_ours(referee_id) and now < pulse.heard_at + PING_S:
                pulses[referee_id] = Pulse(now, has_reported=True)
        self._pulses = pulses
        self._next_ping = math.inf
        self._ping_all(now)

    def _pulse(self, referee_id: str, now: float) -> Pulse:
        pulse = self._pulses.get(referee_id)
        if pulse is None:
            pulse = Pulse(now)
            self._pulses[referee_id] = pulse
        return pulse

    def _dead_from(self, referee_id: str, now: float) -> float:
        """Return the time from which a referee counts as dead if nothing is heard of it."""
        patience_s = OTHERS_SILENT_S
        if self.habits.is_ours(referee_id):
            patience_s = OURS_SILENT_S
        pulse = self._pulse(referee_id, now)
        return pulse.heard_at + patience_s

    # --- pings --------------------------------------------------------------------------------------------------------

    def _ping_all(self, now: float) -> None:
        if not self._ledger.is_running:
            return
        if now > self._next_ping + LATE_S:
            self.slept(now)
        self._next_ping = now + PING_S
        self.context.timers.set("ping", self._next_ping, self._ping_all)
        referees = self._ledger.roster.of_role("referee")
        needed = [referee for referee in referees if self._needs_ping(referee, now)]
        self._ping(needed, now)
        for pulse in self._pulses.values():
            pulse.has_reported = False

    def greet(self, referee: Member, now: float) -> None:
        """Ping a new referee: whether it is one of ours decides how matches are dispatched to it."""
        if self._ledger.is_running:
            self._ping([referee], now)

    def slept(self, now: float) -> None:
        """Let everybody's silence begin again: this process did not listen for a while."""
        for pulse in self._pulses.values():
            pulse.heard_at = now
        self.outages.slept()

    def _needs_ping(self, referee: Member, now: float) -> bool:
        """True if this referee has to be asked whether it is alive."""
        referee_id = referee.agent_id
        pulse = self._pulse(referee_id, now)
        if pulse.is_pinged or not referee.takes_part:
            return False
        # A report says as much as an answer to a ping, and costs nothing.
        if pulse.has_reported and self.habits.is_ours(referee_id) and self.assignments.has_arrived(referee):
            return False
        # An open circuit breaker spares a referee that does not answer, but not past the moment that decides.
        if referee.state == "ACTIVE" and now >= self._dead_from(referee_id, now):
            return True
        return self.context.is_reachable(referee, now)

    def _ping(self, referees: Sequence[Member], now: float) -> None:
        deliveries = [ping(self.context, referee, "ping") for referee in referees]
        for delivery in deliveries:
            delivery.on_end = self._ended
            delivery.on_attempt_failed = self._attempt_failed
            self._pulse(delivery.peer, now).is_pinged = True
        self.context.calls.deliver(deliveries, now)

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._pulse(delivery.peer, now).is_pinged = False
        if outcome is Ending.FAILED or not self._ledger.is_running:
            return
        # Referees by others answer a ping with anything: then they are alive, and no more is known.
        pong = Pong()
        if isinstance(delivery.answer, Pong):
            pong = delivery.answer
        self.assignments.ping_answered(
            self.context.member(delivery.peer),
            pong,
            delivery.attempt.sent_at,
            now,
        )

    def _attempt_failed(self, delivery: Delivery, _: FailedAttempt, now: float) -> None:
        referee = self.context.member(delivery.peer)
        # From its first failed ping on a referee gets no new match, long before it counts as dead.
        self.habits.ping_failed(referee.agent_id)
        dead_from = self._dead_from(referee.agent_id, now)
        # Whether a referee by others answers pings says nothing about its matches.
        if self.habits.is_ours(referee.agent_id):
            self.outages.interrupted(referee, "its referee did not answer", now)
        if self._ledger.is_running and referee.state == "ACTIVE" and now >= dead_from:
            self.context.change(
                referee,
                "max_fail",
                now,
                "no answer and no message for too long",
            )
            self.assignments.reassign(now)

    # --- signs of life ------------------------------------------------------------------------------------------------

    def reported(self, referee: Member, now: float) -> None:
        """Note that a referee reported a result: it need not be pinged for a while."""
        pulse = self._pulses.get(referee.agent_id) or self._pulse(referee.agent_id, now)
        pulse.has_reported = True

    def alive(self, referee: Member, now: float) -> None:
        """Note that a referee sent a message or an answer."""
        pulse = self._pulses.get(referee.agent_id) or self._pulse(referee.agent_id, now)
        pulse.heard_at = now
        was_silent = self.habits.heard(referee.agent_id)
        is_suspended = referee.state == "SUSPENDED"
        if not (was_silent or is_suspended) or not self._ledger.is_running:
            return
        if is_suspended:
            self.context.change(referee, "recover", now)
            self.assignments.came_back(now)
        else:
            self.assignments.reassign(now)
