"""Series are known by their content: seeds, keys and digests do not depend on places in a list."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

import league
from league.features.experiments.playing import sources
from league.features.experiments.playing.plan import TournamentPlan
from league.features.experiments.tournament import TournamentResult, tournament
from league.player.strategies import Turn

FILE = "import helper\n\nclass Mine:\n    def choose(self, turn):\n        return helper.pick(turn)\n"
HELPER = "def pick(turn):\n    return turn.random.choice(turn.options)\n"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.py").write_text(FILE, "utf-8")
    (folder / "helper.py").write_text(HELPER, "utf-8")
    return folder / "mine.py"


def rows_of(result: TournamentResult, *players: str) -> list[dict[str, Any]]:
    return [row for row in result.match_rows() if {row["first"], row["second"]} == set(players)]


def facts_of(row: dict[str, Any]) -> tuple[Any, ...]:
    """What happened in a match, whichever strategy is listed first."""
    winner = {"FIRST_WON": row["first"], "SECOND_WON": row["second"]}.get(row["ended"])
    return row["number"], row["player_a"], winner, row["moves"], row["seed"]


@pytest.mark.parametrize("game", ["even_odd", "tic_tac_toe", "kuhn_poker"])
def test_adding_a_strategy_changes_nothing_else(game: str) -> None:
    settings: dict[str, Any] = {"game": game, "meetings": 20, "seed": 5, "jobs": 1}
    before = tournament(["random", "mirror"], **settings)
    after = tournament(["alternate", "mirror", "always_even", "random"], **settings)
    expected = [facts_of(row) for row in rows_of(before, "random", "mirror")]
    assert [facts_of(row) for row in rows_of(after, "random", "mirror")] == expected
    # Other pairs play other series.
    others = [row["seed"] for row in after.match_rows() if {row["first"], row["second"]} != {"random", "mirror"}]
    assert not {row[-1] for row in expected} & set(others)
    assert len(set(others)) == 5


@pytest.mark.parametrize("game", ["even_odd", "tic_tac_toe", "kuhn_poker"])
def test_the_order_of_two_strategies_only_swaps_their_columns(game: str) -> None:
    settings: dict[str, Any] = {"game": game, "meetings": 30, "seed": 5, "jobs": 1}
    there = tournament(["random", "mirror"], **settings).document["pairs"][0]
    back = tournament(["mirror", "random"], **settings).document["pairs"][0]
    assert (there["wins"], there["draws"], there["losses"]) == (back["losses"], back["draws"], back["wins"])
    assert there["distinct_matches"] == back["distinct_matches"]
    if "return_per_match" in there:
        assert there["return_per_match"] == pytest.approx(-back["return_per_match"])


def test_failures_and_seats_follow_their_strategy_in_both_orders(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "class Fails:\n"
        "    def choose(self, turn):\n"
        "        if turn.role == 'PLAYER_B':\n"
        "            raise ValueError('my bug')\n"
        "        return turn.options[0]\n"
    )
    spec = f"{file}:Fails"
    for order, ended in (([spec, "random"], "FIRST_FAILED"), (["random", spec], "SECOND_FAILED")):
        result = tournament(order, game="tic_tac_toe", meetings=10, seed=1, jobs=1)
        assert result.document["failures"] == [{"strategy": spec, "failure": "ValueError: my bug", "times": 5}]
        for row in result.match_rows():
            assert (row["ended"] == ended) == (row["player_a"] != spec)


def test_copies_of_a_strategy_play_different_series() -> None:
    result = tournament(["random", "random", "random"], meetings=40, seed=1, jobs=1)
    assert len({tuple(pair.result.ends) for pair in result.played}) == 3


def test_a_longer_tournament_repeats_the_series_of_a_shorter_one() -> None:
    short = tournament(["random", "mirror"], meetings=1_000, seed=5, jobs=1)
    long = tournament(["random", "mirror"], meetings=1_300, seed=5, jobs=1)
    assert list(long.match_rows())[:1_000] == list(short.match_rows())


# --- what a digest covers ---------------------------------------------------------------------------------------------


def test_a_file_counts_with_the_neighbours_that_it_imports(mine: Path) -> None:
    spec = f"{mine}:Mine"
    before = sources.digest(spec)
    # A neighbour that nobody imports, such as another strategy, changes nothing.
    (mine.parent / "other.py").write_text("X = 1\n")
    assert sources.digest(spec) == before
    (mine.parent / "helper.py").write_text(HELPER + "# changed\n")
    changed = sources.digest(spec)
    assert changed != before
    # The same texts elsewhere are the same strategy, and line ends do not count.
    (mine.parent / "helper.py").write_bytes(HELPER.replace("\n", "\r\n").encode())
    assert sources.digest(spec) == before


def test_late_imports_packages_and_their_data_count(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "__init__.py").write_text("")
    (tmp_path / "weights" / "table.json").write_text("[1]")
    (tmp_path / "deep.py").write_text("")
    (tmp_path / "mine.py").write_text(
        "import importlib\n"
        "class Mine:\n"
        "    def choose(self, turn):\n"
        "        from weights import __file__\n"
        "        importlib.import_module('deep')\n"
        "        return turn.options[0]\n"
    )
    spec = f"{tmp_path / 'mine.py'}:Mine"
    files = sources.files_of(spec)
    assert files is not None
    assert sorted(files) == ["deep.py", "mine.py", "weights/__init__.py", "weights/table.json"]
    before = sources.digest(spec)
    (tmp_path / "weights" / "table.json").write_text("[2]")
    assert sources.digest(spec) != before


class One(league.Player):
    def choose_parity(self, call: league.ChooseParityCall) -> league.Parity:
        return "even"


class Two(One):
    def choose_parity(self, call: league.ChooseParityCall) -> league.Parity:
        return "odd"


class Picks:
    def __init__(self, choice: str) -> None:
        self.choice = choice

    def choose(self, turn: Turn) -> str:
        return self.choice


def test_classes_functions_and_their_values_count() -> None:
    def picking(choice: str) -> Any:
        return lambda: Picks(choice)

    contenders: list[Any] = [
        One,
        Two,
        picking("even"),
        picking("odd"),
        functools.partial(Picks, "even"),
        functools.partial(Picks, "odd"),
        "random",
        "mirror",
    ]
    digests = [sources.digest(contender) for contender in contenders]
    assert len(set(digests)) == len(digests)
    assert [sources.digest(contender) for contender in contenders] == digests


def test_the_plan_of_a_tournament_names_everything_that_its_results_depend_on(mine: Path) -> None:
    plan = TournamentPlan((f"{mine}:Mine", "random"), seed=3)
    digest = plan.facts.digest
    for other in (
        TournamentPlan((f"{mine}:Mine", "mirror"), seed=3),
        TournamentPlan((f"{mine}:Mine", "random"), seed=4),
        TournamentPlan((f"{mine}:Mine", "random"), seed=3, meetings=50),
        TournamentPlan((f"{mine}:Mine", "random"), seed=3, move_seconds=1.0),
        TournamentPlan((f"{mine}:Mine", "random"), seed=3, game="tic_tac_toe"),
    ):
        assert other.facts.digest != digest
    (mine.parent / "helper.py").write_text(HELPER + "# changed\n")
    assert TournamentPlan((f"{mine}:Mine", "random"), seed=3).facts.digest != digest


# --- strategies that are not repeatable -------------------------------------------------------------------------------

UNSTEADY = """
import random

class Steady:
    def choose(self, turn):
        return turn.random.choice(turn.options)

class Unsteady:
    async def choose(self, turn):
        return random.choice(turn.options)

class Remembers:
    matches = 0

    def choose(self, turn):
        return turn.options[Remembers.matches % len(turn.options)]

    def match_over(self, match, history):
        Remembers.matches += 1
"""


@pytest.mark.parametrize("game", ["even_odd", "tic_tac_toe"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_strategies_that_are_not_repeatable_are_named(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], game: str, jobs: int
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(UNSTEADY, "utf-8")
    steady, unsteady = f"{file}:Steady", f"{file}:Unsteady"
    result = tournament([steady, unsteady, "random"], game=game, meetings=200, seed=1, jobs=jobs)
    assert result.document["not_repeatable"] == [unsteady]
    err = capfd.readouterr().err
    assert err.count("is not repeatable") == 1
    assert f"{unsteady} is not repeatable" in err


def test_memory_outside_the_object_is_not_repeatable(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(UNSTEADY, "utf-8")
    names = [f"{file}:Remembers", f"{file}:Steady"]
    assert tournament(names, meetings=7, seed=1, jobs=1).document["not_repeatable"] == [f"{file}:Remembers"]
    assert tournament([f"{file}:Steady", "random"], meetings=7, seed=1, jobs=1).document["not_repeatable"] == []
