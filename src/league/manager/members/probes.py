"""Is an agent alive, and how does it want to be spoken to? Until the league starts, every agent is probed at its
endpoint, from its registration on, again and again (R-35, T-11): what can be known before its first match is found out
on our time. While the league runs, staffing/leases.py pings referees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
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
from league.machine import Address, Failure, Ping
from league.manager.manager_context import ManagerPart
from league.manager.staffing.leases import PING, PING_S, Leases
from league.manager.state.roster import Member
from league.protocol.message.findings import Findings, alike, unanswered, unusable

PROBE_AGAIN_S = 2.0
LONG_PROBE = Policy(limit_s=20.0, is_guarded=True, is_waited_for=False)
"""For an agent that could not answer everything in the usual time: nobody waits for a long handshake."""
PATIENCE_S = 1.0
"""How long a registration waits for what the probe finds out: the agent may not listen before it is registered."""
MOST_NOTED = 20
"""Maximum number of findings that are journalled of one agent. One that changes all the time must not fill the disk."""


class StrangerProbe(NamedTuple):
    """The result of the first probe of an agent: why it failed, None if somebody answered; and what was found out."""

    failure: Failure | None
    findings: Findings | None = None


_UNANSWERED = StrangerProbe(Failure.TIMEOUT)


@dataclass(slots=True)
class Probes(ManagerPart):
    """Finds out until the league starts which members answer, and how they want to be spoken to. Members that did not
    answer are probed again sooner."""

    leases: Leases
    failures: dict[str, str] = field(default_factory=dict)
    """The members that did not answer their last probe, and of which nothing was heard since, and why, for people."""
    _answered: set[str] = field(default_factory=set)
    _under_way: set[str] = field(default_factory=set)
    _slow: set[str] = field(default_factory=set)
    """The members that get more time for their next probe."""
    strangers: Counter[str] = field(default_factory=Counter)
    """The endpoints of agents that register, while they are probed."""
    _stranger_count: int = 0

    @property
    def are_told(self) -> bool:
        """True if probes find out more than whether somebody is there: registrations wait for that a moment."""
        return type(self._question("player")) is not Ping

    def _question(self, role: AgentRole) -> Ping:
        return self.context.book.probe(role, self._ledger.settings.game_type)

    def alive(self, agent_id: str) -> None:
        """Note that a member said something."""
        self._answered.add(agent_id)
        self.failures.pop(agent_id, None)

    def begin(self, agent_id: str, now: float) -> None:
        """Begin to probe a member. If it has answered already, the first probe comes a little later."""
        if agent_id in self._under_way or self.context.timers.is_set(("probe", agent_id)):
            return
        if agent_id in self._answered or self.strangers[self.context.member(agent_id).endpoint]:
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
        if member.agent_id in self.failures and self.are_told:
            self._note(member, _unanswered(member.endpoint, failed), now)
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
        if findings.answer.lists_matches:
            # Matches are given out by this before the league has pinged anybody.
            self.leases.listed_matches(agent_id)
        if findings.endpoint == member.endpoint:
            self.context.book.learn_from(findings, agent_id, now)
            self._note(member, findings, now)

    def _note(self, member: Member, findings: Findings, now: float) -> None:
        """Record the findings about a member, if they are news."""
        words = findings.in_words()
        if alike(words) != alike(member.probed.findings) and member.probed.count < MOST_NOTED:
            self.context.happened(
                AgentProbed(
                    at=now,
                    agent_id=member.agent_id,
                    findings=words,
                    is_trouble=findings.is_trouble,
                )
            )

    def stop(self) -> None:
        """Stop probing: the league starts, and broadcasts and pings tell more from now on."""
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
        self.strangers[endpoint] += 1
        self.context.timers.set(("probe", name), stranger.over_at, stranger.tell)
        probe = Delivery(name, "probe", self._question(role), PING, lambda: address, on_end=stranger.ended)
        probe.on_attempt_failed = stranger.failed
        self.context.calls.deliver([probe], now)

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
            self.probes.context.timers.clear(("probe", self.name))
            self.then(self.result, now)

    def failed(self, _: Delivery, attempt: FailedAttempt, __: float) -> None:
        if attempt.is_reached:
            self.result = StrangerProbe(None, unusable(self.endpoint, attempt.in_words))
        else:
            self.result = StrangerProbe(attempt.failure, _unanswered(self.endpoint, attempt))

    def ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self.probes.context.calls.forget(self.name)
        self.probes.strangers[self.endpoint] -= 1
        findings = None
        if isinstance(delivery.answer, Findings):
            findings = delivery.answer
        if outcome is not Ending.FAILED:
            self.result = StrangerProbe(None, findings)
        if self.is_told:
            self.probes.found_late(self.endpoint, findings, now)
        elif outcome is not Ending.FAILED or self.tells_early or now >= self.over_at:
            self.tell(now)


def _unanswered(endpoint: str, failed: FailedAttempt) -> Findings:
    return unanswered(endpoint, failed.in_words, hangs_up=failed.failure is Failure.BROKEN)
