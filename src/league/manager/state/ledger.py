"""The ledger: everything that has become true in a league.

`apply` makes one event true. It is the only thing that changes the ledger, live and in replay, so replaying a journal
gives the same ledger again. No event may be refused here: whoever records an event has checked it before.

A match moves through these states:

    SCHEDULED ── its round is opened ──▶ WAITING ── MatchAssigned ──▶ ASSIGNED ── result ──▶ COMPLETED
                                           ▲  ◀── MatchLost ────────────┘                      │
                                           │                                                    │ ResultVoided
              PARKED ── MatchUnparked ─────┤                                                    ▼
                 ▲                         ├──────────── the round is still being played ───────┤
                 └── MatchParked (after three attempts)        VOIDED ◀── the round is over ────┘

A walkover completes a match from any state. A VOIDED match is assigned again between two rounds. At every moment a
match without a result is in exactly one of the collections of `MatchesInPlay`, or its round was not opened yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct, field

from league import events
from league.events import Event, LeagueSettings, LeagueState
from league.games import registry
from league.manager.season.standings import Decided, StandingsTable
from league.manager.state.roster import Member, Roster
from league.protocol.conventions import convention_of
from league.protocol.errors import ERRORS, REFUSED_BY_STRICT
from league.protocol.message.experiment import Provenance, said
from league.protocol.order_table import Order
from league.protocol.safe_text import without_tokens

MAX_DEVIATIONS = 100
"""Maximum number of deviations kept per player from the records of referees."""
LONGEST_CLAUSE = 120
LONGEST_DETAIL = 300
MAX_REFUSED_ANSWERS = 100
"""Maximum number of refused answers kept from the records of referees."""
STATEMENTS_KEPT = 8
"""Maximum number of statements that members can still be sent. The newest stands for all."""
MAX_CONDITIONS = 4
"""Maximum number of conditions kept per player."""

NO_MODEL = "E045"
"""The code for a player whose language model did not answer."""

ResultInForce = events.ResultAccepted | events.WalkoverDecided
MatchStatus = Literal["SCHEDULED", "WAITING", "ASSIGNED", "PARKED", "COMPLETED", "VOIDED"]
"""WAITING: needs a referee now. VOIDED: will need one when the current round is finished."""
PublicStatus = Literal["SCHEDULED", "RUNNING", "PARKED", "COMPLETED"]


class Pause(Struct, frozen=True):
    """A question of a match that waits for its player, and since when."""

    turn: int
    cause: events.PauseCause
    since: float


class Basis(Struct, frozen=True):
    """What a result rests on (spec section 8.18)."""

    evidence: events.Evidence
    unsigned: tuple[str, ...] = ()
    """The players that did not sign their choices."""
    doubt: str = ""
    """Why it is not proven, as far as that is not for a missing signature."""


NO_LONGER_CHECKED: Final = "receipts of 0.3.0 are no longer checked"


def basis_of(
    result: ResultInForce,
    judged: events.ResultJudged | None,
    keys: Mapping[str, str] | None = None,
) -> Basis | None:
    """Return what a result rests on; None as long as nobody has judged it. `keys`: those in force for its attempt."""
    if isinstance(result, events.WalkoverDecided):
        return Basis("by_manager" if result.winner else "not_played")
    if judged is not None:
        return Basis(judged.evidence, judged.unsigned, judged.doubt)
    if keys is None:
        return Basis("by_referee", (), NO_LONGER_CHECKED)
    return None


class CurrentAttempt(Struct):
    """What belongs to the current attempt of a match alone."""

    share_commitment: str = ""
    """The promise of our share of its draws; empty if the referee draws alone."""
    keys: dict[str, str] | None = None
    """The public keys of its players, in force for this attempt; None in journals of 0.3.0."""
    released: events.DrawReleased | None = None
    """What the referee handed in for our share: the match is decided."""
    pauses: dict[str, Pause] = {}
    """The last question that waited for each player."""
    allowed: dict[str, events.LossAllowed] = {}
    """The technical losses that its referee asked about and may decide, by player."""
    decisions: int = 0
    """How often such a loss was allowed."""
    renewed: set[str] = set()
    """The players that took up another token meanwhile: their referee may not know it."""
    talk: list[dict[str, Any]] | None = None
    """The moves in its referee's record, in games with talk: they have what was too large for the report."""


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
    judged: events.ResultJudged | None = None
    """What the result in force rests on, once that is known."""
    first_drawn: int = 0
    """The first attempt whose share of the draw was released; 0 if none was."""

    @property
    def players(self) -> tuple[str, str]:
        return self.player_a, self.player_b

    def opponent(self, player: str) -> str:
        return self.player_b if player == self.player_a else self.player_a

    @property
    def basis(self) -> Basis | None:
        """What the result in force rests on; None without a result, and until it is judged."""
        if self.result is None:
            return Basis("not_played") if self.status == "PARKED" else None
        return basis_of(self.result, self.judged, self.current.keys)

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


class MatchesInPlay(Struct):
    """The ids of matches that need something before they have a result."""

    waiting: dict[str, None] = {}
    voided: dict[str, None] = {}
    parked: dict[str, None] = {}
    holdings: dict[str, dict[str, None]] = {}
    """For each referee the matches it holds, in the order it got them."""

    def remove(self, match: ScheduledMatch) -> None:
        match_id = match.match_id
        self.waiting.pop(match_id, None)
        self.voided.pop(match_id, None)
        self.parked.pop(match_id, None)
        if match.referee_id is not None:
            self.holdings[match.referee_id].pop(match_id, None)

    def wait(self, match: ScheduledMatch) -> None:
        """The match needs a referee now."""
        self.remove(match)
        match.status = "WAITING"
        self.waiting[match.match_id] = None


class ModelChoices(Struct):
    """How the choices of a player came about, by its own account in results in force (spec section 8.17)."""

    choices: int = 0
    fallbacks: int = 0
    provider_errors: int = 0
    tokens: int = 0
    tokens_estimated: int = 0
    thinking_s: float = 0.0
    waited_s: float = 0.0
    lost: int = 0
    """Matches that the player lost because its model did not answer."""

    def add(self, result: events.ResultAccepted, player: str) -> None:
        """Count what a result says about a player. It may say anything."""
        reported = provenance_in(result.details, player)
        for name in _COUNTED if reported else ():
            setattr(self, name, getattr(self, name) + getattr(reported, name))
        if result.status == "TECHNICAL_LOSS" and result.winner != player:
            faults = result.details.get("faults")
            fault = faults.get(player) if isinstance(faults, dict) else None
            self.lost += isinstance(fault, dict) and fault.get("code") == NO_MODEL


_COUNTED = ModelChoices.__struct_fields__[:-1]


def provenance_in(details: Mapping[str, object], player_id: str) -> Provenance | None:
    """How a player's choices in a match came about, by the details of its result, which may hold anything."""
    by_player = details.get("provenance")
    if not isinstance(by_player, dict):
        return None
    return said(Provenance, by_player.get(player_id))


class ResultSums(Struct):
    """What the results in force come to besides the table: kept, so that nobody has to look at all matches."""

    technical_losses: int = 0
    by_word: dict[str, None] = {}
    """The matches whose results nobody but their referees stands for (spec section 8.18)."""
    models: dict[str, ModelChoices] = {}
    """By player; a player is missing if no result says anything."""

    def find_basis(self, match: ScheduledMatch) -> None:
        """Note whose word a match rests on."""
        self.by_word.pop(match.match_id, None)
        basis = match.basis
        if basis is not None and basis.evidence == "by_referee":
            self.by_word[match.match_id] = None

    def count_choices(self, player: str, results: Iterable[ResultInForce | None]) -> None:
        """Count what results say about the choices of a player."""
        for result in results:
            if isinstance(result, events.ResultAccepted) and not result.details.keys().isdisjoint(_ABOUT_CHOICES):
                self.models.setdefault(player, ModelChoices()).add(result, player)


_ABOUT_CHOICES = ("provenance", "faults")


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


class Unstated(Struct):
    """What became true since the manager's last statement (spec section 9.8)."""

    matches: dict[str, None] = {}
    """The matches whose result or evidence changed, in the order in which each of them first did."""
    orders: list[str] = []


class SignedStatement(Struct, frozen=True):
    """A statement of the manager as it was signed (Any: JSON)."""

    statement: dict[str, Any]
    signature: str


class Ledger(Struct):
    """The state of a league."""

    settings: LeagueSettings
    created: bool = False
    manager_key: str = ""
    """The public key of the manager."""
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
    sums: ResultSums = field(default_factory=ResultSums)
    champion: str | None = None
    unstated: Unstated = field(default_factory=Unstated)
    statements: dict[int, SignedStatement] = {}
    """The last statements by round, the newest last."""
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
        self.manager_key = event.manager_key
        self.created = True

    def _settings_changed(self, event: events.SettingsChanged) -> None:
        self.settings = event.applied_to(self.settings)
        self.manager_key = event.manager_key or self.manager_key

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

    def _token_taken_up(self, event: events.TokenTakenUp) -> None:
        self.roster.members[event.agent_id].credentials.serial = event.serial
        for holdings in self.in_play.holdings.values():
            for match in map(self.matches.__getitem__, holdings):
                if event.agent_id in match.players:
                    match.current.renewed.add(event.agent_id)

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
        self.current_round = event.round_id
        self.rounds[event.round_id - 1].opened_at = event.at
        for match in self.matches_in(event.round_id):
            if match.status == "SCHEDULED":
                self.in_play.wait(match)

    def _assigned(self, event: events.MatchAssigned) -> None:
        match = self.matches[event.match_id]
        self.in_play.remove(match)
        match.status = "ASSIGNED"
        match.referee_id = event.referee_id
        match.attempt = event.attempt
        match.current = CurrentAttempt(event.share_commitment, event.keys)
        match.judged = None
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

    def _unparked(self, event: events.MatchUnparked) -> None:
        match = self.matches[event.match_id]
        match.tries = 0
        self.in_play.wait(match)
        if event.key:
            self._ordered(event.key, f"replay-match {event.match_id}")

    def _round_finished(self, event: events.RoundFinished) -> None:
        self.rounds[event.round_id - 1].finished = True
        self.finished_rounds = event.round_id
        self.standings.round_id = event.round_id
        self._stated(event, event.round_id)

    def _stated(self, event: events.RoundFinished | events.LeagueFinished, round_id: int) -> None:
        if not event.signature:
            return
        self.unstated = Unstated()
        self.statements.pop(round_id, None)
        self.statements[round_id] = SignedStatement(event.statement, event.signature)
        if len(self.statements) > STATEMENTS_KEPT:
            del self.statements[next(iter(self.statements))]

    # --- results ------------------------------------------------------------------------------------------------------

    def _result_accepted(self, event: events.ResultAccepted) -> None:
        self._decide(event)
        match = self.matches[event.match_id]
        players = match.players
        is_technical = event.status == "TECHNICAL_LOSS"
        self.sums.technical_losses += is_technical
        for player in players:
            self.sums.count_choices(player, [event])
            member = self.roster.members[player]
            if is_technical and player != event.winner:
                member.attendance.faults_in_a_row += 1
                member.attendance.technical_losses += 1
            else:
                member.attendance.faults_in_a_row = 0

    def _decide(self, event: ResultInForce) -> None:
        match = self.matches[event.match_id]
        self.in_play.remove(match)
        match.status = "COMPLETED"
        match.result = event
        self.sums.find_basis(match)
        self.unstated.matches[event.match_id] = None
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
        match = self.matches[event.match_id]
        players = match.players
        if match.attempt == event.attempt and self._has_talk:
            match.current.talk = [moved for moved in event.record if moved.get("talk")]
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

    @property
    def _has_talk(self) -> bool:
        game = registry.find(self.settings.game_type)
        return game is not None and bool(game.talk)

    def _draw_released(self, event: events.DrawReleased) -> None:
        match = self.matches[event.match_id]
        match.current.released = event
        match.first_drawn = match.first_drawn or event.attempt

    def _judged(self, event: events.ResultJudged) -> None:
        match = self.matches[event.match_id]
        match.judged = event
        self.sums.find_basis(match)
        self.unstated.matches[event.match_id] = None

    def _voided(self, event: events.ResultVoided) -> None:
        match = self.matches[event.match_id]
        assert match.result is not None
        self._count(match, match.result, times=-1)
        if isinstance(match.result, events.ResultAccepted) and match.result.status == "TECHNICAL_LOSS":
            self.sums.technical_losses -= 1
            for player in match.players:
                if player != match.result.winner:
                    self.roster.members[player].attendance.technical_losses -= 1
        match.result = None
        match.judged = None
        self.sums.find_basis(match)
        for player in match.players:
            if self.sums.models.pop(player, None) is not None:
                others = map(self.matches.__getitem__, self.matches_of[player])
                self.sums.count_choices(player, [other.result for other in others])
        self.unstated.matches[event.match_id] = None
        match.tries = 0
        self.round_of(match).undecided += 1
        if event.key:
            self._ordered(event.key, f"replay-match {event.match_id}")
        # Nothing of a finished round is played while another one is: it waits until no round is open.
        if self.round_of(match).finished:
            match.status = "VOIDED"
            self.in_play.voided[event.match_id] = None
        else:
            self.in_play.wait(match)

    # --- silent players -----------------------------------------------------------------------------------------------

    def _match_paused(self, event: events.MatchPaused) -> None:
        match = self.matches[event.match_id]
        match.current.pauses[event.player_id] = Pause(event.turn, event.cause, event.at)
        match.current.allowed.pop(event.player_id, None)
        attendance = self.roster.members[event.player_id].attendance
        if event.cause == "outage":
            attendance.outage_pauses += 1
        else:
            attendance.own_pauses += 1
        if event.code == NO_MODEL:
            attendance.declined += 1
        if event.behind:
            attendance.gone_behind += 1

    def _loss_allowed(self, event: events.LossAllowed) -> None:
        attempt = self.matches[event.match_id].current
        attempt.allowed[event.player_id] = event
        attempt.decisions += 1

    # --- the end ------------------------------------------------------------------------------------------------------

    def _finished(self, event: events.LeagueFinished) -> None:
        self.champion = event.champion
        self._stated(event, len(self.rounds))

    def _reopened(self, event: events.LeagueReopened) -> None:
        self.state = "RUNNING_LEAGUE"
        self.champion = None
        self.controls.reopened += 1
        self.roster.changes += 1
        # Members that were told of the end are members again; withdrawn players stay out.
        for member in self.roster.members.values():
            if not member.attendance.withdrawn and member.state == "SHUTDOWN":
                member.state = "ACTIVE"

    # --- the operator -------------------------------------------------------------------------------------------------

    def _carried_out(self, event: events.OrderCarriedOut) -> None:
        ORDERS[event.order](self, event.target)
        self._ordered(event.key, f"{event.order} {event.named or event.target}".strip())

    def _ordered(self, key: str, order: str) -> None:
        self.controls.orders[key] = order
        self.unstated.orders.append(order)

    def _start(self, _: str) -> None:
        self.controls.start_ordered = True

    def _pause(self, _: str) -> None:
        self.controls.paused = True

    def _resume(self, _: str) -> None:
        self.controls.paused = False

    def _close(self, _: str) -> None:
        self.controls.closed = True

    def _approve(self, applicant_id: str) -> None:
        self.roster.applicants.approve(applicant_id)

    def _reject(self, applicant_id: str) -> None:
        self.roster.applicants.reject(applicant_id)

    def _readmit(self, agent_id: str) -> None:
        self.roster.members[agent_id].credentials.readmitting = True

    def _withdraw(self, player_id: str) -> None:
        self.roster.leave(self.roster.members[player_id])

    def _replace_secret(self, _: str) -> None:
        """Do nothing: secrets stand beside the events."""


ORDERS: Mapping[Order, Callable[[Ledger, str], None]] = {
    "start": Ledger._start,
    "pause": Ledger._pause,
    "resume": Ledger._resume,
    "close": Ledger._close,
    "approve": Ledger._approve,
    "reject": Ledger._reject,
    "readmit": Ledger._readmit,
    "withdraw": Ledger._withdraw,
    "rotate-token": Ledger._replace_secret,
}
"""What orders change; each takes the id of its target."""


def decided(match: ScheduledMatch, result: ResultInForce) -> Decided:
    """Return how a result counts in the table. A walkover counts as a technical loss of the withdrawn player."""
    is_technical = isinstance(result, events.WalkoverDecided) or result.status == "TECHNICAL_LOSS"
    # Results of games scored by league points, old ones too, follow from their winner.
    score = result.points if result.by_margin else None
    return Decided(match.players, result.winner, is_technical, score)


# Any: each handler takes the one event it is listed under.
APPLY: Mapping[type[Event], Callable[[Ledger, Any], None]] = {
    Event: lambda _ledger, _event: None,  # of an earlier version; it means nothing any more
    events.LeagueCreated: Ledger._created,
    events.SettingsChanged: Ledger._settings_changed,
    events.AgentRegistered: Ledger._registered,
    events.ConventionLearned: Ledger._convention_learned,
    events.AgentProbed: Ledger._probed,
    events.DispatchLearned: Ledger._dispatch_learned,
    events.AgentApplied: Ledger._applied,
    events.RequestRefused: Ledger._refused,
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
    events.ResultAccepted: Ledger._result_accepted,
    events.MatchRecordKept: Ledger._record_kept,
    events.DrawReleased: Ledger._draw_released,
    events.ResultJudged: Ledger._judged,
    events.WalkoverDecided: Ledger._decide,
    events.ResultVoided: Ledger._voided,
    events.MatchPaused: Ledger._match_paused,
    events.LossAllowed: Ledger._loss_allowed,
    events.RoundFinished: Ledger._round_finished,
    events.LeagueFinished: Ledger._finished,
    events.LeagueReopened: Ledger._reopened,
    events.OrderCarriedOut: Ledger._carried_out,
}
