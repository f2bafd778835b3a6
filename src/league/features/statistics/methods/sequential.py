"""Is the new one better? A test that may be looked at after every pair of matches, and stops by itself.

Theory of operation. Matches come in pairs with the same opening and swapped seats: what an opening or a seat is worth
cancels out. The score of a pair is a number from 0 to 1: the mean of its two matches, in which a win is 1, a draw a
half and a loss 0 (or, in games scored by their margin, a number in proportion to it). Two hypotheses name the mean of
all such scores: H0 "it is `elo0` stronger" and H1 "it is `elo1` stronger".

Nothing is assumed about the distribution of the scores but its mean. After each pair the test compares the likelihood
of all pairs so far under the best distribution with the mean of H1 with that under the best one with the mean of H0.
Their logarithmic ratio wanders up if the new one is stronger, and down if not. Where it leaves the band between two
bounds, the test ends (Wald's sequential test with estimated nuisance parameters). The bounds follow from the chances of
error that are allowed, however often anybody looks. Early on the estimates are poor, so no decision falls before
`FEWEST_PAIRS`.

The estimated difference and its interval describe the pairs that were played. A test that stopped because of an extreme
result overstates the difference a little, as every such test does.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Final, Literal, NamedTuple

Decision = Literal["better", "not_better", "undecided"]

FEWEST_PAIRS: Final = 16
TINY: Final = 1e-3
"""Pairs added at both ends and in the middle: with only one kind of score, no distribution would have another mean."""
STEPS: Final = 40
"""Halvings of the interval that holds the root: more than the precision of a float."""
FARTHEST: Final = 1e-9
"""Scores of 0 and 1 have no finite difference in Elo; this near to them is shown instead."""


class Estimate(NamedTuple):
    """A difference in Elo, with its interval of 95 %."""

    elo: float
    low: float
    high: float


def score_of(elo: float) -> float:
    """Return the mean score of a player that is this much stronger."""
    return 1 / (1 + 10 ** (-elo / 400))


def elo_of(score: float) -> float:
    """Return the difference in Elo behind a mean score."""
    score = min(max(score, FARTHEST), 1 - FARTHEST)
    return 400 * math.log10(score / (1 - score))


@dataclass(slots=True)
class SequentialTest:
    """The test: add the score of each pair, and look at the decision."""

    elo0: float = 0.0
    elo1: float = 20.0
    false_alarms: float = 0.05
    """The chance of "better" if the difference is `elo0`."""
    misses: float = 0.05
    """The chance of "not better" if the difference is `elo1`."""
    counts: Counter[float] = field(default_factory=Counter)
    """How many pairs had each score."""

    def add(self, score: float) -> None:
        """Add the score of a pair."""
        self.counts[score] += 1

    @property
    def pairs(self) -> int:
        return self.counts.total()

    @property
    def ratio(self) -> float:
        """The logarithm of the ratio of likelihoods, H1 to H0."""
        weights = {score: float(count) for score, count in self.counts.items()}
        # Scores that never came would make some means impossible.
        for score in (0.0, 0.5, 1.0):
            weights[score] = weights.get(score, 0.0) + TINY
        likely_if_better = _log_likelihood(weights, score_of(self.elo1))
        likely_if_not = _log_likelihood(weights, score_of(self.elo0))
        return likely_if_better - likely_if_not

    @property
    def decision(self) -> Decision:
        """The decision, if the pairs so far allow one."""
        if self.pairs < FEWEST_PAIRS:
            return "undecided"
        ratio = self.ratio
        if ratio >= math.log((1 - self.misses) / self.false_alarms):
            return "better"
        if ratio <= math.log(self.misses / (1 - self.false_alarms)):
            return "not_better"
        return "undecided"

    def estimate(self) -> Estimate:
        """Return the difference in Elo that the pairs so far show."""
        pairs = self.pairs
        if pairs == 0:
            return Estimate(0.0, elo_of(0.0), elo_of(1.0))
        mean = sum(score * count for score, count in self.counts.items()) / pairs
        # The mean of one more draw and of the extremes: a sample without any spread says little about the spread.
        spread = sum((score - mean) ** 2 * count for score, count in self.counts.items()) + 0.25
        error = NormalDist().inv_cdf(0.975) * math.sqrt(spread / pairs / (pairs + 1))
        return Estimate(elo_of(mean), elo_of(mean - error), elo_of(mean + error))


def _log_likelihood(weights: dict[float, float], mean: float) -> float:
    """Return the logarithm of the largest likelihood of these scores under distributions with this mean.

    That distribution gives score a the share w / (1 + t (a - mean)) of the total, and t is the root of the sum of
    w (a - mean) / (1 + t (a - mean)), which falls with t. Constant terms are left out.
    """
    low = -1 / (max(weights) - mean)
    high = 1 / (mean - min(weights))
    for _ in range(STEPS):
        tilt = (low + high) / 2
        slope = sum(weight * (score - mean) / (1 + tilt * (score - mean)) for score, weight in weights.items())
        if slope > 0:
            low = tilt
        else:
            high = tilt
    tilt = (low + high) / 2
    return -sum(weight * math.log1p(tilt * (score - mean)) for score, weight in weights.items())
