"""The strategies that `league demo` plays with fit the game."""

from __future__ import annotations

import pytest

from league.features.demo.demo_command import EVEN_ODD, _strategies_for


@pytest.mark.parametrize(
    ("game", "strategies"),
    [
        ("even_odd", EVEN_ODD),
        ("connect_four", ("search", "random")),
        ("kuhn_poker", ("equilibrium", "random")),
        ("rock_paper_scissors", ("random", "mirror", "alternate")),
    ],
)
def test_a_demo_plays_with_strategies_that_fit_its_game(game: str, strategies: tuple[str, ...]) -> None:
    assert _strategies_for(game) == strategies
