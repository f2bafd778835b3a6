"""The cost of a match in a large league: CPU time per match with 10 to 1,000 players, and with 256 matches at once,
everything on."""

from __future__ import annotations

import asyncio
from statistics import median
from typing import NamedTuple

from benchmarks import Row
from benchmarks.leagues import Cost, Size, play
from league.transport.http import loop_factory

SIZES = {
    "10 players": Size(10, 18, 2),
    "50 players": Size(50, 8, 5),
    "99 players": Size(99, 5, 10),
    "500 players": Size(500, 2, 10),
    "1,000 players": Size(1000, 1, 10),
    "32 at once": Size(64, 4),
    "256 at once": Size(512, 4),
}


class _Comparison(NamedTuple):
    large: str
    small: str
    goal: float


COMPARISONS = (
    _Comparison("50 players", "10 players", 1.2),
    _Comparison("99 players", "10 players", 1.3),
    _Comparison("500 players", "10 players", 1.6),
    _Comparison("1,000 players", "10 players", 3.0),
    _Comparison("256 at once", "32 at once", 1.15),
)
ROUNDS = 3
REPEATED_BELOW = 100
"""Leagues with more players are played once: they take long, and their many matches are a sample by themselves."""


def run() -> list[Row]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        costs = runner.run(_measure())
    cpu = {name: median(cost.cpu for cost in costs[name]) * 1e6 for name in SIZES}
    return [
        Row(f"a match, {large}", cpu[large], cpu[small], small, "us", goal, _calls(costs[large][0]))
        for large, small, goal in COMPARISONS
    ]


async def _measure() -> dict[str, list[Cost]]:
    costs: dict[str, list[Cost]] = {name: [] for name in SIZES}
    # The sizes take turns, so that a slow moment of the machine hits all alike.
    for number in range(ROUNDS):
        for name, size in SIZES.items():
            if number == 0 or size.players < REPEATED_BELOW:
                costs[name].append(await play(size))
    return costs


def _calls(cost: Cost) -> str:
    tables = cost.kinds.get("LEAGUE_STANDINGS_UPDATE", 0.0)
    return f"{cost.calls:.1f} calls a match, {tables:.1f} of them tables"
