"""The course of a league: its start, its rounds one after another, its end (spec sections 7.4, 8.8, 8.9, 8.13).

`advance` ends every step and does whatever has become possible, from any state a restart may find.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
from league.manager.assignments import Assignments
from league.manager.broadcasts import NEXT_AFTER_S, Broadcasts
from league.manager.context import ManagerPart
from league.manager.heartbeats import Heartbeats, Probes
from league.manager.ledger import ScheduledMatch, ScheduledRound
from league.manager.outages import Outages
from league.manager.roster import Member
from league.manager.schedule import extra_rounds, round_robin
from league.manager.standings import number_of

FEWEST_PLAYERS, FEWEST_REFEREES = 2, 1


@dataclass(slots=True)
class AnnouncementPhase:
    """A round is being announced. `is_new`: it was opened in this life of the process."""

    round_id: int
    since: float
    is_new: bool
    looked_at: float = 0.0
    """When it is looked at again, if nothing happens before."""


@dataclass(slots=True)
class Rounds(ManagerPart):
    """Decides what happens next."""

    broadcasts: Broadcasts
    probes: Probes
    assignments: Assignments
    heartbeats: Heartbeats
    outages: Outages
    on_reopened: Callable[[], None] = lambda: None
    _announcing: AnnouncementPhase | None = None

    def advance(self, now: float) -> None:
        """Do all that is possible now."""
        ledger = self._ledger
        if ledger.state == "WAITING_FOR_REGISTRATIONS" and self._may_start(now):
            self.context.happened(LeagueStateChanged(at=now, state="CREATING_SCHEDULE"))
        if ledger.state == "CREATING_SCHEDULE":
            self._start(now)
        while ledger.state == "RUNNING_LEAGUE" and not self.outages.is_holding and self._step(now):
            pass

    def take_up(self, now: float) -> None:
        """At the start of the process: the hour of the league's start, and what a crash may have cut off."""
        start_at = self._ledger.settings.start_at
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS" and start_at is not None:
            self.context.timers.set("start", start_at, lambda _: None)  # the step it ends does the rest
        for member in self._ledger.roster.members.values():
            if member.withdrawn:
                self.withdraw(member, now)
            elif member.delivered.kind == "league_completed" and member.delivered.edition == self._ledger.edition:
                self.context.change(member, "league_end", now)
        if self._ledger.is_running:
            self.heartbeats.begin(now)
            self.outages.take_up(self.assignments.dispatch_again, now)

    # --- the start ----------------------------------------------------------------------------------------------------

    def _may_start(self, now: float) -> bool:
        settings, roster = self._ledger.settings, self._ledger.roster
        players, referees = roster.count("player"), roster.count("referee")
        if players < FEWEST_PLAYERS or referees < FEWEST_REFEREES:
            return False
        full = settings.start == "when-full" and players >= settings.players and referees >= settings.referees
        due = settings.start_at is not None and now >= settings.start_at
        return full or due or self._ledger.controls.start_ordered

    def _start(self, now: float) -> None:
        """A referee that could not be reached until now is SUSPENDED until it answers. No player is: its first match
        has all its retries."""
        settings = self._ledger.settings
        if not self._ledger.rounds:
            playing = [one.agent_id for one in self._ledger.roster.of_role("player") if not one.withdrawn]
            made = round_robin(sorted(playing, key=number_of), settings.double, settings.rounds)
            self.context.happened(ScheduleMade(at=now, rounds=made.rounds, byes=made.byes))
        for member in list(self._ledger.roster.members.values()):
            if not member.is_player and self.probes.is_unreachable(member.agent_id):
                self.context.change(member, "max_fail", now)
            else:
                self.context.change(member, "league_start", now)
        self.context.happened(LeagueStateChanged(at=now, state="RUNNING_LEAGUE"))
        self.probes.stop()
        self.heartbeats.begin(now)

    # --- one thing after another --------------------------------------------------------------------------------------

    def _step(self, now: float) -> bool:
        """One thing that is possible now; False if there is none."""
        ledger = self._ledger
        current = ledger.rounds[ledger.current_round - 1] if ledger.current_round > ledger.finished_rounds else None
        if current is not None and not current.undecided and current.assignments_sent:
            self._make_extra_rounds(now)
            self.context.happened(RoundFinished(at=now, round_id=ledger.current_round))
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
        """Between two rounds, or after the last."""
        ledger = self._ledger
        if self._is_played_again():
            self.assignments.assign_voided(now)
            self.assignments.assign_waiting(now)
            return False
        if ledger.finished_rounds < len(ledger.rounds):
            return self._open(ledger.finished_rounds + 1, now)
        if not self._make_extra_rounds(now):
            self._finish_league(now)
        return True

    def _make_extra_rounds(self, now: float) -> bool:
        """With the last round over, players that came late get their matches; False if there is nothing to do. Rounds
        that were announced are never changed for them."""
        ledger, settings = self._ledger, self._ledger.settings
        if not ledger.late or ledger.current_round < len(ledger.rounds):
            return False
        playing = sorted((one.agent_id for one in ledger.roster.of_role("player") if not one.withdrawn), key=number_of)
        made = extra_rounds(playing, ledger.late, len(ledger.rounds), settings.double, settings.rounds)
        self.context.happened(ScheduleMade(at=now, rounds=made.rounds, byes=made.byes))
        return True

    def _is_played_again(self) -> bool:
        """Between rounds only voided matches are in play, and the next round waits for them."""
        matches = self._ledger.in_play
        return bool(matches.voided or matches.waiting or matches.parked or any(matches.holdings.values()))

    def _open(self, round_id: int, now: float) -> bool:
        if not self.assignments.is_possible and self._ledger.rounds[round_id - 1].undecided:
            return False
        self.assignments.share_out([round_id], now)
        self.context.happened(RoundOpened(at=now, round_id=round_id))
        self.assignments.assign_waiting(now)
        self._announcing = AnnouncementPhase(round_id, now, is_new=True)
        return True

    def _finish_league(self, now: float) -> None:
        if self._ledger.champion is None:
            champion = self._ledger.standings.ranking(self._ledger.settings.tiebreakers)[0]
            self.context.happened(LeagueFinished(at=now, champion=champion))
        self.context.happened(LeagueStateChanged(at=now, state="LEAGUE_COMPLETED"))
        self.context.timers.clear("ping")

    def reopen(self, now: float) -> None:
        """After the end a match is played again; LEAGUE_COMPLETED will be sent again."""
        self.context.happened(LeagueReopened(at=now))
        self.on_reopened()
        self.heartbeats.begin(now)

    # --- the announcement ---------------------------------------------------------------------------------------------

    def _dispatch(self, current: ScheduledRound, now: float) -> bool:
        """Referees get their copies when the players were told of the round."""
        round_id, phase = self._ledger.current_round, self._announcing
        if phase is None or phase.round_id != round_id:
            phase = self._announcing = _taken_up(round_id, current, now)
        is_told = self.broadcasts.have_heard_of(round_id, now)
        if not is_told and now < phase.looked_at and current.undecided:
            return False
        told_at = self._told_at(current, phase, is_told, now)
        if now < told_at:
            if told_at != phase.looked_at:
                phase.looked_at = told_at
                self.context.timers.set("announced", told_at, lambda _: None)
            return False
        if not self._ledger.has_referees(round_id):
            return False
        self.context.happened(AssignmentsSent(at=now, round_id=round_id))
        # In an earlier life of this process they may have left already.
        self.assignments.dispatch_round(round_id, now, again=not phase.is_new)
        return True

    def _told_at(self, current: ScheduledRound, phase: AnnouncementPhase, is_told: bool, now: float) -> float:
        """When everybody was told and the lead is over, as far as can be said now: it can only become later, unless
        everybody is told or no match is left to be played. Before the announcement a player may have three other
        messages to answer."""
        settings = self._ledger.settings
        told_at = now if is_told else phase.since + 3 * NEXT_AFTER_S + settings.announcement_wait_s
        lead_s = settings.announcement_lead_s if current.undecided else 0.0
        since = max(phase.since, self.broadcasts.announced_at) if phase.is_new else phase.since
        return max(told_at, since + lead_s)

    # --- withdrawals --------------------------------------------------------------------------------------------------

    def withdraw(self, player: Member, now: float) -> None:
        """It is sent nothing more, and every match it has not finished is decided at once (R-48)."""
        self.context.change(player, "league_end", now, "withdrawn by the operator")
        for match_id in self._ledger.matches_of[player.agent_id]:
            match = self._ledger.matches[match_id]
            if match.result is None:
                self._decide(match, now)

    def _decide(self, match: ScheduledMatch, now: float) -> None:
        staying = [player for player in match.players if not self.context.member(player).withdrawn]
        withdrawn = tuple(player for player in match.players if player not in staying)
        self.assignments.forget(match.match_id)
        self.context.happened(
            WalkoverDecided(
                at=now, match_id=match.match_id, winner=staying[0] if staying else None, withdrawn=withdrawn
            )
        )


def _taken_up(round_id: int, current: ScheduledRound, now: float) -> AnnouncementPhase:
    """After a restart. The clock may have been set back between two lives of this process."""
    since = now if current.opened_at is None else min(current.opened_at, now)
    return AnnouncementPhase(round_id, since, is_new=False)
