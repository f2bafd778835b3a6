"""The players of examples/ as their readers start them: each plays a whole league."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from league.events import ResultAccepted
from tests.support.processes import Process, Processes, assert_kept

PLAYERS = Path(__file__).parents[2] / "examples" / "players"
GAMES = {
    "even_odd": ("contrarian", "learner"),
    "rock_paper_scissors": ("follower",),
    "tic_tac_toe": ("perfect",),
}


def test_every_example_plays_here() -> None:
    assert {file.stem for file in PLAYERS.glob("*.py")} == {name for names in GAMES.values() for name in names}


def start(processes: Processes, manager: Process, name: str) -> Process:
    """As a reader would: the file alone, somewhere else."""
    return processes.script(Path(shutil.copy(PLAYERS / f"{name}.py", processes.folder)), manager)


@pytest.mark.parametrize("game", GAMES)
def test_the_examples_play_a_league_to_its_end(processes: Processes, game: str) -> None:
    manager = processes.manager(players=4, game=game)
    processes.referee(manager, game=game)
    examples = [start(processes, manager, name) for name in GAMES[game]]
    others = processes.players(manager, count=4 - len(examples), game=game, strategy="random")
    assert [one.wait() for one in (*examples, others)] == [0] * (len(examples) + 1)
    results = processes.events("manager", ResultAccepted)
    assert len(results) == 6
    assert {one.status for one in results} <= {"WIN", "DRAW"}, "nobody lost for technical reasons"
    members = processes.members()
    assert {name.title() for name in GAMES[game]} <= set(members)
    if "Perfect" in members:
        perfect = members["Perfect"]
        assert all(one.winner in (perfect, None) for one in results if perfect in one.points)
    assert_kept(processes)
