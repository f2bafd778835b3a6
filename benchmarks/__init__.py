"""Benchmarks: the CPU time of our code beside a yardstick, measured in the same minute on the same machine.

A benchmark is a module here with `run() -> list[Row]`, and one section in `SECTIONS` of `page.py`.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median

AsyncCall = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: our cost, the cost of a yardstick, and the largest ratio of the two that we accept."""

    title: str
    ours: float
    yardstick: float
    yardstick_name: str
    unit: str
    goal: float | None = None
    """None: the row is shown for comparison only."""
    detail: str = ""
    """A sentence below the table, without its full stop."""

    @property
    def ratio(self) -> float:
        return self.ours / self.yardstick

    @property
    def meets_goal(self) -> bool:
        return self.goal is None or self.ratio <= self.goal


def median_cpu_seconds(calls: Sequence[Callable[[], object]], rounds: int = 15, slice_s: float = 0.02) -> list[float]:
    """Measure the CPU seconds of one call of each function: the median of all rounds, with the garbage collector on."""
    repeats = [_repeats_in(slice_s, call) for call in calls]
    samples: list[list[float]] = [[] for _ in calls]
    gc.collect()
    # The calls take turns, so that a slow moment of the machine hits all of them alike.
    for _ in range(rounds):
        for index, call in enumerate(calls):
            samples[index].append(_timed(call, repeats[index]) / repeats[index])
    return [median(seconds) for seconds in samples]


def _repeats_in(slice_s: float, call: Callable[[], object]) -> int:
    """Find the number of calls that fill a slice of time, so that the resolution of the clock does not matter."""
    repeats = 1
    while (seconds := _timed(call, repeats)) < slice_s / 10:
        repeats *= 4
    return max(1, int(repeats * slice_s / seconds))


def _timed(call: Callable[[], object], repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        call()
    return time.process_time() - start


async def median_cpu_seconds_async(
    calls: Sequence[AsyncCall], repeats: int = 1, at_once: int = 1, rounds: int = 15
) -> list[float]:
    """Measure the CPU seconds of one call of each coroutine function, with several calls in flight."""
    samples: list[list[float]] = [[] for _ in calls]
    gc.collect()
    for _ in range(rounds):
        for index, call in enumerate(calls):
            start = time.process_time()
            await asyncio.gather(*(_repeat(call, repeats // at_once) for _ in range(at_once)))
            samples[index].append((time.process_time() - start) / repeats)
    return [median(seconds) for seconds in samples]


async def _repeat(call: AsyncCall, repeats: int) -> None:
    for _ in range(repeats):
        await call()
