"""The league as its page shows it: a value computed from a manager. Its rows can be compared, so that only what changed
is rendered and sent again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import msgspec

from league.events import WalkoverDecided
from league.manager.league import LeagueManager
from league.manager.ledger import Ledger, ScheduledMatch, decided
from league.manager.standings import Decided, StandingsTable
from league.reports import views

if TYPE_CHECKING:
    from league_dashboard.answers import Answering
    from league_dashboard.history_view import HistoryView
    from league_dashboard.sections import SectionView

FORM = 5
"""So many results tell how a player is doing."""
NEXT = 6
"""So many matches to come are named."""

Mark = Literal["W", "D", "L", "T"]
"""Won, drawn, lost, lost by a fault of one's own."""
_PHASES: Final[Mapping[str, str]] = {
    "SCHEDULED": "to come",
    "WAITING": "waits for a referee",
    "ASSIGNED": "being played",
    "PARKED": "parked: its attempts failed",
    "VOIDED": "voided, to be played again",
    "COMPLETED": "over",
}


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
    """Who takes part."""

    agent: Named
    role: str
    status: str
    is_well: bool
    technical: int
    deviations: int
    endpoint: str
    answering: Answering | None = None
    """None for referees, and for players of whom nothing is on record."""


class ApplicantView(NamedTuple):
    """Who waits for the operator's approval."""

    applicant_id: str
    name: str
    role: str
    endpoint: str
    origin: str


@dataclass(frozen=True, slots=True)
class CrossRow:
    """What one player got against each of the others, in the order of the columns; None is the player itself."""

    player: Named
    cells: tuple[tuple[FormMark, ...] | None, ...]


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
    """What other features show of the league; nothing of its past."""
    history: HistoryView | None = None
    """None if there is no journal to look back into."""


def league_view(manager: LeagueManager) -> LeagueView:
    """The league as it is."""
    ledger = manager.ledger
    history = _History(ledger)
    rows = manager.standings
    names = {one.agent_id: Named(one.agent_id, one.display_name) for one in ledger.roster.members.values()}
    order = sorted(row.player_id for row in rows)
    return LeagueView(
        league_id=ledger.settings.league_id,
        game_type=ledger.settings.game_type,
        progress=_progress(manager, names),
        standings=tuple(_standings(manager, history, names)),
        matches=tuple(match_view(one, names) for one in _current(ledger)),
        coming=tuple(match_view(one, names) for one in _coming(ledger)),
        chart=tuple(PointsLine(names[row.player_id], history.points(row.player_id)) for row in rows),
        columns=tuple(order),
        cross=tuple(CrossRow(names[one], history.against(one, order)) for one in order) if ledger.rounds else (),
        agents=tuple(_agents(manager)),
        applicants=tuple(
            ApplicantView(one.applicant_id, one.display_name, one.role, one.endpoint, one.origin)
            for one in ledger.roster.applicants.waiting
        ),
    )


def completed(
    view: LeagueView,
    sections: tuple[SectionView, ...],
    answering: Mapping[str, Answering],
    history: HistoryView | None = None,
) -> LeagueView:
    """With what is worked out elsewhere than from the manager's state."""
    agents = tuple(replace(one, answering=answering.get(one.agent.agent_id)) for one in view.agents)
    return replace(view, sections=sections, agents=agents, history=history)


# --- results ----------------------------------------------------------------------------------------------------------


def mark_of(result: Decided, player: str) -> Mark:
    """How a result counts for one of its players."""
    if result.winner == player:
        return "W"
    if result.technical:
        return "T"
    return "D" if result.winner is None else "L"


class _History:
    """The results in force, by player and by round."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.marks: dict[str, list[FormMark]] = {player: [] for player in ledger.matches_of}
        """All results of a player, the first first."""
        self._gained = {player: [0] * (ledger.finished_rounds + 1) for player in ledger.matches_of}
        """Points by player and finished round."""
        for one in ledger.matches.values():
            if one.result is not None:
                self._add(one, decided(one, one.result))

    def _add(self, match: ScheduledMatch, result: Decided) -> None:
        for player in match.players:
            self.marks[player].append(FormMark(match.match_id, mark_of(result, player)))
            if match.round_id <= self._ledger.finished_rounds:
                self._gained[player][match.round_id] += result.points(player)

    def points(self, player: str) -> tuple[int, ...]:
        """After each finished round."""
        return tuple(accumulate(self._gained[player])) if self._ledger.finished_rounds else ()

    def ranks_before_the_newest_results(self) -> Mapping[str, int]:
        """The place of each player when the round began that has the newest results; nothing of the first."""
        ledger = self._ledger
        newest = ledger.current_round
        if newest and all(one.result is None for one in ledger.matches_in(newest)):
            newest -= 1
        if newest < 2:
            return {}
        table = msgspec.convert(msgspec.to_builtins(ledger.standings), StandingsTable)
        for round_id in range(newest, len(ledger.rounds) + 1):
            for one in ledger.matches_in(round_id):
                if one.result is not None:
                    table.add(decided(one, one.result), -1)
        ranking = table.ranking(ledger.settings.tiebreakers)
        return {player: rank for rank, player in enumerate(ranking, start=1)}

    def against(self, player: str, others: Sequence[str]) -> tuple[tuple[FormMark, ...] | None, ...]:
        """A row of the cross table."""
        found: dict[str, tuple[FormMark, ...]] = {}
        for one in self.marks[player]:
            other = self._ledger.matches[one.match_id].opponent(player)
            found[other] = (*found.get(other, ()), one)
        return tuple(None if other == player else found.get(other, ()) for other in others)


def _standings(manager: LeagueManager, history: _History, names: Mapping[str, Named]) -> Iterator[StandingView]:
    ledger = manager.ledger
    before = history.ranks_before_the_newest_results()
    for row in manager.standings:
        member = ledger.roster.members[row.player_id]
        status = views.status_of(member)
        yield StandingView(
            **views.fields(row, ("rank", "played", "wins", "draws", "losses", "points")),
            player=names[row.player_id],
            technical=member.technical_losses,
            form=tuple(history.marks[row.player_id][-FORM:]),
            moved=before.get(row.player_id, row.rank) - row.rank,
            status=status if status in ("withdrawn", "not playing") else "",
            is_champion=row.player_id == ledger.champion,
        )


# --- matches ----------------------------------------------------------------------------------------------------------


def match_view(one: ScheduledMatch, names: Mapping[str, Named]) -> MatchView:
    """A match with its result, if it has one."""
    result = decided(one, one.result) if one.result else None
    return MatchView(
        match_id=one.match_id,
        round_id=one.round_id,
        players=(names[one.player_a], names[one.player_b]),
        points=(result.points(one.player_a), result.points(one.player_b)) if result else None,
        winner=result.winner if result else None,
        referee_id=one.referee_id or "",
        phase=_PHASES[one.status],
        outcome=_outcome(one),
        status=one.status,
    )


def _outcome(one: ScheduledMatch) -> str:
    result = one.result
    if result is None:
        return ""
    if isinstance(result, WalkoverDecided):
        return "walkover"
    told = {"WIN": "won", "DRAW": "draw", "TECHNICAL_LOSS": "technical loss"}[result.status]
    return told if result.verified else f"{told}, unverified"


def _current(ledger: Ledger) -> Iterator[ScheduledMatch]:
    """The matches of the round being played, after those of earlier rounds that are still open."""
    in_play = ledger.in_play
    held = (match_id for matches in in_play.holdings.values() for match_id in matches)
    for match_id in sorted({*in_play.waiting, *in_play.voided, *in_play.parked, *held}):
        if ledger.matches[match_id].round_id < ledger.current_round:
            yield ledger.matches[match_id]
    if ledger.current_round:
        yield from ledger.matches_in(ledger.current_round)


def _coming(ledger: Ledger) -> list[ScheduledMatch]:
    following = ledger.current_round + 1
    return ledger.matches_in(following)[:NEXT] if following <= len(ledger.rounds) else []


# --- how far it is ----------------------------------------------------------------------------------------------------


def _progress(manager: LeagueManager, names: Mapping[str, Named]) -> Progress:
    ledger = manager.ledger
    champion = names.get(ledger.champion) if ledger.champion else None
    total = len(ledger.matches)
    headline = f"Round {ledger.current_round} of {len(ledger.rounds)}" if ledger.current_round else "Registration"
    return Progress(
        headline=f"Champion: {champion.name}" if champion else headline,
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
    settings, roster = ledger.settings, ledger.roster
    players, referees = (len(roster.of_role(role)) for role in ("player", "referee"))
    told = f"{players} of {settings.players} players and {referees} of {settings.referees} referees have registered"
    if applicants := sum(1 for _ in roster.applicants.waiting):
        told += f", {applicants} wait for the operator's approval"
    if settings.start == "manual":
        told += "; the operator starts the league"
    elif settings.start_at is not None:
        told += f"; the league starts at {datetime.fromtimestamp(settings.start_at, UTC):%Y-%m-%d %H:%M UTC}"
    return f"{told}."


def _agents(manager: LeagueManager) -> Iterator[AgentView]:
    ledger, silent = manager.ledger, manager.not_answering
    deviations = Counter(agent_id for agent_id, _, _ in ledger.deviations)
    for one in sorted(ledger.roster.members.values(), key=lambda one: (one.is_player, one.agent_id)):
        status = "not answering" if one.agent_id in silent and not one.withdrawn else views.status_of(one)
        yield AgentView(
            agent=Named(one.agent_id, one.display_name),
            role=one.role,
            status=status,
            is_well=status in ("registered", "playing", "finished"),
            technical=one.technical_losses,
            deviations=deviations[one.agent_id],
            endpoint=one.endpoint,
        )
