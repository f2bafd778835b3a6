"""Strategies in scripts: functions, objects, classes, and functions that make one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import league
from league.games.registry import find
from league.player.strategies import Turn
from league.terminal import CommandError


def last(turn: Turn) -> str:
    return turn.options[-1]


class Learner:
    """Takes the first option in its first match, and the last one from then on."""

    def __init__(self) -> None:
        self.matches = 0

    def choose(self, turn: Turn) -> str:
        self.matches += 1
        return turn.options[0 if self.matches == 1 else -1]


class Mover(league.Player):
    def move(self, turn: Turn) -> str:
        return turn.options[-1]


def make_learner() -> Learner:
    return Learner()


def points(*contenders: Any) -> dict[str, float]:
    result = league.tournament(contenders, game="rock_paper_scissors", meetings=4, seed=1)
    return {row["strategy"]: row["points_per_match"] for row in result.standings}


def test_functions_and_lambdas_are_strategies() -> None:
    assert set(points(last, lambda turn: turn.options[0], "random")) == {"last", "<lambda>", "random"}


def test_an_object_plays_as_one_that_its_class_makes() -> None:
    by_class = points(Learner, "always_even")
    learner = Learner()
    assert points(learner, "always_even") == by_class
    assert learner.matches == 0
    assert list(points(make_learner, "always_even").values()) == list(by_class.values())


def test_the_name_of_an_object_is_its_own_or_that_of_its_class() -> None:
    assert set(points(Mover(name="Deep"), Mover(), Learner())) == {"Deep", "Mover", "Learner"}


def test_what_is_no_strategy_is_refused() -> None:
    with pytest.raises(CommandError, match=r"a function choose\(turn\)"):
        points({"no": "strategy"}, "random")


def test_a_game_may_be_given_as_an_object() -> None:
    ours = find("rock_paper_scissors")
    assert ours is not None
    mine = msgspec.structs.replace(ours, name="my_own_game")
    result = league.tournament([last, "random"], game=mine, meetings=4, seed=1)
    again = league.tournament([last, "random"], game="my_own_game", meetings=4, seed=1)
    assert result.document["game"] == "my_own_game"
    assert result.standings == again.standings
    assert league.tournament([last, "random"], game=ours, meetings=2).document["game"] == ours.name
