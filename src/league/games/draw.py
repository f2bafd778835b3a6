"""Draws that anyone can check: a seed is promised before the players choose and revealed after the match.

Theory of operation. For each attempt at a match the referee draws a secret seed. GAME_INVITATION carries its
commitment, a hash that fixes the seed without revealing it. When the players have chosen, the numbers follow from the
seed alone (`number`). GAME_OVER reveals the seed, and anyone can check two things: the seed fits the commitment, and
the seed gives the number (`verify`).

So the referee cannot pick a number after it saw the choices. What the promise does not show: that the referee kept the
seed to itself, and that it did not abandon an earlier attempt to draw again.

League, match and attempt are part of both hashes. A seed must never be used for two attempts: after the first, the
players know it.
"""

import hashlib
import hmac
from functools import lru_cache
from typing import Final

SEED_BYTES: Final = 32
HIGHEST: Final = 10
# The largest multiple of HIGHEST that fits into a byte: larger bytes would favour the numbers 1 to 6.
BOUND: Final = 250


@lru_cache(maxsize=256)
def commitment(seed: bytes, league_id: str, match_id: str, attempt: int) -> str:
    """`draw_commitment` of GAME_INVITATION: both players get the same one."""
    if len(seed) != SEED_BYTES:
        raise _wrong_length(seed)
    return hashlib.sha256(seed + f"{league_id}|{match_id}|{attempt}".encode()).hexdigest()


def number(
    seed: bytes,
    league_id: str,
    match_id: str,
    attempt: int,
    index: int = 0,
) -> int:
    """The number drawn, from 1 to 10.

    `index` counts the chance steps of a match from 0: the first usable byte gives the number of the first step,
    the next usable byte the number of the second step, and so on.
    """
    if len(seed) != SEED_BYTES:
        raise _wrong_length(seed)
    place = 0
    while True:
        byte = hmac.digest(seed, f"{league_id}|{match_id}|{attempt}|{place}".encode(), "sha256")[0]
        if byte < BOUND:
            if index == 0:
                return byte % HIGHEST + 1
            index -= 1
        place += 1


def verify(
    promised: str,
    seed_hex: str,
    league_id: str,
    match_id: str,
    attempt: int,
    drawn: int | None = None,
) -> bool:
    """Whether this seed is the promised one and, when a number was drawn, gives that number."""
    try:
        seed = bytes.fromhex(seed_hex)
        if promised != commitment(seed, league_id, match_id, attempt):
            return False
    except ValueError:
        return False
    return drawn is None or drawn == number(seed, league_id, match_id, attempt)


def proves(
    seed_hex: object,
    league_id: str,
    match_id: str,
    attempt: int,
    drawn: int | None,
) -> bool:
    """Whether a reported seed gives the number that was drawn. Without a number, any valid seed will do."""
    if not isinstance(seed_hex, str):
        return False
    try:
        seed = bytes.fromhex(seed_hex)
    except ValueError:
        return False
    if len(seed) != SEED_BYTES:
        return False
    return drawn is None or drawn == number(seed, league_id, match_id, attempt)


def _wrong_length(seed: bytes) -> ValueError:
    return ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
