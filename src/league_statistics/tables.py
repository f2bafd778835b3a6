"""The statistics as tables of text, to be printed or shown: every column with the sentence that explains it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from league.reports.models import ModelPlay
from league_statistics.findings import (
    LeagueStatistics,
    LeftOut,
    OpenInterval,
    PlayerPoints,
    PlayerRating,
    Record,
)

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
NO_RATING: Final = "There is no rating: in this game the decided matches are coin tosses."
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
}
"""The columns of play by language models, with the names of their sentences."""


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """A player as its game measures it: `cells` belong to the columns, `value` and `interval` are numbers in them."""

    record: Record
    cells: tuple[str | None, ...]
    value: float | None
    interval: OpenInterval | None


@dataclass(frozen=True, slots=True)
class MeasureTable:
    """Every player, the best first."""

    columns: Mapping[str, str]
    rows: tuple[MeasureRow, ...]


def measure_table(found: LeagueStatistics) -> MeasureTable | None:
    """The table of the measure that the game declares; None if it cannot be worked out here."""
    if found.points is not None:
        return _table(POINTS, tuple(map(_points, found.points)), found.unrated)
    if found.rating is not None:
        players = found.rating.players
        return _table(RATING, tuple(_rating(one, len(players)) for one in players), found.unrated)
    return None


def _table(columns: Mapping[str, str], rows: tuple[MeasureRow, ...], unrated: Sequence[Record]) -> MeasureTable:
    """Who is not rated comes last."""
    nothing = (NOT_RATED, *[None] * (len(columns) - 1))
    return MeasureTable(columns, (*rows, *(MeasureRow(one, nothing, None, None) for one in unrated)))


def _points(row: PlayerPoints) -> MeasureRow:
    if not row.record.played:
        return MeasureRow(row.record, (None,) * len(POINTS), None, None)
    luck = "may be luck" if row.is_luck else "are not luck"
    cells = f"{row.points_per_match:.2f}", between(row.interval, ".2f"), f"{row.p_value:.3f}", luck
    return MeasureRow(row.record, cells, row.points_per_match, row.interval)


def _rating(row: PlayerRating, players: int) -> MeasureRow:
    cells = (
        None if row.rating is None else f"{row.rating:.0f}",
        row.interval and between(row.interval, ".0f"),
        row.rank_range and "–".join(map(str, dict.fromkeys(row.rank_range))),
        None if row.first is None else f"{row.first:.0%}",
        _tied(row.tied_with, players),
    )
    return MeasureRow(row.record, cells, row.rating, row.interval)


def _tied(others: Sequence[str], players: int) -> str | None:
    if players > 2 and len(others) == players - 1:
        return "everybody"
    named = ", ".join(others[:MOST_NAMED])
    return f"{named} …" if len(others) > MOST_NAMED else named or None


def between(interval: OpenInterval, form: str) -> str:
    """An interval, of which an end may be open."""
    low, high = ("" if one is None else format(one, form) for one in interval)
    return f"{low} … {high}".strip()


def conditions(found: ModelPlay) -> str:
    """Under which conditions a model plays, in one line."""
    if not found.conditions:
        return "unknown conditions"
    card = found.conditions[-1]
    told = [card.model, f"at {card.provider}" if card.provider else "", f"prompt {card.prompt_sha256[:8] or 'unknown'}"]
    told += ["options shown" if card.options_shown else "options not shown", f"{card.corrections} corrections"]
    told += ["temperature of the provider" if card.temperature is None else f"temperature {card.temperature:g}"]
    return ", ".join(filter(None, told))


def left_out(found: LeftOut) -> str:
    """Which matches do not count."""
    counts = {
        "technical losses": found.technical_losses,
        "walkovers": found.walkovers,
        "repeated": found.repeated,
        "with players that are not rated": found.not_rated,
    }
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "none"
