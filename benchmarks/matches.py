"""What a match costs from end to end: CPU time of a whole league with everything on, per match, beside the floors; how
it changes with the matches played at once; what durability, the transcript and the log add; and which calls it takes.

A league also announces rounds, sends standings and probes its members: nearly as many calls again as the seven.
"""

from __future__ import annotations

import asyncio
import cProfile
import pstats
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from statistics import median, quantiles
from typing import Any

from benchmarks import Row
from benchmarks.floors import CALLS, Floor, bare_floor, fastapi_httpx, strict_floor
from benchmarks.leagues import EVERYTHING, Cost, Size, Stopwatch, Way, play
from league.transport.http import loop_factory

NAME = "matches"
ROUNDS = 3
SIZES = {2: Size(4, 6), 32: Size(64, 4)}
"""By matches at once."""
IN_A_ROW = {2: 10, 32: 1}
"""So many leagues are played one after the other, so that some 120 matches are played in each size. A league of twelve
matches after something else measures how long the processor takes to find our code and data again."""
SPARE = {
    "not durable": Way(is_durable=False, transcript="off"),
    "no transcript": Way(transcript="off"),
    "no log": Way(is_logged=False),
}
IN_MEMORY = SPARE["not durable"]
NEEDED_CALLS = 12.0


@dataclass(slots=True)
class _Contender:
    """Something that plays matches, and what they cost each time."""

    play: Callable[[], Awaitable[Cost]]
    in_a_row: int = 1
    costs: list[Cost] = field(default_factory=list)

    @property
    def cpu(self) -> float:
        """Microseconds a match, the median."""
        return median(one.cpu for one in self.costs) * 1e6

    @property
    def threads(self) -> str:
        """Who spends it."""
        storing = median(one.storing for one in self.costs) * 1e6
        return f"the loop {self.cpu - storing:,.0f} us, the threads of the journals {storing:,.0f} us"


def run() -> list[Row]:
    try:
        import fastapi  # noqa: F401 - only here: the league itself needs neither
        import httpx  # noqa: F401
    except ImportError as missing:
        sys.exit(f"{missing}: this benchmark compares with FastAPI and httpx; pip install -e '.[bench]' brings both")
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        contenders = runner.run(_measure())
        spent = runner.run(_where_time_goes(SIZES[32]))
    return [*_match_rows(contenders, spent), *_spare_rows(contenders)]


def _match_rows(contenders: dict[str, _Contender], spent: str) -> list[Row]:
    cost = {name: one.cpu for name, one in contenders.items()}
    ours, bare = cost["ours, 32"], cost["bare, 32"]
    calls = {n: median(one.calls for one in contenders[f"ours, {n}"].costs) for n in SIZES}
    kinds = ", ".join(f"{kind} {count:.2f}" for kind, count in contenders["ours, 32"].costs[0].kinds.items())
    one_call, bare_call, seven = ours / calls[32], bare / CALLS, "seven bare calls"
    return [
        Row("a match, 32 at once", ours, bare, seven, "us", 14.0, spent),
        Row("a match, 2 at once", cost["ours, 2"], ours, "32 at once", "us", 1.35, contenders["ours, 2"].threads),
        Row("a match, 2 at once in memory", cost["in memory, 2"], cost["not durable"], "32 at once in memory", "us"),
        Row("a call, 32 at once", one_call, bare_call, "a bare call", "us", 9.0),
        Row("calls of a match, 32 at once", calls[32], NEEDED_CALLS, "what is needed", "calls", 1.02, kinds),
        Row("calls of a match, 2 at once", calls[2], NEEDED_CALLS, "what is needed", "calls", 1.2),
        _slowest_choice(contenders["ours, 32"]),
        Row("seven calls, our transport and codec", cost["strict, 32"], bare, seven, "us"),
        Row("a match, 32 at once", ours, cost["FastAPI, 32"], "seven calls by FastAPI + httpx", "us", 0.25),
        Row("a match, 2 at once", cost["ours, 2"], cost["FastAPI, 2"], "seven calls by FastAPI + httpx", "us", 0.25),
    ]


def _slowest_choice(ours: _Contender) -> Row:
    """All choices of all leagues together."""
    choices = quantiles([seconds for one in ours.costs for seconds in one.choices], n=100)
    return Row("a choice, 32 at once, p99", choices[98] * 1e3, choices[49] * 1e3, "p50", "ms", 3.0)


def _spare_rows(contenders: dict[str, _Contender]) -> list[Row]:
    """What is on costs, beside the same without it. What is not durable has no transcript either."""
    cost = {name: one.cpu for name, one in contenders.items()}
    ours, plain = cost["ours, 32"], cost["no transcript"]
    return [
        Row(
            "a match, durable", plain, cost["not durable"], "in memory", "us", 1.25, contenders["no transcript"].threads
        ),
        Row("a match, with transcript", ours, plain, "without", "us", 1.08, contenders["ours, 32"].threads),
        Row("a match, logged", ours, cost["no log"], "without a log", "us", 1.10),
    ]


async def _measure() -> dict[str, _Contender]:
    """Each in turn, several times: a slow moment hits all alike."""
    async with AsyncExitStack() as stack:
        floors = {
            "bare": await stack.enter_async_context(bare_floor()),
            "strict": await stack.enter_async_context(strict_floor()),
            "FastAPI": await stack.enter_async_context(fastapi_httpx()),
        }
        contenders: dict[str, _Contender] = {}
        for at_once, size in SIZES.items():
            for name, floor in floors.items():
                await floor.play(at_once, 2 * at_once)  # connects
                contenders[f"{name}, {at_once}"] = _Contender(_floor(floor, at_once, 64 * 7 if name == "bare" else 64))
            contenders[f"ours, {at_once}"] = _Contender(_league(size), IN_A_ROW[at_once])
        contenders["in memory, 2"] = _Contender(_league(SIZES[2], IN_MEMORY), IN_A_ROW[2])
        for name, way in SPARE.items():
            contenders[name] = _Contender(_league(SIZES[32], way))
        for _ in range(ROUNDS):
            for one in contenders.values():
                one.costs += [await one.play() for _ in range(one.in_a_row)]
        return contenders


def _floor(floor: Floor, at_once: int, matches: int) -> Callable[[], Awaitable[Cost]]:
    async def once() -> Cost:
        watch = Stopwatch()
        await floor.play(at_once, matches)
        return watch.stop(matches, {"all": CALLS * matches})

    return once


def _league(size: Size, way: Way = EVERYTHING) -> Callable[[], Awaitable[Cost]]:
    return lambda: play(size, way)


# --- where the time goes ----------------------------------------------------------------------------------------------


async def _where_time_goes(size: Size) -> str:
    """Shares of the loop's time by part of the house. The profiler makes small functions dearer than they are; what
    the journals' threads do is not in it."""
    profile = cProfile.Profile()

    def watch() -> Stopwatch:
        profile.enable()
        return Stopwatch()

    await play(size, watch=watch)
    profile.disable()
    shares: Counter[str] = Counter()
    stats: Any = pstats.Stats(profile)
    for (path, _, _), (_, _, own, _, _) in stats.stats.items():
        shares[_part(path)] += own
    whole = sum(shares.values())
    return ", ".join(f"{part} {100 * own / whole:.0f} %" for part, own in shares.most_common(9))


def _part(path: str) -> str:
    """The package of ours, or Python and its libraries."""
    _, found, inside = path.rpartition("/league/")
    return inside.split("/")[0].removesuffix(".py") if found else "Python and libraries"
