"""The cost of viewers: CPU time per match with 200 open pages, the first page of a large league, and the time until a
result is on a page."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median
from typing import NamedTuple

from benchmarks import Row
from benchmarks.leagues import Size, play
from league.features.dashboard.dashboard_server import FRAME_S
from league.transport.http import loop_factory

SIZE = Size(64, 12)
LARGE = Size(99, 10, 10)
VIEWERS = 200
ROUNDS = 3
LAST_FRAME_S = 30.0
"""How long the page may take to show a result; only a watchdog."""


def run() -> list[Row]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        watched, alone = runner.run(_watched_and_alone())
        first, second = runner.run(_two_pages())
        delay = runner.run(_delay())
    page_size = f"{first.bytes / 1e6:.1f} MB"
    page_title = "the first page of 99 players, on the clock"
    delay_title = "from a result to the page, on the clock"
    shortest = "the shortest time between two frames"
    return [
        Row(f"a match, {VIEWERS} open pages", watched, alone, "no page", "us", 1.25),
        Row(page_title, first.milliseconds, second.milliseconds, "the page a moment later", "ms", None, page_size),
        Row(delay_title, delay, FRAME_S * 1e3, shortest, "ms", None, "the median in a league of 64 players"),
    ]


async def _watched_and_alone() -> tuple[float, float]:
    """Measure the microseconds per match with viewers and without, in turns."""
    watched: list[float] = []
    alone: list[float] = []
    for _ in range(ROUNDS):
        watched.append((await play(SIZE, beside=_viewers)).cpu * 1e6)
        alone.append((await play(SIZE)).cpu * 1e6)
    return median(watched), median(alone)


@asynccontextmanager
async def _viewers(port: int) -> AsyncIterator[None]:
    # A process of their own, so that the CPU time of the pages does not count as ours.
    command = (sys.executable, "-m", "benchmarks.viewers", str(port), str(VIEWERS))
    viewers = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert viewers.stdout is not None
    if await viewers.stdout.readline() != b"ready\n":
        raise RuntimeError("the viewers cannot follow the league")
    try:
        yield
    finally:
        viewers.kill()
        await viewers.wait()


# --- the first page ---------------------------------------------------------------------------------------------------


class _PageLoad(NamedTuple):
    milliseconds: float
    bytes: int


async def _two_pages() -> list[_PageLoad]:
    """Load the page of a large league twice, after its end."""
    loads: list[_PageLoad] = []

    @asynccontextmanager
    async def load_twice(port: int) -> AsyncIterator[None]:
        yield
        for _ in range(2):
            began = time.perf_counter()
            page = await _get(port, "/")
            loads.append(_PageLoad((time.perf_counter() - began) * 1e3, len(page)))

    await play(LARGE, beside=load_twice)
    return loads


async def _get(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % path.encode())
    answer = await reader.read()
    writer.close()
    return answer.partition(b"\r\n\r\n")[2]


# --- the delay --------------------------------------------------------------------------------------------------------


async def _delay() -> float:
    """Measure the milliseconds from the acceptance of a result to the frame that shows it."""
    delays: list[float] = []

    @asynccontextmanager
    async def follow(port: int) -> AsyncIterator[None]:
        first_frames: dict[str, float] = {}
        has_result = asyncio.Event()
        following = asyncio.create_task(_follow(port, first_frames, has_result))
        yield
        # A round may be over before a frame shows it, but the last round stays on the page.
        async with asyncio.timeout(LAST_FRAME_S):
            await has_result.wait()
        following.cancel()
        for match_id, frame_at in first_frames.items():
            match = json.loads(await _get(port, f"/api/matches/{match_id}"))
            delays.append((frame_at - match["decided_at"]) * 1e3)

    await play(SIZE, beside=follow)
    return median(delays)


async def _follow(port: int, first_frames: dict[str, float], has_result: asyncio.Event) -> None:
    """Note when each match is first shown as over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    writer.write(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    while frame := await reader.readuntil(b"\n\n"):
        for match_id in re.findall(rb'id=."match-(\w+)." class=."match COMPLETED', frame):
            first_frames.setdefault(match_id.decode(), time.time())
            has_result.set()
