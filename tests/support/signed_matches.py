"""Whole matches of any game that both players signed, as a referee reports them and as its record has them."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, NamedTuple

from league.games import draw
from league.games.contract import Game
from league.games.evidence import PlayedMatch
from league.games.wire_fields import Spoken, move_request, packed
from league.protocol.receipts import Signed, seen_in, sign

Object = dict[str, Any]


class SignedMatch(NamedTuple):
    """A match: its result in a report, with every receipt and all talk, and the moves in the referee's record."""

    result: Object
    record: list[Object]

    @property
    def details(self) -> Object:
        details: Object = self.result["details"]
        return details


def play(
    game: Game, match: PlayedMatch, keys: Mapping[str, bytes], dice: Random, seed: bytes = bytes(32)
) -> SignedMatch:
    """Play at random, and say something with every move where the game allows it. `keys`: RK of both players."""
    name = (match.league_id, match.match_id, match.attempt)
    commitment = draw.commitment(seed, *name)
    state = game.rules.start()
    receipts: dict[str, list[str | None]] = {player: [] for player in match.players}
    talk: list[Spoken] = []
    record: list[Object] = []
    turn = 0
    draws = 0
    while (mover := game.rules.to_move(state)).kind != "nobody":
        if mover.kind == "chance":
            state = game.rules.draw(state, draw.event(seed, *name, draws, mover.weights))
            draws += 1
            continue
        turn += 1
        moves = {}
        said = []
        for signed_by in receipts.values():
            signed_by.append(None)
        for seat in mover.seats:
            player = match.players[seat]
            choice = dice.choice(game.rules.legal_moves(state, seat))
            seen = seen_in(move_request(game, state, seat, turn, talk, match.players))
            signed = Signed(*name, game.name, player, match.players[1 - seat], turn, commitment, seen)
            receipt = sign(keys[player], signed, choice)
            receipts[player][-1] = receipt
            moves[seat] = choice
            row = {"event": "MoveMade", "player_id": player, "turn": turn, "choice": choice, "receipt": receipt}
            if game.talk:
                said.append(Spoken(turn, seat, f"turn {turn}"))
                row["talk"] = f"turn {turn}"
            record.append(row)
        talk += said
        state = game.rules.play(state, moves)
    outcome = game.rules.outcome(state)
    assert outcome is not None
    score = game.scoring.points(outcome.winner, technical=False, returns=outcome.returns)
    winner = None if outcome.winner is None else match.players[outcome.winner]
    details = {
        **packed(game.wire.details(state, match.players, technical=False)),
        "status": "WIN" if winner else "DRAW",
        "draw_seed": seed.hex(),
        "draw_commitment": commitment,
        "receipts": receipts,
    }
    if talk:
        details["talk"] = [{"turn": line.turn, "by": match.players[line.seat], "text": line.text} for line in talk]
    score_of = dict(zip(match.players, score, strict=True))
    return SignedMatch({"winner": winner, "score": score_of, "details": details}, record)
