"""Are the referees alive? Pings, silence, and what becomes of the matches of one that is dead (spec section 8.12)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from league.events import MatchLost, MatchParked
from league.machine import Failure, Ping, Pong
from league.manager.assignments import SLEPT_S, Assignments
from league.manager.courier import Courier, Ending, Errand, Policy
from league.manager.ledger import Ledger, Match
from league.manager.office import Office
from league.manager.roster import Member

PING_S, PING_LIMIT_S = 5.0, 3.0
OURS_SILENT_S, OTHERS_SILENT_S = 20.0, 250.0
ATTEMPTS = 3


@dataclass(slots=True)
class Pulse:
    """When a referee was last heard, and whether it is being asked."""

    heard_at: float
    is_pinged: bool = False


@dataclass(slots=True)
class Leases:
    """Runs while the league does."""

    office: Office
    courier: Courier
    assignments: Assignments
    _pulses: dict[str, Pulse] = field(default_factory=dict)
    _next_ping: float = math.inf

    @property
    def _ledger(self) -> Ledger:
        return self.office.ledger

    def watch(self, now: float) -> None:
        """Begin to ping: the league starts, or we do."""
        self._pulses.clear()
        self._next_ping = math.inf
        self._ping(now)

    def _pulse(self, referee_id: str, now: float) -> Pulse:
        return self._pulses.setdefault(referee_id, Pulse(now))

    def is_ours(self, referee_id: str) -> bool:
        """Does this referee list its matches, as only ours do?"""
        return self.courier.line(referee_id).is_ours

    def _silent_from(self, referee_id: str, now: float) -> float:
        """From when on it counts as dead."""
        patience = OURS_SILENT_S if self.is_ours(referee_id) else OTHERS_SILENT_S
        return self._pulse(referee_id, now).heard_at + patience

    # --- pings --------------------------------------------------------------------------------------------------------

    def _ping(self, now: float) -> None:
        if not self._ledger.is_running:
            return
        if now > self._next_ping + SLEPT_S:
            self.slept(now)
        self._next_ping = now + PING_S
        self.office.timers.set("ping", self._next_ping, self._ping)
        due = [one for one in self._ledger.roster.of_role("referee") if self._is_due(one, now)]
        self._send(due, now)

    def ask(self, referee: Member, now: float) -> None:
        """Somebody new: whether it is one of ours decides how it is given matches."""
        if self._ledger.is_running:
            self._send([referee], now)

    def slept(self, now: float) -> None:
        """It was us who did not listen: everybody's silence begins anew."""
        for pulse in self._pulses.values():
            pulse.heard_at = now

    def _is_due(self, referee: Member, now: float) -> bool:
        """The breaker spares an agent that does not answer, but not past the moment that decides over it."""
        if self._pulse(referee.agent_id, now).is_pinged or not referee.takes_part:
            return False
        decisive = referee.state == "ACTIVE" and now >= self._silent_from(referee.agent_id, now)
        return decisive or not self.courier.is_closed(referee.agent_id, now)

    def _send(self, referees: Sequence[Member], now: float) -> None:
        message, policy = Ping(), Policy(PING_LIMIT_S)
        errands = [Errand(one.agent_id, "ping", message, policy, self._ended, self._stumbled) for one in referees]
        for errand in errands:
            self._pulse(errand.agent_id, now).is_pinged = True
        self.courier.go(errands, now)

    def _ended(self, errand: Errand, ending: Ending, now: float) -> None:
        self._pulse(errand.agent_id, now).is_pinged = False
        if ending is Ending.FAILED or not self._ledger.is_running:
            return
        referee = self.office.member(errand.agent_id)
        pong = errand.answer if isinstance(errand.answer, Pong) else Pong()
        self.assignments.listed(referee, pong, errand.sent_at, now)

    def _stumbled(self, errand: Errand, failure: Failure, now: float) -> None:
        referee = self.office.member(errand.agent_id)
        silent_from = self._silent_from(referee.agent_id, now)
        if self._ledger.is_running and referee.state == "ACTIVE" and now >= silent_from:
            self.office.change(referee, "max_fail", now, "no answer and no message for too long")
            self.rescue(now)

    # --- life and death -----------------------------------------------------------------------------------------------

    def heard(self, referee: Member, now: float) -> None:
        """Any message or answer of a referee: it is alive."""
        self._pulse(referee.agent_id, now).heard_at = now
        if self._ledger.is_running and referee.state == "SUSPENDED":
            self.office.change(referee, "recover", now)
            self.rescue(now)

    def rescue(self, now: float) -> None:
        """Matches of dead referees go to live ones. While there is none they stay: their referee may come back and
        report, and nobody else could play them."""
        if self._ledger.paused or next(self.assignments.available(), None) is None:
            return
        for referee in self._ledger.roster.of_role("referee"):
            if referee.state == "SUSPENDED":
                for match_id in list(self._ledger.holdings[referee.agent_id]):
                    self._lose(self._ledger.matches[match_id], f"{referee.agent_id} is silent", now)

    def overdue(self, match: Match, why: str, now: float) -> None:
        """A lease ran out, or the referee forgot the match; nothing is taken away while nobody could play it."""
        if self._ledger.is_running and not self._ledger.paused and next(self.assignments.available(), None) is not None:
            self._lose(match, why, now)

    def _lose(self, match: Match, why: str, now: float) -> None:
        self.assignments.forget(match.match_id)
        self.assignments.handovers.lost(match.referee_id or "")
        self.office.happened(MatchLost(at=now, match_id=match.match_id, attempt=match.attempt, why=why))
        if match.tries >= ATTEMPTS:
            self.office.happened(MatchParked(at=now, match_id=match.match_id))
