"""The league as its page shows it: a value computed from a manager.

Its rows are plain data that can be compared, so that only what changed is rendered and sent again
(`features/dashboard/live_page.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from league.events import WalkoverDecided
from league.games import registry
from league.manager.league_manager import LeagueManager
from league.manager.season.standings import Decided
from league.manager.state.ledger import Ledger, MatchStatus, ScheduledMatch, decided
from league.manager.state.roster import Member
from league.protocol.message.parts import StandingsRow
from league.reading import endings, views
from league.reading.awaited import waiting_sentence
from league.reading.evidence_words import WORDS

if TYPE_CHECKING:
    from league.features.dashboard.history_view import HistoryView
    from league.features.dashboard.sections import SectionView
    from league.features.dashboard.views.answer_times import AnswerSummary
    from league.features.dashboard.views.board_view import PlayView

FORM = 5
"""The number of latest results that show a player's form."""
NEXT = 6
"""The number of coming matches that are listed."""
MOST_LINES: Final = 30
"""The number of lines in the chart: more of them would be a grey area, and a third of the page."""
MOST_IN_CROSS = 30
"""With more players than this there is no cross table: it would be most of the page, and nobody could read it."""

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


class NamedAgent(NamedTuple):
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
    player: NamedAgent
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
    """False if nobody won: somebody is first in that table, too."""
    tie_break: str
    """What puts it ahead of the next player, if their points do not."""
    fallbacks: str
    """How many of its choices its language model did not make; empty if it made them all."""


@dataclass(frozen=True, slots=True)
class MatchView:
    """A match in a list. `outcome` is empty until it is decided."""

    match_id: str
    round_id: int
    players: tuple[NamedAgent, NamedAgent]
    points: tuple[int, int] | None
    winner: str | None
    referee_id: str
    phase: str
    outcome: str
    status: str


@dataclass(frozen=True, slots=True)
class AgentView:
    """A player or referee of the league."""

    agent: NamedAgent
    role: str
    status: str
    is_well: bool
    technical: int
    deviations: int
    endpoint: str
    findings: str = ""
    """What a probe, or a match that it refused, showed about it."""
    answering: AnswerSummary | None = None
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

    player: NamedAgent
    cells: tuple[CrossCell, ...]


@dataclass(frozen=True, slots=True)
class PointsLine:
    """A player's points after each finished round, from 0."""

    player: NamedAgent
    points: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ProgressView:
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
    champion: NamedAgent | None
    champion_remarks: tuple[str, ...] = ()
    address: str = ""
    """Where agents can register; empty if they cannot."""

    @property
    def announcement(self) -> str:
        """What a screen reader says when it changes."""
        headline = "; ".join([self.headline, *self.champion_remarks])
        return f"{headline}. {self.waiting}".strip()


@dataclass(frozen=True, slots=True)
class LeagueView:
    """All of the league page."""

    league_id: str
    title: str
    """What the page is headed with: the title of the league, or one made of its game."""
    game_type: str
    game: str
    """The title of the game."""
    progress: ProgressView
    standings: tuple[StandingView, ...]
    matches: tuple[MatchView, ...]
    coming: tuple[MatchView, ...]
    chart: tuple[PointsLine, ...]
    columns: tuple[str, ...]
    cross: tuple[CrossRow, ...]
    agents: tuple[AgentView, ...]
    applicants: tuple[ApplicantView, ...]
    notes: tuple[str, ...]
    """What the numbers of the standings do not say."""
    checks: tuple[str, ...] = ()
    """What whoever wants to check the league needs."""
    live: tuple[PlayView, ...] = ()
    """The matches that somebody watches, with their latest boards."""
    sections: tuple[SectionView, ...] = ()
    """What other features show of the league; a page of the past has none."""
    history: HistoryView | None = None
    """None if there is no journal to look back into."""

    @property
    def is_too_large_for_cross(self) -> bool:
        return len(self.standings) > MOST_IN_CROSS


def league_view(manager: LeagueManager) -> LeagueView:
    """The league as it is."""
    ledger = manager.ledger
    standings = manager.standings
    results = _Results(ledger)
    names = names_in(ledger)
    # Rows and columns of the cross table keep their places while the standings change.
    players = sorted(row.player_id for row in standings)
    cross = []
    if ledger.rounds and len(players) <= MOST_IN_CROSS:
        for player in players:
            row = CrossRow(names[player], results.against(player, players))
            cross.append(row)
    chart = []
    game = title_of(ledger.settings.game_type)
    for standing in standings[:MOST_LINES]:
        player = standing.player_id
        chart.append(PointsLine(names[player], results.points(player)))
    return LeagueView(
        league_id=ledger.settings.league_id,
        title=title_in(ledger.settings.title, ledger.settings.league_id, game),
        game_type=ledger.settings.game_type,
        game=game,
        progress=_progress(manager, names),
        standings=tuple(_standings(manager, standings, results, names)),
        matches=tuple(match_view(match, names) for match in _current(ledger)),
        coming=tuple(match_view(match, names) for match in _coming(ledger)),
        chart=tuple(chart),
        columns=tuple(players),
        cross=tuple(cross),
        agents=tuple(_agents(manager)),
        applicants=tuple(_applicants(ledger)),
        notes=tuple(by_name(note, names) for note in endings.notes(manager)),
        checks=tuple(_evidence_notes(manager)),
    )


def title_in(title: str, league_id: str, game: str) -> str:
    """What a page calls a league: its title, or the id that somebody chose for it."""
    return title or (f"{game} league" if re.match(r"league_\d{8}_", league_id) else league_id)


def by_name(sentence: str, names: Mapping[str, NamedAgent]) -> str:
    """A sentence with the names of agents in place of their ids."""
    for agent_id in sorted(names.keys() & re.findall(r"\w+", sentence)):
        name = names[agent_id].name
        sentence = name.join(re.split(rf"\b{re.escape(agent_id)}\b(?: \({re.escape(name)}\))?", sentence))
    return sentence


def title_of(game_type: str) -> str:
    """The name of a game for people."""
    game = registry.find(game_type)
    return game_type if game is None else game.shown_title


def _evidence_notes(manager: LeagueManager) -> Iterator[str]:
    """The manager's key, and the head of the journal under the final table: whoever keeps one will notice if history is
    rewritten."""
    yield f"Id of this league: {manager.ledger.settings.league_id}"
    if manager.ledger.manager_key:
        yield f"Key of this manager: {manager.ledger.manager_key}"
    head = manager.journal_head()
    if head is not None and manager.ledger.is_finished:
        yield (
            f"Head of the manager's journal: event {head.seq}, {head.digest}. Keep it: league verify FOLDER --head "
            f"{head.digest} fails if the journal was changed afterwards."
        )


def names_in(ledger: Ledger) -> dict[str, NamedAgent]:
    """Every member with its name, by id."""
    names = {}
    for agent_id, member in ledger.roster.members.items():
        names[agent_id] = NamedAgent(agent_id, ledger.roster.shown_name(member))
    return names


def completed(
    view: LeagueView,
    sections: tuple[SectionView, ...],
    answering: Mapping[str, AnswerSummary],
    history: HistoryView | None = None,
    address: str = "",
    live: tuple[PlayView, ...] = (),
) -> LeagueView:
    """The view with everything that does not come from the manager's state; agents can register at `address`."""
    agents = []
    for row in view.agents:
        answers = answering.get(row.agent.agent_id)
        agents.append(replace(row, answering=answers))
    progress = view.progress
    if not progress.rounds:
        progress = replace(progress, address=address)
    return replace(view, progress=progress, sections=sections, agents=tuple(agents), history=history, live=live)


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
    """The results in force of single players: what is shown of a large league needs few of all results."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def _marks(self, match_ids: Iterable[str], player: str) -> Iterator[tuple[ScheduledMatch, FormMark]]:
        """Yield how a player fared in these of its matches that are decided."""
        for match_id in match_ids:
            match = self._ledger.matches[match_id]
            if match.result is not None:
                yield match, FormMark(match_id, mark_of(decided(match, match.result), player))

    def form(self, player: str) -> tuple[FormMark, ...]:
        """Return how a player fared in its last matches, the oldest first."""
        newest_first = self._marks(reversed(self._ledger.matches_of.get(player, ())), player)
        return tuple(mark for _, mark in islice(newest_first, FORM))[::-1]

    def points(self, player: str) -> tuple[int, ...]:
        """The points of a player after each finished round, from 0."""
        # The chart ends with the last finished round: the open one would bend its lines.
        finished_rounds = self._ledger.finished_rounds
        if not finished_rounds:
            return ()
        gained = [0] * (finished_rounds + 1)
        for match_id in self._ledger.matches_of[player]:
            match = self._ledger.matches[match_id]
            if match.result is not None and match.round_id <= finished_rounds:
                gained[match.round_id] += decided(match, match.result).points(player)
        return tuple(accumulate(gained))

    def ranks_before_the_newest_results(self) -> Mapping[str, int]:
        """The rank of each player at the start of the round with the newest results; nothing in the first round."""
        ledger = self._ledger
        newest = ledger.current_round
        if newest and all(match.result is None for match in ledger.matches_in(newest)):
            newest -= 1
        if newest < 2:
            return {}
        later = (match for number in range(newest, len(ledger.rounds) + 1) for match in ledger.matches_in(number))
        results = (decided(match, match.result) for match in later if match.result is not None)
        ranking = ledger.standings.without(results).ranking(ledger.settings.tiebreakers)
        return {player: rank for rank, player in enumerate(ranking, start=1)}

    def against(self, player: str, columns: Sequence[str]) -> tuple[CrossCell, ...]:
        """A player's row of the cross table."""
        marks: dict[str, list[FormMark]] = {}
        for match, mark in self._marks(self._ledger.matches_of[player], player):
            marks.setdefault(match.opponent(player), []).append(mark)
        cells: list[CrossCell] = [tuple(marks.get(opponent, ())) for opponent in columns]
        cells[columns.index(player)] = None
        return tuple(cells)


def _standings(
    manager: LeagueManager, rows: Sequence[StandingsRow], results: _Results, names: Mapping[str, NamedAgent]
) -> Iterator[StandingView]:
    ledger = manager.ledger
    ranks_before = results.ranks_before_the_newest_results()
    tie_breaks = endings.tie_breaks(manager)
    champion = ledger.champion if endings.has_winner(manager) else None
    for row in rows:
        player = row.player_id
        member = ledger.roster.members[player]
        # The table only names a state that explains why a player loses points.
        status = views.status_of(member)
        if status not in ("withdrawn", "not playing"):
            status = ""
        yield StandingView(
            **views.fields(row, _STANDING),
            player=names[player],
            technical=member.attendance.technical_losses,
            form=results.form(player),
            moved=ranks_before.get(player, row.rank) - row.rank,
            status=status,
            is_champion=player == champion,
            tie_break=by_name(tie_breaks[player].remark, names) if player in tie_breaks else "",
            fallbacks=endings.not_its_own(manager, player),
        )


# --- matches ----------------------------------------------------------------------------------------------------------


def match_view(match: ScheduledMatch, names: Mapping[str, NamedAgent]) -> MatchView:
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
    return with_evidence(_OUTCOMES[result.status], match)


def with_evidence(outcome: str, match: ScheduledMatch) -> str:
    """How a match ended, and what its result rests on, if that is known."""
    rests_on = WORDS[match.basis.evidence] if match.basis else ""
    # The words for a technical loss say that it is one.
    if rests_on.startswith(outcome):
        return rests_on
    return f"{outcome}, {rests_on}" if rests_on else outcome


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


def _progress(manager: LeagueManager, names: Mapping[str, NamedAgent]) -> ProgressView:
    ledger = manager.ledger
    champion = None
    remarks: list[str] = []
    if ledger.champion and endings.has_winner(manager):
        champion = names[ledger.champion]
        remarks = [by_name(remark, names) for remark in endings.champion_remarks(manager, ledger.champion)]
    if champion is not None:
        headline = f"Champion: {champion.name}"
    elif ledger.champion:
        headline = endings.NOBODY_WON.capitalize()
    elif ledger.current_round:
        headline = f"Round {ledger.current_round} of {len(ledger.rounds)}"
    else:
        headline = "Registration"
    total = len(ledger.matches)
    return ProgressView(
        headline=headline,
        waiting=waiting_sentence(manager),
        state=ledger.state,
        round_id=ledger.current_round,
        rounds=len(ledger.rounds),
        finished_rounds=ledger.finished_rounds,
        completed=total - ledger.undecided,
        total=total,
        technical_losses=ledger.sums.technical_losses,
        champion=champion,
        champion_remarks=tuple(remarks),
    )


# --- agents -----------------------------------------------------------------------------------------------------------


def _agents(manager: LeagueManager) -> Iterator[AgentView]:
    """Referees first, then players."""
    ledger = manager.ledger
    deviations = Counter(agent_id for agent_id, _, _ in ledger.irregularities.deviations)

    silent = manager.not_answering()

    def place(member: Member) -> tuple[bool, str]:
        return member.is_player, member.agent_id

    for member in sorted(ledger.roster.members.values(), key=place):
        # A withdrawn player has no duty to answer.
        status = views.status_of(member)
        if member.agent_id in silent and not member.attendance.withdrawn:
            status = "not answering"
        yield AgentView(
            agent=NamedAgent(member.agent_id, ledger.roster.shown_name(member)),
            role=member.role,
            status=status,
            is_well=status in ("registered", "playing", "finished"),
            technical=member.attendance.technical_losses,
            deviations=deviations[member.agent_id],
            endpoint=member.endpoint,
            findings=manager.findings_about(member),
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
