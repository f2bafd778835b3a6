"""Points per match: how certain they are, and whether they are more than luck."""

from __future__ import annotations

from math import sqrt
from typing import Final

from league.games.contract import DRAW_POINTS, LOSS_POINTS, WIN_POINTS
from league_statistics.chance import SURE, coin_tosses, holm
from league_statistics.findings import Interval, PlayerPoints, Record
from league_statistics.observations import Observations

Z: Final = 1.959963984540054
"""95 % of a normal distribution are within this many standard deviations."""
POINTS: Final = (WIN_POINTS, DRAW_POINTS, LOSS_POINTS)


def points_per_match(wins: int, draws: int, losses: int) -> float:
    """Return the mean; 0 if nothing was played."""
    played = wins + draws + losses
    if played == 0:
        return 0.0
    points = WIN_POINTS * wins
    points += DRAW_POINTS * draws
    points += LOSS_POINTS * losses
    return points / played


def interval(wins: float, draws: float, losses: float) -> Interval:
    """Return a 95 % interval of points per match, for matches that do not depend on each other.

    As Agresti and Coull do for two outcomes: z² observations, spread evenly over the three outcomes, are added to the
    counts, and the usual normal interval is taken around the mean of all of them. Unlike the plain normal interval it
    stays honest for few matches, and where one outcome never came.
    """
    # Added to each count: Z² observations in all.
    counts = [count + Z * Z / len(POINTS) for count in (wins, draws, losses)]
    total = sum(counts)
    outcomes = list(zip(counts, POINTS, strict=True))
    mean = sum(count * points for count, points in outcomes) / total
    variance = sum(count * (points - mean) ** 2 for count, points in outcomes) / total
    half = Z * sqrt(variance / total)
    # The mean of all matches cannot be outside of the points of one match.
    low = max(float(LOSS_POINTS), mean - half)
    high = min(float(WIN_POINTS), mean + half)
    return low, high


def points_table(observations: Observations) -> tuple[PlayerPoints, ...]:
    """Return a row for every player, the most points per match first."""
    records = observations.records()
    # Among many players somebody is always lucky, so the p-values are corrected for their number.
    p_values = holm([coin_tosses(record.wins, record.losses) for record in records])
    rows = [_row(record, p_value) for record, p_value in zip(records, p_values, strict=True)]
    return tuple(sorted(rows, key=lambda row: -row.points_per_match))


def _row(record: Record, p_value: float) -> PlayerPoints:
    results = (record.wins, record.draws, record.losses)
    return PlayerPoints(
        record=record,
        points_per_match=points_per_match(*results),
        interval=interval(*results),
        p_value=p_value,
        is_luck=p_value >= SURE,
    )
