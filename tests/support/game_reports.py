"""Results of any game, as an honest referee reports them: random moves, and every draw from the seed."""

from __future__ import annotations

from random import Random
from typing import Any

from league.games import draw
from league.games.contract import Game
from league.games.wire_fields import packed


def result_of(
    game: Game,
    players: tuple[str, str],
    name: tuple[str, str, int],
    dice: Random,
    seed: bytes = bytes(32),
) -> dict[str, Any]:
    """The `result` of a report. `name`: league, match and attempt, which the draws depend on."""
    state = game.rules.start()
    draws = 0
    while (mover := game.rules.to_move(state)).kind != "nobody":
        if mover.kind == "chance":
            state = game.rules.draw(state, draw.event(seed, *name, draws, mover.weights))
            draws += 1
        else:
            state = game.rules.play(
                state, {seat: dice.choice(game.rules.legal_moves(state, seat)) for seat in mover.seats}
            )
    outcome = game.rules.outcome(state)
    assert outcome is not None
    score = game.scoring.points(outcome.winner, technical=False, returns=outcome.returns)
    winner = None if outcome.winner is None else players[outcome.winner]
    return {
        "winner": winner,
        "score": dict(zip(players, score, strict=True)),
        "details": {
            **packed(game.wire.details(state, players, technical=False)),
            "status": "WIN" if winner else "DRAW",
            "draw_seed": seed.hex(),
        },
    }
