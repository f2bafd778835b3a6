"""All that has become true in a league. `apply` is the only thing that changes it, live and in replay."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct, field

from league.events import (
    AgentApplied,
    AgentApproved,
    AgentRegistered,
    AgentStateChanged,
    AssignmentsSent,
    ConventionLearned,
    DeviationRecorded,
    Event,
    HandoverLearned,
    LeagueCreated,
    LeagueFinished,
    LeaguePaused,
    LeagueResumed,
    LeagueSettings,
    LeagueStartOrdered,
    LeagueState,
    LeagueStateChanged,
    MatchAssigned,
    MatchLost,
    MatchParked,
    MatchRecordKept,
    MatchUnparked,
    PlayerWithdrawn,
    ResultAccepted,
    ResultVoided,
    RoundFinished,
    RoundOpened,
    ScheduleMade,
    TokenRenewed,
    TokenTakenUp,
    Told,
    WalkoverDecided,
)
from league.manager.applicants import Applicants
from league.manager.roster import Roster
from league.manager.standings import Decided, Standings
from league.protocol.conventions import convention_of
from league.protocol.errors import ERRORS

Result = ResultAccepted | WalkoverDecided
MatchStatus = Literal["SCHEDULED", "WAITING", "ASSIGNED", "PARKED", "COMPLETED", "VOIDED"]
"""WAITING: needs a referee now. VOIDED: will need one when the round being played is finished."""
DEVIATIONS, LONGEST_CLAUSE = 100, 120
"""So many deviations of a player are taken from the records of referees, each under a clause of this length."""


class Match(Struct):
    """A match of the schedule. `referee_id` and `attempt` are those of the current attempt, or of the last."""

    match_id: str
    round_id: int
    player_a: str
    player_b: str
    status: MatchStatus = "SCHEDULED"
    referee_id: str | None = None
    attempt: int = 0
    tries: int = 0
    """Attempts since it was scheduled, voided or unparked."""
    result: Result | None = None

    @property
    def players(self) -> tuple[str, str]:
        return self.player_a, self.player_b

    def opponent(self, player: str) -> str:
        return self.player_b if player == self.player_a else self.player_a


class Round(Struct):
    """A round of the schedule; `undecided` counts its matches without a result in force."""

    matches: list[str]
    bye: str | None
    undecided: int
    opened_at: float | None = None
    assignments_sent: bool = False
    finished: bool = False
    final_version: int = 0
    """The version of the standings when it was finished."""


def decided(match: Match, result: Result) -> Decided:
    """How a result counts in the table: a walkover as a technical loss of whoever was withdrawn."""
    technical = isinstance(result, WalkoverDecided) or result.status == "TECHNICAL_LOSS"
    return Decided(match.players, result.winner, technical)


class Ledger(Struct):
    """The state of a league."""

    settings: LeagueSettings
    created: bool = False
    state: LeagueState = "WAITING_FOR_REGISTRATIONS"
    paused: bool = False
    start_ordered: bool = False
    roster: Roster = field(default_factory=Roster)
    applicants: Applicants = field(default_factory=Applicants)
    rounds: list[Round] = []
    matches: dict[str, Match] = {}
    matches_of: dict[str, list[str]] = {}
    current_round: int = 0
    finished_rounds: int = 0
    undecided: int = 0
    waiting: dict[str, None] = {}
    voided: dict[str, None] = {}
    parked: dict[str, None] = {}
    holdings: dict[str, dict[str, None]] = {}
    """Referee to the matches it holds, in the order it got them."""
    standings: Standings = field(default_factory=Standings)
    version: int = 0
    newest_round: int = 0
    champion: str | None = None
    orders: dict[str, str] = {}
    """The keys of orders that were carried out, and what they were."""
    deviations: set[tuple[str, str, str]] = set()

    def apply(self, event: Event) -> None:
        """Make one event true."""
        _APPLY[type(event)](self, event)

    # --- questions ----------------------------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        return self.state == "RUNNING_LEAGUE"

    @property
    def is_finished(self) -> bool:
        return self.state == "LEAGUE_COMPLETED"

    @property
    def open_round(self) -> Round | None:
        """The round being played; None between rounds."""
        current = self.rounds[self.current_round - 1] if self.current_round else None
        return None if current is None or current.finished else current

    @property
    def last_completion(self) -> int:
        """The number of LEAGUE_COMPLETED among the completions (events.Told)."""
        return 2 * len(self.rounds) + 1

    def round_of(self, match: Match) -> Round:
        return self.rounds[match.round_id - 1]

    def matches_in(self, round_id: int) -> Iterator[Match]:
        return (self.matches[match_id] for match_id in self.rounds[round_id - 1].matches)

    # --- agents -------------------------------------------------------------------------------------------------------

    def _created(self, event: LeagueCreated) -> None:
        self.settings = event.settings
        self.created = True

    def _registered(self, event: AgentRegistered) -> None:
        self.roster.enter(event, told=2 * self.finished_rounds)
        if event.role == "player":
            self.standings.enter(event.agent_id)
            self.matches_of[event.agent_id] = []
        else:
            self.holdings[event.agent_id] = {}

    def _applied(self, event: AgentApplied) -> None:
        self.applicants.enter(event)

    def _token_renewed(self, event: TokenRenewed) -> None:
        self.roster.renew(self.roster.members[event.agent_id], event.serial, event.verify)

    def _token_taken_up(self, event: TokenTakenUp) -> None:
        self.roster.take_up(self.roster.members[event.agent_id], event.serial)

    def _agent_state(self, event: AgentStateChanged) -> None:
        member = self.roster.members[event.agent_id]
        if member.state == "SUSPENDED" and event.state == "ACTIVE":
            member.faults_in_a_row = 0
        member.state = event.state

    def _convention_learned(self, event: ConventionLearned) -> None:
        self.roster.members[event.agent_id].convention = event.convention

    def _handover_learned(self, event: HandoverLearned) -> None:
        self.roster.members[event.agent_id].handover = event.way

    def _deviation(self, event: DeviationRecorded) -> None:
        self.deviations.add((event.agent_id, event.code, event.requirement))

    def _told(self, event: Told) -> None:
        self.roster.members[event.agent_id].told = event.upto

    # --- rounds and matches -------------------------------------------------------------------------------------------

    def _scheduled(self, event: ScheduleMade) -> None:
        for round_id, (pairings, bye) in enumerate(zip(event.rounds, event.byes, strict=True), start=1):
            self.rounds.append(Round([one.match_id for one in pairings], bye, len(pairings)))
            self.undecided += len(pairings)
            for one in pairings:
                self.matches[one.match_id] = Match(one.match_id, round_id, one.player_a, one.player_b)
                self.matches_of[one.player_a].append(one.match_id)
                self.matches_of[one.player_b].append(one.match_id)

    def _league_state(self, event: LeagueStateChanged) -> None:
        self.state = event.state

    def _round_opened(self, event: RoundOpened) -> None:
        self.current_round = event.round_id
        self.rounds[event.round_id - 1].opened_at = event.at
        for match in self.matches_in(event.round_id):
            if match.status == "SCHEDULED":
                self._wait(match)

    def _wait(self, match: Match) -> None:
        match.status = "WAITING"
        self.waiting[match.match_id] = None

    def _set_aside(self, match: Match) -> None:
        """Out of every list of matches in play."""
        for names in (self.waiting, self.voided, self.parked):
            names.pop(match.match_id, None)
        if match.referee_id is not None:
            self.holdings[match.referee_id].pop(match.match_id, None)

    def _assigned(self, event: MatchAssigned) -> None:
        match = self.matches[event.match_id]
        self._set_aside(match)
        match.status, match.referee_id, match.attempt = "ASSIGNED", event.referee_id, event.attempt
        match.tries += 1
        self.holdings[event.referee_id][event.match_id] = None

    def _assignments_sent(self, event: AssignmentsSent) -> None:
        self.rounds[event.round_id - 1].assignments_sent = True

    def _lost(self, event: MatchLost) -> None:
        match = self.matches[event.match_id]
        if match.referee_id is not None:
            # Whatever made it play before did not now: it is found out anew.
            self.roster.members[match.referee_id].handover = ""
        self._set_aside(match)
        self._wait(match)

    def _parked(self, event: MatchParked) -> None:
        match = self.matches[event.match_id]
        self._set_aside(match)
        match.status = "PARKED"
        self.parked[event.match_id] = None

    def _unparked(self, event: MatchUnparked) -> None:
        match = self.matches[event.match_id]
        self._set_aside(match)
        match.tries = 0
        self._wait(match)
        self.orders[event.key] = f"replay-match {event.match_id}"

    def _round_finished(self, event: RoundFinished) -> None:
        current = self.rounds[event.round_id - 1]
        current.finished, current.final_version = True, self.version
        self.finished_rounds = event.round_id

    # --- results ------------------------------------------------------------------------------------------------------

    def _result(self, event: ResultAccepted) -> None:
        self._decide(event)
        if event.status != "TECHNICAL_LOSS":
            at_fault: tuple[str, ...] = ()
        else:
            at_fault = tuple(player for player in self.matches[event.match_id].players if player != event.winner)
        for player in self.matches[event.match_id].players:
            member = self.roster.members[player]
            member.faults_in_a_row = member.faults_in_a_row + 1 if player in at_fault else 0
            member.technical_losses += player in at_fault

    def _record_kept(self, event: MatchRecordKept) -> None:
        """For those who explain and verify; the league itself goes by the report. What it takes from the record is how
        players are spoken to, and what was let pass of them."""
        players = self.matches[event.match_id].players
        for one in event.record:
            if one.get("player_id") not in players:
                continue
            if one.get("event") == "PlayerJoined":
                self.roster.members[one["player_id"]].convention = convention_of(str(one.get("convention"))).value
            elif one.get("event") == "PlayerDeviated":
                self._let_pass(one["player_id"], str(one.get("code")), str(one.get("requirement")))

    def _let_pass(self, player: str, code: str, requirement: str) -> None:
        """A record may say anything, and as much as it likes."""
        known = sum(agent_id == player for agent_id, _, _ in self.deviations)
        if code in ERRORS and len(requirement) <= LONGEST_CLAUSE and known < DEVIATIONS:
            self.deviations.add((player, code, requirement))

    def _decide(self, event: Result) -> None:
        match = self.matches[event.match_id]
        self._set_aside(match)
        match.status, match.result = "COMPLETED", event
        self.round_of(match).undecided -= 1
        self.undecided -= 1
        self.standings.add(decided(match, event))
        self._version_grows(match)

    def _version_grows(self, match: Match) -> None:
        self.version += 1
        # Walkovers are decided long before their rounds; a table is never of a round that was not opened.
        self.newest_round = min(match.round_id, max(self.current_round, 1))

    def _voided(self, event: ResultVoided) -> None:
        match = self.matches[event.match_id]
        assert match.result is not None
        self.standings.add(decided(match, match.result), times=-1)
        if isinstance(match.result, ResultAccepted) and match.result.status == "TECHNICAL_LOSS":
            for player in match.players:
                self.roster.members[player].technical_losses -= player != match.result.winner
        match.result = None
        match.tries = 0
        self.round_of(match).undecided += 1
        self.undecided += 1
        self._version_grows(match)
        self.orders[event.key] = f"replay-match {event.match_id}"
        if self.round_of(match).finished:
            match.status = "VOIDED"
            self.voided[event.match_id] = None
        else:
            self._wait(match)

    def _finished(self, event: LeagueFinished) -> None:
        self.champion = event.champion

    # --- the operator -------------------------------------------------------------------------------------------------

    def _approved(self, event: AgentApproved) -> None:
        self.applicants.approve(event)
        self.orders[event.key] = f"approve {event.target}"

    def _withdrawn(self, event: PlayerWithdrawn) -> None:
        self.roster.leave(self.roster.members[event.agent_id])
        self.orders[event.key] = f"withdraw {event.agent_id}"

    def _pause(self, event: LeaguePaused) -> None:
        self.paused = True
        self.orders[event.key] = "pause"

    def _resume(self, event: LeagueResumed) -> None:
        self.paused = False
        self.orders[event.key] = "resume"

    def _start(self, event: LeagueStartOrdered) -> None:
        self.start_ordered = True
        self.orders[event.key] = "start"


# Any: each handler takes the one event it is listed under.
_APPLY: Mapping[type[Event], Callable[[Ledger, Any], None]] = {
    LeagueCreated: Ledger._created,
    AgentRegistered: Ledger._registered,
    ConventionLearned: Ledger._convention_learned,
    HandoverLearned: Ledger._handover_learned,
    AgentApplied: Ledger._applied,
    AgentApproved: Ledger._approved,
    TokenRenewed: Ledger._token_renewed,
    TokenTakenUp: Ledger._token_taken_up,
    AgentStateChanged: Ledger._agent_state,
    DeviationRecorded: Ledger._deviation,
    Told: Ledger._told,
    ScheduleMade: Ledger._scheduled,
    LeagueStateChanged: Ledger._league_state,
    RoundOpened: Ledger._round_opened,
    MatchAssigned: Ledger._assigned,
    AssignmentsSent: Ledger._assignments_sent,
    MatchLost: Ledger._lost,
    MatchParked: Ledger._parked,
    MatchUnparked: Ledger._unparked,
    ResultAccepted: Ledger._result,
    MatchRecordKept: Ledger._record_kept,
    WalkoverDecided: Ledger._decide,
    ResultVoided: Ledger._voided,
    RoundFinished: Ledger._round_finished,
    LeagueFinished: Ledger._finished,
    PlayerWithdrawn: Ledger._withdrawn,
    LeaguePaused: Ledger._pause,
    LeagueResumed: Ledger._resume,
    LeagueStartOrdered: Ledger._start,
}
