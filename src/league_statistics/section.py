"""What the results tell, as the league page shows it: the measure of every player, and what else was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from league.games.contract import LOSS_POINTS, WIN_POINTS
from league_statistics import tables
from league_statistics.findings import LeagueStatistics, RatingTable
from league_statistics.words import EXPLAINED

RECORD: Final = "won–drawn–lost"
TOLD: Final = "What it made of the matches that count: played to their end, and no repetition of one played before."


class Column(NamedTuple):
    """What a number is called, and what it means."""

    title: str
    sentence: str


class Note(NamedTuple):
    """Something found out about the league as a whole."""

    title: str
    text: str
    sentence: str


class Named(NamedTuple):
    """A player, as its link shows it."""

    agent_id: str
    name: str


class Reach(NamedTuple):
    """A number and its interval on a line from 0 to 100; an open end goes to the end of the line."""

    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class PlayerMeasure:
    """A row; `cells` belong to the columns after the first."""

    player: Named
    record: str
    cells: tuple[str | None, ...]
    reach: Reach | None


@dataclass(frozen=True, slots=True)
class StatisticsView:
    """All of it. `missing` says why there are no rows, if there are none."""

    columns: tuple[Column, ...]
    rows: tuple[PlayerMeasure, ...]
    notes: tuple[Note, ...]
    missing: str


BEING_COMPUTED: Final = StatisticsView((), (), (), "Being computed.")


def section(result: LeagueStatistics | None) -> Mapping[str, Mapping[str, object]]:
    """The section of the league page: its lists, and the pieces in each by their ids."""
    view = BEING_COMPUTED if result is None else statistics_view(result)
    return {
        "titles": {"titles-now": view.columns} if view.rows else {},
        "findings": {"findings-now": view},
        "measures": {f"measure-{row.player.agent_id}": row for row in view.rows},
    }


def statistics_view(found: LeagueStatistics) -> StatisticsView:
    """The statistics of a league, ready to be shown."""
    table = tables.measure_table(found)
    if table is None:
        missing = found.missing or ""
        return StatisticsView((), (), tuple(_notes(found)), f"{missing[:1].upper()}{missing[1:]}")
    columns = (Column(RECORD, TOLD), *(Column(title, EXPLAINED[name]) for title, name in table.columns.items()))
    low, high = (float(LOSS_POINTS), float(WIN_POINTS)) if found.points is not None else _scale(table.rows)
    return StatisticsView(
        columns, tuple(_measure(row, low, high) for row in table.rows), tuple(_notes(found)), missing=""
    )


def _measure(row: tables.MeasureRow, low: float, high: float) -> PlayerMeasure:
    record = row.record
    return PlayerMeasure(
        player=Named(record.player_id, record.display_name),
        record=f"{record.wins}–{record.draws}–{record.losses}",
        cells=row.cells,
        reach=_reach(row, low, high),
    )


def _scale(rows: Sequence[tables.MeasureRow]) -> tuple[float, float]:
    """From the lowest end of an interval to the highest."""
    known = [one for row in rows for one in (row.value, *(row.interval or ())) if one is not None]
    return min(known, default=0.0), max(known, default=0.0)


def _reach(row: tables.MeasureRow, low: float, high: float) -> Reach | None:
    if row.value is None or row.interval is None or low == high:
        return None
    first, last = row.interval
    ends = (low if first is None else first, row.value, high if last is None else last)
    return Reach(*(round(100 * (one - low) / (high - low), 1) for one in ends))


def _notes(found: LeagueStatistics) -> Iterator[Note]:
    yield Note("matches", f"{found.matches} count.", EXPLAINED["matches"])
    yield Note("left out", f"{tables.left_out(found.left_out).capitalize()}.", EXPLAINED["left_out"])
    if found.points is not None:
        yield Note("rating", tables.NO_RATING, "")
    if found.rating is not None:
        yield from _rating_notes(found.rating)
    for model in found.models:
        why = f" Not rated: {model.not_rated}." if model.not_rated else ""
        yield Note(f"{model.player_id}, a language model", f"{tables.conditions(model)}.{why}", "")
    for one in found.referees:
        chance = "" if one.p_value is None else f", p {one.p_value:.3f}"
        looks = "too few to judge" if one.verdict == "too few" else f"look {one.verdict}"
        yield Note(f"draws of {one.referee_id}", f"{one.draws}, {looks}{chance}.", EXPLAINED["verdict"])


def _rating_notes(table: RatingTable) -> Iterator[Note]:
    if table.groups > 1:
        yield Note("groups", f"The players are in {table.groups} groups.", EXPLAINED["groups"])
    if near := [one for one in table.neighbours if not one.apart]:
        pairs = ((f"{one.better} and {one.worse}", one.more_matches) for one in near)
        more = ", ".join(f"{pair}: {'–' if count is None else f'{count:,}'}" for pair, count in pairs)
        yield Note("more matches", f"{more}.", EXPLAINED["more_matches"])
    advantage = f"{table.seat_advantage:+.0f} points ({tables.between(table.seat_interval, '+.0f')})."
    yield Note("seat A", advantage, EXPLAINED["seat_advantage"])
