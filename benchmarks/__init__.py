"""Benchmarks: CPU time of ours beside a yardstick measured in the same minute on the same machine.

A benchmark is a module here with `NAME` and `run() -> list[Row]`, and one entry in `BENCHMARKS` of `__main__.py`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what we take, what the yardstick takes, and the ratio we want to stay below."""

    what: str
    ours: float
    yardstick: float
    yardstick_name: str
    unit: str
    goal: float | None = None
    """None: it is shown for comparison."""
    detail: str = ""
    """What the number is made of."""

    @property
    def ratio(self) -> float:
        return self.ours / self.yardstick

    @property
    def kept(self) -> bool:
        return self.goal is None or self.ratio <= self.goal


def median_cpu_seconds(calls: Sequence[Callable[[], object]], rounds: int = 15, slice_s: float = 0.02) -> list[float]:
    """CPU seconds of one call of each, the median of all rounds, with the garbage collector on. Rounds are interleaved:
    a slow moment hits all alike."""
    repeats = [_repeats(call, slice_s) for call in calls]
    spent: list[list[float]] = [[] for _ in calls]
    gc.collect()
    for _ in range(rounds):
        for call, times, some in zip(calls, repeats, spent, strict=True):
            some.append(_timed(call, times) / times)
    return [median(some) for some in spent]


def _repeats(call: Callable[[], object], slice_s: float) -> int:
    """How many calls fill a slice of time; the clock's own steps must not matter."""
    repeats = 1
    while (spent := _timed(call, repeats)) < slice_s / 10:
        repeats *= 4
    return max(1, int(repeats * slice_s / spent))


def _timed(call: Callable[[], object], repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        call()
    return time.process_time() - start
