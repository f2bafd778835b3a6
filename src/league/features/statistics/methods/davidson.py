"""Davidson's model of paired comparisons: Bradley–Terry with draws, and with an effect of the seat.

Let A have strength a, B have strength b, and m = (a - b + seat) / 2. Then the chances of a win of A, a win of B and a
draw are in the proportion exp(m) : exp(-m) : exp(tie). A *point* of the model is an array of the strengths of all
players, then seat, then tie.

`explanations` tries several spreads of the strengths. For each it finds the most likely point (Newton's method) and a
normal distribution around it (Laplace's approximation), and how well the spread explains the results. Two things are
made of them. `posterior` draws points from all of them, for questions about the whole table: who is first, who is tied.
`estimate` is for the rating of each player. Its prior is wider than the best spread, because a prior as narrow as the
players' own spread pulls the best and the worst to the average, and out of their intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SEAT_SPREAD: Final = 1.0
TIE_CENTRE: Final = -0.5
TIE_SPREAD: Final = 1.5
STRENGTH_SPREAD: Final = 1.5
"""The expectation before any match: seat and tie are normal with these spreads. The spread of the strengths is itself
estimated; it is expected to be half-normal with this one."""
SPREADS: Final = np.geomspace(0.03, 12.0, 25)
"""The spreads of the strengths that are tried."""
WIDER: Final = 2.0
LEAST_SPREAD: Final = 1.5
"""The prior of an estimate has twice the best spread, and at least this one. See decision 30 for the measurements."""
MOST_STEPS: Final = 100
CONVERGED: Final = 1e-16
SEAT: Final = -2
TIE: Final = -1
"""The places of seat and tie in a point."""


class Expectation(NamedTuple):
    """The expectation for one match of every pair."""

    lead: Array
    """A's chance minus B's."""
    draw: Array
    """The chance of a draw."""


@dataclass(frozen=True)
class Encounters:
    """The results of n players: row a, column b has the matches with a in seat A and b in seat B."""

    played: Array
    balance: Array
    """A's wins minus B's."""
    ties: int

    def log_likelihood(self, x: Array) -> float:
        margin = _margins(x)
        total = 2 * np.cosh(margin) + np.exp(x[TIE])
        wins = (self.balance * margin).sum()
        draws = self.ties * x[TIE]
        all_ends = (self.played * np.log(total)).sum()
        return float(wins + draws - all_ends)

    def gradient(self, x: Array) -> Array:
        """Of the log-likelihood."""
        expected = _expected(x)
        # Results that were not expected pull the strengths, the seat and the draws towards them.
        expected_balance = self.played * expected.lead
        surprise = (self.balance - expected_balance) / 2
        expected_ties = (self.played * expected.draw).sum()
        slope = np.empty_like(x)
        slope[:SEAT] = _by_player(surprise)
        slope[SEAT] = surprise.sum()
        slope[TIE] = self.ties - expected_ties
        return slope

    def information(self, x: Array) -> Array:
        """Minus the second derivatives of the log-likelihood."""
        lead, draw = _expected(x)
        wins = self.played * (1 - draw - lead**2) / 4
        cross = -self.played * lead * draw / 2
        ties = self.played * draw * (1 - draw)
        information = np.zeros((len(x), len(x)))
        # The matrix is symmetric: strengths, then seat, then tie.
        in_both_seats = wins + wins.T
        by_player = np.diag(in_both_seats.sum(0))
        information[:SEAT, :SEAT] = by_player - in_both_seats
        with_seat = _by_player(wins)
        information[:SEAT, SEAT] = with_seat
        information[SEAT, :SEAT] = with_seat
        with_tie = _by_player(cross)
        information[:SEAT, TIE] = with_tie
        information[TIE, :SEAT] = with_tie
        information[SEAT, SEAT] = wins.sum()
        information[TIE, TIE] = ties.sum()
        information[SEAT, TIE] = cross.sum()
        information[TIE, SEAT] = cross.sum()
        return information


def _margins(x: Array) -> Array:
    strengths = x[:SEAT]
    # A row for each player in seat A, a column for each in seat B.
    differences = np.subtract.outer(strengths, strengths)
    margins = (differences + x[SEAT]) / 2
    return np.asarray(margins)


def _expected(x: Array) -> Expectation:
    margin = _margins(x)
    tie = np.exp(x[TIE])
    total = 2 * np.cosh(margin) + tie
    lead = 2 * np.sinh(margin) / total
    draw = tie / total
    return Expectation(lead, draw)


def _by_player(pairs: Array) -> Array:
    """Add up for every player: for A, and against B."""
    as_a = pairs.sum(1)
    as_b = pairs.sum(0)
    return np.asarray(as_a - as_b)


@dataclass(frozen=True)
class Prior:
    """The expectation of a point before any match: normal, around `centre`."""

    centre: Array
    precision: Array

    def log_density(self, x: Array) -> float:
        """Up to a constant."""
        distance = x - self.centre
        return float(-distance @ self.precision @ distance / 2)


def links(played: Array) -> Array:
    """Return which pairs the prior holds together: those that met, and no others.

    θ·links·θ is a weighted sum of squared differences of the players who met. In a full round robin it is the sum of
    squares around the mean, as if every strength were drawn from one normal distribution.
    """
    # A prior on all pairs would compare players that no matches connect.
    met = (played + played.T) > 0
    opponents = met.sum(1)
    both = np.add.outer(opponents, opponents)
    weight = np.where(met, 2 / (both + 2), 0.0)
    by_player = np.diag(weight.sum(1))
    return np.asarray(by_player - weight)


def groups(played: Array) -> NDArray[np.intp]:
    """Return the group of each player, from 0 on. Within a group, chains of matches connect all players."""
    # Everybody is near itself. Then one more step at a time, until nobody new is reached.
    met = (played + played.T) > 0
    near = met | np.eye(len(played), dtype=bool)
    reached = near
    while True:
        further = reached @ near
        if further.sum() == reached.sum():
            return np.unique(reached.argmax(1), return_inverse=True)[1]
        reached = further


def prior(played: Array, spread: float) -> Prior:
    """Return the prior of players with this spread of strengths."""
    n = len(played)
    group = groups(played)
    is_together = np.equal.outer(group, group)
    centre = np.zeros(n + 2)
    centre[TIE] = TIE_CENTRE
    precision = np.zeros((n + 2, n + 2))
    # The matches say nothing about the mean of a group, so the second term holds it at 0.
    differences = links(played) / spread**2
    means = is_together / is_together.sum(1)
    precision[:n, :n] = differences + means
    precision[SEAT, SEAT] = SEAT_SPREAD**-2
    precision[TIE, TIE] = TIE_SPREAD**-2
    return Prior(centre, precision)


def most_likely(
    encounters: Encounters,
    expected: Prior,
    start: Array,
) -> Array:
    """Return the point that results and prior together make most likely, by Newton's method."""

    def height(x: Array) -> float:
        return encounters.log_likelihood(x) + expected.log_density(x)

    x = start
    reached = height(start)
    for _ in range(MOST_STEPS):
        pull = expected.precision @ (x - expected.centre)
        slope = encounters.gradient(x) - pull
        curvature = encounters.information(x) + expected.precision
        step = np.linalg.solve(curvature, slope)
        if slope @ step < CONVERGED:
            break
        # Far from the top a whole step may lead down again.
        while height(x + step) < reached and slope @ step >= CONVERGED:
            step = step / 2
        x = x + step
        reached = height(x)
    return x


class Peak(NamedTuple):
    """The normal distribution around a most likely point."""

    point: Array
    root: NDArray[np.floating[Any]]
    """The Cholesky root of its precision."""

    def deviations(self, contrasts: Array) -> Array:
        """Return the standard deviation of each contrast, a row with weights for all numbers of a point."""
        solved = np.linalg.solve(self.root, contrasts.T)
        return np.asarray(np.sqrt((solved**2).sum(0)))

    def draw(self, count: int, chance: np.random.Generator) -> Array:
        noise = chance.standard_normal((len(self.point), count))
        distances = np.linalg.solve(self.root.T, noise)
        return np.asarray(self.point + distances.T)


class SpreadFit(NamedTuple):
    """What the results say if the strengths have this spread."""

    spread: float
    evidence: float
    """The logarithm of how well it explains the results, up to a constant."""
    peak: Peak


def explanations(encounters: Encounters) -> list[SpreadFit]:
    """Explain the results by each of the spreads that are tried."""
    n = len(encounters.played)
    differences = n - len(set(groups(encounters.played)))
    # The most likely point of one spread is a good start for the next.
    start = prior(encounters.played, 1.0).centre
    tried = []
    for spread in SPREADS:
        expected = prior(encounters.played, spread)
        start = most_likely(encounters, expected, start)
        peak = _peak(encounters, expected, start)
        height = encounters.log_likelihood(start) + expected.log_density(start)
        evidence = height - np.log(np.diag(peak.root)).sum()
        # The spreads that are tried are evenly spaced on a logarithmic scale: hence one logarithm less.
        scale = (differences - 1) * np.log(spread)
        expectation = (spread / STRENGTH_SPREAD) ** 2 / 2
        explanation = SpreadFit(
            spread=float(spread),
            evidence=float(evidence - scale - expectation),
            peak=peak,
        )
        tried.append(explanation)
    return tried


def _peak(encounters: Encounters, expected: Prior, point: Array) -> Peak:
    precision = encounters.information(point) + expected.precision
    return Peak(point, np.linalg.cholesky(precision))


def estimate(encounters: Encounters, tried: Sequence[SpreadFit]) -> Peak:
    """Return the most likely point with its uncertainty, with a prior that hardly pulls anybody to the average."""
    best = max(tried, key=lambda explanation: explanation.evidence)
    spread = max(LEAST_SPREAD, WIDER * best.spread)
    expected = prior(encounters.played, spread)
    point = most_likely(encounters, expected, best.peak.point)
    return _peak(encounters, expected, point)


def posterior(
    tried: Sequence[SpreadFit],
    draws: int,
    chance: np.random.Generator,
) -> Array:
    """Draw this many points from what is known after the matches. Each row is a point."""
    evidence = np.array([explanation.evidence for explanation in tried])
    # Differences, because the weights themselves may be too small for a float.
    likely = np.exp(evidence - evidence.max())
    counts = chance.multinomial(draws, likely / likely.sum())
    points = []
    for explanation, count in zip(tried, counts, strict=True):
        points.append(explanation.peak.draw(count, chance))
    return np.concatenate(points)
