"""The league as its page shows it: a value computed from a manager.

Its rows are plain data that can be compared, so that only what changed is rendered and sent again (`live_page.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from league.events import WalkoverDecided
from league.manager.league_manager import LeagueManager
from league.manager.ledger import Ledger, MatchStatus, ScheduledMatch, decided
from league.manager.roster import Member
from league.manager.standings import Decided, StandingsTable
from league.reports import views

if TYPE_CHECKING:
    from league_dashboard.answer_times import Answering
    from league_dashboard.history_view import HistoryView
    from league_dashboard.sections import SectionView

FORM = 5
"""The number of latest results that show a player's form."""
NEXT = 6
"""The number of coming matches that are listed."""

Mark = Literal["W", "D", "L", "T"]
"""Won, drawn, lost, lost by a fault of one's own."""
PHASES: Final[Mapping[MatchStatus, str]] = {
    "SCHEDULED": "to come",
    "WAITING": "waits for a referee",
    "ASSIGNED": "being played",
    "PARKED": "parked: its attempts failed",
    "VOIDED": "voided, to be played again",
    "COMPLETED": "over",
}
"""The status of a match in words."""
_OUTCOMES: Final[Mapping[str, str]] = {
    "WIN": "won",
    "DRAW": "draw",
    "TECHNICAL_LOSS": "technical loss",
}
_STANDING: Final = ("rank", "played", "wins", "draws", "losses", "points")


class Named(NamedTuple):
    """An agent by its id and its name."""

    agent_id: str
    name: str


class FormMark(NamedTuple):
    """How a player fared in one match."""

    match_id: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class StandingView:
    """A row of the table. `moved` is how many places up in the newest round; `status` is empty while all is well."""

    rank: int
    player: Named
    played: int
    wins: int
    draws: int
    losses: int
    technical: int
    points: int
    form: tuple[FormMark, ...]
    moved: int
    status: str
    is_champion: bool


@dataclass(frozen=True, slots=True)
class MatchView:
    """A match in a list. `outcome` is empty until it is decided."""

    match_id: str
    round_id: int
    players: tuple[Named, Named]
    points: tuple[int, int] | None
    winner: str | None
    referee_id: str
    phase: str
    outcome: str
    status: str


@dataclass(frozen=True, slots=True)
class AgentView:
    """A player or referee of the league."""

    agent: Named
    role: str
    status: str
    is_well: bool
    technical: int
    deviations: int
    endpoint: str
    answering: Answering | None = None
    """None for referees, and for players without a record."""


class ApplicantView(NamedTuple):
    """An agent that waits for the operator's approval."""

    applicant_id: str
    name: str
    role: str
    endpoint: str
    origin: str


CrossCell = tuple[FormMark, ...] | None
"""The results against one opponent; None for the player itself."""


@dataclass(frozen=True, slots=True)
class CrossRow:
    """The results of one player against each of the others, in the order of the columns; None is the player itself."""

    player: Named
    cells: tuple[CrossCell, ...]


@dataclass(frozen=True, slots=True)
class PointsLine:
    """A player's points after each finished round, from 0."""

    player: Named
    points: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the league is, and what it waits for."""

    headline: str
    waiting: str
    state: str
    round_id: int
    rounds: int
    finished_rounds: int
    completed: int
    total: int
    technical_losses: int
    champion: Named | None

    @property
    def announcement(self) -> str:
        """What a screen reader says when it changes."""
        return f"{self.headline}. {self.waiting}".strip()


@dataclass(frozen=True, slots=True)
class LeagueView:
    """All of the league page."""

    league_id: str
    game_type: str
    progress: Progress
    standings: tuple[StandingView, ...]
    matches: tuple[MatchView, ...]
    coming: tuple[MatchView, ...]
    chart: tuple[PointsLine, ...]
    columns: tuple[str, ...]
    cross: tuple[CrossRow, ...]
    agents: tuple[AgentView, ...]
    applicants: tuple[ApplicantView, ...]
    sections: tuple[SectionView, ...] = ()
    """What other features show of the league; a page of the past has none."""
    history: HistoryView | None = None
    """None if there is no journal to look back into."""


def league_view(manager: LeagueManager) -> LeagueView:
    """The league as it is."""
    ledger = manager.ledger
    results = _Results(ledger)
    names = names_in(ledger)
    # Rows and columns of the cross table keep their places while the standings change.
    players = sorted(row.player_id for row in manager.standings)
    cross = []
    if ledger.rounds:
        for player in players:
            row = CrossRow(names[player], results.against(player, players))
            cross.append(row)
    chart = []
    for standing in manager.standings:
        player = standing.player_id
        chart.append(PointsLine(names[player], results.points(player)))
    return LeagueView(
        league_id=ledger.settings.league_id,
        game_type=ledger.settings.game_type,
        progress=_progress(manager, names),
        standings=tuple(_standings(manager, results, names)),
        matches=tuple(match_view(match, names) for match in _current(ledger)),
        coming=tuple(match_view(match, names) for match in _coming(ledger)),
        chart=tuple(chart),
        columns=tuple(players),
        cross=tuple(cross),
        agents=tuple(_agents(manager)),
        applicants=tuple(_applicants(ledger)),
    )


def names_in(ledger: Ledger) -> dict[str, Named]:
    """Every member with its name, by id."""
    names = {}
    for agent_id, member in ledger.roster.members.items():
        names[agent_id] = Named(agent_id, member.display_name)
    return names


def completed(
    view: LeagueView,
    sections: tuple[SectionView, ...],
    answering: Mapping[str, Answering],
    history: HistoryView | None = None,
) -> LeagueView:
    """The view with everything that does not come from the manager's state."""
    agents = []
    for row in view.agents:
        answers = answering.get(row.agent.agent_id)
        agents.append(replace(row, answering=answers))
    return replace(view, sections=sections, agents=tuple(agents), history=history)


# --- results ----------------------------------------------------------------------------------------------------------


def mark_of(result: Decided, player: str) -> Mark:
    """How a result counts for one of its players."""
    if result.winner == player:
        return "W"
    if result.technical:
        return "T"
    if result.winner is None:
        return "D"
    return "L"


class _Results:
    """The results in force, by player and by round."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.marks: dict[str, list[FormMark]] = {}
        """All results of a player, the oldest first."""
        self._gained: dict[str, list[int]] = {}
        """Points by player and finished round, from round 0."""
        for player in ledger.matches_of:
            self.marks[player] = []
            self._gained[player] = [0] * (ledger.finished_rounds + 1)
        for match in ledger.matches.values():
            if match.result is not None:
                self._add(match, decided(match, match.result))

    def _add(self, match: ScheduledMatch, result: Decided) -> None:
        for player in match.players:
            mark = FormMark(match.match_id, mark_of(result, player))
            self.marks[player].append(mark)
            # The chart ends with the last finished round: the open one would bend its lines.
            if match.round_id <= self._ledger.finished_rounds:
                self._gained[player][match.round_id] += result.points(player)

    def points(self, player: str) -> tuple[int, ...]:
        """The points of a player after each finished round."""
        if not self._ledger.finished_rounds:
            return ()
        return tuple(accumulate(self._gained[player]))

    def ranks_before_the_newest_results(self) -> Mapping[str, int]:
        """The rank of each player at the start of the round with the newest results; nothing in the first round."""
        ledger = self._ledger
        newest = ledger.current_round
        if newest and all(match.result is None for match in ledger.matches_in(newest)):
            newest -= 1
        if newest < 2:
            return {}
        # The table is a running sum: a copy of it without the results since then is the table of that time.
        table = msgspec.convert(msgspec.to_builtins(ledger.standings), StandingsTable)
        for round_id in range(newest, len(ledger.rounds) + 1):
            for match in ledger.matches_in(round_id):
                if match.result is not None:
                    table.add(decided(match, match.result), -1)
        ranking = table.ranking(ledger.settings.tiebreakers)
        return {player: rank for rank, player in enumerate(ranking, start=1)}

    def against(self, player: str, columns: Sequence[str]) -> tuple[CrossCell, ...]:
        """A player's row of the cross table."""
        marks: dict[str, list[FormMark]] = {}
        for mark in self.marks[player]:
            opponent = self._ledger.matches[mark.match_id].opponent(player)
            marks.setdefault(opponent, []).append(mark)
        cells: list[CrossCell] = [tuple(marks.get(opponent, ())) for opponent in columns]
        cells[columns.index(player)] = None
        return tuple(cells)


def _standings(manager: LeagueManager, results: _Results, names: Mapping[str, Named]) -> Iterator[StandingView]:
    ledger = manager.ledger
    ranks_before = results.ranks_before_the_newest_results()
    for row in manager.standings:
        player = row.player_id
        member = ledger.roster.members[player]
        # The table only names a state that explains why a player loses points.
        status = views.status_of(member)
        if status not in ("withdrawn", "not playing"):
            status = ""
        yield StandingView(
            **views.fields(row, _STANDING),
            player=names[player],
            technical=member.technical_losses,
            form=tuple(results.marks[player][-FORM:]),
            moved=ranks_before.get(player, row.rank) - row.rank,
            status=status,
            is_champion=player == ledger.champion,
        )


# --- matches ----------------------------------------------------------------------------------------------------------


def match_view(match: ScheduledMatch, names: Mapping[str, Named]) -> MatchView:
    """A match with its result, if it has one."""
    points = None
    winner = None
    if match.result is not None:
        result = decided(match, match.result)
        points = (result.points(match.player_a), result.points(match.player_b))
        winner = result.winner
    return MatchView(
        match_id=match.match_id,
        round_id=match.round_id,
        players=(names[match.player_a], names[match.player_b]),
        points=points,
        winner=winner,
        referee_id=match.referee_id or "",
        phase=PHASES[match.status],
        outcome=_outcome(match),
        status=match.status,
    )


def _outcome(match: ScheduledMatch) -> str:
    result = match.result
    if result is None:
        return ""
    if isinstance(result, WalkoverDecided):
        return "walkover"
    outcome = _OUTCOMES[result.status]
    if not result.verified:
        outcome += ", unverified"
    return outcome


def _current(ledger: Ledger) -> Iterator[ScheduledMatch]:
    """The matches of the round being played, after those of earlier rounds that are still open."""
    in_play = ledger.in_play
    still_open = {*in_play.waiting, *in_play.voided, *in_play.parked}
    for matches in in_play.holdings.values():
        still_open.update(matches)
    for match_id in sorted(still_open):
        match = ledger.matches[match_id]
        if match.round_id < ledger.current_round:
            yield match
    if ledger.current_round:
        yield from ledger.matches_in(ledger.current_round)


def _coming(ledger: Ledger) -> list[ScheduledMatch]:
    following = ledger.current_round + 1
    if following > len(ledger.rounds):
        return []
    return ledger.matches_in(following)[:NEXT]


# --- how far it is ----------------------------------------------------------------------------------------------------


def _progress(manager: LeagueManager, names: Mapping[str, Named]) -> Progress:
    ledger = manager.ledger
    champion = None
    if ledger.champion:
        champion = names[ledger.champion]
    if champion is not None:
        headline = f"Champion: {champion.name}"
    elif ledger.current_round:
        headline = f"Round {ledger.current_round} of {len(ledger.rounds)}"
    else:
        headline = "Registration"
    total = len(ledger.matches)
    return Progress(
        headline=headline,
        waiting=_waiting(manager),
        state=ledger.state,
        round_id=ledger.current_round,
        rounds=len(ledger.rounds),
        finished_rounds=ledger.finished_rounds,
        completed=total - ledger.undecided,
        total=total,
        technical_losses=views.technical_losses(manager),
        champion=champion,
    )


def _waiting(manager: LeagueManager) -> str:
    """Why nothing is played at the moment, in a sentence; empty while something is."""
    match manager.waiting:
        case "WAITING_FOR_REGISTRATIONS":
            return _registrations(manager.ledger)
        case "PAUSED":
            return "Paused by the operator."
        case "WAITING_FOR_PLAYERS":
            return f"Waiting for players: {manager.waiting_reason}."
        case "WAITING_FOR_OPERATOR":
            parked = ", ".join(manager.parked)
            return f"Waiting for the operator: every attempt to play {parked} failed."
        case "WAITING_FOR_REFEREE":
            return "Waiting for a referee: none answers."
        case _:
            return ""


def _registrations(ledger: Ledger) -> str:
    settings = ledger.settings
    roster = ledger.roster
    players = f"{len(roster.of_role('player'))} of {settings.players} players"
    referees = f"{len(roster.of_role('referee'))} of {settings.referees} referees"
    sentence = f"{players} and {referees} have registered"
    applicants = sum(1 for _ in roster.applicants.waiting)
    if applicants:
        sentence += f", {applicants} wait for the operator's approval"
    if settings.start == "manual":
        sentence += "; the operator starts the league"
    elif settings.start_at is not None:
        sentence += f"; the league starts at {datetime.fromtimestamp(settings.start_at, UTC):%Y-%m-%d %H:%M UTC}"
    return f"{sentence}."


# --- agents -----------------------------------------------------------------------------------------------------------


def _agents(manager: LeagueManager) -> Iterator[AgentView]:
    """Referees first, then players."""
    ledger = manager.ledger
    deviations = Counter(agent_id for agent_id, _, _ in ledger.deviations)

    def place(member: Member) -> tuple[bool, str]:
        return member.is_player, member.agent_id

    for member in sorted(ledger.roster.members.values(), key=place):
        # A withdrawn player has no duty to answer.
        status = views.status_of(member)
        if member.agent_id in manager.not_answering and not member.withdrawn:
            status = "not answering"
        yield AgentView(
            agent=Named(member.agent_id, member.display_name),
            role=member.role,
            status=status,
            is_well=status in ("registered", "playing", "finished"),
            technical=member.technical_losses,
            deviations=deviations[member.agent_id],
            endpoint=member.endpoint,
        )


def _applicants(ledger: Ledger) -> Iterator[ApplicantView]:
    for applicant in ledger.roster.applicants.waiting:
        yield ApplicantView(
            applicant_id=applicant.applicant_id,
            name=applicant.display_name,
            role=applicant.role,
            endpoint=applicant.endpoint,
            origin=applicant.origin,
        )
