"""Receipts: a player's signature under each of its choices (spec section 9.6, `receipt.v1`).

Theory of operation. A player and its manager share K, which belongs to one registration (section 9.3). From K both
derive RK, a key for one player, one match and one attempt. A receipt is an HMAC with RK over a statement: who chose
what, against whom, in which turn, after which `draw_commitment`, and what the player was shown. The referee passes
receipts on and cannot make any, so it cannot invent a choice, change one, or replace the commitment afterwards.

A receipt proves what was chosen, never when. The manager holds K as well, so receipts prove nothing against a manager.

What must never happen: a player signs two different choices of one turn; K or RK leaves the two that share it before
the league is closed.
"""

from __future__ import annotations

import hashlib
import hmac
from binascii import b2a_base64
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from msgspec import Struct

from league.protocol.canonical_json import NotCanonicalError, canonical
from league.protocol.mac import hmac_sha256

SCHEME: Final = "receipt.v1"
DECLINED: Final = "-decline"
"""The choice of a player that declines its invitation; its turn is 0."""
NOTHING: Final = "-"
"""Stands for a commitment that the invitation did not have, and for a view that the game does not have."""
_LENGTH: Final = 43
"""Characters of a receipt: base64url of 32 bytes, without padding."""
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
ASKED_AGAIN: Final = "asked again"
"""`why` of a protest begins so if it only shows that a turn was answered (section 8.19)."""


class Signed(Struct, frozen=True):
    """Everything a receipt binds, except for the choice."""

    league_id: str
    match_id: str
    attempt: int
    game_type: str
    player_id: str
    opponent_id: str
    turn: int
    draw_commitment: str = NOTHING
    seen: str = NOTHING


@lru_cache(maxsize=256)
def receipt_key(key: str, player_id: str, league_id: str, match_id: str, attempt: int) -> bytes:
    """RK of one attempt. `key` is K of the player's registration, in hexadecimal digits."""
    # Remembered, because a game of many turns needs it for each of them.
    text = f"league.v2 receipt key|{player_id}|{league_id}|{match_id}|{attempt}"
    return hmac_sha256(bytes.fromhex(key), text.encode())


def statement(signed: Signed, choice: str) -> bytes:
    """What the player signs. Only the choice, which comes last, may contain the separator."""
    return (
        f"league.v2 receipt|{signed.league_id}|{signed.match_id}|{signed.attempt}|{signed.game_type}"
        f"|{signed.player_id}|{signed.opponent_id}|{signed.turn}|{signed.draw_commitment or NOTHING}|{signed.seen}"
        f"|{choice}"
    ).encode()


def sign(key: bytes, signed: Signed, choice: str) -> str:
    """The receipt for a choice. `key` is RK."""
    digest = hmac_sha256(key, statement(signed, choice))
    return b2a_base64(digest)[:_LENGTH].translate(_URL_SAFE).decode()


def is_receipt(receipt: object, keys: Iterable[bytes], signed: Signed, choice: str) -> bool:
    """Whether this is a receipt for the choice by one of these RKs."""
    if not isinstance(receipt, str) or not receipt.isascii():
        return False
    # A plain loop: every choice of a match comes through here.
    for key in keys:  # noqa: SIM110
        if hmac.compare_digest(receipt, sign(key, signed, choice)):
            return True
    return False


def seen_in(move_request: object) -> str:
    """What a player was shown, as its statement names it; `-` if there is nothing, or nothing that can be hashed."""
    if move_request is None:
        return NOTHING
    try:
        return hashlib.sha256(canonical(move_request)).hexdigest()
    except NotCanonicalError:
        return NOTHING
