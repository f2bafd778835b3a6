"""The players of examples/ as their readers start them: each plays a whole league."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from league.events import ResultAccepted
from tests.support.processes import Process, Processes, assert_kept

PLAYERS = Path(__file__).parents[2] / "examples" / "players"
GAMES = {
    "even_odd": ("contrarian", "learner", "climber", "scout"),
    "rock_paper_scissors": ("follower",),
    "tic_tac_toe": ("perfect",),
}


BELOW = ("diarist",)
"""Those that are looked at more closely."""


def test_every_example_plays_here() -> None:
    played = {name for names in GAMES.values() for name in names}
    assert {file.stem for file in PLAYERS.glob("*.py")} == {*played, *BELOW}


def start(processes: Processes, manager: Process, name: str) -> Process:
    """As a reader would: the file alone, somewhere else."""
    return processes.script(Path(shutil.copy(PLAYERS / f"{name}.py", processes.folder)), manager)


@pytest.mark.parametrize("game", GAMES)
def test_the_examples_play_a_league_to_its_end(processes: Processes, game: str) -> None:
    players = len(GAMES[game]) + 2
    manager = processes.manager(players=players, game=game)
    processes.referee(manager, game=game)
    examples = [start(processes, manager, name) for name in GAMES[game]]
    others = processes.players(manager, count=2, game=game, strategy="random")
    assert [one.wait() for one in (*examples, others)] == [0] * (len(examples) + 1)
    results = processes.events("manager", ResultAccepted)
    assert len(results) == players * (players - 1) / 2
    assert not any("failed" in one.output for one in examples), "no hook came to grief"
    assert {one.status for one in results} <= {"WIN", "DRAW"}, "nobody lost for technical reasons"
    members = processes.members()
    assert {name.title() for name in GAMES[game]} <= set(members)
    if "Perfect" in members:
        perfect = members["Perfect"]
        assert all(one.winner in (perfect, None) for one in results if perfect in one.points)
    assert_kept(processes)


# --- what they are told -----------------------------------------------------------------------------------------------


def league(processes: Processes, *names: str, shared: Path | None = None) -> list[Process]:
    """A league of these examples and one more player, to its end."""
    manager = processes.manager(players=len(names) + 1, shared=shared, league_id="spring")
    processes.referee(manager, time_scale=20)
    examples = [
        processes.script(Path(shutil.copy(PLAYERS / f"{name}.py", processes.folder)), manager, shared=shared)
        for name in names
    ]
    other = processes.players(manager, strategy="always_odd")
    assert [one.wait() for one in (*examples, other)] == [0] * (len(names) + 1)
    return examples


def table(processes: Processes) -> dict[str, dict[str, Any]]:
    """The final table by name, as the manager has it."""
    done = processes.run("standings", "--json", "--journal", processes.journal("manager"))
    return {row["display_name"]: row for row in json.loads(done.stdout)}


def test_the_climber_knows_its_rounds_and_its_place(processes: Processes) -> None:
    (climber,) = league(processes, "climber")
    mine = table(processes)["Climber"]
    assert climber.said("round 1 has 1 matches: you play ") == ["P02 in R1M1"]
    assert climber.said("after round 1: ")[-1] == f"rank {mine['rank']} with {mine['points']} points"


def test_the_scout_is_answered_by_the_manager_also_when_all_is_over(processes: Processes) -> None:
    (scout,) = league(processes, "scout")
    mine = table(processes)["Scout"]
    assert scout.said("round 1 of ") == ["1"]
    assert scout.said("rank ") == [f"{mine['rank']} with {mine['points']} points; 0 technical losses"]
    assert "no statistics" not in scout.output


@pytest.mark.requirement("ERROR.shown")
def test_the_diarist_learns_what_went_wrong_and_how_it_ended(processes: Processes, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (diarist,) = league(processes, "diarist", shared=out)
    names = processes.members()
    final = table(processes)
    error, champion, *rows = (processes.folder / "diary.txt").read_text("utf-8").splitlines()
    assert error.startswith("R1M1: E004 INVALID_PARITY_CHOICE: ")
    assert "'Even' is not a choice here" in error
    assert champion.startswith("The champion is ")
    assert [row.split()[:3] for row in rows] == [
        [str(row["rank"]), row["player_id"], str(row["points"])] for row in final.values()
    ]
    assert [row.split()[1] for row in rows if row.endswith("(me)")] == [names["Diarist"]]
    assert diarist.said("referee:REF01 says GAME_ERROR about R1M1: E004 INVALID_PARITY_CHOICE: ")
    history = json.loads((out / "SHARED" / "data" / "players" / names["Diarist"] / "history.json").read_bytes())
    mine = final["Diarist"]
    assert history["final"] == {
        "rank": mine["rank"],
        "points": mine["points"],
        "champion_id": next(iter(final.values()))["player_id"],
        "players": len(final),
    }
    assert (history["standing"]["rank"], history["standing"]["points"]) == (mine["rank"], mine["points"])
