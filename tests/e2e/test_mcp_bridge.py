"""`league mcp` as assistants use it: started as a local server by the official package's client."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack

import pytest

from tests.support.mcp_programs import started
from tests.support.processes import WATCHDOG_S, Processes

EMPTY = {"standings": [], "current_round": 0}
LEAGUE = (sys.executable, "-m", "league")


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_official_client_calls_tools_through_the_bridge_and_goes_on_after_a_restart_of_the_manager(
    processes: Processes, mode: str
) -> None:
    manager = processes.manager(players=2)
    with ExitStack() as stack:
        command = [mode, *LEAGUE, "mcp", "--manager", manager.endpoint]
        client = started("fastmcp4", processes.folder, "local_client.py", *command)
        stack.callback(client.kill)
        told = json.loads(client.said("told: ")[0])
        assert {"register_player", "get_standings"} <= set(told["tools"])
        assert told["standings"] == EMPTY
        manager.kill()
        assert "nobody answers at" in client.said("refused: ")[0] or "hung up" in client.said("refused: ")[0]
        processes.manager(players=2, port=manager.port)
        assert json.loads(client.said("again: ")[0]) == EMPTY
        assert client.wait() == 0


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
