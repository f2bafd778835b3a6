"""Draws that anyone can check: a seed is promised before the players choose and revealed after the match.

Theory of operation. For each attempt at a match the referee draws a secret seed. GAME_INVITATION carries its
commitment, a hash that fixes the seed without revealing it. When the players have chosen, the numbers follow from the
seed alone (`number`, `event`). GAME_OVER reveals the seed, and anyone can check two things: the seed fits the
commitment (`opened`), and the seed gives the numbers (`proves_all`).

So the referee cannot pick a number after it saw the choices. What the promise does not show: that the referee kept the
seed to itself, and that it did not abandon an earlier attempt to draw again.

Draws are shared (`shared.v2`, spec section 12.1), unless a third-party referee cannot: the manager promises a share of
its own before the invitation, the referee's commitment contains that promise, and the numbers follow from seed and
share together (`mixed`). The manager reveals its share only when it holds the choices so far and the seed. So nobody,
not even the referee, knows the first number of a match before that, and nobody can choose it.

League, match and attempt are part of both hashes. A seed must never be used for two attempts: after the first, the
players know it.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Final

from league.games.contract import ChanceStep
from league.protocol.signing.tokens import hmac_sha256

SEED_BYTES: Final = 32
HIGHEST: Final = 10
# The largest multiple of HIGHEST that fits into a byte: larger bytes would favour the numbers 1 to 6.
BOUND: Final = 250
_HASHES: Final = 2**256


@lru_cache(maxsize=256)
def commitment(seed: bytes, league_id: str, match_id: str, attempt: int, share_commitment: str = "") -> str:
    """`draw_commitment` of GAME_INVITATION: both players get the same one. The manager promises its share so, too."""
    if len(seed) != SEED_BYTES:
        raise _wrong_length(seed)
    bound = f"{league_id}|{match_id}|{attempt}"
    if share_commitment:
        bound += f"|{share_commitment}"
    return hashlib.sha256(seed + bound.encode()).hexdigest()


def mixed(seed: bytes, share: bytes) -> bytes:
    """What takes the place of the seed in a shared draw."""
    return hashlib.sha256(seed + share).digest()


def opened(
    seed_hex: str,
    share_hex: str | None,
    share_commitment: str,
    promised: str,
    league_id: str,
    match_id: str,
    attempt: int,
) -> bytes | None:
    """Return the seed from which the numbers follow; None unless seed and share are the promised ones."""
    try:
        seed = bytes.fromhex(seed_hex)
        if promised != commitment(seed, league_id, match_id, attempt, share_commitment):
            return None
        if not share_commitment:
            return seed
        share = bytes.fromhex(share_hex or "")
        if share_commitment != commitment(share, league_id, match_id, attempt):
            return None
    except ValueError:
        return None
    return mixed(seed, share)


@lru_cache(maxsize=256)
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
        byte = hmac_sha256(seed, f"{league_id}|{match_id}|{attempt}|{place}".encode())[0]
        if byte < BOUND:
            if index == 0:
                return byte % HIGHEST + 1
            index -= 1
        place += 1


def event(
    seed: bytes,
    league_id: str,
    match_id: str,
    attempt: int,
    index: int,
    weights: Sequence[int],
) -> int:
    """The number of the event that chance step `index` draws, from 0. Without weights, a number from 1 to 10.

    The hash is a number of 256 bits. It is taken modulo the sum of the weights, and falls into one of the events. If it
    is in the last, incomplete stretch of that length, which would favour the first events, the next try counts.
    """
    if not weights:
        return number(seed, league_id, match_id, attempt, index)
    if len(seed) != SEED_BYTES:
        raise _wrong_length(seed)
    total = sum(weights)
    if total <= 0 or min(weights) < 0:
        raise ValueError(f"weights are whole numbers from 0, not all of them 0: {tuple(weights)}")
    bound = _HASHES - _HASHES % total
    tries = 0
    while True:
        text = f"{league_id}|{match_id}|{attempt}|event|{index}|{tries}"
        drawn = int.from_bytes(hmac_sha256(seed, text.encode()), "big")
        if drawn < bound:
            break
        tries += 1
    place = drawn % total
    return next(number for number, end in enumerate(accumulate(weights)) if place < end)


def proves_all(
    seed_hex: object,
    share_hex: object,
    league_id: str,
    match_id: str,
    attempt: int,
    steps: Sequence[ChanceStep],
) -> bool:
    """Whether a reported seed, with the manager's share if there is one, gives every draw of a match, in order."""
    if not steps:
        return True
    seed = _read(seed_hex)
    if seed is None:
        return False
    share = _read(share_hex)
    if share is not None:
        seed = mixed(seed, share)
    return all(
        event(seed, league_id, match_id, attempt, index, step.weights) == step.number
        for index, step in enumerate(steps)
    )


def _read(seed_hex: object) -> bytes | None:
    """A reported seed, if it is one."""
    if not isinstance(seed_hex, str):
        return None
    try:
        seed = bytes.fromhex(seed_hex)
    except ValueError:
        return None
    return seed if len(seed) == SEED_BYTES else None


def _wrong_length(seed: bytes) -> ValueError:
    return ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
