"""Keys of players in tests, and what they sign with them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from league.games.evidence import AssignedMatch
from league.protocol.signing.choices import ChoicesStatement
from league.protocol.signing.keys import SigningKey, sign, signing_key


def key_of(player: str) -> SigningKey:
    return signing_key(hashlib.sha256(player.encode()).digest())


def statement(
    match: AssignedMatch, game: str, player: str, commitment: str, choices: Sequence[str], views: str | None = None
) -> ChoicesStatement:
    """What a player of this match signs last."""
    return ChoicesStatement(
        manager_key=match.manager_key,
        league_id=match.league_id,
        match_id=match.match_id,
        attempt=match.attempt,
        game_type=game,
        player_id=player,
        opponent_id=match.players[1 - match.players.index(player)],
        draw_commitment=commitment,
        share_commitment=match.share_commitment,
        choices=tuple(choices),
        views=views,
    )


def signature(match: AssignedMatch, game: str, player: str, *what: Any, key: SigningKey | None = None) -> str:
    """The signature of a player under commitment, choices and views (Any: those)."""
    return sign(key or key_of(player), statement(match, game, player, *what))
