"""What a call over loopback costs, our client and our server in one process, beside a bare echo on httptools.

The floor does what cannot be left out: it parses both heads and moves the bytes. It has no limits, no deadlines and no
rules.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from statistics import median

from benchmarks import Row
from benchmarks.bare_http import BareClient, BareServer
from league.mcp_tables import ServerTables
from league.protocol import jsonrpc
from league.transport.http import App, HttpRequest, Response, loop_factory
from league.transport.http_client import HttpClient, PoolLimits
from league.transport.http_server import Server, serve
from league_mcp.door import McpDoor

NAME = "transport"
BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"' + b"x" * 450 + b'"}'
GREETING = b'{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"benchmark","version":"1"}}'
LIMIT = 10_240
CALLS = 960
ROUNDS = 15

Call = Callable[[], Awaitable[object]]


def run() -> list[Row]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        rows = [_row(runner, concurrent, goal) for concurrent, goal in ((1, 3.0), (32, 3.0))]
        beside, alone = runner.run(_measure_beside_mcp())
    what = "a plain call to an agent that MCP clients use, 32 at once"
    return [*rows, Row(what, beside * 1e6, alone * 1e6, "the same without MCP", "us", 1.03)]


def _row(runner: asyncio.Runner, concurrent: int, goal: float) -> Row:
    ours, floor = runner.run(_measure(concurrent))
    what = f"a call of {len(BODY)} bytes, {concurrent} at once"
    return Row(what, ours * 1e6, floor * 1e6, "bare httptools echo", "us", goal)


async def _measure(concurrent: int) -> tuple[float, float]:
    """CPU seconds of one call of ours and of the floor."""
    server = await serve("127.0.0.1", 0, App(_echo))
    client = HttpClient(limits=PoolLimits(per_endpoint=concurrent))
    floor, bare = await BareServer.start(lambda body: body), BareClient()
    try:
        return await _compared(
            lambda: client.post(_url(server), BODY, 10.0, LIMIT), lambda: bare.post(floor.port, BODY), concurrent
        )
    finally:
        bare.close()
        floor.close()
        await client.close()
        await server.close()


async def _measure_beside_mcp() -> tuple[float, float]:
    """CPU seconds of a plain call where an MCP client has a session, and where none ever came."""
    doors = [McpDoor(lambda: ServerTables("benchmark"), _refuse, _refuse) for _ in range(2)]
    doors[0].is_open = True
    servers = [await serve("127.0.0.1", 0, App(_echo, mcp=one)) for one in doors]
    client = HttpClient(limits=PoolLimits(per_endpoint=32))
    try:
        greeted = await client.post(_url(servers[0]), jsonrpc.encode_call(1, "initialize", GREETING), 60.0, LIMIT)
        assert greeted.status == 200, greeted
        calls = [partial(client.post, _url(one), BODY, 10.0, LIMIT) for one in servers]
        return await _compared(calls[0], calls[1], 32)
    finally:
        await doors[0].close()
        await client.close()
        for one in servers:
            await one.close()


def _url(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}/mcp"


async def _compared(one: Call, other: Call, concurrent: int) -> tuple[float, float]:
    """CPU seconds of one call of each, the median of interleaved rounds."""
    spent: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for seconds, call in zip(spent, (one, other), strict=True):
            seconds.append(await _timed(call, concurrent))
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


async def _refuse(_request: HttpRequest) -> Response:
    raise AssertionError("the official package answers")
