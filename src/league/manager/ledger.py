"""The ledger: everything that has become true in a league.

`apply` makes one event true. It is the only thing that changes the ledger, live and in replay, so replaying a journal
gives the same ledger again. No event may be refused here: whoever records an event has checked it before.

A match moves through these states:

    SCHEDULED ── its round is opened ──▶ WAITING ── MatchAssigned ──▶ ASSIGNED ── result ──▶ COMPLETED
                                           ▲  ◀── MatchLost, MatchHeld ──┘                      │
                                           │                                                    │ ResultVoided
              PARKED ── MatchUnparked ─────┤                                                    ▼
                 ▲                         ├──────────── the round is still being played ───────┤
                 └── MatchParked (after three attempts)        VOIDED ◀── the round is over ────┘

With `--trust class` an ASSIGNED match may become REPORTED (ReportHeld) before it is COMPLETED, or PARKED if the report
is disputed (ReportDisputed). A walkover completes a match from any state. A VOIDED match is assigned again between two
rounds. At every moment a match without a result is in exactly one of the collections of `MatchesInPlay`, or its round
was not opened yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct, field, structs

from league import events
from league.events import Event, LeagueSettings, LeagueState
from league.manager.excuses import excusable
from league.manager.roster import Member, Roster
from league.manager.standings import Decided, StandingsTable
from league.protocol.conventions import convention_of
from league.protocol.errors import ERRORS, REFUSED_BY_STRICT
from league.protocol.safe_text import without_tokens

LEAST_HOLD_S = 60.0
BACK_WITHIN_S = 30.0
"""How long a match waits for a player after an outage, beside the time of a choice."""
MAX_DEVIATIONS = 100
"""Maximum number of deviations kept per player from the records of referees."""
LONGEST_CLAUSE = 120
LONGEST_DETAIL = 300
MAX_REFUSED_ANSWERS = 100
"""Maximum number of refused answers kept from the records of referees."""
MAX_CONDITIONS = 4
"""Maximum number of conditions kept per player."""

ResultInForce = events.ResultAccepted | events.WalkoverDecided
MatchStatus = Literal["SCHEDULED", "WAITING", "ASSIGNED", "REPORTED", "PARKED", "COMPLETED", "VOIDED"]
"""WAITING: needs a referee now. VOIDED: will need one when the current round is finished. REPORTED: its report counts
when the round ends."""
PublicStatus = Literal["SCHEDULED", "RUNNING", "PARKED", "COMPLETED"]


class Pause(Struct, frozen=True):
    """A question of a match that waits for its player, and since when."""

    turn: int
    cause: Literal["outage", "interrupted", "model"]
    since: float


class Basis(Struct, frozen=True):
    """What a result rests on (spec section 8.18)."""

    evidence: events.Evidence
    unsigned: tuple[str, ...] = ()
    """The players that did not sign their choices."""
    doubt: str = ""
    """Why it is not proven, as far as that is not for a missing signature."""


def serious(
    protests: Iterable[events.ProtestReceived],
    result: ResultInForce | None,
    attempt: int,
) -> list[events.ProtestReceived]:
    """Return the protests against an attempt. That a player was asked again counts only if it has lost for that."""
    is_technical = isinstance(result, events.ResultAccepted) and result.status == "TECHNICAL_LOSS"
    winner = result.winner if result is not None else None
    return [
        protest
        for protest in protests
        if protest.attempt == attempt and (not protest.is_note or (is_technical and protest.player_id != winner))
    ]


def basis_of(result: ResultInForce, found: events.EvidenceFound | None) -> Basis:
    """Return what a result rests on, with what was found out about it later."""
    if found is not None:
        return Basis(found.evidence, found.unsigned, found.doubt)
    if isinstance(result, events.WalkoverDecided):
        return Basis("by_manager")
    if result.evidence is not None:
        return Basis(result.evidence, result.unsigned, result.doubt)
    # A result from before there were receipts.
    if result.status == "TECHNICAL_LOSS":
        return Basis("loss_by_referee")
    return Basis("by_referee", tuple(result.points))


class CurrentAttempt(Struct):
    """What belongs to the current attempt of a match alone."""

    share_commitment: str = ""
    """The promise of our share of its draw; empty if the referee draws alone."""
    released: events.DrawReleased | None = None
    """What the referee handed in for our share: the match is decided."""
    pauses: dict[str, Pause] = {}
    """The last question that waited for each player."""
    allowed: dict[str, events.LossAllowed] = {}
    """The technical losses that its referee asked about and may decide, by player."""
    decisions: int = 0
    """How often such a loss was allowed."""


class Excuses(Struct):
    """Why a player need not be to blame for its technical loss."""

    interrupted: int = 0
    """The last attempt during which the manager or the referee was gone."""
    interruptions: int = 0
    """How often that happened."""
    players: set[str] = set()
    """The players that were waited for since."""
    held: int = 0
    """How often a technical loss was refused or voided because of that, or because of an outage."""


class ScheduledMatch(Struct):
    """A match of the schedule.

    `referee_id` and `attempt` belong to the current attempt, or to the last one. Before the first attempt,
    `referee_id` names the referee that is to play the match.
    """

    match_id: str
    round_id: int
    player_a: str
    player_b: str
    status: MatchStatus = "SCHEDULED"
    referee_id: str | None = None
    attempt: int = 0
    tries: int = 0
    """Attempts that count since it was scheduled, voided or unparked, or since its referee came back."""
    result: ResultInForce | None = None
    current: CurrentAttempt = field(default_factory=CurrentAttempt)
    excuses: Excuses = field(default_factory=Excuses)
    claim: events.ReportHeld | None = None
    """The report of a REPORTED match."""
    disputed: str = ""
    """Why such a report does not count; the match is PARKED until the operator decides."""
    found: events.EvidenceFound | None = None
    """What was found out about the result in force after it was accepted."""
    protests: list[events.ProtestReceived] = []

    @property
    def players(self) -> tuple[str, str]:
        return self.player_a, self.player_b

    def opponent(self, player: str) -> str:
        return self.player_b if player == self.player_a else self.player_a

    @property
    def serious_protests(self) -> list[events.ProtestReceived]:
        """The protests against this attempt."""
        return serious(self.protests, self.result, self.attempt)

    @property
    def basis(self) -> Basis | None:
        """What the result in force rests on; None without a result."""
        if self.result is None:
            return None
        return basis_of(self.result, self.found)

    @property
    def public_status(self) -> PublicStatus:
        """The status that members and operators see: a match in play is RUNNING, whatever it needs next."""
        if self.status in ("SCHEDULED", "PARKED", "COMPLETED"):
            return self.status
        return "RUNNING"


class ScheduledRound(Struct):
    """A round of the schedule. `undecided` counts its matches without a result in force."""

    matches: list[str]
    bye: str | None
    undecided: int
    opened_at: float | None = None
    assignments_sent: bool = False
    finished: bool = False
    active: list[str] = []
    """The players that were ACTIVE when it was opened."""
    out_of_reach: dict[str, tuple[str, ...]] = {}
    """Technical losses since it was opened that an outage would excuse, with the players that perhaps could not be
    reached. Only referees that do not ask first report such losses."""
    unchecked: dict[str, None] = {}
    """Those of them after which the players have not been probed yet."""
    held_s: float = 0.0
    """How long the league was held in it. Each time counts as at least a minute."""


class MatchesInPlay(Struct):
    """The ids of matches that need something before they have a result."""

    waiting: dict[str, None] = {}
    voided: dict[str, None] = {}
    parked: dict[str, None] = {}
    reported: dict[str, None] = {}
    holdings: dict[str, dict[str, None]] = {}
    """For each referee the matches it holds, in the order it got them."""

    def remove(self, match: ScheduledMatch) -> None:
        match_id = match.match_id
        self.waiting.pop(match_id, None)
        self.voided.pop(match_id, None)
        self.parked.pop(match_id, None)
        self.reported.pop(match_id, None)
        match.claim = None
        match.disputed = ""
        if match.referee_id is not None:
            self.holdings[match.referee_id].pop(match_id, None)

    def wait(self, match: ScheduledMatch) -> None:
        """The match needs a referee now."""
        self.remove(match)
        match.status = "WAITING"
        self.waiting[match.match_id] = None


class OperatorControls(Struct):
    """What the operator ordered."""

    paused: bool = False
    start_ordered: bool = False
    closed: bool = False
    """No match may be played again."""
    reopened: int = 0
    """How often the league was reopened after its end."""
    orders: dict[str, str] = {}
    """The keys of orders that were carried out, and what they were."""


class RecordedEvent(Struct):
    """The parts of a match record's event that the league looks at (Any: a record may say anything)."""

    event: Any = None
    player_id: Any = None
    convention: Any = None
    code: Any = None
    requirement: Any = None
    detail: Any = None


_RECORD = msgspec.json.Decoder(list[RecordedEvent])


class Irregularities(Struct):
    """How agents departed from the documents, and what was refused. Both are bounded: a record of a match may say
    anything, and as much as it likes."""

    deviations: set[tuple[str, str, str]] = set()
    """Accepted deviations: agent, error code and requirement."""
    refusals: list[events.RequestRefused] = []
    """Registrations and reports that were refused, and answers that referees refused."""

    def add_deviation(self, player: str, code: str, requirement: str) -> None:
        """Keep a deviation that is named in a record."""
        if code not in ERRORS or len(requirement) > LONGEST_CLAUSE:
            return
        count = sum(agent_id == player for agent_id, _, _ in self.deviations)
        if count < MAX_DEVIATIONS:
            self.deviations.add((player, code, requirement))

    def add_refused_answer(self, kept: events.MatchRecordKept, member: Member, recorded: RecordedEvent) -> None:
        """Keep an answer of a player that its referee refused, once per player and code."""
        player = member.agent_id
        code = str(recorded.code)
        earlier = [refusal for refusal in self.refusals if refusal.request == "answer"]
        is_known = any((refusal.name, refusal.code) == (player, code) for refusal in earlier)
        if is_known or code not in ERRORS or len(earlier) >= MAX_REFUSED_ANSWERS:
            return
        self.refusals.append(
            events.RequestRefused(
                at=kept.at,
                request="answer",
                role="player",
                name=player,
                endpoint=member.endpoint,
                code=code,
                detail=without_tokens(str(recorded.detail))[:LONGEST_DETAIL],
                match_id=kept.match_id,
                attempt=kept.attempt,
            )
        )


class OutagesInForce(Struct):
    """The outages that the league waits for."""

    of_league: events.OutageBegan | None = None
    """Set while the league waits for players that are gone."""
    by_address: dict[str, events.OutageBegan] = {}
    """While only the matches of the players at an address wait."""
    past_by_address: dict[str, int] = {}
    """How often that was so before."""


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
    current_round: int = 0
    finished_rounds: int = 0
    in_play: MatchesInPlay = field(default_factory=MatchesInPlay)
    standings: StandingsTable = field(default_factory=StandingsTable)
    champion: str | None = None
    outages: OutagesInForce = field(default_factory=OutagesInForce)
    irregularities: Irregularities = field(default_factory=Irregularities)

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
    def undecided(self) -> int:
        """The number of matches without a result in force."""
        return sum(scheduled_round.undecided for scheduled_round in self.rounds)

    @property
    def is_held(self) -> bool:
        """True while the league is paused by the operator or waits for players that are gone."""
        return self.controls.paused or self.outages.of_league is not None

    @property
    def latest_round(self) -> ScheduledRound | None:
        """The round that was opened last. Matches played between two rounds belong to it, too."""
        if not self.current_round:
            return None
        return self.rounds[self.current_round - 1]

    def bulletin_after(self, last: events.Bulletin) -> events.Bulletin | None:
        """Return the bulletin that members get after this one, or None if there is none yet."""
        if last.kind == "final_standings":
            return events.Bulletin("round_completed", last.round_id)
        if last.kind == "round_announced" and last.round_id <= self.finished_rounds:
            return events.Bulletin("final_standings", last.round_id)
        if last.kind == "round_completed" and last.round_id < self.current_round:
            return events.Bulletin("round_announced", last.round_id + 1)
        if not self.is_finished:
            return None
        # A league that was reopened ends again, and its members hear of that end, too.
        has_heard_of_end = last.kind == "league_completed" and last.edition == self.controls.reopened
        if last.kind in ("round_completed", "league_completed") and not has_heard_of_end:
            return events.Bulletin("league_completed", last.round_id, self.controls.reopened)
        return None

    def has_referees(self, round_id: int) -> bool:
        """True if every match of this round that is to be played has a referee."""
        matches = self.matches_in(round_id)
        unnamed = [match for match in matches if match.referee_id is None and match.result is None]
        return not unnamed

    def has_reported(self, referee_id: str) -> bool:
        """True if a result in force was reported by this referee."""
        results = [match.result for match in self.matches.values()]
        accepted = [result for result in results if isinstance(result, events.ResultAccepted)]
        return any(result.referee_id == referee_id for result in accepted)

    def round_of(self, match: ScheduledMatch) -> ScheduledRound:
        return self.rounds[match.round_id - 1]

    def held_by(self, referee_id: str) -> list[ScheduledMatch]:
        """Return the matches a referee holds, in the order it got them."""
        return [self.matches[match_id] for match_id in self.in_play.holdings[referee_id]]

    def matches_in(self, round_id: int) -> list[ScheduledMatch]:
        match_ids = self.rounds[round_id - 1].matches
        return list(map(self.matches.__getitem__, match_ids))

    # --- agents -------------------------------------------------------------------------------------------------------

    def _created(self, event: events.LeagueCreated) -> None:
        self.settings = event.settings
        self.created = True

    def _endpoints_changed(self, event: events.EndpointsChanged) -> None:
        self.settings = structs.replace(self.settings, endpoints=event.endpoints, allow_endpoint=event.allow_endpoint)

    def _trust_changed(self, event: events.TrustChanged) -> None:
        self.settings = structs.replace(self.settings, trust=event.trust)

    def _registered(self, event: events.AgentRegistered) -> None:
        # To a newcomer the rounds that are over are no news.
        delivered = events.Bulletin("round_completed", self.finished_rounds)
        self.roster.enter(event, delivered)
        if event.role != "player":
            self.in_play.holdings[event.agent_id] = {}
            return
        self.standings.enter(event.agent_id)
        self.matches_of[event.agent_id] = []
        if self.rounds:
            # The league has started: this player has a row in the table, but no match yet.
            self.roster.late.append(event.agent_id)
            self.standings.version += 1

    def _refused(self, event: events.RequestRefused) -> None:
        self.irregularities.refusals.append(event)

    def _applied(self, event: events.AgentApplied) -> None:
        self.roster.applicants.enter(event)

    def _conditions_stated(self, event: events.ConditionsStated) -> None:
        member = self.roster.members[event.agent_id]
        # An agent states them with every registration, but they rarely change.
        if member.conditions[-1:] == (event.conditions,):
            return
        earlier = member.conditions[-MAX_CONDITIONS + 1 :]
        member.conditions = (*earlier, event.conditions)

    def _moved(self, event: events.AgentMoved) -> None:
        self.roster.move(event)

    def _token_renewed(self, event: events.TokenRenewed) -> None:
        self.roster.renew(event)
        self._count_attempts_anew(event.agent_id)

    def _count_attempts_anew(self, agent_id: str) -> None:
        """A referee that came back gets all attempts of the matches it holds."""
        if agent_id in self.in_play.holdings:
            for match in self.held_by(agent_id):
                match.tries = 0

    def _readmitted(self, event: events.AgentReadmitted) -> None:
        self.roster.members[event.agent_id].credentials.readmitting = True
        self.controls.orders[event.key] = f"readmit {event.target}"

    def _token_taken_up(self, event: events.TokenTakenUp) -> None:
        self.roster.members[event.agent_id].credentials.serial = event.serial

    def _contested(self, event: events.IdentityContested) -> None:
        self.roster.members[event.agent_id].credentials.contested[event.sign] = event.detail

    def _agent_state(self, event: events.AgentStateChanged) -> None:
        member = self.roster.members[event.agent_id]
        if member.state == "SUSPENDED" and event.state == "ACTIVE":
            # Otherwise one more technical loss would suspend it again.
            member.attendance.faults_in_a_row = 0
            self._count_attempts_anew(event.agent_id)
        if event.state == "SUSPENDED":
            member.attendance.suspended_at = event.at
        member.state = event.state
        self.roster.changes += 1

    def _convention_learned(self, event: events.ConventionLearned) -> None:
        self.roster.members[event.agent_id].convention = event.convention

    def _probed(self, event: events.AgentProbed) -> None:
        member = self.roster.members[event.agent_id]
        if event.unreported:
            member.probed.unreported = event.unreported
            return
        member.probed.findings = event.findings
        member.probed.in_trouble = event.is_trouble
        member.probed.count += 1

    def _dispatch_learned(self, event: events.DispatchLearned) -> None:
        self.roster.members[event.agent_id].as_referee.dispatch_method = event.method

    def _deviation(self, event: events.DeviationRecorded) -> None:
        self.irregularities.deviations.add((event.agent_id, event.code, event.requirement))

    def _delivered(self, event: events.BulletinsDelivered) -> None:
        for agent_id, bulletin in event.bulletins.items():
            self.roster.members[agent_id].told.bulletin = bulletin

    # --- rounds and matches -------------------------------------------------------------------------------------------

    def _scheduled(self, event: events.ScheduleMade) -> None:
        self.roster.late.clear()
        first_new_round = len(self.rounds) + 1
        rounds = zip(event.rounds, event.byes, strict=True)
        for round_id, (pairings, bye) in enumerate(rounds, first_new_round):
            match_ids = [pairing.match_id for pairing in pairings]
            self.rounds.append(ScheduledRound(match_ids, bye, len(pairings)))
            for pairing in pairings:
                match = ScheduledMatch(
                    pairing.match_id,
                    round_id,
                    pairing.player_a,
                    pairing.player_b,
                )
                self.matches[match.match_id] = match
                self.matches_of[match.player_a].append(match.match_id)
                self.matches_of[match.player_b].append(match.match_id)

    def _referees_named(self, event: events.RefereesNamed) -> None:
        for match_id, referee_id in event.referees.items():
            self.matches[match_id].referee_id = referee_id

    def _league_state(self, event: events.LeagueStateChanged) -> None:
        self.state = event.state

    def _round_opened(self, event: events.RoundOpened) -> None:
        # Players that were suspended by then were not expected to answer, and do not count in an outage.
        self.current_round = event.round_id
        opened = self.rounds[event.round_id - 1]
        opened.opened_at = event.at
        players = self.roster.of_role("player")
        opened.active = [player.agent_id for player in players if player.state == "ACTIVE"]
        for match in self.matches_in(event.round_id):
            if match.status == "SCHEDULED":
                self.in_play.wait(match)

    def _assigned(self, event: events.MatchAssigned) -> None:
        match = self.matches[event.match_id]
        self.in_play.remove(match)
        match.status = "ASSIGNED"
        match.referee_id = event.referee_id
        match.attempt = event.attempt
        match.current = CurrentAttempt(event.share_commitment)
        match.found = None
        match.tries += 1
        self.in_play.holdings[event.referee_id][event.match_id] = None

    def _assignments_sent(self, event: events.AssignmentsSent) -> None:
        self.rounds[event.round_id - 1].assignments_sent = True

    def _lost(self, event: events.MatchLost) -> None:
        match = self.matches[event.match_id]
        if match.referee_id is not None:
            # Whatever made this referee play before did not work now. It has to be found out again.
            self.roster.members[match.referee_id].as_referee.dispatch_method = ""
        # A referee that could not know of the match did not fail.
        if not event.counts and match.tries > 0:
            match.tries -= 1
        self.in_play.wait(match)

    def _parked(self, event: events.MatchParked) -> None:
        match = self.matches[event.match_id]
        self.in_play.remove(match)
        match.status = "PARKED"
        self.in_play.parked[event.match_id] = None

    def _report_held(self, event: events.ReportHeld) -> None:
        match = self.matches[event.match_id]
        # Its referee has a free place again.
        self.in_play.remove(match)
        match.status = "REPORTED"
        match.claim = event
        self.in_play.reported[event.match_id] = None

    def _report_disputed(self, event: events.ReportDisputed) -> None:
        match = self.matches[event.match_id]
        self.in_play.remove(match)
        match.status = "PARKED"
        match.disputed = event.why
        self.in_play.parked[event.match_id] = None

    def _unparked(self, event: events.MatchUnparked) -> None:
        match = self.matches[event.match_id]
        match.tries = 0
        self.in_play.wait(match)
        if event.key:
            self.controls.orders[event.key] = f"replay-match {event.match_id}"

    def _round_finished(self, event: events.RoundFinished) -> None:
        self.rounds[event.round_id - 1].finished = True
        self.finished_rounds = event.round_id
        self.standings.round_id = event.round_id

    # --- results ------------------------------------------------------------------------------------------------------

    def _result_accepted(self, event: events.ResultAccepted) -> None:
        self._decide(event)
        match = self.matches[event.match_id]
        players = match.players
        is_technical = event.status == "TECHNICAL_LOSS"
        for player in players:
            member = self.roster.members[player]
            if is_technical and player != event.winner:
                member.attendance.faults_in_a_row += 1
                member.attendance.technical_losses += 1
            else:
                # It has played: what was said about its absence is over.
                member.attendance.faults_in_a_row = 0
                member.attendance.absent = False
        if is_technical and self.latest_round is not None:
            # Losses that we were asked about are decided for good.
            unreached = tuple(player for player in excusable(event, players) if player not in match.current.allowed)
            if unreached:
                self.latest_round.out_of_reach[event.match_id] = unreached
                self.latest_round.unchecked[event.match_id] = None

    def _decide(self, event: ResultInForce) -> None:
        match = self.matches[event.match_id]
        self.in_play.remove(match)
        match.status = "COMPLETED"
        match.result = event
        # Counted here, so that nobody has to look at all matches to know whether a round is over.
        self.rounds[match.round_id - 1].undecided -= 1
        self._count(match, event)

    def _count(
        self,
        match: ScheduledMatch,
        result: ResultInForce,
        times: int = 1,
    ) -> None:
        """Count a result in the table. With `times=-1` it is taken back."""
        self.standings.add(decided(match, result), times)
        self.standings.version += 1
        # Walkovers are decided long before their rounds, but a table never belongs to a round that was not opened.
        self.standings.round_id = min(match.round_id, max(self.current_round, 1))

    def _record_kept(self, event: events.MatchRecordKept) -> None:
        """Learn from a match record how players are called, and how they deviate.

        Results never come from a record: the league goes by the report.
        """
        players = self.matches[event.match_id].players
        for recorded in _RECORD.decode(event.written):
            if recorded.player_id not in players:
                continue
            member = self.roster.members[recorded.player_id]
            if recorded.event == "PlayerJoined" and member.convention != recorded.convention:
                member.convention = convention_of(str(recorded.convention)).value
            elif recorded.event == "PlayerDeviated":
                code = str(recorded.code)
                self.irregularities.add_deviation(member.agent_id, code, str(recorded.requirement))
                if code in REFUSED_BY_STRICT:
                    member.told.deviations.add(code)
            elif recorded.event == "AnswerRefused":
                self.irregularities.add_refused_answer(event, member, recorded)

    def _draw_released(self, event: events.DrawReleased) -> None:
        self.matches[event.match_id].current.released = event

    def _evidence_found(self, event: events.EvidenceFound) -> None:
        self.matches[event.match_id].found = event

    def _protested(self, event: events.ProtestReceived) -> None:
        self.matches[event.match_id].protests.append(event)

    def _voided(self, event: events.ResultVoided) -> None:
        match = self.matches[event.match_id]
        assert match.result is not None
        self._count(match, match.result, times=-1)
        if isinstance(match.result, events.ResultAccepted) and match.result.status == "TECHNICAL_LOSS":
            self._take_back_faults(match, match.result.winner, is_excused=bool(event.why))
        match.result = None
        match.found = None
        match.tries = 0
        # A result that the operator voids has no reason of ours.
        if event.why:
            match.excuses.held += 1
        # A loss is listed in the round that was played when it was reported, which need not be that of its match.
        for scheduled_round in self.rounds:
            scheduled_round.out_of_reach.pop(event.match_id, None)
            scheduled_round.unchecked.pop(event.match_id, None)
        self.round_of(match).undecided += 1
        if event.key:
            self.controls.orders[event.key] = f"replay-match {event.match_id}"
        # Nothing of a finished round is played while another one is: it waits until no round is open.
        if self.round_of(match).finished:
            match.status = "VOIDED"
            self.in_play.voided[event.match_id] = None
        else:
            self.in_play.wait(match)

    def _take_back_faults(
        self,
        match: ScheduledMatch,
        winner: str | None,
        *,
        is_excused: bool,
    ) -> None:
        for player in match.players:
            if player != winner:
                member = self.roster.members[player]
                member.attendance.technical_losses -= 1
                if is_excused:
                    member.attendance.faults_in_a_row = max(member.attendance.faults_in_a_row - 1, 0)

    # --- outages ------------------------------------------------------------------------------------------------------

    def _outage_began(self, event: events.OutageBegan) -> None:
        if event.origin:
            self.outages.by_address[event.origin] = event
        else:
            self.outages.of_league = event

    def _outage_ended(self, event: events.OutageEnded) -> None:
        outages = self.outages
        if event.origin:
            began = outages.by_address.pop(event.origin)
            outages.past_by_address[event.origin] = outages.past_by_address.get(event.origin, 0) + 1
        else:
            assert outages.of_league is not None
            began = outages.of_league
            self.rounds[began.round_id - 1].held_s += max(event.lasted_s, LEAST_HOLD_S)
            outages.of_league = None
        if event.key:
            self.controls.orders[event.key] = "resume"
        # A call that began while they were gone may fail only now.
        excused_until = event.at + self.settings.move_seconds + BACK_WITHIN_S
        for player in began.missing:
            member = self.roster.members[player]
            if player not in event.missing:
                member.attendance.excused_until = excused_until
            elif event.why != "answered":
                # The league has waited for it in vain. It does not wait for it again before it plays.
                member.attendance.absent = True

    def _players_probed(self, event: events.PlayersProbed) -> None:
        for scheduled_round in self.rounds:
            scheduled_round.unchecked.clear()
            # A player that answers our own probe was not out of reach, whatever its referee says.
            for match_id, players in list(scheduled_round.out_of_reach.items()):
                if not any(player in event.missing for player in players):
                    del scheduled_round.out_of_reach[match_id]

    def _interrupted(self, event: events.MatchInterrupted) -> None:
        match = self.matches[event.match_id]
        match.excuses.interrupted = event.attempt
        match.excuses.interruptions += 1
        match.excuses.players = set()

    def _match_paused(self, event: events.MatchPaused) -> None:
        match = self.matches[event.match_id]
        match.current.pauses[event.player_id] = Pause(event.turn, event.cause, event.at)
        match.current.allowed.pop(event.player_id, None)
        member = self.roster.members[event.player_id]
        if event.cause == "model":
            member.attendance.model_pauses += 1
            return
        if event.cause == "interrupted":
            # The pause makes up for the interruption. Another one has to happen for another pause.
            match.excuses.players.add(event.player_id)
        if event.behind:
            member.attendance.gone_behind += 1

    def _loss_allowed(self, event: events.LossAllowed) -> None:
        attempt = self.matches[event.match_id].current
        attempt.allowed[event.player_id] = event
        attempt.decisions += 1

    def _held(self, event: events.MatchHeld) -> None:
        match = self.matches[event.match_id]
        self.in_play.wait(match)
        # It was nobody's fault, so the attempt does not count.
        match.tries -= 1
        match.excuses.held += 1
        for player in event.declined:
            self.roster.members[player].attendance.model_pauses += 1

    # --- the end ------------------------------------------------------------------------------------------------------

    def _finished(self, event: events.LeagueFinished) -> None:
        self.champion = event.champion

    def _reopened(self, event: events.LeagueReopened) -> None:
        self.state = "RUNNING_LEAGUE"
        self.champion = None
        self.controls.reopened += 1
        self.roster.changes += 1
        # Members that were told of the end are members again; withdrawn players stay out.
        for member in self.roster.members.values():
            if not member.attendance.withdrawn and member.state == "SHUTDOWN":
                member.state = "ACTIVE"

    def _closed(self, event: events.LeagueClosed) -> None:
        self.controls.closed = True
        self.controls.orders[event.key] = "close"

    # --- the operator -------------------------------------------------------------------------------------------------

    def _approved(self, event: events.AgentApproved) -> None:
        self.roster.applicants.approve(event)
        self.controls.orders[event.key] = f"approve {event.target}"

    def _rejected(self, event: events.AgentRejected) -> None:
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

    def _secret_replaced(self, event: events.SecretReplaced) -> None:
        self.controls.orders[event.key] = f"rotate-token {event.target}"


def decided(match: ScheduledMatch, result: ResultInForce) -> Decided:
    """Return how a result counts in the table. A walkover counts as a technical loss of the withdrawn player."""
    is_technical = isinstance(result, events.WalkoverDecided) or result.status == "TECHNICAL_LOSS"
    # Results of games scored by league points, old ones too, follow from their winner.
    score = result.points if result.by_margin else None
    return Decided(match.players, result.winner, is_technical, score)


# Any: each handler takes the one event it is listed under.
APPLY: Mapping[type[Event], Callable[[Ledger, Any], None]] = {
    events.LeagueCreated: Ledger._created,
    events.EndpointsChanged: Ledger._endpoints_changed,
    events.TrustChanged: Ledger._trust_changed,
    events.AgentRegistered: Ledger._registered,
    events.ConventionLearned: Ledger._convention_learned,
    events.AgentProbed: Ledger._probed,
    events.DispatchLearned: Ledger._dispatch_learned,
    events.AgentApplied: Ledger._applied,
    events.RequestRefused: Ledger._refused,
    events.AgentApproved: Ledger._approved,
    events.AgentRejected: Ledger._rejected,
    events.AgentMoved: Ledger._moved,
    events.ConditionsStated: Ledger._conditions_stated,
    events.AgentReadmitted: Ledger._readmitted,
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
    events.ReportHeld: Ledger._report_held,
    events.ReportDisputed: Ledger._report_disputed,
    events.ResultAccepted: Ledger._result_accepted,
    events.MatchRecordKept: Ledger._record_kept,
    events.DrawReleased: Ledger._draw_released,
    events.EvidenceFound: Ledger._evidence_found,
    events.ProtestReceived: Ledger._protested,
    events.WalkoverDecided: Ledger._decide,
    events.ResultVoided: Ledger._voided,
    events.OutageBegan: Ledger._outage_began,
    events.OutageEnded: Ledger._outage_ended,
    events.PlayersProbed: Ledger._players_probed,
    events.MatchInterrupted: Ledger._interrupted,
    events.MatchPaused: Ledger._match_paused,
    events.LossAllowed: Ledger._loss_allowed,
    events.MatchHeld: Ledger._held,
    events.RoundFinished: Ledger._round_finished,
    events.LeagueFinished: Ledger._finished,
    events.LeagueReopened: Ledger._reopened,
    events.LeagueClosed: Ledger._closed,
    events.PlayerWithdrawn: Ledger._withdrawn,
    events.LeaguePaused: Ledger._pause,
    events.LeagueResumed: Ledger._resume,
    events.LeagueStartOrdered: Ledger._start,
    events.SecretReplaced: Ledger._secret_replaced,
}
