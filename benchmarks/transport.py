"""What a call over loopback costs, our client and our server in one process, beside a bare echo on httptools.

The floor does what cannot be left out: it parses both heads and moves the bytes. It has no limits, no deadlines and no
rules.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from statistics import median

from benchmarks import Row
from benchmarks.bare_http import BareClient, BareServer
from league.transport.http import App, Response, loop_factory
from league.transport.http_client import HttpClient, PoolLimits
from league.transport.http_server import serve

NAME = "transport"
BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"' + b"x" * 450 + b'"}'
LIMIT = 10_240
CALLS = 960
ROUNDS = 15

Call = Callable[[], Awaitable[object]]


def run() -> list[Row]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return [_row(runner, concurrent, goal) for concurrent, goal in ((1, 3.0), (32, 3.0))]


def _row(runner: asyncio.Runner, concurrent: int, goal: float) -> Row:
    ours, floor = runner.run(_measure(concurrent))
    what = f"a call of {len(BODY)} bytes, {concurrent} at once"
    return Row(what, ours * 1e6, floor * 1e6, "bare httptools echo", "us", goal)


async def _measure(concurrent: int) -> tuple[float, float]:
    """CPU seconds of one call of ours and of the floor, the median of interleaved rounds."""
    server = await serve("127.0.0.1", 0, App(_echo))
    client = HttpClient(limits=PoolLimits(per_endpoint=concurrent))
    url = f"http://127.0.0.1:{server.port}/mcp"
    floor, bare = await BareServer.start(lambda body: body), BareClient()
    spent: tuple[list[float], list[float]] = ([], [])
    try:
        for _ in range(ROUNDS):
            calls = (lambda: client.post(url, BODY, 10.0, LIMIT), lambda: bare.post(floor.port, BODY))
            for one, call in zip(spent, calls, strict=True):
                one.append(await _timed(call, concurrent))
    finally:
        bare.close()
        floor.close()
        await client.close()
        await server.close()
    return median(spent[0]), median(spent[1])


async def _timed(call: Call, concurrent: int) -> float:
    start = time.process_time()
    await asyncio.gather(*(_repeat(call, CALLS // concurrent) for _ in range(concurrent)))
    return (time.process_time() - start) / CALLS


async def _repeat(call: Call, times: int) -> None:
    for _ in range(times):
        await call()


async def _echo(body: bytes, _address: str) -> Response:
    return Response(200, body)
