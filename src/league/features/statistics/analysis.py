"""All statistics of a league, computed from the observations."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any, Final, Literal

import msgspec

from league.features.statistics.findings import LeagueStatistics, PlayerPoints, RatingTable, RefereeDraws
from league.features.statistics.methods.chance import SURE, holm, uniform
from league.features.statistics.methods.favouritism import favouritism
from league.features.statistics.methods.points import margin_table, points_table
from league.features.statistics.observations import Observations
from league.features.statistics.statistics_words import EXPLAINED
from league.games import registry
from league.games.contract import Measure
from league.games.draw import HIGHEST

FEWEST_DRAWS: Final = 50
"""The test is good if at least five draws of each number are expected."""
NO_NUMPY: Final = "ratings need NumPy, which is not installed: pip install 'agent-league[stats]'"


def analyse(observations: Observations, points: tuple[PlayerPoints, ...] | None = None) -> LeagueStatistics:
    """Compute the statistics. The ratings of a league with many players take a second.

    `points` are those of a tournament, which computes them itself.
    """
    measure = measure_of(observations.game_type)
    rating = None
    missing = None
    if points is not None:
        pass
    elif measure == "margin":
        points = margin_table(observations)
    elif measure == "points":
        points = points_table(observations)
    elif find_spec("numpy") is None:
        missing = NO_NUMPY
    else:
        rating = rate(observations)
    return LeagueStatistics(
        league_id=observations.league_id,
        game_type=observations.game_type,
        measure=measure,
        matches=sum(match.times for match in observations.matches),
        left_out=observations.left_out,
        points=points,
        rating=rating,
        missing=missing,
        referees=referee_draws(observations),
        favouritism=favouritism(observations.refereed),
        models=observations.models,
        unrated=observations.unrated,
        gone_behind=observations.gone_behind,
    )


def document(statistics: LeagueStatistics) -> dict[str, Any]:
    """Return the statistics as JSON, with a sentence for every number (Any: JSON)."""
    return {**msgspec.to_builtins(statistics), "explained": dict(EXPLAINED)}


def measure_of(game_type: str) -> Measure:
    """Return how the players of a game are measured. Players of an unknown game are rated."""
    game = registry.find(game_type)
    return game.measure if game else "rating"


def rate(observations: Observations) -> RatingTable:
    """Rate the players. NumPy must be installed."""
    # The matrices of a league are small: on a busy machine several threads would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from league.features.statistics.methods.rating import rating_table  # NumPy is an extra, and takes long to import

    return rating_table(observations)


def referee_draws(observations: Observations) -> tuple[RefereeDraws, ...]:
    """Test whether the numbers of each referee are uniform. Numbers out of range cannot be drawn and prove nothing."""
    counts: dict[str, tuple[int, ...]] = {}
    for referee_id, numbers in observations.draws.items():
        counts[referee_id] = tuple(numbers.count(number) for number in range(1, HIGHEST + 1))
    # A test of few draws finds nothing, but would make the correction of the others stricter.
    tested = [referee_id for referee_id in counts if sum(counts[referee_id]) >= FEWEST_DRAWS]
    corrected = holm([uniform(counts[referee_id]) for referee_id in tested])
    p_values = dict(zip(tested, corrected, strict=True))
    return tuple(
        RefereeDraws(
            referee_id=referee_id,
            draws=sum(counts[referee_id]),
            counts=counts[referee_id],
            p_value=p_values.get(referee_id),
            verdict=_verdict(p_values.get(referee_id)),
        )
        for referee_id in counts
    )


def _verdict(p_value: float | None) -> Literal["uniform", "not uniform", "too few"]:
    if p_value is None:
        return "too few"
    return "uniform" if p_value >= SURE else "not uniform"
