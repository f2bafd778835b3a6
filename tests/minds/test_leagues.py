"""Language models in a league of real processes. Their provider is a stand-in, which OpenAI's client takes for one."""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from league.events import ChoiceFailed, ConditionsStated, Event, LeagueCreated, MatchPaused, ResultAccepted
from tests.support.language_models import KEY, StandIn, stand_in
from tests.support.processes import WATCHDOG_S, Processes, assert_kept, run

PACKAGES = Path(sys.prefix) / "mcp-servers"
CLIENT = Path(__file__).parents[1] / "mcp_servers" / "openai_client.py"
MOVE_S = 2
LOOK_AGAIN_S = 0.2


def test_the_stand_in_is_a_provider_to_the_client_of_openai(tmp_path: Path) -> None:
    assert PACKAGES.is_dir(), "`make .venv/.mcp-servers` installs OpenAI's client beside the MCP servers of others"
    path = os.pathsep.join(str(PACKAGES / name) for name in ("openai", "shared"))
    models = ("right", "limited", "failing", "nobody", "null", "uncounted", "prose")
    with stand_in(KEY) as server:
        command = ("env", f"PYTHONPATH={path}", sys.executable, str(CLIENT))
        done = run(command, [server.base_url, KEY, *models], tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "right": ["even", "stop", 12],
        "limited": ["RateLimitError", 429, "1"],
        "failing": ["InternalServerError", 500, None],
        "nobody": ["NotFoundError", 404, None],
        "null": [None, "stop", 12],
        "uncounted": ["even", "stop", None],
        "prose": ["Let me see. I choose **even**, for luck!", "stop", 12],
        "wrong key": ["AuthenticationError", 401, None],
    }


def join(processes: Processes, manager: str, server: StandIn, model: str, **options: Any) -> None:
    known: dict[str, Any] = {
        "strategy": "llm",
        "base_url": server.base_url,
        "model": model,
        "journal": processes.journal(model),
    }
    processes.players(manager, model, **known, **options)


def wait_for(processes: Processes, kind: type[Event]) -> None:
    """Until the manager has journalled one."""
    for _ in range(int(WATCHDOG_S / LOOK_AGAIN_S)):
        if processes.events("manager", kind):
            return
        threading.Event().wait(LOOK_AGAIN_S)
    raise AssertionError(f"there is no {kind.__name__}")


@pytest.mark.requirement("TROUBLE.own_account")
@pytest.mark.requirement("EXPERIMENT.not_rated")
def test_an_outage_of_the_provider_costs_nobody_a_match_and_fallbacks_are_not_rated(processes: Processes) -> None:
    with stand_in() as server:
        manager = processes.manager(players=4, referees=1, move_seconds=MOVE_S)
        processes.referee(manager)
        join(processes, manager.endpoint, server, "prose")
        join(processes, manager.endpoint, server, "banana")
        server.is_down = True
        last = processes.players(manager, "others", count=2)
        wait_for(processes, MatchPaused)
        server.is_down = False
        assert last.wait() == 0
        manager.stop()
    assert_kept(processes)
    models = {processes.members()[name]: name for name in ("prose", "banana")}
    assert {one.status for one in processes.events("manager", ResultAccepted)} <= {"WIN", "DRAW"}
    pauses = processes.events("manager", MatchPaused)
    assert {pause.cause for pause in pauses} == {"player"}
    assert {pause.player_id for pause in pauses} <= models.keys()
    assert {result.attempt for result in processes.events("manager", ResultAccepted)} == {1}
    stated = {one.agent_id: one.conditions for one in processes.events("manager", ConditionsStated)}
    assert {player: card.model for player, card in stated.items()} == models
    assert processes.events("prose", ConditionsStated)[0].conditions.prompt_sha256
    assert {one.code for name in models.values() for one in processes.events(name, ChoiceFailed)} == {"E045"}
    found = json.loads(processes.run("statistics", "--journal", processes.journal("manager"), "--json").stdout)
    shown = {one["display_name"]: one for one in found["models"]}
    assert shown["banana"]["fallbacks"] == 3
    assert "not the model's" in shown["banana"]["not_rated"]
    assert sum(one["declined"] for one in shown.values()) >= 1
    told = processes.run("explain", "R1M1", "--journal", processes.journal("manager")).stdout
    assert "did not answer" in told or "chose" in told


def test_what_is_wrong_for_good_is_said_at_the_start_and_nobody_registers(processes: Processes) -> None:
    with stand_in(KEY) as server:
        done = processes.run(
            "player", "--strategy", "llm", "--base-url", server.base_url, "--model", "right", "--host", "127.0.0.1"
        )
    assert done.returncode == 1
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("league player: right cannot play: the provider answered with status 401: ")
    assert line.endswith("LEAGUE_LLM_KEY must hold the key of this provider")


@pytest.mark.requirement("EXPERIMENT.fallback_refused")
def test_a_league_may_refuse_fallbacks_and_keeps_that_rule(processes: Processes) -> None:
    with stand_in() as server:
        manager = processes.manager(players=2, referees=1, fallback="refuse")
        processes.referee(manager)
        join(processes, manager.endpoint, server, "right")
        processes.players(manager, "banana", ask="llm:banana", base_url=server.base_url).wait()
        manager.stop()
    assert_kept(processes)
    (created,) = processes.events("manager", LeagueCreated)
    assert created.settings.fallback == "refuse"
    (result,) = processes.events("manager", ResultAccepted)
    members = processes.members()
    assert (result.status, result.winner) == ("TECHNICAL_LOSS", members["right"])
    assert result.details["faults"][members["banana"]]["code"] == "E046"
    told = processes.run("explain", "R1M1", "--journal", processes.journal("manager")).stdout
    assert "its language model did not choose (unreadable)" in told
    assert "EXPERIMENT.fallback_refused" in told
    table = processes.run("standings", "--journal", processes.journal("manager")).stdout
    assert "1 of 1 choices were not its own" in table
