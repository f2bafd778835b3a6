"""What viewers cost a league: CPU time per match with 200 open pages, the first page of a large league, and how long it
takes until a result is on a page."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from statistics import median

from benchmarks import Row
from benchmarks.leagues import Size, play
from league.transport.http import loop_factory
from league_dashboard.serving import FRAME_S

NAME = "dashboard"
SIZE, LARGE = Size(64, 12), Size(99, 10, 10)
VIEWERS = 200
ROUNDS = 3
LAST_FRAME_S = 30.0
Beside = Callable[[int], AbstractAsyncContextManager[object]]


def run() -> list[Row]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        watched, alone = runner.run(_side_by_side())
        first, again, size = runner.run(_first_page())
        delay = runner.run(_delay())
    least = "the least time between two frames"
    return [
        Row(f"a match, {VIEWERS} open pages", watched, alone, "no page", "us", 1.25),
        Row(
            "the first page of 99 players", first, again, "the page a moment later", "ms", None, f"{size / 1e6:.1f} MB"
        ),
        Row("from a result to the page", delay, FRAME_S * 1e3, least, "ms", None, "the median of a league of 64"),
    ]


async def _side_by_side() -> tuple[float, float]:
    """Microseconds a match, watched and not, in turn."""
    costs: dict[Beside, list[float]] = {_viewers: [], nullcontext: []}
    for _ in range(ROUNDS):
        for beside, some in costs.items():
            some.append((await play(SIZE, beside=beside)).cpu * 1e6)
    return median(costs[_viewers]), median(costs[nullcontext])


@asynccontextmanager
async def _viewers(port: int) -> AsyncIterator[None]:
    command = (sys.executable, "-m", "benchmarks.viewers", str(port), str(VIEWERS))
    viewers = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert viewers.stdout is not None
    if await viewers.stdout.readline() != b"ready\n":
        raise RuntimeError("the viewers cannot follow")
    try:
        yield
    finally:
        viewers.kill()
        await viewers.wait()


# --- the first page ---------------------------------------------------------------------------------------------------


async def _first_page() -> tuple[float, float, int]:
    """Milliseconds for the first page and for the next, and its size."""
    found: list[tuple[float, int]] = []

    @asynccontextmanager
    async def look(port: int) -> AsyncIterator[None]:
        yield
        for _ in range(2):
            began = time.perf_counter()
            page = await _get(port, "/")
            found.append(((time.perf_counter() - began) * 1e3, len(page)))

    await play(LARGE, beside=look)
    (first, size), (again, _) = found
    return first, again, size


async def _get(port: int, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET %b HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n" % path.encode())
    answer = await reader.read()
    writer.close()
    return answer.partition(b"\r\n\r\n")[2]


# --- the delay --------------------------------------------------------------------------------------------------------


async def _delay() -> float:
    """Milliseconds from the acceptance of a result to the frame that shows it."""
    delays: list[float] = []

    @asynccontextmanager
    async def follow(port: int) -> AsyncIterator[None]:
        shown: dict[str, float] = {}
        one_is_shown = asyncio.Event()
        following = asyncio.create_task(_follow(port, shown, one_is_shown))
        yield
        async with asyncio.timeout(LAST_FRAME_S):
            await one_is_shown.wait()  # a round may be over before a frame shows it; the last one stays on the page
        following.cancel()
        for match_id, at in shown.items():
            match = json.loads(await _get(port, f"/api/matches/{match_id}"))
            delays.append((at - match["decided_at"]) * 1e3)

    await play(SIZE, beside=follow)
    return median(delays)


async def _follow(port: int, shown: dict[str, float], one_is_shown: asyncio.Event) -> None:
    """When each match was first shown as over."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 24)
    writer.write(b"GET /api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    while frame := await reader.readuntil(b"\n\n"):
        for match_id in re.findall(rb'id=."match-(\w+)." class=."match COMPLETED', frame):
            shown.setdefault(match_id.decode(), time.time())
            one_is_shown.set()
