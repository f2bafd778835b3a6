"""An assistant that knows only the manager's address plays a league, also when the manager is killed meanwhile."""

from __future__ import annotations

import json
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from league.events import AgentRegistered, PlayerFaulted
from tests.support.processes import WATCHDOG_S, Process, Processes, assert_kept


class Assistant:
    """Calls tools of a manager (Any: JSON)."""

    def __init__(self, manager: Process) -> None:
        self.endpoint = manager.endpoint
        self.key = ""

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        request = urllib.request.Request(self.endpoint, json.dumps(call).encode(), headers)
        with urllib.request.urlopen(request, timeout=WATCHDOG_S) as response:
            found: dict[str, Any] = json.loads(response.read())["result"]["structuredContent"]
        return found

    def join(self, name: str) -> dict[str, Any]:
        joined = self.call("join", name=name)
        self.key = joined.get("player_key", "")
        return joined

    def next_turn(self) -> dict[str, Any]:
        return self.call("next_turn", player_key=self.key, wait_seconds=5)

    def plays(self, turns: int = 1_000) -> None:
        """Answer so many turns, or play until the league is over."""
        while turns:
            found = self.next_turn()
            if "over" in found["message"]:
                return
            if found["turn"] is not None:
                turn = found["turn"]
                choice = turn["options"][0]
                self.call("answer_turn", player_key=self.key, turn_id=turn["turn_id"], choice=choice)
                turns -= 1


def test_two_assistants_play_a_league_to_its_end(processes: Processes) -> None:
    manager = processes.manager(players=2, double=True)
    first = Assistant(manager)
    second = Assistant(manager)
    assert "P01" in first.join("First")["message"]
    assert "P02" in second.join("Second")["message"]
    processes.referee(manager)
    with ThreadPoolExecutor() as pool:
        list(pool.map(Assistant.plays, (first, second)))
    assert manager.stop() == 0
    assert processes.events("referee", PlayerFaulted) == []
    assert_kept(processes)


def test_a_guest_outlives_the_manager_that_it_plays_in(processes: Processes) -> None:
    manager = processes.manager(players=3)
    assistant = Assistant(manager)
    assistant.join("Guest")
    ours = processes.players(manager, "ours", count=2)
    referee = processes.referee(manager)
    assistant.plays(1)
    port = manager.port
    manager.kill()
    manager = processes.manager(players=3, port=port)
    assistant.plays()
    assert (ours.wait(), referee.wait()) == (0, 0)
    assert len(processes.events("manager", AgentRegistered)) == 4
    assert processes.events("referee", PlayerFaulted) == []
    assert_kept(processes)


def test_nobody_plays_for_a_guest_without_its_key(processes: Processes) -> None:
    manager = processes.manager(players=2, start="manual")
    guest = Assistant(manager)
    guest.join("Guest")
    thief = Assistant(manager)
    for key in ("", "P01", "../P01", guest.key[:-1], guest.key.upper() + "0"):
        thief.key = key
        assert thief.next_turn()["error_code"] == "E012"
        answered = thief.call("answer_turn", player_key=key, turn_id="R1M1-1", choice="even")
        assert answered["error_code"] == "E012"
    assert thief.join("Guest")["player_key"] != guest.key
    third = Assistant(manager)
    assert third.join("Third")["error_code"] == "E020"
