"""The manager's key goes wherever its journal goes: through restarts, new tokens, backups, and to a standby."""

from __future__ import annotations

import json
from urllib.request import urlopen

from league.events import Registered
from tests.support.postgres import PostgresServer
from tests.support.processes import WATCHDOG_S, Process, Processes

KEY_LINE = "key of this manager: "


def key_of(manager: Process) -> str:
    """The key that a manager shows at its terminal and on its pages."""
    (line,) = manager.said(KEY_LINE)
    key = line.removeprefix(KEY_LINE)
    address = manager.endpoint.removesuffix("/mcp")
    with urlopen(f"{address}/api/league", timeout=WATCHDOG_S) as answer:
        assert json.load(answer)["manager_key"] == key
    with urlopen(address, timeout=WATCHDOG_S) as answer:
        assert f"Key of this manager: {key}" in answer.read().decode()
    return key


def test_the_key_survives_a_kill_a_new_token_and_a_copy(processes: Processes) -> None:
    manager = processes.manager(journal=processes.journal("manager"), state=processes.folder)
    key = key_of(manager)
    player = processes.players(manager, journal=processes.journal("player"))
    player.said("registered as P01")
    rotated = processes.run("rotate-token", "--manager", manager.endpoint, "--state", processes.folder)
    assert rotated.returncode == 0, rotated
    manager.kill()
    player.kill()
    assert [event.manager_key for event in processes.events("player", Registered)] == [key]
    again = processes.manager(journal=processes.journal("manager"), state=processes.folder)
    assert key_of(again) == key
    assert again.stop() == 0
    copied = processes.run("backup", processes.journal("manager"), processes.folder / "copy.db")
    assert copied.returncode == 0, copied
    copy = processes.manager(journal=processes.folder / "copy.db", state=processes.folder)
    assert key_of(copy) == key


def test_the_key_is_in_the_database_too(processes: Processes, postgres: PostgresServer) -> None:
    journal = postgres.new_url()
    first = processes.manager(journal=journal, state=processes.folder)
    key = key_of(first)
    standby = processes.begin("manager", "standby", journal=journal, state=processes.folder, standby=True, port=0)
    standby.said("standing by at ")
    first.kill()
    standby.said("ready: ")
    assert key_of(standby) == key
