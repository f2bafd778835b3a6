"""The course of a league: its start, its rounds one after another, its end (spec sections 7.4, 8.8, 8.9, 8.13).

`advance` ends every step and does whatever has become possible, from any state a restart may find.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from league.calling.delivery import Delivery, Policy
from league.events import (
    AssignmentsSent,
    LeagueFinished,
    LeagueStateChanged,
    RoundFinished,
    RoundOpened,
    ScheduleMade,
    WalkoverDecided,
)
from league.manager.assignments import Assignments
from league.manager.context import ManagerPart
from league.manager.heartbeats import Heartbeats, Probes
from league.manager.ledger import Round, ScheduledMatch
from league.manager.messages import Messages
from league.manager.roster import Member
from league.manager.schedule import round_robin
from league.manager.standings import number_of
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import RoundAnnouncement

FEWEST_PLAYERS, FEWEST_REFEREES = 2, 1


@dataclass(slots=True)
class AnnouncementPhase:
    """A round is being announced: whose first call has not ended, and when referees get their copies."""

    not_before: float
    at_latest: float
    awaited: set[str] = field(default_factory=set)
    deliveries: list[Delivery] = field(default_factory=list)

    def is_over(self, now: float) -> bool:
        return now >= self.not_before and (not self.awaited or now >= self.at_latest)


@dataclass(slots=True)
class Rounds(ManagerPart):
    """Decides what happens next."""

    messages: Messages
    probes: Probes
    assignments: Assignments
    heartbeats: Heartbeats
    _announcing: AnnouncementPhase | None = None

    def advance(self, now: float) -> None:
        """Do all that is possible now."""
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS" and self._may_start(now):
            self.context.happened(LeagueStateChanged(at=now, state="CREATING_SCHEDULE"))
        if self._ledger.state == "CREATING_SCHEDULE":
            self._start(now)
        while self._ledger.is_running and self._step(now):
            pass

    def take_up(self, now: float) -> None:
        """At the start of the process: the hour of the league's start, what a crash may have cut off, and the
        announcement of the round being played."""
        start_at = self._ledger.settings.start_at
        if self._ledger.state == "WAITING_FOR_REGISTRATIONS" and start_at is not None:
            self.context.timers.set("start", start_at, lambda _: None)  # the step it ends does the rest
        for member in self._ledger.roster.members.values():
            if member.withdrawn:
                self.withdraw(member, now)
            elif member.delivered.kind == "league_completed":
                self.context.change(member, "league_end", now)
        current = self._ledger.open_round
        if self._ledger.is_running:
            self.heartbeats.begin(now)
            self.assignments.dispatch_again(now)
            if current is not None and current.undecided and self._is_assigned(current):
                self._announce(self._ledger.current_round, now)

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
        """Whoever could not be reached until now is SUSPENDED from the first round on (R-35)."""
        settings = self._ledger.settings
        if not self._ledger.rounds:
            playing = [one.agent_id for one in self._ledger.roster.of_role("player") if not one.withdrawn]
            made = round_robin(sorted(playing, key=number_of), settings.double, settings.rounds)
            self.context.happened(ScheduleMade(at=now, rounds=made.rounds, byes=made.byes))
        for member in list(self._ledger.roster.members.values()):
            if self.probes.is_unreachable(member.agent_id):
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
        current = ledger.open_round
        if current is not None and not current.undecided:
            self._finish(now)
            return True
        if ledger.controls.paused:
            return False
        self.assignments.dispatch_next(now)
        if current is not None:
            self.assignments.assign_waiting(now)
            return self._dispatch(current, now)
        if self._is_played_again():
            self.assignments.assign_voided(now)
            self.assignments.assign_waiting(now)
            return False
        if ledger.finished_rounds < len(ledger.rounds):
            return self._open(ledger.finished_rounds + 1, now)
        self._finish_league(now)
        return True

    def _is_played_again(self) -> bool:
        """Between rounds only voided matches are in play, and the next round waits for them."""
        matches = self._ledger.in_play
        return bool(matches.voided or matches.waiting or matches.parked or any(matches.holdings.values()))

    def _open(self, round_id: int, now: float) -> bool:
        if not self.assignments.is_possible and self._ledger.rounds[round_id - 1].undecided:
            return False
        self.context.happened(RoundOpened(at=now, round_id=round_id))
        self.assignments.assign_waiting(now)
        self._announce(round_id, now)
        return True

    def _finish(self, now: float) -> None:
        self._stop_announcing()
        self.context.happened(RoundFinished(at=now, round_id=self._ledger.current_round))

    def _finish_league(self, now: float) -> None:
        if self._ledger.champion is None:
            champion = self._ledger.standings.ranking(self._ledger.settings.tiebreakers)[0]
            self.context.happened(LeagueFinished(at=now, champion=champion))
        self.context.happened(LeagueStateChanged(at=now, state="LEAGUE_COMPLETED"))
        self.context.timers.clear("ping")

    # --- the announcement ---------------------------------------------------------------------------------------------

    def _announce(self, round_id: int, now: float) -> None:
        """To all players at once, beside their queues; the referees get their copies when it is over."""
        settings, opened_at = self._ledger.settings, self._ledger.rounds[round_id - 1].opened_at
        # The clock may have been set back between two lives of this process.
        since = now if opened_at is None else min(opened_at, now)
        self._stop_announcing()
        phase = AnnouncementPhase(since + settings.announcement_lead_s, since + settings.announcement_wait_s)
        self._announcing = phase
        message = self.messages.announcement(round_id, now)
        if message is not None:
            players = self._ledger.roster.of_role("player")
            reachable = [one for one in players if one.takes_part and self.context.is_reachable(one, now)]
            phase.deliveries += [self._delivery(one, message) for one in reachable]
            phase.awaited |= {one.agent_id for one in reachable if self._is_awaited(one)}
            self.context.calls.deliver(phase.deliveries, now)
        for moment in (phase.not_before, phase.at_latest):
            if moment > now:
                self.context.timers.set(("announced", moment), moment, lambda _: None)

    def _is_assigned(self, current: Round) -> bool:
        """Has every match a referee to be announced with? Not if a crash came between."""
        matches = (self._ledger.matches[match_id] for match_id in current.matches)
        return all(match.referee_id is not None or match.result is not None for match in matches)

    def _is_awaited(self, player: Member) -> bool:
        """Referees get their copies when those who are likely to answer have answered."""
        return player.state == "ACTIVE" and self.context.calls.breaker(player.agent_id).failures == 0

    def _delivery(self, player: Member, message: RoundAnnouncement) -> Delivery:
        return Delivery(
            player.agent_id,
            f"R{message.round_id}/announce",
            message,
            Policy(EXCHANGES[message.type].limit_s, self.context.retries(), is_guarded=True),
            address=partial(self.context.address, player),
            on_end=self._call_ended,
            on_attempt_failed=self._call_ended,
        )

    def _call_ended(self, delivery: Delivery, *_: object) -> None:
        if self._announcing is not None:
            self._announcing.awaited.discard(delivery.peer)

    def _stop_announcing(self) -> None:
        if self._announcing is not None:
            for delivery in self._announcing.deliveries:
                self.context.calls.drop(delivery)
        self._announcing = None

    def _dispatch(self, current: Round, now: float) -> bool:
        if current.assignments_sent:
            return False
        if self._announcing is None and self._is_assigned(current):
            self._announce(self._ledger.current_round, now)
        if self._announcing is None or not self._announcing.is_over(now):
            return False
        self.context.happened(AssignmentsSent(at=now, round_id=self._ledger.current_round))
        self.assignments.dispatch_round(self._ledger.current_round, now)
        return True

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
