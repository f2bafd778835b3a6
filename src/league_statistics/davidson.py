"""Davidson's model of paired comparisons: Bradley–Terry with draws, and with an effect of the seat.

Between A with strength a and B with strength b, let m = (a - b + seat) / 2. Then A wins, B wins, or nobody does, in the
proportion exp(m) : exp(-m) : exp(tie). A point of the model is the strengths of all players, then seat, then tie.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SEAT_SPREAD: Final = 1.0
TIE_CENTRE: Final = -0.5
TIE_SPREAD: Final = 1.5
STRENGTH_SPREAD: Final = 1.5
"""What is expected before any match: seat and tie are normal with these spreads. The spread of the strengths is itself
estimated; it is expected to be half-normal with this one."""
SPREADS: Final = np.geomspace(0.03, 12.0, 25)
"""The spreads of the strengths that are tried."""
MOST_STEPS: Final = 100
CONVERGED: Final = 1e-16


@dataclass(frozen=True)
class Encounters:
    """The results of n players: row a, column b has the matches with a in seat A and b in seat B."""

    played: Array
    balance: Array
    """A's wins minus B's."""
    ties: int

    def log_likelihood(self, x: Array) -> float:
        margin = _margins(x)
        told = (self.balance * margin).sum() + self.ties * x[-1]
        return float(told - (self.played * np.log(2 * np.cosh(margin) + np.exp(x[-1]))).sum())

    def gradient(self, x: Array) -> Array:
        """Of the log-likelihood."""
        lead, tied = _expected(x)
        surprise = (self.balance - self.played * lead) / 2
        seat, tie = surprise.sum(), self.ties - (self.played * tied).sum()
        return np.array([*_by_player(surprise), seat, tie])

    def information(self, x: Array) -> Array:
        """Minus the second derivatives of the log-likelihood."""
        lead, tied = _expected(x)
        wins = self.played * (1 - tied - lead**2) / 4
        cross = -self.played * lead * tied / 2
        found = np.zeros((len(x), len(x)))
        found[:-2, :-2] = np.diag(wins.sum(0) + wins.sum(1)) - wins - wins.T
        found[:-2, -2] = found[-2, :-2] = _by_player(wins)
        found[:-2, -1] = found[-1, :-2] = _by_player(cross)
        found[-2, -2], found[-1, -1] = wins.sum(), (self.played * tied * (1 - tied)).sum()
        found[-2, -1] = found[-1, -2] = cross.sum()
        return found


def _margins(x: Array) -> Array:
    strengths = x[:-2]
    return np.asarray((strengths[:, None] - strengths[None, :] + x[-2]) / 2)


def _expected(x: Array) -> tuple[Array, Array]:
    """Of one match of every pair: A's chance minus B's, and the chance of a draw."""
    margin, tie = _margins(x), np.exp(x[-1])
    total = 2 * np.cosh(margin) + tie
    return 2 * np.sinh(margin) / total, tie / total


def _by_player(pairs: Array) -> Array:
    """What is counted for A and against B, for every player."""
    return np.asarray(pairs.sum(1) - pairs.sum(0))


@dataclass(frozen=True)
class Prior:
    """What is expected of a point before any match: normal, around `centre`."""

    centre: Array
    precision: Array

    def log_density(self, x: Array) -> float:
        """But for a constant."""
        return float(-(x - self.centre) @ self.precision @ (x - self.centre) / 2)


def links(played: Array) -> Array:
    """Which pairs the prior holds together: those who met, and no others.

    θ·links·θ is a weighted sum of squared differences of the players who met. In a full round robin it is the sum of
    squares around the mean, as if every strength were drawn from one normal distribution.
    """
    met = (played + played.T) > 0
    opponents = met.sum(1)
    weight = np.where(met, 2 / (opponents[:, None] + opponents[None, :] + 2), 0.0)
    return np.asarray(np.diag(weight.sum(1)) - weight)


def groups(played: Array) -> NDArray[np.intp]:
    """The group of each player, from 0 on: a chain of matches connects two players if their groups are the same."""
    near = (played + played.T + np.eye(len(played))) > 0
    reached = near
    while (further := reached @ near).sum() > reached.sum():
        reached = further
    return np.unique(reached.argmax(1), return_inverse=True)[1]


def prior(played: Array, spread: float) -> Prior:
    """Of players with this spread. The matches say nothing of the mean of a group, so it is held at 0."""
    n, group = len(played), groups(played)
    together = group[:, None] == group[None, :]
    centre, precision = np.zeros(n + 2), np.zeros((n + 2, n + 2))
    precision[:n, :n] = links(played) / spread**2 + together / together.sum(1)
    precision[n, n], precision[-1, -1] = SEAT_SPREAD**-2, TIE_SPREAD**-2
    centre[-1] = TIE_CENTRE
    return Prior(centre, precision)


def most_likely(encounters: Encounters, expected: Prior, start: Array) -> Array:
    """The point that results and prior together make most likely, by Newton's method."""

    def height(x: Array) -> float:
        return encounters.log_likelihood(x) + expected.log_density(x)

    x, reached = start, height(start)
    for _ in range(MOST_STEPS):
        slope = encounters.gradient(x) - expected.precision @ (x - expected.centre)
        step = np.linalg.solve(encounters.information(x) + expected.precision, slope)
        if slope @ step < CONVERGED:
            break
        while height(x + step) < reached and slope @ step >= CONVERGED:
            step = step / 2
        x = x + step
        reached = height(x)
    return x


def posterior(encounters: Encounters, draws: int, chance: np.random.Generator) -> Array:
    """So many points, drawn from what is known after the matches; one row each.

    Laplace's approximation for each spread of the strengths, and these weighted by how well the spread explains the
    results (a nested Laplace approximation).
    """
    n = len(encounters.played)
    differences = n - len(set(groups(encounters.played)))
    start, weights, peaks = prior(encounters.played, 1.0).centre, [], []
    for spread in SPREADS:
        expected = prior(encounters.played, spread)
        start = most_likely(encounters, expected, start)
        root = np.linalg.cholesky(encounters.information(start) + expected.precision)
        evidence = encounters.log_likelihood(start) + expected.log_density(start) - np.log(np.diag(root)).sum()
        # The spreads that are tried are evenly spaced on a logarithmic scale: hence one logarithm less.
        weights.append(evidence - (differences - 1) * np.log(spread) - (spread / STRENGTH_SPREAD) ** 2 / 2)
        peaks.append((start, root))
    likely = np.exp(np.array(weights) - max(weights))
    times = chance.multinomial(draws, likely / likely.sum())
    return np.concatenate(
        [
            x + np.linalg.solve(root.T, chance.standard_normal((n + 2, count))).T
            for (x, root), count in zip(peaks, times, strict=True)
        ]
    )
