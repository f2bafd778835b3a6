"""Draws anyone can check: a seed promised before the players choose and shown when the match is over.

The promise binds the referee to every number of this match and attempt. It does not prove that the referee
kept the seed to itself, nor that it did not give up an earlier attempt to draw again.
"""

import hashlib
import hmac
from functools import lru_cache
from typing import Final

SEED_BYTES: Final = 32
HIGHEST: Final = 10
# The largest multiple of HIGHEST that a byte can stay below: a byte from 250 on would favour 1 to 6.
BOUND: Final = 250


@lru_cache(maxsize=256)
def commitment(seed: bytes, league_id: str, match_id: str, attempt: int) -> str:
    """`draw_commitment` of GAME_INVITATION: both players get the same."""
    if len(seed) != SEED_BYTES:
        raise _wrong(seed)
    return hashlib.sha256(seed + f"{league_id}|{match_id}|{attempt}".encode()).hexdigest()


def number(seed: bytes, league_id: str, match_id: str, attempt: int, index: int = 0) -> int:
    """The number drawn, 1 to 10.

    `index` counts the chance steps of a match from 0: the first usable byte gives the number of the first,
    the next usable one that of the second, and so on.
    """
    if len(seed) != SEED_BYTES:
        raise _wrong(seed)
    place = 0
    while True:
        byte = hmac.digest(seed, f"{league_id}|{match_id}|{attempt}|{place}".encode(), "sha256")[0]
        if byte < BOUND and not index:
            return byte % HIGHEST + 1
        index -= byte < BOUND
        place += 1


def verify(promised: str, seed_hex: str, league_id: str, match_id: str, attempt: int, drawn: int | None = None) -> bool:
    """Whether this seed is the promised one and, when a number was drawn, gives that number."""
    try:
        seed = bytes.fromhex(seed_hex)
        kept = promised == commitment(seed, league_id, match_id, attempt)
    except ValueError:
        return False
    return kept and drawn in (None, number(seed, league_id, match_id, attempt))


def proves(seed_hex: object, league_id: str, match_id: str, attempt: int, drawn: int | None) -> bool:
    """Does this seed, as it was reported, give the number that was drawn? If none was, it only has to be there."""
    try:
        seed = bytes.fromhex(seed_hex) if isinstance(seed_hex, str) else b""
        return len(seed) == SEED_BYTES and drawn in (None, number(seed, league_id, match_id, attempt))
    except ValueError:
        return False


def _wrong(seed: bytes) -> ValueError:
    return ValueError(f"a seed is {SEED_BYTES} bytes, not {len(seed)}")
