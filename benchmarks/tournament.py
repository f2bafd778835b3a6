"""`league tournament` against a bare loop over the rules of the same game."""

from __future__ import annotations

from random import Random

from benchmarks import Row, median_cpu_seconds
from league.games.even_odd import GAME
from league_experiments.tournament import tournament

MATCHES = 1_000


def run() -> list[Row]:
    ours, bare = median_cpu_seconds([_ours, _bare])
    ours_us = ours / MATCHES * 1e6
    bare_us = bare / MATCHES * 1e6
    title = "a match of Even/Odd, random against mirror"
    return [Row(title, ours_us, bare_us, "a bare loop over the rules", "us", goal=3.0)]


def _ours() -> object:
    return tournament(["random", "mirror"], meetings=MATCHES, seed=1, jobs=1)


def _bare() -> int:
    """Play the same matches without anything around them; return the number of draws."""
    rules = GAME.rules
    dice = Random(1)
    draws = 0
    for _ in range(MATCHES):
        state = rules.start()
        while (mover := rules.to_move(state)).kind != "nobody":
            if mover.kind == "chance":
                state = rules.draw(state, dice.randint(1, 10))
            else:
                moves = {seat: dice.choice(rules.legal_moves(state, seat)) for seat in mover.seats}
                state = rules.play(state, moves)
        outcome = rules.outcome(state)
        if outcome is not None and outcome.winner is None:
            draws += 1
    return draws
