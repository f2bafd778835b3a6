"""The statistics as text, for terminals and pages: a table of the players, and notes on the league as a whole. Every
column and every note has a sentence that explains it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from league.features.statistics.findings import (
    Favouritism,
    LeagueStatistics,
    LeftOut,
    Neighbours,
    OpenInterval,
    PlayerPoints,
    PlayerRating,
    PlayerRecord,
    RankRange,
    RatingTable,
    RefereeDraws,
)
from league.features.statistics.statistics_words import EXPLAINED
from league.reading.models import ModelPlay
from league.terminal.tables import counted

POINTS: Final[Mapping[str, str]] = {
    "points/match": "points_per_match",
    "95 % interval": "points_interval",
    "p": "p_value",
    "wins": "is_luck",
}
RATING: Final[Mapping[str, str]] = {
    "rating": "rating",
    "95 % interval": "rating_interval",
    "rank": "rank_range",
    "first": "first",
    "tied with": "tied_with",
}
"""The columns of a measure, with the names of their sentences in `words.EXPLAINED`."""
NO_RATING: Final = "There is no rating, because in this game every decided match is a coin toss."
BY_MARGIN: Final = "There is no rating, because this game is scored by points, not by wins."
MARGIN: Final[Mapping[str, str]] = {
    "return/match": "return_per_match",
    "95 % interval": "points_interval",
    "p": "margin_p_value",
    "lead": "margin_is_luck",
}
MOST_NAMED: Final = 10
NOT_RATED: Final = "not rated"
MODELS: Final[Mapping[str, str]] = {
    "choices": "choices",
    "fallbacks": "fallbacks",
    "provider errors": "provider_errors",
    "declined": "declined",
    "s/choice": "thinking_s",
    "s waited": "waited_s",
    "tokens": "tokens",
    "estimated": "tokens_estimated",
}
"""The columns about language models, with the names of their sentences."""


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """A player as its game measures it. `cells` has a text for each column; `value` and `interval` are numbers."""

    record: PlayerRecord
    cells: tuple[str | None, ...]
    value: float | None
    interval: OpenInterval | None


@dataclass(frozen=True, slots=True)
class MeasureTable:
    """All players, the best one first."""

    columns: Mapping[str, str]
    rows: tuple[MeasureRow, ...]


class Note(NamedTuple):
    """A finding about the league as a whole."""

    title: str
    text: str
    sentence: str


def measure_table(statistics: LeagueStatistics) -> MeasureTable | None:
    """Return the table of the measure that the game declares; None if it cannot be computed here."""
    if statistics.points is not None:
        rows = [_points(player) for player in statistics.points]
        columns = MARGIN if statistics.measure == "margin" else POINTS
        return _table(columns, rows, statistics.unrated)
    if statistics.rating is not None:
        players = statistics.rating.players
        rows = [_rating(player, len(players)) for player in players]
        return _table(RATING, rows, statistics.unrated)
    return None


def _table(columns: Mapping[str, str], rows: Sequence[MeasureRow], unrated: Sequence[PlayerRecord]) -> MeasureTable:
    # Players that are not rated come last.
    cells = (NOT_RATED, *[None] * (len(columns) - 1))
    last = [MeasureRow(record, cells, None, None) for record in unrated]
    return MeasureTable(columns, (*rows, *last))


def _points(player: PlayerPoints) -> MeasureRow:
    if not player.record.played:
        return MeasureRow(player.record, (None,) * len(POINTS), None, None)
    # They stand in the column "wins", or "lead".
    verdict = "may be luck" if player.is_luck else "not luck"
    mean = player.points_per_match
    if player.return_per_match is not None:
        mean = player.return_per_match
    interval = player.return_interval or player.interval
    cells = (f"{mean:.2f}", between(interval, ".2f"), f"{player.p_value:.3f}", verdict)
    return MeasureRow(player.record, cells, mean, interval)


def _rating(player: PlayerRating, players: int) -> MeasureRow:
    if player.rating is None or player.interval is None:
        # It has no match that counts.
        return MeasureRow(player.record, (None,) * len(RATING), None, None)
    cells = (
        f"{player.rating:.0f}",
        between(player.interval, ".0f"),
        _ranks(player.rank_range),
        _first(player.first),
        _tied(player.tied_with, players),
    )
    return MeasureRow(player.record, cells, player.rating, player.interval)


def _ranks(rank_range: RankRange | None) -> str | None:
    if rank_range is None:
        return None
    best, worst = rank_range
    if best == worst:
        return str(best)
    return f"{best}–{worst}"


def _first(probability: float | None) -> str | None:
    if probability is None:
        return None
    return f"{probability:.0%}"


def _tied(rivals: Sequence[str], players: int) -> str | None:
    if not rivals:
        return None
    # With two players the name says more.
    if players > 2 and len(rivals) == players - 1:
        return "everybody"
    names = ", ".join(rivals[:MOST_NAMED])
    # In a large league the list would fill the terminal.
    if len(rivals) > MOST_NAMED:
        return f"{names} …"
    return names


def between(interval: OpenInterval, form: str) -> str:
    """Return an interval as text. An end may be open."""
    low, high = interval
    low_text = "" if low is None else format(low, form)
    high_text = "" if high is None else format(high, form)
    return f"{low_text} … {high_text}".strip()


def conditions(model: ModelPlay) -> str:
    """Describe the conditions under which a model plays, in one line."""
    if not model.conditions:
        return "unknown conditions"
    card = model.conditions[-1]
    # The newest ones: conditions may change during a league.
    parts = [card.model]
    if card.provider:
        parts.append(f"at {card.provider}")
    parts.append(f"prompt {card.prompt_sha256[:8] or 'unknown'}")
    if card.system:
        parts.append("a system prompt")
    if card.request:
        parts.append(card.request)
    parts.append("options shown" if card.options_shown else "options not shown")
    parts.append(counted(card.corrections, "correction"))
    if card.temperature is None:
        parts.append("default temperature of the provider")
    else:
        parts.append(f"temperature {card.temperature:g}")
    return ", ".join(part for part in parts if part)


# --- notes ------------------------------------------------------------------------------------------------------------


def notes(statistics: LeagueStatistics) -> Iterator[Note]:
    """Yield the findings about the league as a whole."""
    yield Note("matches", f"{statistics.matches} count.", EXPLAINED["matches"])
    yield Note("left out", f"{_left_out(statistics.left_out).capitalize()}.", EXPLAINED["left_out"])
    if statistics.points is not None:
        # Somebody who looks for a rating should not think that it got lost.
        yield Note("rating", BY_MARGIN if statistics.measure == "margin" else NO_RATING, "")
    if statistics.rating is not None:
        yield from _rating_notes(statistics.rating)
    for referee in statistics.referees:
        yield Note(f"draws of {referee.referee_id}", _draws(referee), _explained("draws", "draws_p_value", "verdict"))
    for finding in statistics.favouritism:
        sentence = _explained("favouritism", "favouritism_p_value")
        yield Note(f"favours of {finding.referee_id}", f"{favour(finding)}.", sentence)
    if statistics.gone_behind:
        times = [f"{player_id}: {count}" for player_id, count in statistics.gone_behind.items()]
        yield Note("gone while behind", f"{', '.join(times)}.", EXPLAINED["gone_behind"])


def _explained(*names: str) -> str:
    return " ".join(EXPLAINED[name] for name in names)


def _left_out(matches: LeftOut) -> str:
    """Say which matches do not count."""
    counts = {
        "technical losses": matches.technical_losses,
        "walkovers": matches.walkovers,
        "repeated": matches.repeated,
        "with players that are not rated": matches.not_rated,
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"


def _draws(referee: RefereeDraws) -> str:
    # Without a p-value there is no verdict either.
    if referee.p_value is None:
        return f"{referee.draws}, too few to judge."
    return f"{referee.draws}, look {referee.verdict}, p {referee.p_value:.3f}."


def _rating_notes(table: RatingTable) -> Iterator[Note]:
    if table.groups > 1:
        yield Note("groups", f"The players are in {table.groups} groups.", EXPLAINED["groups"])
    # For pairs that are told apart there is no need for more.
    tied = [_more_matches(pair) for pair in table.neighbours if not pair.apart]
    if tied:
        yield Note("more matches", f"{', '.join(tied)}.", EXPLAINED["more_matches"])
    interval = between(table.seat_interval, "+.0f")
    yield Note("seat A", f"{table.seat_advantage:+.0f} points ({interval}).", EXPLAINED["seat_advantage"])


def _more_matches(pair: Neighbours) -> str:
    count = "–" if pair.more_matches is None else f"{pair.more_matches:,}"
    return f"{pair.better} and {pair.worse}: {count}"


def favour(finding: Favouritism) -> str:
    """Say whether a referee favours a player."""
    if finding.verdict == "too few":
        return "too few matches to tell"
    if finding.verdict == "favours":
        return f"favours {finding.player_id}"
    return "no sign of favouritism"
