"""Benchmarks: CPU time of ours beside a yardstick measured in the same minute on the same machine.

A benchmark is a module here with `NAME` and `run() -> list[Row]`, and one entry in `BENCHMARKS` of `__main__.py`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: what we take, what the yardstick takes, and the ratio we want to stay below."""

    what: str
    ours: float
    yardstick: float
    yardstick_name: str
    unit: str
    goal: float

    @property
    def ratio(self) -> float:
        return self.ours / self.yardstick

    @property
    def kept(self) -> bool:
        return self.ratio <= self.goal


def best_cpu_seconds(calls: Sequence[Callable[[], object]], rounds: int = 15, slice_s: float = 0.02) -> list[float]:
    """CPU seconds of one call of each, the best of all rounds. Rounds are interleaved: a slow moment hits all alike."""
    repeats = [_repeats(call, slice_s) for call in calls]
    best = [float("inf")] * len(calls)
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for place, call in enumerate(calls):
                best[place] = min(best[place], _timed(call, repeats[place]) / repeats[place])
    finally:
        gc.enable()
    return best


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
