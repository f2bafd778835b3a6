"""Results of leagues whose players' true strengths are known, drawn from the model that ratings estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from league.features.statistics.findings import LeftOut
from league.features.statistics.methods.rating import AVERAGE, SCALE, rating_table
from league.features.statistics.observations import Observation, Observations

CHAMPION_LEAD = 3.0
Strengths = dict[str, float]


def observed(matches: list[Observation], players: list[str], game_type: str = "tic_tac_toe") -> Observations:
    """Nothing but these matches."""
    nobody = dict.fromkeys(players, 0)
    names = {one: f"Player {one}" for one in players}
    return Observations("simulated", game_type, names, nobody, tuple(matches), LeftOut(0, 0, 0), {})


def played(
    strengths: Strengths, chance: np.random.Generator, seat: float = 0.3, tie: float = -0.5
) -> list[Observation]:
    """A round robin, seats by lot."""
    matches = []
    for pair in combinations(strengths, 2):
        a, b = pair if chance.random() < 0.5 else pair[::-1]
        margin = (strengths[a] - strengths[b] + seat) / 2
        weights = np.exp([margin, -margin, tie])
        matches.append(Observation(a, b, (a, b, None)[chance.choice(3, p=weights / weights.sum())]))
    return matches


@dataclass(frozen=True)
class KnownLeague:
    """A league with a champion who won every match, and the true strengths of its players."""

    strengths: Strengths
    observations: Observations


def known_league(players: int, chance: np.random.Generator) -> KnownLeague:
    """Leagues of near equals and of very different players alike. Given the strengths, matches do not depend on each
    other: among the leagues in which the champion won every match, the others are as they always are."""
    spread = chance.uniform(0.5, 2.0)
    strengths = {f"P{at:02}": float(one) for at, one in enumerate(chance.normal(0, spread, players - 1), start=2)}
    strengths["P01"] = max(strengths.values()) + CHAMPION_LEAD
    matches = [
        replace(one, winner="P01") if "P01" in (one.player_a, one.player_b) else one
        for one in played(strengths, chance)
    ]
    return KnownLeague(strengths, observed(matches, sorted(strengths)))


def covered(players: int, seed: int) -> list[bool]:
    """Of one league: does the interval of each player's rating hold its true one?"""
    known = known_league(players, np.random.default_rng((players, seed)))
    rows = rating_table(known.observations).players
    limited = [row.record.player_id for row in rows if row.record.played not in (row.record.wins, row.record.losses)]
    average = np.mean([known.strengths[one] for one in limited or known.strengths])
    held = []
    for row in rows:
        assert row.interval is not None
        low, high = row.interval
        truth = AVERAGE + SCALE * (known.strengths[row.record.player_id] - average)
        held.append(bool((low is None or low <= truth) and (high is None or truth <= high)))
    return held
