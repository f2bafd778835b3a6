"""A 95 % interval of a mean, for matches that were played under several fixed conditions.

A tournament does not pick its matches by chance: every pair plays from both seats and every opening equally often.
Matches under one condition (pair, seat, opening) are a *stratum*. Differences between strata are part of the plan and
not luck, so only the spread within each stratum makes the mean uncertain. The mean is that of these conditions: other
openings may have another one.

A stratum with few matches hardly shows its spread, and equal results may be luck. So each stratum borrows one match
from its *group*, the strata that differ from it by their opening only. And all matches together borrow some that nobody
saw, as Agresti and Coull do for two outcomes. A spread is therefore never 0, but repeated results bring it near 0.

A match that two strategies always repeat, move for move, is one observation. It weighs in the mean as often as it was
played, but its stratum is as uncertain as one match.

From the spread follows how many independent matches would be as informative. The interval is Agresti and Coull's for
that many matches. Its coverage for strata of one to fifty matches, from coin tosses to strategies that always repeat
themselves, was 93 % or more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import Final

from league.features.statistics.findings import Interval
from league.games.contract import DRAW_POINTS, LOSS_POINTS, WIN_POINTS

Z: Final = 1.959963984540054
"""95 % of a normal distribution are within this many standard deviations."""
UNSEEN_MARGINS: Final = 2
"""The number of matches that are borrowed in games scored by their margin. In others it is the square of Z."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Numbers: how many, their mean, and the sum of their squared distances from it. The count may be a fraction."""

    count: float
    mean: float
    squares: float
    repeats: float = 1
    """How many numbers stand for one observation: a match that is always repeated is observed once."""

    def __add__(self, other: Sample) -> Sample:
        count = self.count + other.count
        share = other.count / count
        distance = other.mean - self.mean
        # The squares of both parts, and those of the distance between their means.
        squares = self.squares + other.squares
        squares += distance**2 * self.count * share
        return Sample(
            count=count,
            mean=self.mean + distance * share,
            squares=squares,
        )

    @property
    def variance(self) -> float:
        return self.squares / self.count

    def weighing(self, count: float) -> Sample:
        """Return a sample of this many numbers with the same mean and variance."""
        return Sample(count, self.mean, self.variance * count)

    def repeating(self, times: float) -> Sample:
        """Return the sample of numbers of which this many stand for one observation."""
        return Sample(self.count, self.mean, self.squares, times)

    @property
    def observed(self) -> Sample:
        """A sample with the observations alone."""
        return self.weighing(self.count / self.repeats)


def of_values(values: Sequence[float]) -> Sample:
    """Return the sample of these numbers, at least one."""
    mean = fmean(values)
    squares = sum((value - mean) ** 2 for value in values)
    return Sample(len(values), mean, squares)


def of_results(wins: float, draws: float, losses: float) -> Sample:
    """Return the sample of league points of so many results, at least one."""
    count = wins + draws + losses
    points = WIN_POINTS * wins
    points += DRAW_POINTS * draws
    points += LOSS_POINTS * losses
    mean = points / count
    squares = wins * (WIN_POINTS - mean) ** 2
    squares += draws * (DRAW_POINTS - mean) ** 2
    squares += losses * (LOSS_POINTS - mean) ** 2
    return Sample(count, mean, squares)


@dataclass(frozen=True, slots=True)
class Scale:
    """The possible points of a match."""

    lowest: float
    highest: float
    unseen: Sample
    """The matches that nobody saw and all strata together borrow. In them, all results are equally likely."""


LEAGUE_SCALE: Final = Scale(LOSS_POINTS, WIN_POINTS, of_results(1, 1, 1).weighing(Z * Z))


def margin_scale(most: float) -> Scale:
    """Return the scale of a game that is scored by its margin: from 0 to `most` points."""
    # The mean and the variance of a uniform distribution.
    uniform = Sample(1, most / 2, most**2 / 12)
    return Scale(0.0, most, uniform.weighing(UNSEEN_MARGINS))


def mean(groups: Iterable[Sequence[Sample]]) -> float:
    """Return the mean of all matches; 0 if there are none."""
    samples = [stratum for group in groups for stratum in group]
    if not samples:
        return 0.0
    return _added(samples).mean


def interval(groups: Iterable[Sequence[Sample]], scale: Scale) -> Interval:
    """Return a 95 % interval of the mean of all matches. Each group has the strata that may borrow from each other.

    Without any match, everything is possible.
    """
    filled = [group for group in groups if group]
    if not filled:
        return scale.lowest, scale.highest
    wholes = [_added([stratum.observed for stratum in group]) for group in filled]
    whole = _added(wholes)
    played = _added([stratum for group in filled for stratum in group])
    uncertainty = 0.0
    for group, group_whole in zip(filled, wholes, strict=True):
        # A stratum without siblings borrows from all matches.
        lender = whole if len(group) == 1 else group_whole
        for stratum in group:
            spread = _spread(stratum.observed, lender, whole, scale)
            uncertainty += stratum.count * stratum.repeats * spread
    # The variance of the mean of all matches.
    uncertainty /= played.count**2
    pooled = whole + scale.unseen
    informative = played.weighing(pooled.variance / uncertainty)
    smoothed = informative + scale.unseen
    half = Z * sqrt(smoothed.variance / smoothed.count)
    low = max(scale.lowest, smoothed.mean - half)
    high = min(scale.highest, smoothed.mean + half)
    # Unseen matches move the middle. The mean that was seen must not fall out.
    return min(low, played.mean), max(high, played.mean)


def _spread(stratum: Sample, lender: Sample, whole: Sample, scale: Scale) -> float:
    """Return the variance of a match within a stratum."""
    # Its part of what all of them borrow.
    share = stratum.count / whole.count
    unseen = scale.unseen.weighing(scale.unseen.count * share)
    if lender.count == stratum.count:
        return (stratum + unseen).variance
    variance = (stratum + lender.weighing(1) + unseen).variance
    # Distances from their own mean are too short. If all strata are alike, this makes up for it.
    total = (stratum.count + 1) ** 2
    return variance * total / (total - stratum.count)


def _added(samples: Sequence[Sample]) -> Sample:
    total = samples[0]
    for sample in samples[1:]:
        total += sample
    return total
