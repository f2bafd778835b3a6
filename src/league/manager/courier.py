"""Calls to agents: sent, repeated and given up as the table of repetitions says (spec section 6.4), and the breaker
that spares an agent that does not answer. An errand is one message on its way to one agent, through all its attempts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from league.machine import Address, Blame, Content, Failure, Outgoing, Ping, Pong, Refusal, Undelivered
from league.manager.office import Office
from league.protocol.assigning import StartMatch
from league.protocol.conventions import Convention, convention_of, ways
from league.protocol.envelope import Unsealed
from league.protocol.messages import GameError, LeagueError, Message

BREAKER_FAILURES = 5
BREAKER_S = 60.0
BUSY_S, LONGEST_BUSY_S = 2.0, 60.0
"""How long to wait for an agent that says "later" without saying when, and how long at most in all."""


class Ending(Enum):
    """How an errand ended."""

    ACKNOWLEDGED = "acknowledged"
    REFUSED = "refused"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Policy:
    """How long an attempt may take, and what is repeated. `spared`: the breaker counts and stops these calls."""

    limit_s: float
    pauses_s: Sequence[float] = ()
    refused_only: bool = False
    spared: bool = True


@dataclass(slots=True, eq=False)
class Errand:
    """`ended` is called once; `stumbled` at each failed attempt that counts; `renew` gives the message for another
    attempt, or None if it is no longer wanted."""

    agent_id: str
    label: str
    message: Message | Ping
    policy: Policy
    ended: Callable[[Errand, Ending, float], None]
    stumbled: Callable[[Errand, Failure, float], None] | None = None
    renew: Callable[[Errand], Message | None] | None = None
    stranger: Address | None = None
    """Where to find somebody who is no member yet."""
    must_be_understood: bool = False
    """If it was not, it is put otherwise at once."""
    ways: list[Convention] | None = None
    """The conventions left to put it in, once one was not understood."""
    spoken: Convention | None = None
    """The one it was put in last."""
    answer: Content | None = None
    sent_at: float = 0.0
    to_suspended: bool = False
    failures: int = 0
    busy_s: float = 0.0
    is_dropped: bool = False
    is_pausing: bool = False


@dataclass(slots=True)
class Line:
    """The line to an agent: failures in a row, and until when nothing is tried."""

    failures: int = 0
    closed_until: float = 0.0
    errands: int = 0
    """Messages under way, pauses between attempts included."""
    is_ours: bool = False
    """It answered a ping with its matches, as only our referees do (R-52)."""
    proven: Convention | None = None
    """How it was spoken to when it understood last."""


@dataclass(slots=True)
class Courier:
    """`heard` is called for every answer, `freed` whenever an agent has no message under way any more."""

    office: Office
    heard: Callable[[Errand, float], None]
    freed: Callable[[str], None]
    lines: dict[str, Line] = field(default_factory=dict)
    _calls: dict[tuple[str, str], Errand] = field(default_factory=dict)
    _count: int = 0

    def line(self, agent_id: str) -> Line:
        return self.lines.setdefault(agent_id, Line())

    def is_closed(self, agent_id: str, now: float) -> bool:
        """Does the breaker forbid to call this agent now?"""
        return now < self.line(agent_id).closed_until

    def answers_well(self, agent_id: str) -> bool:
        """Did the last call end with an answer?"""
        return self.line(agent_id).failures == 0

    def alive(self, agent_id: str) -> None:
        """A sign of life: the breaker is closed."""
        line = self.line(agent_id)
        line.failures, line.closed_until = 0, 0.0

    # --- sending ------------------------------------------------------------------------------------------------------

    def go(self, errands: Sequence[Errand], now: float) -> None:
        """Send the same message to all of them: one Outgoing, encoded once."""
        for errand in errands:
            if is_counted(errand.message):
                self.line(errand.agent_id).errands += 1
        self._attempt(errands, now)

    def _attempt(self, errands: Sequence[Errand], now: float) -> None:
        if not errands:
            return
        first = errands[0]
        self._count += 1
        key = f"{first.label}/{self._count}"
        for errand in errands:
            errand.sent_at, errand.is_pausing = now, False
            self._calls[key, errand.agent_id] = errand
        to = tuple(map(self._address, errands))
        self.office.send(Outgoing(key, to, first.message, now + first.policy.limit_s))

    def _address(self, errand: Errand) -> Address:
        if errand.stranger is not None:
            return errand.stranger
        member = self.office.member(errand.agent_id)
        errand.to_suspended = member.state == "SUSPENDED"
        address = self.office.address(member)
        errand.spoken = address.convention
        return address

    def drop(self, errand: Errand) -> None:
        """No longer wanted: no further attempt; an answer to the one under way is still a sign of life."""
        errand.is_dropped = True
        if errand.is_pausing:
            self.office.timers.clear(errand)
            self._finish(errand)

    # --- what came of it ----------------------------------------------------------------------------------------------

    def answered(self, key: str, peer: str, content: Content, now: float) -> None:
        errand = self._calls.pop((key, peer), None)
        if errand is None:
            return
        errand.answer = content
        if isinstance(content, Unsealed):
            self.office.record(peer, content.deviations, now)
        self.alive(peer)
        if isinstance(content, Refusal) and not content.understood:
            self._not_understood(errand, now)
            return
        self._understood(errand, now)
        if isinstance(content, Pong) and content.matches is not None:
            self.line(peer).is_ours = True
        self.heard(errand, now)
        self._end(errand, Ending.REFUSED if is_refusal(content) else Ending.ACKNOWLEDGED, now)

    def failed(self, failed: Undelivered, now: float) -> None:
        errand = self._calls.pop((failed.key, failed.peer), None)
        if errand is None:
            return
        if errand.is_dropped:
            self._finish(errand)
        elif failed.blame is Blame.LOCAL:
            self._excuse(errand, failed.failure, now)
        elif failed.failure is Failure.NOT_UNDERSTOOD:
            self._not_understood(errand, now)
        elif failed.failure is Failure.BUSY:
            self._wait_for(errand, failed.retry_after, now)
        else:
            self._count_failure(errand, failed.failure, now)

    def _excuse(self, errand: Errand, failure: Failure, now: float) -> None:
        """We slept, so the attempt does not count; but what may be said once only was perhaps heard."""
        if errand.policy.refused_only and failure is not Failure.REFUSED:
            self._end(errand, Ending.FAILED, now)
        else:
            self._again(errand, now)

    def _not_understood(self, errand: Errand, now: float) -> None:
        """It answered, in words that say it did not understand: what it must understand is put otherwise at once. Of
        others the referees find out how they are spoken to, with their invitations (R-02)."""
        self.alive(errand.agent_id)
        if errand.must_be_understood and self._speak_otherwise(errand, now):
            self._again(errand, now)
        else:
            self.heard(errand, now)
            self._end(errand, Ending.REFUSED, now)

    def _speak_otherwise(self, errand: Errand, now: float) -> bool:
        """From now on in the next convention; False if there is none left, and all begins anew."""
        member = self.office.member(errand.agent_id)
        if errand.ways is None:
            first = errand.spoken or convention_of(member.convention)
            strict = self.office.ledger.settings.profile == "strict"
            # What it does not know at all proves nothing against the way it was spoken to.
            errand.ways = [] if strict else [*ways(first)[1:], self.line(errand.agent_id).proven or first]
        if not errand.ways:
            return False
        self.office.speak(member, errand.ways.pop(0), now)
        return bool(errand.ways)

    def _understood(self, errand: Errand, now: float) -> None:
        """Of several messages under way at once, another may be looking for its convention: this one has found it."""
        if errand.stranger is not None or isinstance(errand.message, Ping) or errand.spoken is None:
            return
        self.line(errand.agent_id).proven = errand.spoken
        if errand.ways is not None:
            self.office.speak(self.office.member(errand.agent_id), errand.spoken, now)

    def _wait_for(self, errand: Errand, retry_after: float | None, now: float) -> None:
        """It asks for time. That is a sign of life, and no failure while it does not last."""
        if is_ping(errand.message):
            self.alive(errand.agent_id)
            self.heard(errand, now)
            self._end(errand, Ending.ACKNOWLEDGED, now)
            return
        pause = min(max(retry_after or BUSY_S, 0.1), LONGEST_BUSY_S)
        errand.busy_s += pause
        if not errand.policy.pauses_s:
            self._end(errand, Ending.FAILED, now)
        elif errand.busy_s > LONGEST_BUSY_S:
            self._count_failure(errand, Failure.BUSY, now)
        else:
            self._pause(errand, pause, now)

    def _count_failure(self, errand: Errand, failure: Failure, now: float) -> None:
        errand.failures += 1
        policy = errand.policy
        if policy.spared:
            self._strain(self.line(errand.agent_id), now)
        if errand.stumbled is not None:
            errand.stumbled(errand, failure, now)
        final = policy.refused_only and failure is not Failure.REFUSED
        if final or errand.failures > len(policy.pauses_s):
            self._end(errand, Ending.FAILED, now)
        else:
            self._pause(errand, policy.pauses_s[errand.failures - 1], now)

    def _strain(self, line: Line, now: float) -> None:
        line.failures += 1
        if line.failures >= BREAKER_FAILURES:
            line.closed_until = now + BREAKER_S

    def _pause(self, errand: Errand, seconds: float, now: float) -> None:
        errand.is_pausing = True
        self.office.timers.set(errand, now + seconds, lambda then: self._again(errand, then))

    def _again(self, errand: Errand, now: float) -> None:
        if not self._is_wanted(errand):
            errand.is_dropped = True
            self._finish(errand)
        elif errand.policy.spared and self.is_closed(errand.agent_id, now):
            self._end(errand, Ending.FAILED, now)
        else:
            self._attempt([errand], now)

    def _is_wanted(self, errand: Errand) -> bool:
        if errand.renew is not None:
            message = errand.renew(errand)
            if message is None:
                return False
            errand.message = message
        return errand.stranger is not None or self.office.member(errand.agent_id).takes_part

    def _end(self, errand: Errand, ending: Ending, now: float) -> None:
        self._finish(errand)
        if not errand.is_dropped:
            errand.ended(errand, ending, now)

    def _finish(self, errand: Errand) -> None:
        errand.is_pausing = False
        if errand.stranger is not None:
            self.lines.pop(errand.agent_id, None)
        elif is_counted(errand.message):
            line = self.line(errand.agent_id)
            line.errands -= 1
            if line.errands == 0:
                self.freed(errand.agent_id)


def is_ping(message: Message | Ping) -> bool:
    """A mere sign of life is asked for: nothing that anybody else would wait for."""
    return type(message) is Ping


def is_counted(message: Message | Ping) -> bool:
    """Does the end of the league wait for what becomes of it? Not for pings, nor for a referee that answers START_MATCH
    when it pleases: its report is what counts."""
    return not is_ping(message) and not isinstance(message, StartMatch)


def is_refusal(content: Content) -> bool:
    """An error, or nothing that could be read: an answer, but no acknowledgement."""
    if isinstance(content, Unsealed):
        return content.message is None or isinstance(content.message, LeagueError | GameError)
    return isinstance(content, Refusal)
