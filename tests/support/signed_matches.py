"""Whole matches of any game that both players signed, as a referee reports them and as its record has them."""

from __future__ import annotations

from random import Random
from typing import Any, NamedTuple

from league.games import draw
from league.games.contract import Game
from league.games.evidence import AssignedMatch
from league.games.wire_fields import Spoken, move_request, packed
from league.protocol.signing.choices import chained
from tests.support.player_keys import signature

Object = dict[str, Any]


class SignedMatch(NamedTuple):
    """A match: its result in a report, with signatures and all talk, and the moves in the referee's record."""

    result: Object
    record: list[Object]

    @property
    def details(self) -> Object:
        details: Object = self.result["details"]
        return details


def play(game: Game, match: AssignedMatch, dice: Random, share: bytes, seed: bytes = bytes(32)) -> SignedMatch:
    """Play at random, and say something with every move where the game allows it."""
    name = (match.league_id, match.match_id, match.attempt)
    commitment = draw.commitment(seed, *name, match.share_commitment)
    both = draw.mixed(seed, share)
    state = game.rules.start()
    choices: dict[str, list[str]] = {player: [] for player in match.players}
    views: dict[str, str | None] = dict.fromkeys(match.players)
    talk: list[Spoken] = []
    record: list[Object] = []
    turn = 0
    draws = 0
    while (mover := game.rules.to_move(state)).kind != "nobody":
        if mover.kind == "chance":
            state = game.rules.draw(state, draw.event(both, *name, draws, mover.weights))
            draws += 1
            continue
        turn += 1
        moves = {}
        said = []
        for seat in mover.seats:
            player = match.players[seat]
            choice = dice.choice(game.rules.legal_moves(state, seat))
            views[player] = chained(views[player], move_request(game, state, seat, turn, talk, match.players))
            choices[player].append(choice)
            moves[seat] = choice
            row = {"event": "MoveMade", "player_id": player, "turn": turn, "choice": choice}
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
        "draw_share": share.hex(),
        "signatures": {
            player: signature(match, game.name, player, commitment, choices[player], views[player])
            for player in match.players
        },
    }
    if talk:
        details["talk"] = [{"turn": line.turn, "by": match.players[line.seat], "text": line.text} for line in talk]
    score_of = dict(zip(match.players, score, strict=True))
    return SignedMatch({"winner": winner, "score": score_of, "details": details}, record)
