"""Draws of the kit as a referee, written from section 12 of the specification.

Referees of ours draw with code of their own, which the kit does not use: a player that agrees with the kit agrees with
the specification.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

from league.protocol.versions import KIT_LEAGUE

SEED_BYTES: Final = 32
FAIR_BELOW: Final = 250
"""Bytes from here on would favour the numbers 1 to 6."""
HIGHEST: Final = 10


def new_seed() -> bytes:
    return secrets.token_bytes(SEED_BYTES)


def commitment(seed: bytes, match_id: str, league_id: str = KIT_LEAGUE) -> str:
    """Return `draw_commitment` of the first attempt of a match."""
    return hashlib.sha256(seed + _bound(league_id, match_id)).hexdigest()


def number(seed: bytes, match_id: str, league_id: str = KIT_LEAGUE) -> int:
    """Return the number from 1 to 10 that this seed gives in the first attempt of a match."""
    place = 0
    while True:
        text = _bound(league_id, match_id) + f"|{place}".encode()
        byte = hmac.digest(seed, text, "sha256")[0]
        if byte < FAIR_BELOW:
            return byte % HIGHEST + 1
        place += 1


def _bound(league_id: str, match_id: str) -> bytes:
    return f"{league_id}|{match_id}|1".encode()
