"""`league compare`: decided by itself, repeatable, honest about repetition, and clear about what cannot be played."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import league
from league.cli.main import main
from league.features.experiments.compare import compare

FILE = """
from league import Player

class First(Player):
    games = ("tic_tac_toe",)

    def move(self, turn):
        return turn.options[0]

class Last(Player):
    games = ("tic_tac_toe",)

    def move(self, turn):
        return turn.options[-1]

class Crashing(Player):
    games = ("tic_tac_toe",)

    def move(self, turn):
        raise ValueError("my bug")
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return str(path)


def test_a_stronger_strategy_is_better_and_a_weaker_one_is_not() -> None:
    answer = compare("search", "random", game="tic_tac_toe", seed=1, jobs=1)
    assert answer.decision == "better"
    assert answer.interval[0] > 0
    assert str(answer).startswith("search is better than random.\nThe difference is +")
    assert compare("random", "search", game="tic_tac_toe", seed=1, jobs=1).decision == "not_better"


def test_margins_count_where_a_game_is_scored_by_them() -> None:
    # The equilibrium of Kuhn poker wins fewer matches than it loses, and more chips.
    answer = compare("equilibrium", "random", game="kuhn_poker", seed=3, elo1=30, jobs=1)
    assert answer.decision == "better"


def test_a_strategy_may_be_compared_with_itself() -> None:
    answer = compare("random", "random", seed=1, elo1=80, jobs=1)
    assert answer.decision == "not_better"
    assert answer.document["new"] == "random (1)"


def test_the_number_of_processes_changes_nothing() -> None:
    answers = [compare("mirror", "random", seed=5, elo1=60, jobs=jobs).document for jobs in (1, 2)]
    assert answers[0] == answers[1]


def test_matches_that_repeat_themselves_are_not_counted_twice(file: str) -> None:
    answer = compare(f"{file}:First", f"{file}:Last", game="tic_tac_toe", seed=1, openings=4, elo1=5, jobs=1)
    assert answer.decision == "undecided"
    assert answer.distinct_matches == 8
    assert answer.matches == 8 * 6


def test_code_that_fails_loses_and_is_named(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [f"{file}:Crashing", "random", "--game", "tic_tac_toe", "--seed", "1", "--jobs", "1"]
    assert main(["compare", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "is not better than random" in shown
    assert "ValueError: my bug" in shown


def test_the_command_prints_the_decision_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "mirror", "random", "--elo1", "80", "--seed", "1", "--jobs", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["decision"] in ("better", "not_better", "undecided")
    assert {"matches", "elo", "interval"} <= document.keys()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"elo0": 20.0, "elo1": 20.0}, "elo0 must be below elo1"),
        ({"series": 3}, "an even number of matches"),
        ({"max_matches": 30}, "max_matches must be at least 32"),
        ({"game": "tic_tac_toe", "openings": 1000}, "has only"),
        ({"game": "chess-boxing"}, "chess-boxing"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_reason(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(league.LeagueError, match=sentence):
        league.compare("random", "mirror", jobs=1, **options)  # type: ignore[arg-type]


def test_an_unclear_comparison_ends_at_its_limit() -> None:
    answer = compare("random", "mirror", seed=1, elo1=2, max_matches=64, jobs=1)
    assert (answer.decision, answer.matches) == ("undecided", 64)
