"""Is an agent alive, and how does it want to be spoken to? Until the league starts, every agent is probed at its
endpoint, from its registration on, again and again (R-35, T-11): what can be known before its first match is found out
on our time. While the league runs, referees that report nothing are pinged, and one that is silent for too long counts
as dead (spec section 8.12).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from league.calling.delivery import (
    Delivery,
    Ending,
    FailedAttempt,
    Policy,
)
from league.events import AgentProbed, AgentRole
from league.machine import Address, Failure, Ping, Pong
from league.manager.assignments import LATE_S, Assignments
from league.manager.dispatch import RefereeHabits
from league.manager.manager_context import ManagerContext, ManagerPart
from league.manager.outages import Outages
from league.manager.roster import Member
from league.protocol.findings import Findings, unanswered, unusable

PING_S = 5.0
PROBE_AGAIN_S = 2.0
OURS_SILENT_S = 20.0
OTHERS_SILENT_S = 250.0
PING = Policy(limit_s=3.0, is_guarded=True, is_waited_for=False)
LONG_PROBE = Policy(limit_s=20.0, is_guarded=True, is_waited_for=False)
"""For an agent that could not answer everything in the usual time: nobody waits for a long handshake."""
PATIENCE_S = 1.0
"""How long a registration waits for what the probe finds out: the agent may not listen before it is registered."""
MOST_NOTED = 20
"""Maximum number of findings that are journalled of one agent. One that changes all the time must not fill the disk."""


def ping(context: ManagerContext, member: Member, label: str) -> Delivery:
    """Return one ping of a member. The caller says what follows from its end."""
    return Delivery(
        member.agent_id,
        label,
        Ping(),
        PING,
        address=partial(context.address, member),
    )


class StrangerProbe(NamedTuple):
    """The result of the first probe of an agent: why it failed, None if somebody answered; and what was found out."""

    failure: Failure | None
    findings: Findings | None = None


_UNANSWERED = StrangerProbe(Failure.TIMEOUT)


@dataclass(slots=True)
class Probes(ManagerPart):
    """Finds out until the league starts which members answer, and how they want to be spoken to. Members that did not
    answer are probed again sooner."""

    habits: RefereeHabits
    failures: dict[str, str] = field(default_factory=dict)
    """The members that did not answer their last probe, and why, for people."""
    _answered: set[str] = field(default_factory=set)
    _under_way: set[str] = field(default_factory=set)
    _slow: set[str] = field(default_factory=set)
    """The members that get more time for their next probe."""
    _strangers: Counter[str] = field(default_factory=Counter)
    """The endpoints of agents that register, while they are probed."""
    _stranger_count: int = 0

    @property
    def are_told(self) -> bool:
        """True if probes find out more than whether somebody is there: registrations wait for that a moment."""
        return type(self._question("player")) is not Ping

    def _question(self, role: AgentRole) -> Ping:
        return self.context.book.probe(role, self._ledger.settings.game_type)

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
        if agent_id in self._answered or self._strangers[self.context.member(agent_id).endpoint]:
            self._probe_at(agent_id, now + PING_S)
        else:
            self._probe(agent_id, now)

    def _probe(self, agent_id: str, now: float) -> None:
        member = self.context.member(agent_id)
        policy = PING
        if agent_id in self._slow:
            self._slow.discard(agent_id)
            policy = LONG_PROBE
        if member.takes_part:
            delivery = Delivery(
                agent_id,
                "probe",
                self._question(member.role),
                policy,
                address=partial(self.context.address, member),
                on_end=self._ended,
                on_attempt_failed=self._attempt_failed,
            )
            self._under_way.add(agent_id)
            self.context.calls.deliver([delivery], now)

    def _probe_at(self, agent_id: str, at: float) -> None:
        self.context.timers.set(("probe", agent_id), at, partial(self._probe, agent_id))

    def _attempt_failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        if self._ledger.state != "WAITING_FOR_REGISTRATIONS":
            return
        member = self.context.member(delivery.peer)
        if failed.is_reached:
            self._note(member, unusable(member.endpoint, failed.in_words), now)
            return
        # An agent that registers before it listens is silent once; it is worth a word only after that.
        if self.is_unreachable(member.agent_id) and self.are_told:
            self._note(member, unanswered(member.endpoint, failed.in_words), now)
        if failed.failure is Failure.TIMEOUT:
            self._slow.add(member.agent_id)
        self.failures[member.agent_id] = failed.in_words

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        agent_id = delivery.peer
        self._under_way.discard(agent_id)
        pause_s = PROBE_AGAIN_S
        if outcome is not Ending.FAILED:
            self.alive(agent_id)
            pause_s = PING_S
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS":
            if isinstance(delivery.answer, Findings):
                self.found(agent_id, delivery.answer, now)
            breaker = self.context.calls.peers[agent_id].breaker
            # A probe that the circuit breaker would stop is not worth a timer.
            self._probe_at(agent_id, max(now + pause_s, breaker.open_until))

    def found(self, agent_id: str, findings: Findings, now: float) -> None:
        """Take over what a probe found out about a member that answered."""
        member = self.context.member(agent_id)
        if findings.is_incomplete:
            self._slow.add(agent_id)
        if findings.lists_matches:
            # Matches are given out by this before the league has pinged anybody.
            self.habits.listed_matches(agent_id)
        if findings.endpoint == member.endpoint:
            self.context.book.learn_from(findings, agent_id, now)
            self._note(member, findings, now)

    def _note(self, member: Member, findings: Findings, now: float) -> None:
        """Record the findings about a member, if they are news."""
        words = findings.in_words()
        if words != member.probed.findings and member.probed.count < MOST_NOTED:
            self.context.happened(
                AgentProbed(
                    at=now,
                    agent_id=member.agent_id,
                    findings=words,
                    is_trouble=findings.is_trouble,
                )
            )

    def stop(self) -> None:
        """Stop probing: the league starts, and broadcasts and heartbeats tell more from now on."""
        # Nobody misses the first announcement because of a failed probe.
        for agent_id in self._ledger.roster.members:
            self.context.timers.clear(("probe", agent_id))
            self.context.calls.peers[agent_id].breaker.close()
        self.failures.clear()

    def probe_stranger(
        self,
        role: AgentRole,
        endpoint: str,
        origin: str,
        then: Callable[[StrangerProbe, float], None],
        now: float,
        *,
        tells_early: bool,
    ) -> None:
        """Probe an agent that is no member yet, and call `then` once: with the result, or without one when it takes too
        long. What comes later is noted for the member that it may have become.

        Unless the sender may be told at once (`tells_early`), a failure is told when the time for an answer is over,
        and not before: how long it takes would tell the sender what is behind an address.
        """
        self._stranger_count += 1
        name = f"stranger-{self._stranger_count}"
        address = Address(name, endpoint, origin=origin)
        patience_s = PATIENCE_S
        if self.context.probes_before_accepting or not self.are_told:
            patience_s = PING.limit_s
        stranger = _Stranger(self, name, endpoint, then, tells_early, now + patience_s)
        self._strangers[endpoint] += 1
        self.context.timers.set(("probe", name), stranger.over_at, stranger.tell)
        probe = Delivery(name, "probe", self._question(role), PING, lambda: address, on_end=stranger.ended)
        probe.on_attempt_failed = stranger.failed
        self.context.calls.deliver([probe], now)

    def stranger_ended(self, stranger: _Stranger) -> None:
        """Note that the first probe of an agent is over."""
        self.context.calls.forget(stranger.name)
        self._strangers[stranger.endpoint] -= 1

    def told(self, stranger: _Stranger) -> None:
        """Note that the registration does not wait any more."""
        self.context.timers.clear(("probe", stranger.name))

    def found_late(self, endpoint: str, findings: Findings | None, now: float) -> None:
        member = self._ledger.roster.at_endpoint(endpoint)
        if member is not None and findings is not None and self._ledger.state == "WAITING_FOR_REGISTRATIONS":
            self.alive(member.agent_id)
            self.found(member.agent_id, findings, now)


@dataclass(slots=True)
class _Stranger:
    """The first probe of an agent that registers. `then` is told once."""

    probes: Probes
    name: str
    endpoint: str
    then: Callable[[StrangerProbe, float], None]
    tells_early: bool
    over_at: float
    result: StrangerProbe = _UNANSWERED
    is_told: bool = False

    def tell(self, now: float) -> None:
        """Hand on what is known by now."""
        if not self.is_told:
            self.is_told = True
            self.probes.told(self)
            self.then(self.result, now)

    def failed(self, _: Delivery, attempt: FailedAttempt, __: float) -> None:
        if attempt.is_reached:
            self.result = StrangerProbe(None, unusable(self.endpoint, attempt.in_words))
        else:
            self.result = StrangerProbe(attempt.failure, unanswered(self.endpoint, attempt.in_words))

    def ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self.probes.stranger_ended(self)
        findings = None
        if isinstance(delivery.answer, Findings):
            findings = delivery.answer
        if outcome is not Ending.FAILED:
            self.result = StrangerProbe(None, findings)
        if self.is_told:
            self.probes.found_late(self.endpoint, findings, now)
        elif outcome is not Ending.FAILED or self.tells_early or now >= self.over_at:
            self.tell(now)


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
        self.assignments.renew_leases(referee, now)
