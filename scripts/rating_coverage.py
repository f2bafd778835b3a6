"""Measures how often the intervals of ratings hold the truth, in leagues whose true strengths are known.

The strengths are normal with a known spread, and results are drawn from the model of paired comparisons with draws and
an effect of the seat. Prints the table of docs/how-to/read-the-statistics.md:

    python -m scripts.rating_coverage            (about ten minutes on two idle cores)
    python -m scripts.rating_coverage --leagues 0.1
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import combinations
from statistics import fmean
from typing import Final

import numpy as np

from league.features.statistics.findings import LeftOut, PlayerRating
from league.features.statistics.methods.rating import AVERAGE, SCALE, rating_table
from league.features.statistics.observations import Observation, Observations

SIZES: Final = {4: 500, 6: 350, 20: 100, 99: 100}
"""The numbers of players, and how many leagues of each are played."""
SPREADS: Final = (50, 100, 200, 350, 500)
"""Standard deviations of the true ratings, in Elo points."""
MATCHES_EACH: Final = 10
SEAT: Final = 0.3
TIE: Final = -0.5


def schedule(players: int, each: int) -> list[tuple[int, int]]:
    """Return whole round robins, as many as give each player about this many matches, or the first rounds of one."""
    if each >= players - 1:
        return list(combinations(range(players), 2)) * round(each / (players - 1))
    pairs: list[tuple[int, int]] = []
    # In an odd league one place is empty: who meets it has a free round.
    places = list(range(players + players % 2))
    half = len(places) // 2
    for _ in range(each):
        facing = zip(places[:half], reversed(places[half:]), strict=True)
        pairs += [pair for pair in facing if max(pair) < players]
        # Everybody but the first moves on by one place.
        places = [places[0], places[-1], *places[1:-1]]
    return pairs


def league(players: int, spread: float, each: int, seed: int) -> tuple[dict[str, float], Observations]:
    """Return the true strengths of a league, and its results."""
    chance = np.random.default_rng((players, round(spread), each, seed))
    ids = [f"P{number:02}" for number in range(1, players + 1)]
    strengths = dict(zip(ids, chance.normal(0, spread / SCALE, players).tolist(), strict=True))
    matches = []
    for pair in schedule(players, each):
        a, b = (ids[place] for place in chance.permutation(pair))
        margin = (strengths[a] - strengths[b] + SEAT) / 2
        weights = np.exp([margin, -margin, TIE])
        end = chance.choice(3, p=weights / weights.sum())
        matches.append(Observation(a, b, (a, b, None)[end]))
    names = {player: player for player in ids}
    nobody = dict.fromkeys(ids, 0)
    return strengths, Observations("simulated", "tic_tac_toe", names, nobody, tuple(matches), LeftOut(0, 0, 0), {})


def covered(players: int, spread: float, each: int, seed: int) -> list[bool]:
    """Return for each player of a league whether the interval holds its true rating."""
    strengths, observations = league(players, spread, each, seed)
    rows = rating_table(observations).players
    limited = [strengths[row.record.player_id] for row in rows if not is_unlimited(row)]
    average = fmean(limited or strengths.values())
    held = []
    for row in rows:
        low, high = row.interval or (None, None)
        truth = AVERAGE + SCALE * (strengths[row.record.player_id] - average)
        held.append((low is None or low <= truth) and (high is None or truth <= high))
    return held


def is_unlimited(row: PlayerRating) -> bool:
    return row.record.played in (row.record.wins, row.record.losses)


def coverage(players: int, spread: float, each: int, leagues: int) -> float:
    """Return the share of ratings that are in their intervals, in so many leagues."""
    # Set for the processes below: the matrices are small, and threads would only wait for each other.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        parts = pool.map(partial(covered, players, spread, each), range(leagues), chunksize=4)
        return fmean(held for part in parts for held in part)


def lines(share: float, each: int) -> Iterator[str]:
    yield "| players | " + " | ".join(f"spread {spread}" for spread in SPREADS) + " |"
    yield "|---" * (1 + len(SPREADS)) + "|"
    for players, leagues in SIZES.items():
        cells = [f"{coverage(players, spread, each, round(share * leagues)):.1%}" for spread in SPREADS]
        yield f"| {players} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--leagues", type=float, default=1.0, help="play this share of all leagues (default: 1)")
    parser.add_argument("--each", type=int, default=MATCHES_EACH, help="matches of each player (default: 10)")
    args = parser.parse_args()
    for line in lines(args.leagues, args.each):
        print(line, flush=True)


if __name__ == "__main__":
    main()
