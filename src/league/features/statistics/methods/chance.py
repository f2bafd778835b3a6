"""Tests against chance: is it like coin tosses, are numbers uniform, and how to test many things at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, erfc, exp, log1p, pi, sqrt
from statistics import fmean, stdev
from typing import Final, NamedTuple

SURE: Final = 0.05
"""A result that chance produces less often than this is taken for more than chance."""


MOST_TOSSES: Final = 1_000
"""This many tosses are counted out. For more, the normal distribution is as good, and much faster."""


def coin_tosses(wins: int, losses: int) -> float:
    """Return how often tosses of a fair coin are at least this uneven (both sides)."""
    tosses = wins + losses
    if tosses == 0:
        return 1.0
    if tosses > MOST_TOSSES:
        # One less, because leads are whole numbers, and two apart.
        lead = max(0, abs(wins - losses) - 1)
        return erfc(lead / sqrt(2 * tosses))
    # Both tails are the same, so one of them is doubled.
    most = max(wins, losses)
    tail = sum(comb(tosses, heads) for heads in range(most, tosses + 1))
    share: float = tail / 2 ** (tosses - 1)
    return min(1.0, share)


class Results(NamedTuple):
    """Results of one player."""

    wins: int
    draws: int
    losses: int

    @property
    def played(self) -> int:
        return sum(self)

    @property
    def points(self) -> int:
        return 3 * self.wins + self.draws

    def __sub__(self, part: Results) -> Results:
        return Results(self.wins - part.wins, self.draws - part.draws, self.losses - part.losses)


EXACT: Final = 60
"""This many matches are counted out; for more, the normal distribution is as good."""


def at_least_as_lucky(part: Results, whole: Results) -> float:
    """Return how often this many matches, picked from all by chance, have at least as many points as this part."""
    picked = part.played
    if picked > EXACT:
        return _tail(part, whole)
    favourable = 0
    for wins in range(min(whole.wins, picked) + 1):
        # With these wins, so many draws are needed for as many points.
        needed = max(0, part.points - 3 * wins)
        for draws in range(needed, min(whole.draws, picked - wins) + 1):
            losses = picked - wins - draws
            favourable += comb(whole.wins, wins) * comb(whole.draws, draws) * comb(whole.losses, losses)
    share: float = favourable / comb(whole.played, picked)
    return share


def _tail(part: Results, whole: Results) -> float:
    """The same by the normal distribution, for a pick without repetition."""
    mean = whole.points / whole.played
    variance = (9 * whole.wins + whole.draws) / whole.played - mean * mean
    rest = (whole.played - part.played) / (whole.played - 1)
    deviation = sqrt(part.played * variance * rest)
    if not deviation:
        return 1.0
    # Half a point less: the points are whole numbers.
    return erfc((part.points - 0.5 - part.played * mean) / deviation / sqrt(2)) / 2


def no_lead(leads: Sequence[float]) -> float:
    """Return how often matches of equal players have a mean lead at least this far from 0 (Student's test, both sides).

    Wallace's approximation turns Student's t into a normal deviate; its error is below 0.02 from two matches on.
    """
    freedom = len(leads) - 1
    if freedom < 1:
        return 1.0
    mean = fmean(leads)
    spread = stdev(leads, mean)
    if spread == 0:
        return 1.0 if mean == 0 else 2.0**-freedom
    t = mean / (spread / sqrt(len(leads)))
    deviate = (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom))
    return erfc(deviate / sqrt(2))


def uniform(counts: Sequence[int]) -> float:
    """Return how often equally likely numbers come at least this unevenly (Pearson's chi-squared test).

    The tail of its distribution has a closed form for an even number of kinds, such as ten.
    """
    kinds = len(counts)
    if kinds % 2 or not sum(counts):
        raise ValueError("an even number of kinds, and at least one number")
    expected = sum(counts) / kinds
    x = sum((count - expected) ** 2 for count in counts) / expected
    terms = 0.0
    term = 1.0
    for odd in range(1, kinds - 1, 2):
        terms += term
        term *= x / (odd + 2)
    return erfc(sqrt(x / 2)) + sqrt(2 * x / pi) * exp(-x / 2) * terms


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (Holm's method).

    If everything is chance, any of the corrected values is below 5 % in at most 5 % of all cases.
    """
    count = len(p_values)
    corrected = [0.0] * count
    highest = 0.0
    # The smallest value is multiplied by the number of tests, the next by one less, and none is below the one before.
    for rank, place in enumerate(sorted(range(count), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (count - rank) * p_values[place]))
        corrected[place] = highest
    return corrected
