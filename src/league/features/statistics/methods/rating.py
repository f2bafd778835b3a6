"""Ratings: how strong every player is, how certain that is, and which players the matches do not tell apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from math import ceil, log
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from league.features.statistics.findings import (
    Interval,
    Neighbours,
    OpenInterval,
    PlayerRating,
    PlayerRecord,
    RankRange,
    RatingTable,
)
from league.features.statistics.methods import davidson
from league.features.statistics.methods.chance import SURE
from league.features.statistics.methods.davidson import Array, Encounters
from league.features.statistics.observations import Observation, Observations

Flags = NDArray[np.bool_]
Ranks = NDArray[np.intp]

AVERAGE: Final = 1500.0
SCALE: Final = 400 / log(10)
"""Rating points of one unit of strength: 400 points are ten wins for each loss."""
DRAWS: Final = 4000
SEED: Final = 1
"""Fixed, so that the same results give the same ratings."""
BOTH_SIDES: Final = 1.90
ONE_SIDE: Final = 1.60
"""The standard deviations that an interval with two ends, or with one, reaches from the rating. For a normal
distribution they would be 1.96 and 1.64. But with few matches the standard deviations come out a little too large, and
with these numbers the intervals held 95 % of all true ratings (decision 30)."""
POWER: Final = NormalDist().inv_cdf(0.8)
"""More matches should tell two players apart in four of five cases."""
MOST_MATCHES: Final = 10_000


def rating_table(observations: Observations) -> RatingTable:
    """Rate every player that has a match that counts, the best one first. The others follow."""
    records = observations.records()
    rated = [record for record in records if record.played]
    without_match = tuple(_without_match(record) for record in records if not record.played)
    if not rated:
        return RatingTable(
            players=without_match,
            neighbours=(),
            seat_advantage=0.0,
            seat_interval=(0.0, 0.0),
            groups=0,
        )
    encounters = encounters_of([record.player_id for record in rated], observations.matches)
    field = _Field(rated, encounters)
    seat = field.seat_estimate()
    return RatingTable(
        players=(*field.players(), *without_match),
        neighbours=tuple(field.neighbours()),
        seat_advantage=seat.value,
        seat_interval=seat.between(),
        groups=len(set(field.group)),
    )


def _without_match(record: PlayerRecord) -> PlayerRating:
    return PlayerRating(
        record=record,
        rating=None,
        interval=None,
        rank_range=None,
        first=None,
        tied_with=(),
    )


def encounters_of(players: Sequence[str], matches: Sequence[Observation]) -> Encounters:
    """Return the results of these players in the form of the model."""
    place = {player_id: number for number, player_id in enumerate(players)}
    n = len(players)
    played = np.zeros((n, n))
    balance = np.zeros((n, n))
    ties = 0
    for match in matches:
        seats = (place[match.player_a], place[match.player_b])
        played[seats] += match.times
        if match.winner is None:
            ties += match.times
        elif match.winner == match.player_a:
            balance[seats] += match.times
        else:
            balance[seats] -= match.times
    return Encounters(played, balance, ties)


class _Estimate(NamedTuple):
    """A number with its standard deviation, in rating points."""

    value: float
    deviation: float

    def between(self) -> Interval:
        half = BOTH_SIDES * self.deviation
        return self.value - half, self.value + half

    def interval(self, record: PlayerRecord) -> OpenInterval:
        """Return the interval of a rating. It has no end on the side where the results set no limit."""
        reach = ONE_SIDE * self.deviation
        if record.played == record.wins:
            return self.value - reach, None
        if record.played == record.losses:
            return None, self.value + reach
        return self.between()


class _Field:
    """The players of a league: estimates of their strengths, and draws of all strengths together."""

    def __init__(self, records: Sequence[PlayerRecord], encounters: Encounters) -> None:
        self._records = records
        self.group = davidson.groups(encounters.played)
        tried = davidson.explanations(encounters)
        points = davidson.posterior(tried, DRAWS, np.random.default_rng(SEED))
        self._tie = points[:, davidson.TIE]
        # The results set no limit to the strength of a player who won every match, or lost every one.
        is_unlimited = np.array([record.played in (record.wins, record.losses) for record in records])
        contrasts = anchor(is_unlimited, self.group)
        self._strengths = points[:, : davidson.SEAT] @ contrasts.T
        self._separation = told_apart(self._strengths, self.group)
        self._peak = davidson.estimate(encounters, tried)
        # Seat and tie are no part of a strength.
        self._contrasts = np.pad(contrasts, ((0, 0), (0, 2)))
        self._values = self._contrasts @ self._peak.point
        self._order = np.argsort(-self._values, kind="stable")

    def seat_estimate(self) -> _Estimate:
        """Return the advantage of seat A."""
        weights = np.zeros((1, len(self._peak.point)))
        weights[0, davidson.SEAT] = 1
        (deviation,) = self._peak.deviations(weights)
        value = self._peak.point[davidson.SEAT]
        return _Estimate(
            value=SCALE * float(value),
            deviation=SCALE * float(deviation),
        )

    def players(self) -> Iterator[PlayerRating]:
        """Yield the ratings, the best one first."""
        # Ranks compare all players, which only makes sense if matches connect them all.
        ranks = self._ranks() if len(set(self.group)) == 1 else None
        deviations = self._peak.deviations(self._contrasts)
        for place in self._order:
            record = self._records[place]
            rating = _Estimate(
                value=AVERAGE + SCALE * float(self._values[place]),
                deviation=SCALE * float(deviations[place]),
            )
            rank_range = None
            first = None
            if ranks is not None:
                rank_range = _rank_range(ranks[:, place])
                first = float((ranks[:, place] == 1).mean())
            yield PlayerRating(
                record=record,
                rating=rating.value,
                interval=rating.interval(record),
                rank_range=rank_range,
                first=first,
                tied_with=tuple(self._tied_with(place)),
            )

    def _tied_with(self, place: int) -> Iterator[str]:
        for rival in self._order:
            is_comparable = rival != place and self.group[rival] == self.group[place]
            if is_comparable and not self._separation.apart[place, rival]:
                yield self._records[rival].player_id

    def _ranks(self) -> Ranks:
        """Return the rank of every player in every draw, from 1 on."""
        return np.asarray(np.argsort(np.argsort(-self._strengths, 1), 1) + 1)

    def neighbours(self) -> Iterator[Neighbours]:
        """Yield the pairs that are next to each other in the table and can be compared."""
        for better, worse in pairwise(self._order):
            if self.group[better] == self.group[worse]:
                is_apart = bool(self._separation.apart[better, worse])
                yield Neighbours(
                    better=self._records[better].player_id,
                    worse=self._records[worse].player_id,
                    apart=is_apart,
                    more_matches=0 if is_apart else self._more_matches(better, worse),
                )

    def _more_matches(self, better: int, worse: int) -> int | None:
        """Return how many more matches would tell the two apart, if their strengths differ as it seems now."""
        differences = self._strengths[:, better] - self._strengths[:, worse]
        difference = differences.mean()
        # The order is by the estimates: the draws may say the opposite.
        if difference <= 0:
            return None
        tie = np.exp(np.median(self._tie))
        margin = difference / 2
        total = 2 * np.cosh(margin) + tie
        lead = 2 * np.sinh(margin) / total
        # Information is one over a variance: how much is needed, how much there is, and how much a match adds.
        deviations = self._separation.certainty + POWER
        needed = (deviations / difference) ** 2
        present = 1 / differences.var()
        per_match = (1 - tie / total - lead**2) / 4
        matches = float((needed - present) / per_match)
        if matches > MOST_MATCHES:
            return None
        return max(1, ceil(matches))


def anchor(is_unlimited: Flags, group: NDArray[np.intp]) -> Array:
    """Return the matrix that turns strengths into differences from the average of their group.

    The average is over the players who neither won nor lost every match, if there are any: the strength of the others
    may be anything.
    """
    contrasts = np.eye(len(group))
    for number in set(group):
        members = group == number
        reference = members & ~is_unlimited
        if not reference.any():
            reference = members
        contrasts[np.ix_(members, reference)] -= 1 / reference.sum()
    return contrasts


class Separation(NamedTuple):
    """Which pairs are told apart, and how many standard deviations that takes."""

    apart: Flags
    certainty: float


def told_apart(strengths: Array, group: NDArray[np.intp]) -> Separation:
    """Tell as many pairs apart as possible, the clearest first, so that with 95 % all these statements are right."""
    n = strengths.shape[1]
    covariance = np.atleast_2d(np.cov(strengths, rowvar=False))
    own_variance = np.diag(covariance)
    variance = np.add.outer(own_variance, own_variance) - 2 * covariance
    means = strengths.mean(0)
    distance = np.abs(np.subtract.outer(means, means))
    # Nobody differs from itself, with variance 0.
    deviation = np.sqrt(np.where(variance > 0, variance, 1.0))
    clarity = distance / deviation
    pairs = []
    for a, b in combinations(range(n), 2):
        if group[a] == group[b]:
            pairs.append((a, b))
    # If no pair is apart, the certainty is what a single pair would need.
    apart = np.zeros((n, n), bool)
    certainty = NormalDist().inv_cdf(1 - SURE)
    risk = 0.0
    normal = NormalDist()
    for a, b in sorted(pairs, key=lambda pair: -clarity[pair]):
        # The risks of being wrong add up at most.
        risk += 1 - normal.cdf(clarity[a, b])
        if risk > SURE:
            break
        apart[a, b] = True
        apart[b, a] = True
        certainty = float(clarity[a, b])
    return Separation(apart, certainty)


def _rank_range(ranks: Ranks) -> RankRange:
    best, worst = np.quantile(ranks, (SURE / 2, 1 - SURE / 2), method="inverted_cdf")
    return int(best), int(worst)
