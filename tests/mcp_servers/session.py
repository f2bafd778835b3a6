"""A third-party MCP client that stays connected: `python session.py KIND URL`, in the environment of its package. It
calls a tool of a league manager in one session whenever it gets SIGUSR2, and says `called: N` or `failed: WHY`. One of
the newest era also follows the standings, once a call has told it that somebody is there, and says `following: N`,
`told: URI` and `lost: WHY`."""

import asyncio
import signal
import sys
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

STANDINGS = "league://standings"
PATIENCE_S = 60.0


@asynccontextmanager
async def fastmcp(url):
    from fastmcp import Client

    async with Client(url, timeout=PATIENCE_S) as client:
        yield lambda: client.call_tool("standings", {}), None


@asynccontextmanager
async def sdk_1(url):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with streamablehttp_client(url) as (read, write, _), ClientSession(read, write) as session:
        await session.initialize()
        yield lambda: session.call_tool("standings", {}, timedelta(seconds=PATIENCE_S)), None


@asynccontextmanager
async def sdk_2(url, era):
    from mcp import Client

    async with Client(url, mode=era, read_timeout_seconds=PATIENCE_S) as client:
        yield lambda: client.call_tool("standings", {}), client if era != "legacy" else None


KINDS = {
    "fastmcp": fastmcp,
    "sdk-1": sdk_1,
    **{f"sdk-2 {era}": partial(sdk_2, era=era) for era in ("legacy", "2026-07-28")},
}


async def keep_calling(call, is_there):
    asked = asyncio.Semaphore(0)
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, asked.release)
    print("ready", flush=True)
    done = 0
    while await asked.acquire():
        try:
            result = await call()
            assert not getattr(result, "is_error", getattr(result, "isError", False)), result
            done += 1
            print(f"called: {done}", flush=True)
            is_there.set()
        except Exception as error:  # noqa: BLE001 - whatever the package raises
            print(f"failed: {error!r}", flush=True)


async def keep_following(client, is_there):
    opened = 0
    while client is not None and await is_there.wait():
        try:
            async with client.listen(resource_subscriptions=[STANDINGS]) as stream:
                opened += 1
                print(f"following: {opened}", flush=True)
                async for event in stream:
                    print(f"told: {event.uri}", flush=True)
        except Exception as error:  # noqa: BLE001 - as MCP has it, a client follows again
            print(f"lost: {error!r}", flush=True)
            is_there.clear()


async def main(kind, url):
    async with KINDS[kind](url) as (call, follower):
        is_there = asyncio.Event()
        await asyncio.gather(keep_calling(call, is_there), keep_following(follower, is_there))


asyncio.run(main(sys.argv[1], sys.argv[2]))
