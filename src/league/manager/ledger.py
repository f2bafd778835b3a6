"""All that has become true in a league. `apply` is the only thing that changes it, live and in replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from league import events
from league.events import Event, LeagueSettings, LeagueState
from league.manager.excuses import excusable
from league.manager.matches import MatchesInPlay, ResultInForce, decided, told
from league.manager.matches import ScheduledMatch as ScheduledMatch
from league.manager.matches import ScheduledRound as ScheduledRound
from league.manager.roster import Roster
from league.manager.standings import StandingsTable
from league.protocol.conventions import convention_of
from league.protocol.errors import ERRORS, REFUSED_BY_STRICT

LEAST_HOLD_S = 60.0
DEVIATIONS, LONGEST_CLAUSE = 100, 120
"""So many deviations of a player are taken from the records of referees, each under a clause of this length."""


class OperatorControls(Struct):
    """What the operator ordered."""

    paused: bool = False
    start_ordered: bool = False
    closed: bool = False
    """Nothing is played again any more."""
    orders: dict[str, str] = {}
    """The keys of orders that were carried out, and what they were."""


class Ledger(Struct):
    """The state of a league."""

    settings: LeagueSettings
    created: bool = False
    state: LeagueState = "WAITING_FOR_REGISTRATIONS"
    controls: OperatorControls = field(default_factory=OperatorControls)
    roster: Roster = field(default_factory=Roster)
    rounds: list[ScheduledRound] = []
    matches: dict[str, ScheduledMatch] = {}
    matches_of: dict[str, list[str]] = {}
    late: list[str] = []
    """Players that came after the start and have no place in the schedule yet."""
    current_round: int = 0
    finished_rounds: int = 0
    undecided: int = 0
    in_play: MatchesInPlay = field(default_factory=MatchesInPlay)
    standings: StandingsTable = field(default_factory=StandingsTable)
    champion: str | None = None
    edition: int = 0
    """How often the league was reopened after its end."""
    outage: events.OutageBegan | None = None
    """While the league waits for players that are gone."""
    deviations: set[tuple[str, str, str]] = set()
    refusals: list[events.RequestRefused] = []
    """Registrations and reports that were refused."""

    def apply(self, event: Event) -> None:
        """Make one event true."""
        APPLY[type(event)](self, event)

    # --- questions ----------------------------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        return self.state == "RUNNING_LEAGUE"

    @property
    def is_finished(self) -> bool:
        return self.state == "LEAGUE_COMPLETED"

    @property
    def is_held(self) -> bool:
        """Paused by the operator, or waiting for players that are gone."""
        return self.controls.paused or self.outage is not None

    @property
    def latest_round(self) -> ScheduledRound | None:
        """The round that was opened last: what is played between rounds belongs to it too."""
        return self.rounds[self.current_round - 1] if self.current_round else None

    def bulletin_after(self, last: events.Bulletin) -> events.Bulletin | None:
        """The next in the order in which members get them; None as long as there is none."""
        if last.kind == "final_standings":
            return events.Bulletin("round_completed", last.round_id)
        if last.kind == "round_announced" and last.round_id <= self.finished_rounds:
            return events.Bulletin("final_standings", last.round_id)
        if last.kind == "round_completed" and last.round_id < self.current_round:
            return events.Bulletin("round_announced", last.round_id + 1)
        is_new = last.kind == "round_completed" or (last.kind == "league_completed" and last.edition < self.edition)
        return events.Bulletin("league_completed", last.round_id, self.edition) if self.is_finished and is_new else None

    def has_referees(self, round_id: int) -> bool:
        """Is it known for every match of this round who plays it? Not if there was no referee yet."""
        return not [one for one in self.matches_in(round_id) if one.referee_id is None and one.result is None]

    def round_of(self, match: ScheduledMatch) -> ScheduledRound:
        return self.rounds[match.round_id - 1]

    def held_by(self, referee_id: str) -> list[ScheduledMatch]:
        """The matches a referee holds, in the order it got them."""
        return [self.matches[match_id] for match_id in self.in_play.holdings[referee_id]]

    def matches_in(self, round_id: int) -> list[ScheduledMatch]:
        return list(map(self.matches.__getitem__, self.rounds[round_id - 1].matches))

    # --- agents -------------------------------------------------------------------------------------------------------

    def _created(self, event: events.LeagueCreated) -> None:
        self.settings = event.settings
        self.created = True

    def _registered(self, event: events.AgentRegistered) -> None:
        self.roster.enter(event, events.Bulletin("round_completed", self.finished_rounds))
        if event.role == "player":
            self.standings.enter(event.agent_id)
            self.matches_of[event.agent_id] = []
            if self.rounds:
                self.late.append(event.agent_id)
                self.standings.version += 1
        else:
            self.in_play.holdings[event.agent_id] = {}

    def _refused(self, event: events.RequestRefused) -> None:
        self.refusals.append(event)

    def _applied(self, event: events.AgentApplied) -> None:
        self.roster.applicants.enter(event)

    def _conditions_stated(self, event: events.ConditionsStated) -> None:
        self.roster.members[event.agent_id].state_conditions(event.conditions)

    def _moved(self, event: events.AgentMoved) -> None:
        self.roster.move(event)

    def _token_renewed(self, event: events.TokenRenewed) -> None:
        self.roster.renew(event)
        self._came_back(event.agent_id)

    def _came_back(self, agent_id: str) -> None:
        """A referee is back: the attempts of the matches it holds are counted anew."""
        for match in self.held_by(agent_id) if agent_id in self.in_play.holdings else ():
            match.tries = 0

    def _token_taken_up(self, event: events.TokenTakenUp) -> None:
        self.roster.members[event.agent_id].serial = event.serial

    def _contested(self, event: events.IdentityContested) -> None:
        self.roster.members[event.agent_id].contested[event.sign] = event.detail

    def _agent_state(self, event: events.AgentStateChanged) -> None:
        member = self.roster.members[event.agent_id]
        if member.state == "SUSPENDED" and event.state == "ACTIVE":
            member.faults_in_a_row = 0
            self._came_back(event.agent_id)
        if event.state == "SUSPENDED":
            member.suspended_at = event.at
        member.state = event.state
        self.roster.changes += 1

    def _convention_learned(self, event: events.ConventionLearned) -> None:
        self.roster.members[event.agent_id].convention = event.convention

    def _dispatch_learned(self, event: events.DispatchLearned) -> None:
        self.roster.members[event.agent_id].dispatch_method = event.method

    def _deviation(self, event: events.DeviationRecorded) -> None:
        self.deviations.add((event.agent_id, event.code, event.requirement))

    def _delivered(self, event: events.BulletinsDelivered) -> None:
        for agent_id, bulletin in event.bulletins.items():
            self.roster.members[agent_id].delivered = bulletin

    # --- rounds and matches -------------------------------------------------------------------------------------------

    def _scheduled(self, event: events.ScheduleMade) -> None:
        self.late.clear()
        first = len(self.rounds) + 1
        for round_id, (pairings, bye) in enumerate(zip(event.rounds, event.byes, strict=True), first):
            self.rounds.append(ScheduledRound([one.match_id for one in pairings], bye, len(pairings)))
            self.undecided += len(pairings)
            for one in pairings:
                self.matches[one.match_id] = ScheduledMatch(one.match_id, round_id, one.player_a, one.player_b)
                self.matches_of[one.player_a].append(one.match_id)
                self.matches_of[one.player_b].append(one.match_id)

    def _referees_named(self, event: events.RefereesNamed) -> None:
        for match_id, referee_id in event.referees.items():
            self.matches[match_id].referee_id = referee_id

    def _league_state(self, event: events.LeagueStateChanged) -> None:
        self.state = event.state

    def _round_opened(self, event: events.RoundOpened) -> None:
        self.current_round = event.round_id
        opened = self.rounds[event.round_id - 1]
        opened.opened_at = event.at
        opened.active = [one.agent_id for one in self.roster.of_role("player") if one.state == "ACTIVE"]
        for match in self.matches_in(event.round_id):
            if match.status == "SCHEDULED":
                self.in_play.wait(match)

    def _assigned(self, event: events.MatchAssigned) -> None:
        match = self.matches[event.match_id]
        self.in_play.remove(match)
        match.status, match.referee_id, match.attempt = "ASSIGNED", event.referee_id, event.attempt
        match.tries += 1
        self.in_play.holdings[event.referee_id][event.match_id] = None

    def _assignments_sent(self, event: events.AssignmentsSent) -> None:
        self.rounds[event.round_id - 1].assignments_sent = True

    def _lost(self, event: events.MatchLost) -> None:
        match = self.matches[event.match_id]
        if match.referee_id is not None:
            # Whatever made it play before did not now: it is found out anew.
            self.roster.members[match.referee_id].dispatch_method = ""
        match.tries -= not event.counts and match.tries > 0
        self.in_play.wait(match)

    def _parked(self, event: events.MatchParked) -> None:
        match = self.matches[event.match_id]
        self.in_play.remove(match)
        match.status = "PARKED"
        self.in_play.parked[event.match_id] = None

    def _unparked(self, event: events.MatchUnparked) -> None:
        match = self.matches[event.match_id]
        match.tries = 0
        self.in_play.wait(match)
        if event.key:
            self.controls.orders[event.key] = f"replay-match {event.match_id}"

    def _round_finished(self, event: events.RoundFinished) -> None:
        current = self.rounds[event.round_id - 1]
        current.finished = True
        self.finished_rounds = self.standings.round_id = event.round_id

    # --- results ------------------------------------------------------------------------------------------------------

    def _result(self, event: events.ResultAccepted) -> None:
        self._decide(event)
        is_technical, players = event.status == "TECHNICAL_LOSS", self.matches[event.match_id].players
        for player in players:
            member, is_at_fault = self.roster.members[player], is_technical and player != event.winner
            member.faults_in_a_row = member.faults_in_a_row + 1 if is_at_fault else 0
            member.technical_losses += is_at_fault
            member.absent = member.absent and is_at_fault
            member.excused = member.excused and is_at_fault
        unreached = excusable(event, players) if is_technical else None
        if unreached is not None and self.latest_round is not None:
            self.latest_round.out_of_reach[event.match_id] = unreached
            self.latest_round.unchecked[event.match_id] = None

    def _record_kept(self, event: events.MatchRecordKept) -> None:
        """For those who explain and verify; the league itself goes by the report. What it takes from the record is how
        players are called, and their deviations."""
        players = self.matches[event.match_id].players
        for one in told(event):
            if one.event == "PlayerJoined" and one.player_id in players:
                member = self.roster.members[one.player_id]
                if member.convention != one.convention:
                    member.convention = convention_of(str(one.convention)).value
            elif one.event == "PlayerDeviated" and one.player_id in players:
                code = str(one.code)
                self._deviated(one.player_id, code, str(one.requirement))
                if code in REFUSED_BY_STRICT:
                    self.roster.members[one.player_id].told.add(code)

    def _deviated(self, player: str, code: str, requirement: str) -> None:
        """A record may say anything, and as much as it likes."""
        known = sum(agent_id == player for agent_id, _, _ in self.deviations)
        if code in ERRORS and len(requirement) <= LONGEST_CLAUSE and known < DEVIATIONS:
            self.deviations.add((player, code, requirement))

    def _decide(self, event: ResultInForce) -> None:
        match = self.matches[event.match_id]
        self.in_play.remove(match)
        match.status, match.result = "COMPLETED", event
        self.rounds[match.round_id - 1].undecided -= 1
        self.undecided -= 1
        self.standings.add(decided(match, event))
        self._version_grows(match)

    def _version_grows(self, match: ScheduledMatch) -> None:
        self.standings.version += 1
        # Walkovers are decided long before their rounds; a table is never of a round that was not opened.
        self.standings.round_id = min(match.round_id, max(self.current_round, 1))

    def _voided(self, event: events.ResultVoided) -> None:
        match = self.matches[event.match_id]
        assert match.result is not None
        self.standings.add(decided(match, match.result), times=-1)
        if isinstance(match.result, events.ResultAccepted) and match.result.status == "TECHNICAL_LOSS":
            for player in match.players:
                member, was_at_fault = self.roster.members[player], player != match.result.winner
                member.technical_losses -= was_at_fault
                if event.why:
                    member.faults_in_a_row = max(member.faults_in_a_row - was_at_fault, 0)
        match.result = None
        match.tries = 0
        match.held += bool(event.why)
        for one in self.rounds:
            self._excuse(one.out_of_reach.pop(event.match_id, ()))
            one.unchecked.pop(event.match_id, None)
        self.round_of(match).undecided += 1
        self.undecided += 1
        self._version_grows(match)
        if event.key:
            self.controls.orders[event.key] = f"replay-match {event.match_id}"
        if self.round_of(match).finished:
            match.status = "VOIDED"
            self.in_play.voided[event.match_id] = None
        else:
            self.in_play.wait(match)

    # --- outages ------------------------------------------------------------------------------------------------------

    def _outage_began(self, event: events.OutageBegan) -> None:
        self.outage = event

    def _outage_ended(self, event: events.OutageEnded) -> None:
        assert self.outage is not None
        self.rounds[self.outage.round_id - 1].held_s += max(event.lasted_s, LEAST_HOLD_S)
        self.outage = None
        if event.key:
            self.controls.orders[event.key] = "resume"
        if event.why != "answered":
            for player in event.missing:
                self.roster.members[player].absent = True

    def _players_probed(self, event: events.PlayersProbed) -> None:
        for one in self.rounds:
            one.unchecked.clear()

    def _interrupted(self, event: events.MatchInterrupted) -> None:
        self.matches[event.match_id].interrupted = event.attempt

    def _held(self, event: events.MatchHeld) -> None:
        match = self.matches[event.match_id]
        self.in_play.wait(match)
        match.tries -= 1
        match.held += 1
        self._excuse(event.players)
        for player in event.declined:
            self.roster.members[player].declined += 1

    def _excuse(self, players: Iterable[str]) -> None:
        for player in players:
            self.roster.members[player].excused = True

    def _finished(self, event: events.LeagueFinished) -> None:
        self.champion = event.champion

    def _reopened(self, event: events.LeagueReopened) -> None:
        self.state, self.champion = "RUNNING_LEAGUE", None
        self.edition += 1
        self.roster.changes += 1
        for member in self.roster.members.values():
            if not member.withdrawn and member.state == "SHUTDOWN":
                member.state = "ACTIVE"

    def _closed(self, event: events.LeagueClosed) -> None:
        self.controls.closed = True
        self.controls.orders[event.key] = "close"

    # --- the operator -------------------------------------------------------------------------------------------------

    def _approved(self, event: events.AgentApproved) -> None:
        self.roster.applicants.approve(event)
        self.controls.orders[event.key] = f"approve {event.target}"

    def _turned_away(self, event: events.AgentRejected) -> None:
        self.roster.applicants.reject(event)
        self.controls.orders[event.key] = f"reject {event.target}"

    def _withdrawn(self, event: events.PlayerWithdrawn) -> None:
        self.roster.leave(self.roster.members[event.agent_id])
        self.controls.orders[event.key] = f"withdraw {event.agent_id}"

    def _pause(self, event: events.LeaguePaused) -> None:
        self.controls.paused = True
        self.controls.orders[event.key] = "pause"

    def _resume(self, event: events.LeagueResumed) -> None:
        self.controls.paused = False
        self.controls.orders[event.key] = "resume"

    def _start(self, event: events.LeagueStartOrdered) -> None:
        self.controls.start_ordered = True
        self.controls.orders[event.key] = "start"


# Any: each handler takes the one event it is listed under.
APPLY: Mapping[type[Event], Callable[[Ledger, Any], None]] = {
    events.LeagueCreated: Ledger._created,
    events.AgentRegistered: Ledger._registered,
    events.ConventionLearned: Ledger._convention_learned,
    events.DispatchLearned: Ledger._dispatch_learned,
    events.AgentApplied: Ledger._applied,
    events.RequestRefused: Ledger._refused,
    events.AgentApproved: Ledger._approved,
    events.AgentRejected: Ledger._turned_away,
    events.AgentMoved: Ledger._moved,
    events.ConditionsStated: Ledger._conditions_stated,
    events.TokenRenewed: Ledger._token_renewed,
    events.TokenTakenUp: Ledger._token_taken_up,
    events.IdentityContested: Ledger._contested,
    events.AgentStateChanged: Ledger._agent_state,
    events.DeviationRecorded: Ledger._deviation,
    events.BulletinsDelivered: Ledger._delivered,
    events.ScheduleMade: Ledger._scheduled,
    events.RefereesNamed: Ledger._referees_named,
    events.LeagueStateChanged: Ledger._league_state,
    events.RoundOpened: Ledger._round_opened,
    events.MatchAssigned: Ledger._assigned,
    events.AssignmentsSent: Ledger._assignments_sent,
    events.MatchLost: Ledger._lost,
    events.MatchParked: Ledger._parked,
    events.MatchUnparked: Ledger._unparked,
    events.ResultAccepted: Ledger._result,
    events.MatchRecordKept: Ledger._record_kept,
    events.WalkoverDecided: Ledger._decide,
    events.ResultVoided: Ledger._voided,
    events.OutageBegan: Ledger._outage_began,
    events.OutageEnded: Ledger._outage_ended,
    events.PlayersProbed: Ledger._players_probed,
    events.MatchInterrupted: Ledger._interrupted,
    events.MatchHeld: Ledger._held,
    events.RoundFinished: Ledger._round_finished,
    events.LeagueFinished: Ledger._finished,
    events.LeagueReopened: Ledger._reopened,
    events.LeagueClosed: Ledger._closed,
    events.PlayerWithdrawn: Ledger._withdrawn,
    events.LeaguePaused: Ledger._pause,
    events.LeagueResumed: Ledger._resume,
    events.LeagueStartOrdered: Ledger._start,
}
