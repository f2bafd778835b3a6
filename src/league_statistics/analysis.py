"""All statistics of a league, from what was observed."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any, Final

import msgspec

from league.games import registry
from league.games.contract import Measure
from league.games.draw import HIGHEST
from league_statistics.chance import SURE, holm, uniform
from league_statistics.findings import LeagueStatistics, RatingTable, RefereeDraws
from league_statistics.observations import Observations
from league_statistics.points import points_table
from league_statistics.words import EXPLAINED

FEWEST_DRAWS: Final = 50
"""The test is good from five expected draws of each number on."""
NO_NUMPY: Final = "ratings need NumPy, which is not installed: pip install 'agent-league[stats]'"


def analyse(observations: Observations) -> LeagueStatistics:
    """Ratings of a league with many players take a second."""
    measure = _measure(observations.game_type)
    is_rated = measure == "rating"
    missing = NO_NUMPY if is_rated and find_spec("numpy") is None else None
    return LeagueStatistics(
        league_id=observations.league_id,
        game_type=observations.game_type,
        measure=measure,
        matches=len(observations.matches),
        left_out=observations.left_out,
        points=None if is_rated else points_table(observations),
        rating=_rating(observations) if is_rated and missing is None else None,
        missing=missing,
        referees=referee_draws(observations),
        models=observations.models,
        unrated=observations.unrated,
    )


def document(found: LeagueStatistics) -> dict[str, Any]:
    """As JSON, with a sentence for every number (Any: JSON)."""
    return {**msgspec.to_builtins(found), "explained": dict(EXPLAINED)}


def _measure(game_type: str) -> Measure:
    game = registry.find(game_type)
    return game.measure if game else "rating"


def _rating(observations: Observations) -> RatingTable:
    # The matrices of a league are small: on a busy machine several threads would do nothing but wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from league_statistics.rating import rating_table  # NumPy is an extra, and takes its time to import

    return rating_table(observations)


def referee_draws(observations: Observations) -> tuple[RefereeDraws, ...]:
    """The numbers each referee drew, held against equal chances for all. Numbers that nobody can draw prove nothing."""
    counts = {
        referee_id: tuple(map(numbers.count, range(1, HIGHEST + 1)))
        for referee_id, numbers in observations.draws.items()
    }
    tested = {referee_id: one for referee_id, one in counts.items() if sum(one) >= FEWEST_DRAWS}
    p_values = dict(zip(tested, holm([uniform(one) for one in tested.values()]), strict=True))
    return tuple(_draws(referee_id, one, p_values.get(referee_id)) for referee_id, one in counts.items())


def _draws(referee_id: str, counts: tuple[int, ...], p_value: float | None) -> RefereeDraws:
    if p_value is None:
        return RefereeDraws(referee_id, sum(counts), counts, None, "too few")
    return RefereeDraws(referee_id, sum(counts), counts, p_value, "uniform" if p_value >= SURE else "not uniform")
