"""`league tournament` against a bare loop over the rules of the same game."""

from __future__ import annotations

from random import Random

from benchmarks import Row, median_cpu_seconds
from league.games.even_odd import GAME
from league_experiments.tournament import tournament

NAME = "tournament"
MATCHES = 1_000


def run() -> list[Row]:
    ours, bare = median_cpu_seconds([_ours, _bare])
    what, per_match = "a match of Even/Odd, random against mirror", 1e6 / MATCHES
    return [Row(what, ours * per_match, bare * per_match, "a bare loop over the rules", "µs", goal=3.0)]


def _ours() -> object:
    return tournament(["random", "mirror"], meetings=MATCHES, seed=1, jobs=1)


def _bare() -> int:
    rules, dice, draws = GAME.rules, Random(1), 0
    for _ in range(MATCHES):
        state = rules.start()
        while (mover := rules.to_move(state)).kind != "nobody":
            if mover.kind == "chance":
                state = rules.draw(state, dice.randint(1, 10))
            else:
                state = rules.play(state, {seat: dice.choice(rules.legal_moves(state, seat)) for seat in mover.seats})
        outcome = rules.outcome(state)
        draws += outcome is not None and outcome.winner is None
    return draws
