"""`league mcp` as assistants use it: started as a local server by the official package's client."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count

import pytest
from mcp import Client, MCPError

from tests.support.mcp_clients import ERAS, call, followed, with_local_server
from tests.support.processes import WATCHDOG_S, Processes

EMPTY = {"standings": [], "current_round": 0}
Changed = Callable[[], Awaitable[None]]
LEAGUE = (sys.executable, "-m", "league")


@pytest.mark.parametrize("era", ERAS)
def test_a_client_of_either_era_goes_on_through_the_bridge_after_a_restart_of_the_manager(
    processes: Processes, era: str
) -> None:
    manager = processes.manager(players=20)

    async def work(client: Client) -> None:
        assert {"register_player", "get_standings"} <= {one.name for one in (await client.list_tools()).tools}
        assert (await call(client, "get_standings")).data == EMPTY
        async with followed(client, era, "league://standings") as changed:
            await enter(client, "First", 1)
            await changed()
            await asyncio.to_thread(manager.kill)
            with pytest.raises(MCPError, match=f"nobody answers at {manager.endpoint}"):
                await client.call_tool("get_standings", {})
            await asyncio.to_thread(processes.manager, players=20, port=manager.port)
            assert len((await call(client, "get_standings")).data["standings"]) == 1
            await until_told(client, changed)

    async def until_told(client: Client, changed: Changed) -> None:
        """The bridge follows again as soon as it can: what changed before is not told."""
        for number in count(2):
            await enter(client, f"Player {number}", number)
            with suppress(TimeoutError):
                async with asyncio.timeout(2):
                    await changed()
                    return

    async def run() -> None:
        command = (*LEAGUE, "mcp", "--manager", manager.endpoint)
        async with asyncio.timeout(WATCHDOG_S), with_local_server(command, era, processes.folder) as client:
            await work(client)

    asyncio.run(run())


async def enter(client: Client, name: str, number: int) -> None:
    entered = await call(
        client, "register_player", display_name=name, contact_endpoint=f"http://127.0.0.1:{number}/mcp"
    )
    assert not entered.is_error, entered


def test_stdout_is_for_messages_alone_and_the_end_of_the_input_is_the_end(processes: Processes) -> None:
    manager = processes.manager(players=2)
    typed = '{"jsonrpc":"2.0","id":1,"method":"ping"}\n\n{"jsonrpc":"2.0","id":2,"method":"no_such_method"}\nnonsense\n'
    done = subprocess.run(
        [*LEAGUE, "mcp", "--manager", manager.endpoint.removesuffix("/mcp")],
        input=typed,
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        cwd=processes.folder,
    )
    assert done.returncode == 0
    said = {one["id"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert said.keys() == {1, 2, None}
    assert said[1]["result"] == {}
    assert said[2]["error"]["code"] == -32601
    assert said[None]["error"]["code"] == -32700
    assert manager.endpoint in done.stderr
