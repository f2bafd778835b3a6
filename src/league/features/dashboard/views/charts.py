"""Charts as SVG: here their geometry, in the templates their elements, in the style sheet their colours."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from league.features.dashboard.views.league_view import NamedAgent, PointsLine

WIDTH: Final = 1000
HEIGHT: Final = 300
# Margins. The names of the leaders are written in the right one.
LEFT: Final = 40
RIGHT: Final = 190
TOP: Final = 14
BOTTOM: Final = 34
LEADERS: Final = 6
"""The number of lines with a colour and a name; the other lines are grey."""
LABEL_GAP: Final = 17
TICKS: Final = 5
"""The number of horizontal grid lines to aim at."""
MOST_ROUND_TICKS: Final = 10


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class ChartLine:
    """`place` is 1 for the leader, and 0 for a line without a colour."""

    player: NamedAgent
    place: int
    path: str
    end_x: float
    end_y: float
    label_y: float
    last: int


@dataclass(frozen=True, slots=True)
class PointsChart:
    """Ready to be drawn; the leader is the last of the `lines`, so that it is on top."""

    width: int
    height: int
    left: int
    right: int
    bottom: int
    lines: tuple[ChartLine, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


class _Scale:
    """Where rounds and points are in the drawing."""

    def __init__(self, rounds: int, most_points: int) -> None:
        self.rounds = rounds
        self.step = _step(most_points)
        self.top = math.ceil(most_points / self.step) * self.step

    def x(self, round_id: int) -> float:
        width = WIDTH - LEFT - RIGHT
        return round(LEFT + width * round_id / self.rounds, 1)

    def y(self, points: int) -> float:
        # SVG counts from the top.
        height = HEIGHT - TOP - BOTTOM
        return round(HEIGHT - BOTTOM - height * points / self.top, 1)

    def across(self) -> Iterator[Tick]:
        """The numbers of the rounds."""
        every = max(1, math.ceil(self.rounds / MOST_ROUND_TICKS))
        for number in range(0, self.rounds + 1, every):
            yield Tick(self.x(number), str(number))

    def up(self) -> Iterator[Tick]:
        """The numbers of points, each with a line of the grid."""
        for points in range(0, self.top + 1, self.step):
            yield Tick(self.y(points), str(points))


def points_chart(players: Sequence[PointsLine]) -> PointsChart | None:
    """Points over rounds, the players in the order of the table; None before the first round is over."""
    if not players or not players[0].points:
        return None
    # At least 1, so that a league in which nobody has points yet has a scale.
    most_points = max(1, *(line.points[-1] for line in players))
    scale = _Scale(len(players[0].points) - 1, most_points)
    labels = _label_heights(players[:LEADERS], scale)
    lines = []
    for rank, line in enumerate(players, start=1):
        place = rank
        if rank > LEADERS:
            place = 0
        path = [f"{scale.x(round_id)},{scale.y(points)}" for round_id, points in enumerate(line.points)]
        chart_line = ChartLine(
            player=line.player,
            place=place,
            path=" ".join(path),
            end_x=scale.x(scale.rounds),
            end_y=scale.y(line.points[-1]),
            label_y=labels.get(line.player, 0.0),
            last=line.points[-1],
        )
        lines.append(chart_line)
    return PointsChart(
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=WIDTH - RIGHT,
        bottom=HEIGHT - BOTTOM,
        lines=tuple(reversed(lines)),
        across=tuple(scale.across()),
        up=tuple(scale.up()),
    )


def _step(most_points: int) -> int:
    """A round distance between the lines of a grid."""
    rough = most_points / TICKS
    size = 1
    if rough >= 1:
        size = 10 ** math.floor(math.log10(rough))
    for factor in (1, 2, 5):
        if size * factor >= rough:
            return size * factor
    return size * 10


def _label_heights(leaders: Sequence[PointsLine], scale: _Scale) -> dict[NamedAgent, float]:
    """The heights of the labels: near the ends of their lines, from the highest down, none over another."""
    # A match of the open round counts in the table, but not in the chart: the order may differ.
    ordered = sorted(leaders, key=lambda line: -line.points[-1])
    heights: list[float] = []
    for line in ordered:
        height = scale.y(line.points[-1])
        if heights:
            height = max(height, heights[-1] + LABEL_GAP)
        heights.append(height)
    # If the lowest label would leave the chart, all of them move up.
    excess = max(0.0, heights[-1] - (HEIGHT - BOTTOM))
    labels = {}
    for line, height in zip(ordered, heights, strict=True):
        labels[line.player] = round(height - excess, 1)
    return labels
