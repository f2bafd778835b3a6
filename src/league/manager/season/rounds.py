"""The course of a league: its start, its rounds one after another, its end (spec sections 7.4, 8.8, 8.9, 8.13).

`advance` ends every step and does everything that has become possible, from any state that a restart may find. It looks
at the ledger alone, so nothing is lost if the process ends between two events.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from league.events import (
    AssignmentsSent,
    LeagueFinished,
    LeagueReopened,
    LeagueStateChanged,
    RoundFinished,
    RoundOpened,
    ScheduleMade,
    WalkoverDecided,
)
from league.manager.fairness.proofs import Proofs
from league.manager.fairness.round_statements import signed_round
from league.manager.manager_context import ManagerPart
from league.manager.members.probes import Probes
from league.manager.season.schedule import extra_rounds, round_robin
from league.manager.season.standings import number_of
from league.manager.staffing.assignments import Assignments
from league.manager.staffing.leases import Leases
from league.manager.state.ledger import ScheduledMatch, ScheduledRound
from league.manager.state.roster import Member
from league.manager.telling.broadcasts import NEXT_AFTER_S, Broadcasts

FEWEST_PLAYERS = 2
FEWEST_REFEREES = 1


@dataclass(slots=True)
class AnnouncementPhase:
    """A round is being announced. `is_new`: it was opened in this life of the process."""

    round_id: int
    since: float
    is_new: bool
    next_look_at: float = 0.0
    """When it is looked at again if nothing happens before."""


@dataclass(slots=True)
class Rounds(ManagerPart):
    """Decides what happens next."""

    broadcasts: Broadcasts
    probes: Probes
    assignments: Assignments
    leases: Leases
    proofs: Proofs
    on_reopened: Callable[[], None] = lambda: None
    _announcing: AnnouncementPhase | None = None

    def advance(self, now: float) -> None:
        """Do everything that is possible now."""
        ledger = self._ledger
        if ledger.state == "WAITING_FOR_REGISTRATIONS" and self._may_start(now):
            self.context.happened(LeagueStateChanged(at=now, state="CREATING_SCHEDULE"))
        if ledger.state == "CREATING_SCHEDULE":
            self._start(now)
        while ledger.state == "RUNNING_LEAGUE" and self._step(now):
            pass

    def take_up(self, now: float) -> None:
        """When the process starts, set the timer for the league's start, and do what a crash may have cut off."""
        start_at = self._ledger.settings.start_at
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS" and start_at is not None:
            # The timer does nothing itself: every step looks whether the league may start.
            self.context.timers.set("start", start_at, lambda _: None)
        for member in self._ledger.roster.members.values():
            # A crash may have come between the withdrawal and its walkovers, or between the last answer and SHUTDOWN.
            if member.attendance.withdrawn:
                self.withdraw(member, now)
            elif (
                member.told.bulletin.kind == "league_completed"
                and member.told.bulletin.edition == self._ledger.controls.reopened
            ):
                self.context.change(member, "league_end", now)
        if self._ledger.is_running:
            self.leases.begin_to_ping(now)
            self.assignments.dispatch_again(now)

    # --- the start ----------------------------------------------------------------------------------------------------

    def _may_start(self, now: float) -> bool:
        settings = self._ledger.settings
        players = self._ledger.roster.count("player")
        referees = self._ledger.roster.count("referee")
        if players < FEWEST_PLAYERS or referees < FEWEST_REFEREES:
            return False
        if self._ledger.controls.start_ordered:
            return True
        if settings.start_at is not None and now >= settings.start_at:
            return True
        return settings.start == "when-full" and players >= settings.players and referees >= settings.referees

    def _start(self, now: float) -> None:
        """Make the schedule and begin.

        A referee that could not be reached until now is SUSPENDED until it answers. Players are not: their first match
        has all its retries.
        """
        settings = self._ledger.settings
        if not self._ledger.rounds:
            schedule = round_robin(self._playing(), settings.double, settings.rounds)
            self.context.happened(ScheduleMade(at=now, rounds=schedule.rounds, byes=schedule.byes))
        for member in list(self._ledger.roster.members.values()):
            if not member.is_player and member.agent_id in self.probes.failures:
                self.context.change(member, "max_fail", now)
            else:
                self.context.change(member, "league_start", now)
        self.context.happened(LeagueStateChanged(at=now, state="RUNNING_LEAGUE"))
        self.probes.stop()
        self.leases.begin_to_ping(now)

    def _playing(self) -> list[str]:
        players = self._ledger.roster.of_role("player")
        playing = [player.agent_id for player in players if not player.attendance.withdrawn]
        return sorted(playing, key=number_of)

    # --- one thing after another --------------------------------------------------------------------------------------

    def _step(self, now: float) -> bool:
        """Do one thing that is possible now. Return False if there is none."""
        ledger = self._ledger
        current = None
        if ledger.current_round > ledger.finished_rounds:
            current = ledger.rounds[ledger.current_round - 1]
        # A round may end while the league is paused: nothing new begins by that.
        if current is not None and not current.undecided and current.assignments_sent:
            if self.proofs.is_waiting(ledger.matches_in(ledger.current_round)):
                return False
            # First the extra rounds, or ROUND_COMPLETED would say that there is no next round.
            self._make_extra_rounds(now)
            # What is said and signed about the round says what its results rest on.
            self.proofs.judge(ledger.matches_in(ledger.current_round), now)
            self.context.happened(
                RoundFinished(at=now, round_id=ledger.current_round, **self._signed(ledger.current_round))
            )
            return True
        if ledger.controls.paused:
            return False
        self.assignments.catch_up(now)
        if current is None:
            return self._go_on(now)
        if ledger.in_play.waiting:
            self.assignments.assign_waiting(now)
        return not current.assignments_sent and self._dispatch(current, now)

    def _go_on(self, now: float) -> bool:
        """Between two rounds, or after the last one."""
        ledger = self._ledger
        if self._is_replaying():
            self.assignments.assign_voided(now)
            self.assignments.assign_waiting(now)
            return False
        if ledger.finished_rounds < len(ledger.rounds):
            return self._open(ledger.finished_rounds + 1, now)
        if not self._make_extra_rounds(now):
            self._finish_league(now)
        return True

    def _make_extra_rounds(self, now: float) -> bool:
        """With the last round over, schedule the matches of players that came late.

        Rounds that were announced are never changed for them. Return False if there is nothing to do.
        """
        ledger = self._ledger
        if not ledger.roster.late or ledger.current_round < len(ledger.rounds):
            return False
        settings = ledger.settings
        schedule = extra_rounds(
            self._playing(),
            ledger.roster.late,
            len(ledger.rounds),
            settings.double,
            settings.rounds,
        )
        self.context.happened(ScheduleMade(at=now, rounds=schedule.rounds, byes=schedule.byes))
        return True

    def _is_replaying(self) -> bool:
        """True while matches are played again. The next round waits for them."""
        # Between two rounds no other matches are in play.
        in_play = self._ledger.in_play
        if in_play.voided or in_play.waiting or in_play.parked:
            return True
        return any(in_play.holdings.values())

    def _open(self, round_id: int, now: float) -> bool:
        if not self.assignments.is_possible and self._ledger.rounds[round_id - 1].undecided:
            return False
        # By what is known of players and referees now: the names were given when the league knew less.
        self.assignments.share_out([round_id], now)
        self.context.happened(RoundOpened(at=now, round_id=round_id))
        self.assignments.assign_waiting(now)
        self._announcing = AnnouncementPhase(round_id, now, is_new=True)
        return True

    def _finish_league(self, now: float) -> None:
        if self._ledger.champion is None:
            ranking = self._ledger.standings.ranking(self._ledger.settings.tiebreakers)
            champion = ranking[0]
            unstated = self._ledger.unstated
            signed = self._signed(len(self._ledger.rounds)) if unstated.matches or unstated.orders else {}
            self.context.happened(LeagueFinished(at=now, champion=champion, **signed))
        self.context.happened(LeagueStateChanged(at=now, state="LEAGUE_COMPLETED"))
        self.context.timers.clear("ping")

    def _signed(self, round_id: int) -> dict[str, Any]:
        """Return what we sign now, as events have it (Any: spread into one)."""
        assert self.context.signing_key is not None, "a manager that is awake has a key"
        return signed_round(self._ledger, self.context.signing_key, round_id)

    def reopen(self, now: float) -> None:
        """Reopen the league for a match that is played again. LEAGUE_COMPLETED will be sent again."""
        self.context.happened(LeagueReopened(at=now))
        self.on_reopened()
        self.leases.begin_to_ping(now)

    # --- the announcement ---------------------------------------------------------------------------------------------

    def _dispatch(self, current: ScheduledRound, now: float) -> bool:
        """Give referees their matches when the players were told of the round."""
        round_id = self._ledger.current_round
        phase = self._announcing
        if phase is None or phase.round_id != round_id:
            phase = _phase_after_restart(round_id, current, now)
            self._announcing = phase
        is_heard = self.broadcasts.have_heard_of(round_id, now)
        if not is_heard and now < phase.next_look_at and current.undecided:
            return False
        begin_at = self._begin_at(current, phase, is_heard, now)
        if now < begin_at:
            if begin_at != phase.next_look_at:
                phase.next_look_at = begin_at
                self.context.timers.set("announced", begin_at, lambda _: None)
            return False
        if not self._ledger.has_referees(round_id):
            return False
        self.context.happened(AssignmentsSent(at=now, round_id=round_id))
        # In an earlier life of this process they may have left already.
        self.assignments.dispatch_round(round_id, now, is_repeated=not phase.is_new)
        return True

    def _begin_at(
        self,
        current: ScheduledRound,
        phase: AnnouncementPhase,
        is_heard: bool,
        now: float,
    ) -> float:
        """Return when everybody was told and the lead is over, as far as can be said now.

        It can only become later, unless everybody has heard of the round or no match is left to be played.
        """
        settings = self._ledger.settings
        # Before the announcement a player may have three other messages to answer.
        heard_at = now
        if not is_heard:
            heard_at = phase.since + 3 * NEXT_AFTER_S + settings.announcement_wait_s
        lead_s = 0.0
        if current.undecided:
            lead_s = settings.announcement_lead_s
        since = phase.since
        if phase.is_new:
            since = max(since, self.broadcasts.announced_at)
        return max(heard_at, since + lead_s)

    # --- withdrawals --------------------------------------------------------------------------------------------------

    def withdraw(self, player: Member, now: float) -> None:
        """Send a player nothing more, and decide every match it has not finished (R-48)."""
        self.context.change(player, "league_end", now, "withdrawn by the operator")
        for match_id in self._ledger.matches_of[player.agent_id]:
            match = self._ledger.matches[match_id]
            if match.result is None:
                self._decide(match, now)

    def _decide(self, match: ScheduledMatch, now: float) -> None:
        staying = [player for player in match.players if not self.context.member(player).attendance.withdrawn]
        withdrawn = tuple(player for player in match.players if player not in staying)
        winner = staying[0] if staying else None
        points: dict[str, int] = {}
        scoring = self.game.scoring
        if scoring.by_margin:
            seat = match.players.index(winner) if winner else None
            points = dict(zip(match.players, scoring.points(seat, technical=True), strict=True))
        self.context.happened(
            WalkoverDecided(
                at=now,
                match_id=match.match_id,
                winner=winner,
                withdrawn=withdrawn,
                points=points,
                by_margin=scoring.by_margin,
            )
        )


def _phase_after_restart(round_id: int, current: ScheduledRound, now: float) -> AnnouncementPhase:
    """The clock may have been set back between two lives of this process."""
    since = now if current.opened_at is None else min(current.opened_at, now)
    return AnnouncementPhase(round_id, since, is_new=False)
