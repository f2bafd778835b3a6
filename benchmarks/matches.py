"""The CPU time of a match from end to end, in a league with everything on, beside the floors; how it changes with the
number of matches at once; what durability, the transcript and the log add; and which calls a match takes.

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
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import league
from benchmarks import Row
from benchmarks.floors import CALLS, Floor, bare_floor, fastapi_httpx, strict_floor
from benchmarks.leagues import EVERYTHING, Cost, Features, Size, Stopwatch, play
from benchmarks.page import BARE_FLOOR
from league.transport.http import loop_factory

ROUNDS = 3
SMALL = Size(4, 6)
"""Two matches at once."""
LARGE = Size(64, 4)
"""Thirty-two matches at once."""
SMALL_LEAGUES = 10
"""Small leagues are played one after the other, so that each size has some 120 matches. A single league of twelve
matches after something else measures how long the processor takes to find our code and data again."""
IN_MEMORY = Features(is_durable=False, transcript="off")
NO_TRANSCRIPT = Features(transcript="off")
NO_LOG = Features(is_logged=False)
FLOOR_MATCHES = 64
BARE_MATCHES = 448
"""The bare floor is so fast that it needs more matches for a sample of the same length."""
NEEDED_CALLS = 12.0
SOURCE = Path(league.__file__).parents[1]
LIBRARIES = "Python and libraries"


@dataclass(slots=True)
class _Contender:
    """Something that plays matches, and what they cost each time."""

    play: Callable[[], Awaitable[Cost]]
    times: int = 1
    costs: list[Cost] = field(default_factory=list)

    @property
    def cpu(self) -> float:
        """The median of microseconds per match."""
        return median(cost.cpu for cost in self.costs) * 1e6

    @property
    def calls(self) -> float:
        return median(cost.calls for cost in self.costs)

    @property
    def threads(self) -> str:
        """The share of each thread in the CPU time."""
        storing = median(cost.storing for cost in self.costs) * 1e6
        return f"the loop {self.cpu - storing:,.0f} us, the threads of the journals {storing:,.0f} us"


@dataclass(frozen=True, slots=True)
class _Contenders:
    """All that take turns, by name."""

    bare_small: _Contender
    bare_large: _Contender
    strict: _Contender
    fastapi_small: _Contender
    fastapi_large: _Contender
    small: _Contender
    large: _Contender
    small_in_memory: _Contender
    large_in_memory: _Contender
    no_transcript: _Contender
    no_log: _Contender

    async def take_turns(self) -> None:
        """Measure each several times, in turns, so that a slow moment of the machine hits all alike."""
        for _ in range(ROUNDS):
            for name in self.__slots__:
                contender: _Contender = getattr(self, name)
                for _ in range(contender.times):
                    contender.costs.append(await contender.play())


def run() -> list[Row]:
    try:
        import fastapi  # noqa: F401 - only here: the league itself needs neither
        import httpx  # noqa: F401
    except ImportError as missing:
        sys.exit(f"{missing}: this benchmark compares with FastAPI and httpx; pip install -e '.[bench]' installs both")
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        contenders = runner.run(_measure())
        shares = runner.run(_shares_of_time(LARGE))
    return [*_match_rows(contenders, shares), *_feature_rows(contenders)]


def _match_rows(contenders: _Contenders, shares: str) -> list[Row]:
    small = contenders.small
    large = contenders.large
    # The floor of both sizes does the same work, so the cheaper one is the floor.
    bare = min(contenders.bare_small.cpu, contenders.bare_large.cpu)
    fastapi = "seven calls by FastAPI + httpx"
    in_memory = contenders.large_in_memory.cpu
    kinds = ", ".join(f"{kind} {count:.2f}" for kind, count in large.costs[0].kinds.items())
    return [
        Row("a match, 32 at once", large.cpu, bare, BARE_FLOOR, "us", 14.0, shares),
        Row("a match, 2 at once", small.cpu, large.cpu, "32 at once", "us", 1.35, small.threads),
        Row("a match, 2 at once in memory", contenders.small_in_memory.cpu, in_memory, "32 at once in memory", "us"),
        Row("a call, 32 at once", large.cpu / large.calls, bare / CALLS, "a call of the bare floor", "us", 9.0),
        Row("calls per match, 32 at once", large.calls, NEEDED_CALLS, "the calls needed", "calls", 1.02, kinds),
        Row("calls per match, 2 at once", small.calls, NEEDED_CALLS, "the calls needed", "calls", 1.2),
        _slowest_choice(large),
        Row("seven calls, our transport and codec", contenders.strict.cpu, bare, BARE_FLOOR, "us"),
        Row("a match, 32 at once", large.cpu, contenders.fastapi_large.cpu, fastapi, "us", 0.25),
        Row("a match, 2 at once", small.cpu, contenders.fastapi_small.cpu, fastapi, "us", 0.25),
    ]


def _slowest_choice(ours: _Contender) -> Row:
    """Compare the slowest choices with the usual ones, in all leagues together."""
    percentiles = quantiles([seconds for cost in ours.costs for seconds in cost.choices], n=100)
    return Row("a choice, 32 at once, p99", percentiles[98] * 1e3, percentiles[49] * 1e3, "p50", "ms", 3.0)


def _feature_rows(contenders: _Contenders) -> list[Row]:
    """Compare a league with a feature to the same league without it. A league in memory has no transcript either."""
    ours = contenders.large
    plain = contenders.no_transcript
    in_memory = contenders.large_in_memory.cpu
    return [
        Row("a match, durable", plain.cpu, in_memory, "in memory", "us", 1.25, plain.threads),
        Row("a match, with transcript", ours.cpu, plain.cpu, "no transcript", "us", 1.08, ours.threads),
        Row("a match, logged", ours.cpu, contenders.no_log.cpu, "no log", "us", 1.10),
    ]


async def _measure() -> _Contenders:
    async with AsyncExitStack() as stack:
        bare = await stack.enter_async_context(bare_floor())
        strict = await stack.enter_async_context(strict_floor())
        fastapi = await stack.enter_async_context(fastapi_httpx())
        contenders = _Contenders(
            bare_small=await _floor(bare, SMALL, BARE_MATCHES),
            bare_large=await _floor(bare, LARGE, BARE_MATCHES),
            strict=await _floor(strict, LARGE, FLOOR_MATCHES),
            fastapi_small=await _floor(fastapi, SMALL, FLOOR_MATCHES),
            fastapi_large=await _floor(fastapi, LARGE, FLOOR_MATCHES),
            small=_league(SMALL),
            large=_league(LARGE),
            small_in_memory=_league(SMALL, IN_MEMORY),
            large_in_memory=_league(LARGE, IN_MEMORY),
            no_transcript=_league(LARGE, NO_TRANSCRIPT),
            no_log=_league(LARGE, NO_LOG),
        )
        await contenders.take_turns()
        return contenders


async def _floor(floor: Floor[Any], size: Size, matches: int) -> _Contender:
    at_once = size.at_once
    await floor.play(at_once, 2 * at_once)  # opens the connections

    async def play_floor() -> Cost:
        stopwatch = Stopwatch()
        await floor.play(at_once, matches)
        return stopwatch.stop(matches, {"all": CALLS * matches})

    return _Contender(play_floor)


def _league(size: Size, features: Features = EVERYTHING) -> _Contender:
    times = SMALL_LEAGUES if size is SMALL else 1
    return _Contender(lambda: play(size, features), times)


# --- where the time goes ----------------------------------------------------------------------------------------------


async def _shares_of_time(size: Size) -> str:
    """Name the shares of our packages in the loop's time. The profiler makes small functions look more expensive than
    they are, and it does not see the threads of the journals."""
    profile = cProfile.Profile()

    def watch() -> Stopwatch:
        profile.enable()
        return Stopwatch()

    await play(size, watch=watch)
    profile.disable()
    shares: Counter[str] = Counter()
    stats: Any = pstats.Stats(profile)
    for (path, _, _), (_, _, seconds, _, _) in stats.stats.items():
        shares[_package(path)] += seconds
    total = sum(shares.values())
    return ", ".join(f"{package} {100 * seconds / total:.0f} %" for package, seconds in shares.most_common(9))


def _package(file: str) -> str:
    """Name the package of ours that a file belongs to."""
    path = Path(file)
    if not path.is_relative_to(SOURCE / "league"):
        return LIBRARIES
    package, *inside = path.relative_to(SOURCE / "league").parts
    if package == "features" and inside:
        return inside[0].removesuffix(".py")
    return package.removesuffix(".py")
