"""Charts as SVG: here their geometry, in the templates their elements, in the style sheet their colours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from league_dashboard.league_view import Named, PointsLine

WIDTH: Final = 1000
HEIGHT: Final = 300
LEFT, RIGHT, TOP, BOTTOM = 40, 190, 14, 34
"""Margins; the names of the leaders stand at the right."""
LEADERS: Final = 6
"""So many lines have a colour and a name, the others are grey."""
LABEL_GAP: Final = 17
TICKS: Final = 5


@dataclass(frozen=True, slots=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class ChartLine:
    """`place` is 1 for the leader; 0 for whoever has no colour."""

    player: Named
    place: int
    path: str
    end_x: float
    end_y: float
    label_y: float
    last: int


@dataclass(frozen=True, slots=True)
class PointsChart:
    """Ready to be drawn; `lines` with the leader last, so that it is on top."""

    width: int
    height: int
    left: int
    right: int
    bottom: int
    lines: tuple[ChartLine, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]


def points_chart(players: Sequence[PointsLine]) -> PointsChart | None:
    """Points over rounds, the players in the order of the table; None before the first round is over."""
    if not players or not players[0].points:
        return None
    rounds = len(players[0].points) - 1
    most = max(1, *(one.points[-1] for one in players))
    step = _step(most)
    top = math.ceil(most / step) * step

    def x(round_id: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * round_id / rounds, 1)

    def y(points: float) -> float:
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * points / top, 1)

    # A match of the open round counts in the table, but not in the chart: the order may differ.
    leaders = sorted(players[:LEADERS], key=lambda one: -one.points[-1])
    labels = dict(zip((one.player for one in leaders), _spread([y(one.points[-1]) for one in leaders]), strict=True))
    lines = []
    for place, one in enumerate(players, start=1):
        path = " ".join(f"{x(round_id)},{y(points)}" for round_id, points in enumerate(one.points))
        shown, label_y = (place, labels[one.player]) if place <= LEADERS else (0, 0.0)
        lines.append(ChartLine(one.player, shown, path, x(rounds), y(one.points[-1]), label_y, one.points[-1]))
    every = max(1, math.ceil(rounds / 10))
    return PointsChart(
        width=WIDTH,
        height=HEIGHT,
        left=LEFT,
        right=WIDTH - RIGHT,
        bottom=HEIGHT - BOTTOM,
        lines=tuple(reversed(lines)),
        across=tuple(Tick(x(one), str(one)) for one in range(0, rounds + 1, every)),
        up=tuple(Tick(y(one), str(one)) for one in range(0, top + 1, step)),
    )


def _step(most: int) -> int:
    """A round distance between the lines of a grid."""
    rough = most / TICKS
    size = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    return next(int(size * one) for one in (1, 2, 5, 10) if size * one >= rough)


def _spread(heights: Sequence[float]) -> list[float]:
    """Places for labels near these heights, from the highest down, none over another."""
    placed: list[float] = []
    for one in heights:
        placed.append(max(one, placed[-1] + LABEL_GAP) if placed else one)
    over = max(0.0, placed[-1] - (HEIGHT - BOTTOM)) if placed else 0.0
    return [round(one - over, 1) for one in placed]
