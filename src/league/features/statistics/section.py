"""The statistics as a section of the league page: a row for every player, and notes on the league."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from league.features.statistics import statistics_tables
from league.features.statistics.findings import LeagueStatistics
from league.features.statistics.statistics_tables import Note
from league.features.statistics.statistics_words import EXPLAINED
from league.games.contract import LOSS_POINTS, WIN_POINTS
from league.reading.models import ModelPlay

RECORD: Final = "won–drawn–lost"
RECORD_EXPLAINED: Final = (
    "The results in the matches that count: played to the end, and not a repetition of an earlier match."
)


class Column(NamedTuple):
    """The title of a column, and the sentence that explains it."""

    title: str
    sentence: str


class NamedPlayer(NamedTuple):
    """A player, as its link shows it."""

    agent_id: str
    name: str


class Reach(NamedTuple):
    """A number and its interval on a line from 0 to 100. An open end is at the end of the line."""

    low: float
    value: float
    high: float


class AxisEnds(NamedTuple):
    """The numbers at both ends of that line."""

    low: float
    high: float

    def place(self, value: float) -> float:
        return round(100 * (value - self.low) / (self.high - self.low), 1)


@dataclass(frozen=True, slots=True)
class PlayerMeasure:
    """A row. `cells` belong to the columns after the first."""

    player: NamedPlayer
    record: str
    cells: tuple[str | None, ...]
    reach: Reach | None


@dataclass(frozen=True, slots=True)
class StatisticsView:
    """The whole section. `missing` says why there are no rows, if there are none."""

    columns: tuple[Column, ...]
    rows: tuple[PlayerMeasure, ...]
    notes: tuple[Note, ...]
    missing: str


BEING_COMPUTED: Final = StatisticsView((), (), (), "Being computed.")


def section(result: LeagueStatistics | None) -> Mapping[str, Mapping[str, object]]:
    """Return the lists of the section, and the pieces in each list by their ids."""
    view = BEING_COMPUTED
    if result is not None:
        view = statistics_view(result)
    # Without rows a head of the table would stand alone.
    titles: Mapping[str, object] = {}
    if view.rows:
        titles = {"titles-now": view.columns}
    return {
        "titles": titles,
        "findings": {"findings-now": view},
        "measures": {f"measure-{row.player.agent_id}": row for row in view.rows},
    }


def statistics_view(statistics: LeagueStatistics) -> StatisticsView:
    """Return the statistics of a league, ready to be shown."""
    notes = (*statistics_tables.notes(statistics), *map(_model_note, statistics.models))
    table = statistics_tables.measure_table(statistics)
    if table is None:
        # It is a whole sentence here, and the end of one on a terminal.
        missing = statistics.missing or ""
        return StatisticsView((), (), notes, f"{missing[:1].upper()}{missing[1:]}")
    columns = [Column(title, EXPLAINED[name]) for title, name in table.columns.items()]
    scale = _scale(table.rows)
    # Points have a range of their own, so that leagues can be compared by eye.
    if statistics.measure == "points":
        scale = AxisEnds(float(LOSS_POINTS), float(WIN_POINTS))
    return StatisticsView(
        columns=(Column(RECORD, RECORD_EXPLAINED), *columns),
        rows=tuple(_measure(row, scale) for row in table.rows),
        notes=notes,
        missing="",
    )


def _measure(row: statistics_tables.MeasureRow, scale: AxisEnds) -> PlayerMeasure:
    record = row.record
    return PlayerMeasure(
        player=NamedPlayer(record.player_id, record.display_name),
        record=f"{record.wins}–{record.draws}–{record.losses}",
        cells=row.cells,
        reach=_reach(row, scale),
    )


def _scale(rows: Sequence[statistics_tables.MeasureRow]) -> AxisEnds:
    """Return the scale from the lowest end of an interval to the highest."""
    values = []
    for row in rows:
        values += [value for value in (row.value, *(row.interval or ())) if value is not None]
    return AxisEnds(min(values, default=0.0), max(values, default=0.0))


def _reach(row: statistics_tables.MeasureRow, scale: AxisEnds) -> Reach | None:
    if row.value is None or row.interval is None or scale.low == scale.high:
        return None
    low, high = row.interval
    # An open end is drawn to the end of the line.
    if low is None:
        low = scale.low
    if high is None:
        high = scale.high
    return Reach(
        low=scale.place(low),
        value=scale.place(row.value),
        high=scale.place(high),
    )


def _model_note(model: ModelPlay) -> Note:
    text = f"{statistics_tables.conditions(model)}."
    if model.not_rated:
        text = f"{text} Not rated: {model.not_rated}."
    return Note(f"{model.player_id}, a language model", text, "")
