"""Figures of results, drawn by the real matplotlib and read back."""

from __future__ import annotations

from typing import Any

import pytest

import league
from league.features.experiments.outcome import plots
from league.terminal import CommandError


@pytest.fixture(autouse=True)
def without_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPLBACKEND", "agg")


def labels(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


@pytest.mark.parametrize("game", ["rock_paper_scissors", "kuhn_poker"])
def test_a_tournament_shows_ratings_and_pairs(game: str) -> None:
    result = league.tournament(["random", "always_odd", "mirror"], game=game, meetings=20, seed=1)
    ratings, pairs, _ = result.plot().axes
    assert labels(ratings.yaxis) == [row["strategy"] for row in result.ratings()]
    points = [line.get_xdata()[0] for line in ratings.lines if len(line.get_xdata()) == 1]
    assert points == [row["rating"] for row in result.ratings()]
    assert labels(pairs.yaxis) == labels(pairs.xaxis) == [row["strategy"] for row in result.standings]
    cells = pairs.images[0].get_array()
    first = result.pairs[0]
    names = labels(pairs.xaxis)
    share = (first["wins"] + first["draws"] / 2) / first["played"]
    place, other = names.index(first["first"]), names.index(first["second"])
    assert cells[place][other] == pytest.approx(share)
    assert cells[other][place] == pytest.approx(1 - share)


def test_a_comparison_shows_its_difference() -> None:
    comparison = league.compare("random", "always_odd", game="tic_tac_toe", max_matches=64, seed=1)
    (axes,) = comparison.plot().axes
    interval, point, low, high = axes.lines
    assert list(interval.get_xdata()) == comparison.document["interval"]
    assert list(point.get_xdata()) == [comparison.document["elo"]]
    assert (low.get_xdata()[0], high.get_xdata()[0]) == (0, 20)


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    result = league.tournament(["random", "mirror"], meetings=2, seed=1)
    monkeypatch.setattr(plots, "find_spec", lambda _: None)
    with pytest.raises(CommandError, match=r"agent-league\[plot\]"):
        result.plot()
