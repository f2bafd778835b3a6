"""Points per match: how sure one can be of them, and whether they are more than luck."""

from __future__ import annotations

from math import sqrt
from typing import Final

from league.games.contract import DRAW_POINTS, LOSS_POINTS, WIN_POINTS
from league_statistics.chance import SURE, coin_tosses, holm
from league_statistics.findings import Interval, PlayerPoints
from league_statistics.observations import Observations

Z: Final = 1.959963984540054
"""95 % of a normal distribution lie within so many standard deviations."""
POINTS: Final = (WIN_POINTS, DRAW_POINTS, LOSS_POINTS)


def points_per_match(wins: int, draws: int, losses: int) -> float:
    """The mean; 0 where nothing was played."""
    played = wins + draws + losses
    return (WIN_POINTS * wins + DRAW_POINTS * draws + LOSS_POINTS * losses) / played if played else 0.0


def interval(wins: int, draws: int, losses: int) -> Interval:
    """A 95 % interval of points per match, for matches that do not depend on each other.

    As Agresti and Coull do for two outcomes: z² observations, spread evenly over the three outcomes, are added to the
    counts, and the usual normal interval is taken around the mean of all of them. Unlike the plain normal interval it
    stays honest for few matches, and where one outcome never came.
    """
    counts = [count + Z * Z / len(POINTS) for count in (wins, draws, losses)]
    total = sum(counts)
    mean = sum(count * points for count, points in zip(counts, POINTS, strict=True)) / total
    spread = sum(count * (points - mean) ** 2 for count, points in zip(counts, POINTS, strict=True)) / total
    reach = Z * sqrt(spread / total)
    return max(float(LOSS_POINTS), mean - reach), min(float(WIN_POINTS), mean + reach)


def points_table(observations: Observations) -> tuple[PlayerPoints, ...]:
    """Every player, the most points per match first."""
    records = observations.records()
    p_values = holm([coin_tosses(one.wins, one.losses) for one in records])
    rows = [
        PlayerPoints(
            record=one,
            points_per_match=points_per_match(one.wins, one.draws, one.losses),
            interval=interval(one.wins, one.draws, one.losses),
            p_value=p_value,
            is_luck=p_value >= SURE,
        )
        for one, p_value in zip(records, p_values, strict=True)
    ]
    return tuple(sorted(rows, key=lambda row: -row.points_per_match))
