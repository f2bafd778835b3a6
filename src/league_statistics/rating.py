"""Ratings: how strong every player is, how sure that is, who cannot be told apart, and what it would take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, log
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from league_statistics import davidson
from league_statistics.chance import SURE
from league_statistics.davidson import Array, Encounters
from league_statistics.findings import (
    Interval,
    Neighbours,
    OpenInterval,
    PlayerRating,
    RankRange,
    RatingTable,
    Record,
)
from league_statistics.observations import Observation, Observations

Flags = NDArray[np.bool_]

AVERAGE: Final = 1500.0
SCALE: Final = 400 / log(10)
"""Rating points of one unit of strength: 400 points are ten wins for each loss."""
DRAWS: Final = 4000
SEED: Final = 1
"""The same results give the same ratings."""
POWER: Final = NormalDist().inv_cdf(0.8)
"""More matches are to tell two players apart in four of five cases."""
MOST_MATCHES: Final = 10_000


def rating_table(observations: Observations) -> RatingTable:
    """Rate every player who has a match that counts, best first; the others follow."""
    records = observations.records()
    rated, unrated = [one for one in records if one.played], [one for one in records if not one.played]
    rest = tuple(PlayerRating(one, None, None, None, None, ()) for one in unrated)
    if not rated:
        return RatingTable(rest, (), seat_advantage=0.0, seat_interval=(0.0, 0.0), groups=0)
    field = _Field(rated, encounters_of([one.player_id for one in rated], observations.matches))
    seat = SCALE * field.seat
    return RatingTable(
        players=(*field.players(), *rest),
        neighbours=tuple(field.neighbours()),
        seat_advantage=float(np.median(seat)),
        seat_interval=_between(seat, SURE / 2, 1 - SURE / 2),
        groups=len(set(field.group)),
    )


def encounters_of(players: Sequence[str], matches: Sequence[Observation]) -> Encounters:
    """The results of these players as the model takes them."""
    place = {player_id: at for at, player_id in enumerate(players)}
    played, balance = np.zeros((len(players), len(players))), np.zeros((len(players), len(players)))
    for one in matches:
        seats = place[one.player_a], place[one.player_b]
        played[seats] += 1
        balance[seats] += (one.winner == one.player_a) - (one.winner == one.player_b)
    return Encounters(played, balance, sum(one.winner is None for one in matches))


class _Field:
    """The players of a league with what is known of their strengths."""

    def __init__(self, records: Sequence[Record], encounters: Encounters) -> None:
        self._records = records
        self.group = davidson.groups(encounters.played)
        points = davidson.posterior(encounters, DRAWS, np.random.default_rng(SEED))
        self.seat, self._tie = points[:, -2], points[:, -1]
        self._strengths = anchored(points[:, :-2], self._unlimited(), self.group)
        self._order = np.argsort(-np.median(self._strengths, 0), kind="stable")
        self._apart, self._certainty = told_apart(self._strengths, self.group)

    def _unlimited(self) -> Flags:
        """Who won every match, or lost every one: the results set no limit to how strong or weak it is."""
        return np.array([one.played in (one.wins, one.losses) for one in self._records])

    def players(self) -> Iterator[PlayerRating]:
        """Best first."""
        ranks = self._ranks() if len(set(self.group)) == 1 else None
        for at in self._order:
            rating = AVERAGE + SCALE * self._strengths[:, at]
            yield PlayerRating(
                record=self._records[at],
                rating=float(np.median(rating)),
                interval=_interval(self._records[at], rating),
                rank_range=None if ranks is None else _rank_range(ranks[:, at]),
                first=None if ranks is None else float((ranks[:, at] == 1).mean()),
                tied_with=tuple(
                    self._records[other].player_id
                    for other in self._order
                    if other != at and self.group[other] == self.group[at] and not self._apart[at, other]
                ),
            )

    def _ranks(self) -> NDArray[np.intp]:
        """Of every player in every draw, from 1 on."""
        return np.asarray(np.argsort(np.argsort(-self._strengths, 1), 1) + 1)

    def neighbours(self) -> Iterator[Neighbours]:
        """Whoever stands next to each other and can be compared."""
        for better, worse in zip(self._order, self._order[1:], strict=False):
            if self.group[better] == self.group[worse]:
                apart = bool(self._apart[better, worse])
                ids = self._records[better].player_id, self._records[worse].player_id
                yield Neighbours(*ids, apart, 0 if apart else self._more_matches(better, worse))

    def _more_matches(self, better: int, worse: int) -> int | None:
        """As many as make the pair as certain as those that are told apart, if it differs by what it seems to."""
        difference = self._strengths[:, better] - self._strengths[:, worse]
        known, seen = 1 / difference.var(), difference.mean()
        if seen <= 0:
            return None
        tie, margin = np.exp(np.median(self._tie)), seen / 2
        total = 2 * np.cosh(margin) + tie
        per_match = (1 - tie / total - (2 * np.sinh(margin) / total) ** 2) / 4
        needed = (((self._certainty + POWER) / seen) ** 2 - known) / per_match
        return max(1, ceil(needed)) if needed <= MOST_MATCHES else None


def anchored(strengths: Array, unlimited: Flags, group: NDArray[np.intp]) -> Array:
    """Strengths as differences from the average of their group: of those in it who both won and did not win, if there
    are any, since the strength of the others may be anything."""
    shifted = strengths.copy()
    for one in set(group):
        members = group == one
        limited = members & ~unlimited
        shifted[:, members] -= strengths[:, limited if limited.any() else members].mean(1, keepdims=True)
    return shifted


def told_apart(strengths: Array, group: NDArray[np.intp]) -> tuple[Flags, float]:
    """Which pairs are told apart, and how many standard deviations that takes.

    As many pairs as possible, the clearest first, so that all these statements together are right with 95 %.
    """
    n = strengths.shape[1]
    spread = np.atleast_2d(np.cov(strengths, rowvar=False))
    variance = np.diag(spread)[:, None] + np.diag(spread)[None, :] - 2 * spread
    means = strengths.mean(0)
    clear = np.abs(means[:, None] - means[None, :]) / np.sqrt(np.where(variance > 0, variance, 1.0))
    pairs = [(a, b) for a in range(n) for b in range(a) if group[a] == group[b]]
    apart, risk, certainty = np.zeros((n, n), bool), 0.0, NormalDist().inv_cdf(1 - SURE)
    for a, b in sorted(pairs, key=lambda pair: -clear[pair]):
        risk += 1 - NormalDist().cdf(clear[a, b])
        if risk > SURE:
            break
        apart[a, b] = apart[b, a] = True
        certainty = float(clear[a, b])
    return apart, certainty


def _interval(record: Record, rating: Array) -> OpenInterval:
    """Whoever won every match may be stronger than any number says, and whoever lost every one weaker."""
    low, high = _between(rating, SURE / 2, 1 - SURE / 2)
    if record.played == record.wins:
        return _between(rating, SURE, 1.0)[0], None
    if record.played == record.losses:
        return None, _between(rating, 0.0, 1 - SURE)[1]
    return low, high


def _between(values: Array, low: float, high: float) -> Interval:
    found = np.quantile(values, (low, high))
    return float(found[0]), float(found[1])


def _rank_range(ranks: NDArray[np.intp]) -> RankRange:
    found = np.quantile(ranks, (SURE / 2, 1 - SURE / 2), method="inverted_cdf")
    return int(found[0]), int(found[1])
