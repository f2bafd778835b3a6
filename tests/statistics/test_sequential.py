"""The sequential test against simulated truth: false alarms, misses, length, and what it estimates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random

import pytest

from league.features.statistics.methods.sequential import FEWEST_PAIRS, Decision, SequentialTest, elo_of, score_of

ELO1 = 60.0
RUNS = 400


def coins(mean: float, dice: Random) -> float:
    """A pair of matches without draws."""
    wins = (dice.random() < mean) + (dice.random() < mean)
    return wins / 2


def drawish(mean: float, dice: Random) -> float:
    """A pair of matches of which four in five are draws."""
    total = 0.0
    for _ in range(2):
        roll = dice.random()
        if roll < mean - 0.4:
            total += 1
        elif roll < mean + 0.4:
            total += 0.5
    return total / 2


def rare(mean: float, dice: Random) -> float:
    """Seldom a large win, mostly a small loss."""
    return 1.0 if dice.random() < (mean - 0.375) / 0.625 else 0.375


def decided(pair: Callable[[float, Random], float], elo: float, seed: int) -> tuple[Decision, int]:
    """Look after every second pair, until the test decides."""
    test = SequentialTest(0.0, ELO1)
    dice = Random(seed)
    while test.decision == "undecided":
        for _ in range(2):
            test.add(pair(score_of(elo), dice))
    return test.decision, test.pairs


@pytest.mark.slow
@pytest.mark.parametrize("pair", [coins, drawish, rare])
def test_it_errs_in_at_most_5_percent_however_often_one_looks(pair: Callable[[float, Random], float]) -> None:
    alarms = Counter(decided(pair, 0.0, seed)[0] for seed in range(RUNS))
    hits = Counter(decided(pair, ELO1, seed)[0] for seed in range(RUNS))
    # 5 % and three standard errors of a sample of this size.
    bound = 0.05 + 3 * (0.05 * 0.95 / RUNS) ** 0.5
    assert alarms["better"] / RUNS <= bound
    assert hits["not_better"] / RUNS <= bound
    # It must be able to say both.
    assert alarms["not_better"] > RUNS / 2
    assert hits["better"] > RUNS / 2


@pytest.mark.slow
def test_it_needs_about_half_the_matches_of_a_test_of_fixed_size() -> None:
    lengths = [decided(coins, ELO1, seed)[1] for seed in range(RUNS)]
    gain = score_of(ELO1) - 0.5
    # One-sided, 5 % of each error, and an eighth as the variance of the mean of two coins.
    fixed = (2 * 1.645) ** 2 * 0.125 / gain**2
    assert sum(lengths) / RUNS < 0.62 * fixed


def test_a_player_against_itself_is_not_better() -> None:
    test = SequentialTest(0.0, 20.0)
    while test.decision == "undecided":
        test.add(0.5)
    assert test.decision == "not_better"
    assert test.estimate().elo == 0.0


def test_a_player_that_always_wins_is_better_and_its_gain_stays_finite() -> None:
    test = SequentialTest(0.0, 20.0)
    while test.decision == "undecided":
        test.add(1.0)
    assert test.decision == "better"
    estimate = test.estimate()
    assert estimate.low > 0
    assert estimate.high < 10_000


def test_nothing_is_decided_by_a_few_pairs() -> None:
    test = SequentialTest(0.0, 400.0)
    for _ in range(FEWEST_PAIRS - 1):
        test.add(1.0)
        assert test.decision == "undecided"
    test.add(1.0)
    assert test.decision == "better"


def test_the_interval_of_the_estimate_covers_the_truth() -> None:
    covered = 0
    for seed in range(300):
        test = SequentialTest()
        dice = Random(seed)
        for _ in range(200):
            test.add(coins(score_of(40.0), dice))
        estimate = test.estimate()
        covered += estimate.low <= 40.0 <= estimate.high
    assert 0.92 <= covered / 300 <= 0.985


@pytest.mark.parametrize("elo", [-400.0, -20.0, 0.0, 20.0, 800.0])
def test_elo_and_score_are_two_names_of_one_thing(elo: float) -> None:
    assert elo_of(score_of(elo)) == pytest.approx(elo)
