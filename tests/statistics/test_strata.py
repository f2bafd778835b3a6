"""Intervals of means, for matches of several pairs, seats and openings, held against known truths."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from statistics import NormalDist, fmean

import pytest

from league.features.experiments.tournament import tournament
from league.features.statistics.methods import strata
from league.features.statistics.methods.points import points_interval
from league.features.statistics.methods.strata import LEAGUE_SCALE, Sample

Chances = Sequence[float]
"""Of a win, a draw, a loss."""


def outcomes(dice: Random, kind: str) -> Chances:
    """The chances within one stratum."""
    if kind == "even":
        return 0.4, 0.2, 0.4
    if kind == "favourite":
        return 0.97, 0.015, 0.015
    if kind == "always the same" or (kind == "mostly the same" and dice.random() < 0.7):
        place = dice.randrange(3)
        return tuple(float(outcome == place) for outcome in range(3))
    weights = [dice.gammavariate(1, 1) for _ in range(3)]
    return tuple(weight / sum(weights) for weight in weights)


def played(dice: Random, chances: Chances, matches: int) -> Sample:
    ends = dice.choices((0, 1, 2), chances, k=matches)
    return strata.of_results(ends.count(0), ends.count(1), ends.count(2))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["even", "favourite", "always the same", "mostly the same", "mixed"])
@pytest.mark.parametrize(
    ("groups", "openings", "matches"), [(2, 1, 5), (2, 1, 50), (6, 1, 20), (6, 10, 1), (6, 10, 5), (40, 1, 1)]
)
def test_the_interval_holds_the_mean_of_all_strata(kind: str, groups: int, openings: int, matches: int) -> None:
    dice = Random(f"{kind}/{groups}/{openings}/{matches}")
    runs = 400
    held = 0
    for _ in range(runs):
        chances = [[outcomes(dice, kind) for _ in range(openings)] for _ in range(groups)]
        truth = fmean(3 * win + draw for group in chances for win, draw, _ in group)
        samples = [[played(dice, one, matches) for one in group] for group in chances]
        low, high = strata.interval(samples, LEAGUE_SCALE)
        assert low - 1e-9 <= strata.mean(samples) <= high + 1e-9
        assert high > low
        held += low - 1e-9 <= truth <= high + 1e-9
    assert held / runs >= 0.92


def test_differences_between_strata_are_no_luck() -> None:
    """A strategy that beats one opponent and loses to the other, nearly always."""
    won = strata.of_results(995, 0, 5)
    lost = strata.of_results(5, 0, 995)
    low, high = strata.interval([[won], [lost]], LEAGUE_SCALE)
    pooled_low, pooled_high = points_interval(1_000, 0, 1_000)
    assert (high - low) < (pooled_high - pooled_low) / 5
    exact = 2 * 1.96 * (9 * 0.005 * 0.995 / 2_000) ** 0.5
    assert high - low == pytest.approx(exact, rel=0.15)


def test_equal_results_are_never_certain_and_without_matches_everything_is_possible() -> None:
    widths = []
    for matches in (1, 5, 50, 5_000):
        low, high = strata.interval([[strata.of_results(matches, 0, 0)]], LEAGUE_SCALE)
        assert high == 3
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert 0 < widths[-1] < 0.01
    assert strata.interval([], LEAGUE_SCALE) == (0, 3)
    assert strata.interval([[strata.of_values([7.0])]], strata.margin_scale(40)) != (7.0, 7.0)


def test_samples_add_up_like_their_numbers() -> None:
    dice = Random(4)
    values = [dice.gauss(3, 2) for _ in range(30)]
    added = strata.of_values(values[:7]) + strata.of_values(values[7:])
    whole = strata.of_values(values)
    assert (added.count, added.mean, added.squares) == pytest.approx((whole.count, whole.mean, whole.squares))
    results = strata.of_results(2, 3, 1)
    same = strata.of_values([3, 3, 1, 1, 1, 0])
    assert (results.mean, results.variance) == pytest.approx((same.mean, same.variance))


@pytest.mark.parametrize("matches", [5, 20, 200])
def test_margins_are_held_too(matches: int) -> None:
    dice = Random(matches)
    scale = strata.margin_scale(40)
    runs = 1_000
    held = 0
    for _ in range(runs):
        margins = [min(40, max(0, round(dice.gauss(22, 5)))) for _ in range(matches)]
        low, high = strata.interval([[strata.of_values(margins)]], scale)
        held += low <= 22 <= high
    assert held / runs >= 0.93
    width = 2 * NormalDist().inv_cdf(0.975) * 5 / matches**0.5
    assert high - low < 2 * width


@pytest.mark.slow
def test_the_interval_of_a_tournament_holds_the_mean_of_a_long_one() -> None:
    """Three strategies, one of which plays by chance. The other two repeat one game whenever they meet, and one game
    says little about a longer tournament."""
    strategies = ["always_odd", "always_even", "random"]
    truth = {
        row["strategy"]: row["points_per_match"]
        for row in tournament(strategies, game="tic_tac_toe", meetings=8_000, seed=1, jobs=1).standings
    }
    held = []
    relative_widths: dict[str, list[float]] = {strategy: [] for strategy in strategies}
    for seed in range(2, 42):
        rows = tournament(strategies, game="tic_tac_toe", meetings=40, seed=seed, jobs=1).standings
        for row in rows:
            low, high = row["interval"]
            held.append(low <= truth[row["strategy"]] <= high)
            pooled_low, pooled_high = points_interval(row["wins"], row["draws"], row["losses"])
            relative_widths[row["strategy"]].append((high - low) / (pooled_high - pooled_low))
    assert fmean(held) >= 0.92
    assert fmean(relative_widths["random"]) < 0.99
    assert min(fmean(relative_widths[strategy]) for strategy in ("always_odd", "always_even")) > 2
