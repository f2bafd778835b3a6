"""The cost of a call over loopback with our client and our server in one process, beside a bare echo on httptools.

The echo only does what cannot be left out: it parses both heads and moves the bytes. It has no limits, no deadlines and
no rules.
"""

from __future__ import annotations

import asyncio
from functools import partial

from benchmarks import Row, median_cpu_seconds_async
from benchmarks.bare_http import BareClient, BareServer
from league.features.mcp.door import McpDoor
from league.features.mcp.tables import ServerTables
from league.protocol.wire import jsonrpc
from league.transport.http import App, Response, loop_factory
from league.transport.http_client import HttpClient, PoolLimits
from league.transport.http_server import Server, serve

BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"' + b"x" * 450 + b'"}'
GREETING = b'{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"benchmark","version":"1"}}'
LIMIT = 10_240
CALLS = 960
AT_ONCE = 32
"""Calls in flight, if there is more than one."""


def run() -> list[Row]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        rows = [_echo_row(runner, at_once) for at_once in (1, AT_ONCE)]
        beside_mcp, alone = runner.run(_measure_beside_mcp())
    title = f"a plain call to an agent with an MCP session, {AT_ONCE} at once"
    return [*rows, Row(title, beside_mcp * 1e6, alone * 1e6, "the same without MCP", "us", 1.03)]


def _echo_row(runner: asyncio.Runner, at_once: int) -> Row:
    ours, bare = runner.run(_measure_echo(at_once))
    return Row(f"a call of {len(BODY)} bytes, {at_once} at once", ours * 1e6, bare * 1e6, "a bare echo", "us", 3.0)


async def _measure_echo(at_once: int) -> list[float]:
    """Measure the CPU seconds of one call with our transport, and of one bare echo."""
    server = await serve("127.0.0.1", 0, App(_echo))
    client = HttpClient(limits=PoolLimits(per_endpoint=at_once))
    bare_server = await BareServer.start(lambda body: body)
    bare_client = BareClient()
    ours = partial(client.post, _url(server), BODY, 10.0, LIMIT)
    bare = partial(bare_client.post, bare_server.port, BODY)
    try:
        return await median_cpu_seconds_async((ours, bare), CALLS, at_once)
    finally:
        bare_client.close()
        bare_server.close()
        await client.close()
        await server.close()


async def _measure_beside_mcp() -> list[float]:
    """Measure the CPU seconds of a plain call where an MCP client has a session, and where none ever came."""
    used_door = McpDoor(lambda: ServerTables("benchmark"), _refuse)
    used_door.is_open = True
    unused_door = McpDoor(lambda: ServerTables("benchmark"), _refuse)
    used = await serve("127.0.0.1", 0, App(_echo, mcp=used_door))
    unused = await serve("127.0.0.1", 0, App(_echo, mcp=unused_door))
    client = HttpClient(limits=PoolLimits(per_endpoint=AT_ONCE))
    try:
        greeting = await client.post(_url(used), jsonrpc.encode_call(1, "initialize", GREETING), 60.0, LIMIT)
        assert greeting.status == 200, greeting
        calls = [partial(client.post, _url(server), BODY, 10.0, LIMIT) for server in (used, unused)]
        return await median_cpu_seconds_async(calls, CALLS, AT_ONCE)
    finally:
        await used_door.close()
        await client.close()
        await used.close()
        await unused.close()


def _url(server: Server) -> str:
    return f"http://127.0.0.1:{server.port}/mcp"


async def _echo(body: bytes, _address: str) -> Response:
    return Response(200, body)


async def _refuse(*_call: object, **_options: object) -> Response:
    raise AssertionError("the official package answers")
