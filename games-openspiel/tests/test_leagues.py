"""OpenSpiel's games as whole leagues over HTTP, with results that are proven: five in `make test`, all in the deep
suite."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

import league
from league.cli.main import main
from league.events import MoveMade, PlayerFaulted, ResultAccepted
from league_openspiel.family import names
from tests.support.processes import WATCHDOG_S, Processes, assert_kept

FIVE = ("spiel:breakthrough", "spiel:leduc_poker", "spiel:goofspiel", "spiel:hanabi", "spiel:capture_the_flag")
"""In the last one a draw comes after moves, and the list of moves becomes so long that it is written in another way."""


def in_suites(name: str) -> Any:
    return pytest.param(name, marks=() if name in FIVE else pytest.mark.deep)


@pytest.mark.slow
@pytest.mark.parametrize("name", [in_suites(name) for name in names()])
def test_a_whole_league_is_proven(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "journals"

    async def play() -> None:
        async with league.run(["spiel:uniform_random"] * 3, game=name, journal=folder, seed=1) as running:
            await running.finished()

    asyncio.run(play())
    capsys.readouterr()
    assert main(["verify", "--json", str(folder)]) == 0
    audit = json.loads(capsys.readouterr().out)
    assert audit["results"]["proven"] == audit["matches"] == 3, audit


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spiel:backgammon", pytest.param("spiel:chess", marks=pytest.mark.deep)])
def test_a_match_goes_on_after_its_referee_was_killed_and_is_proven(name: str, tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        manager = processes.manager(players=2, game=name)
        players = [
            processes.players(manager, player, game=name, journal=processes.journal(player), strategy="random")
            for player in ("ann", "bob")
        ]
        referee = processes.referee(manager, game=name)
        for moves in (10, 20):
            moved(processes, moves)
            port = referee.port
            referee.kill()
            referee = processes.referee(manager, game=name, port=port)
        assert [player.wait() for player in players] == [0, 0]
        assert referee.wait() == 0
        assert manager.stop() == 0
        (result,) = processes.events("manager", ResultAccepted)
        assert result.status in ("WIN", "DRAW")
        assert processes.events("referee", PlayerFaulted) == []
        assert processes.verified()["results"]["proven"] == 1
        assert_kept(processes)


def moved(processes: Processes, moves: int) -> None:
    """Wait until the referee has this many moves on its disk."""
    until = time.monotonic() + WATCHDOG_S
    while len(processes.events("referee", MoveMade)) < moves:
        assert time.monotonic() < until, "the match does not go on"
        time.sleep(0.05)
