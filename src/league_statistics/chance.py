"""Tests against chance: does it look like coin tosses, do numbers look uniform, and what if many are tested at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, erfc, exp, pi, sqrt
from typing import Final

SURE: Final = 0.05
"""What chance does less often than this is taken for more than chance."""


def coin_tosses(wins: int, losses: int) -> float:
    """How often tosses of a fair coin are at least this uneven (the exact test, both sides)."""
    tosses = wins + losses
    tail = sum(comb(tosses, heads) for heads in range(max(wins, losses), tosses + 1))
    return min(1.0, tail / 2 ** (tosses - 1)) if tosses else 1.0


def uniform(counts: Sequence[int]) -> float:
    """How often numbers that are all equally likely come at least this unevenly (Pearson's chi-squared test).

    The tail of its distribution has a closed form for an even number of kinds, such as ten.
    """
    if len(counts) % 2 or not sum(counts):
        raise ValueError("an even number of kinds, and at least one number")
    expected = sum(counts) / len(counts)
    x = sum((count - expected) ** 2 for count in counts) / expected
    terms, term = 0.0, 1.0
    for odd in range(1, len(counts) - 1, 2):
        terms += term
        term *= x / (odd + 2)
    return erfc(sqrt(x / 2)) + sqrt(2 * x / pi) * exp(-x / 2) * terms


def holm(p_values: Sequence[float]) -> list[float]:
    """Corrected for being many: if all is chance, any of them is below 5 % in at most 5 % of all cases (Holm)."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, highest = [0.0] * len(p_values), 0.0
    for place, at in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[at]))
        corrected[at] = highest
    return corrected
