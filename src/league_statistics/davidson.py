"""Davidson's model of paired comparisons: Bradley–Terry with draws, and with an effect of the seat.

Let A have strength a, B have strength b, and m = (a - b + seat) / 2. Then the chances of a win of A, a win of B and a
draw are in the proportion exp(m) : exp(-m) : exp(tie). A *point* of the model is an array of the strengths of all
players, then seat, then tie.

`posterior` draws points from what is known after the matches. For each of several spreads of the strengths it finds the
most likely point (Newton's method) and a normal distribution around it (Laplace's approximation), and weighs these by
how well the spread explains the results.
"""

from __future__ import annotations

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
MOST_STEPS: Final = 100
CONVERGED: Final = 1e-16
SEAT: Final = -2
TIE: Final = -1
"""The places of seat and tie in a point."""


class Expected(NamedTuple):
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
        wins = (self.balance * margin).sum()
        total = 2 * np.cosh(margin) + np.exp(x[TIE])
        return float(wins + self.ties * x[TIE] - (self.played * np.log(total)).sum())

    def gradient(self, x: Array) -> Array:
        """Of the log-likelihood."""
        expected = _expected(x)
        surprise = (self.balance - self.played * expected.lead) / 2
        seat = surprise.sum()
        tie = self.ties - (self.played * expected.draw).sum()
        return np.array([*_by_player(surprise), seat, tie])

    def information(self, x: Array) -> Array:
        """Minus the second derivatives of the log-likelihood."""
        lead, draw = _expected(x)
        wins = self.played * (1 - draw - lead**2) / 4
        cross = -self.played * lead * draw / 2
        information = np.zeros((len(x), len(x)))
        # The matrix is symmetric: strengths, then seat, then tie.
        by_player = np.diag(wins.sum(0) + wins.sum(1))
        information[:SEAT, :SEAT] = by_player - wins - wins.T
        information[:SEAT, SEAT] = _by_player(wins)
        information[SEAT, :SEAT] = information[:SEAT, SEAT]
        information[:SEAT, TIE] = _by_player(cross)
        information[TIE, :SEAT] = information[:SEAT, TIE]
        information[SEAT, SEAT] = wins.sum()
        information[TIE, TIE] = (self.played * draw * (1 - draw)).sum()
        information[SEAT, TIE] = cross.sum()
        information[TIE, SEAT] = cross.sum()
        return information


def _margins(x: Array) -> Array:
    strengths = x[:SEAT]
    differences = strengths[:, None] - strengths[None, :]
    return np.asarray((differences + x[SEAT]) / 2)


def _expected(x: Array) -> Expected:
    margin = _margins(x)
    tie = np.exp(x[TIE])
    total = 2 * np.cosh(margin) + tie
    return Expected(2 * np.sinh(margin) / total, tie / total)


def _by_player(pairs: Array) -> Array:
    """Add up for every player: for A, and against B."""
    return np.asarray(pairs.sum(1) - pairs.sum(0))


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
    both = opponents[:, None] + opponents[None, :]
    weight = np.where(met, 2 / (both + 2), 0.0)
    return np.asarray(np.diag(weight.sum(1)) - weight)


def groups(played: Array) -> NDArray[np.intp]:
    """Return the group of each player, from 0 on. Within a group, chains of matches connect all players."""
    # Everybody is near itself. Then one more step at a time, until nobody new is reached.
    near = (played + played.T + np.eye(len(played))) > 0
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
    is_together = group[:, None] == group[None, :]
    centre = np.zeros(n + 2)
    centre[TIE] = TIE_CENTRE
    precision = np.zeros((n + 2, n + 2))
    # The matches say nothing about the mean of a group, so the second term holds it at 0.
    means = is_together / is_together.sum(1)
    precision[:n, :n] = links(played) / spread**2 + means
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
        slope = encounters.gradient(x) - expected.precision @ (x - expected.centre)
        step = np.linalg.solve(encounters.information(x) + expected.precision, slope)
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

    def draw(self, count: int, chance: np.random.Generator) -> Array:
        noise = chance.standard_normal((len(self.point), count))
        return np.asarray(self.point + np.linalg.solve(self.root.T, noise).T)


def posterior(
    encounters: Encounters,
    draws: int,
    chance: np.random.Generator,
) -> Array:
    """Draw this many points from what is known after the matches. Each row is a point."""
    n = len(encounters.played)
    differences = n - len(set(groups(encounters.played)))
    # The most likely point of one spread is a good start for the next.
    start = prior(encounters.played, 1.0).centre
    weights: list[float] = []
    peaks: list[Peak] = []
    for spread in SPREADS:
        expected = prior(encounters.played, spread)
        start = most_likely(encounters, expected, start)
        root = np.linalg.cholesky(encounters.information(start) + expected.precision)
        height = encounters.log_likelihood(start) + expected.log_density(start)
        evidence = height - np.log(np.diag(root)).sum()
        # The spreads that are tried are evenly spaced on a logarithmic scale: hence one logarithm less.
        scale = (differences - 1) * np.log(spread)
        expectation = (spread / STRENGTH_SPREAD) ** 2 / 2
        weights.append(evidence - scale - expectation)
        peaks.append(Peak(start, root))
    # Differences, because the weights themselves may be too small for a float.
    likely = np.exp(np.array(weights) - max(weights))
    counts = chance.multinomial(draws, likely / likely.sum())
    points = []
    for peak, count in zip(peaks, counts, strict=True):
        points.append(peak.draw(count, chance))
    return np.concatenate(points)
