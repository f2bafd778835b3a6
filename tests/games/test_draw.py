"""Verifiable draws: the promise, the number, and the check anyone can make."""

import hashlib
import hmac
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.games.draw import BOUND, HIGHEST, commitment, number
from tests.support.checked_draws import verify

SEED = bytes(range(32))
MATCH = ("league_2025_even_odd", "R1M1", 1)

seeds = st.binary(min_size=32, max_size=32)
names = st.text(max_size=20)
attempts = st.integers(1, 99)


def bytes_of(seed: bytes, league_id: str, match_id: str, attempt: int, how_many: int) -> list[int]:
    """The rulings' HMAC written out once more, from the definition in RFC 2104."""
    key = seed.ljust(64, b"\0")
    inner, outer = bytes(byte ^ 0x36 for byte in key), bytes(byte ^ 0x5C for byte in key)
    found = []
    for place in range(how_many):
        message = "|".join([league_id, match_id, str(attempt), str(place)]).encode("utf-8")
        found.append(hashlib.sha256(outer + hashlib.sha256(inner + message).digest()).digest()[0])
    return found


def seed_with_refused_first_byte() -> bytes:
    candidates = (hashlib.sha256(b"%d" % place).digest() for place in range(10_000))
    return next(seed for seed in candidates if bytes_of(seed, *MATCH, 1)[0] >= BOUND)


def test_known_draws() -> None:
    assert commitment(SEED, *MATCH) == "c7ece36909797d869269fdb61d34887c5efb9658e220260cab7ca9a505c0d7fd"
    assert [number(SEED, *MATCH, index=index) for index in range(8)] == [10, 4, 1, 1, 9, 2, 4, 8]
    assert number(bytes(32), "l", "m", 2) == 1


@given(seed=seeds, league_id=names, match_id=names, attempt=attempts)
def test_the_promise_is_the_digest_of_seed_and_match(seed: bytes, league_id: str, match_id: str, attempt: int) -> None:
    digest = hashlib.sha256(seed)
    digest.update(league_id.encode() + b"|" + match_id.encode() + b"|" + str(attempt).encode())
    assert commitment(seed, league_id, match_id, attempt) == digest.hexdigest()


@given(seed=seeds, league_id=names, match_id=names, attempt=attempts)
def test_numbers_are_the_usable_bytes_in_order(seed: bytes, league_id: str, match_id: str, attempt: int) -> None:
    usable = [byte for byte in bytes_of(seed, league_id, match_id, attempt, 40) if byte < 250]
    drawn = [number(seed, league_id, match_id, attempt, index) for index in range(10)]
    assert drawn == [byte % 10 + 1 for byte in usable[:10]]
    assert drawn[0] == number(seed, league_id, match_id, attempt)
    assert set(drawn) <= set(range(1, 11))


def test_a_byte_from_250_on_is_passed_over() -> None:
    seed = seed_with_refused_first_byte()
    later = [byte for byte in bytes_of(seed, *MATCH, 40) if byte < 250]
    assert number(seed, *MATCH) == later[0] % 10 + 1


def test_every_number_comes_from_equally_many_bytes() -> None:
    assert set(Counter(byte % HIGHEST for byte in range(BOUND)).values()) == {25}
    assert BOUND + HIGHEST > 256 > BOUND


def test_the_numbers_of_many_matches_are_spread_evenly() -> None:
    seeds_of_matches = (hashlib.sha256(b"%d" % place).digest() for place in range(10_000))
    drawn = Counter(number(seed, *MATCH) for seed in seeds_of_matches)
    # The seeds are fixed, so this is a fact and not a chance; 27.9 is passed by one fair die in a thousand.
    assert sum((drawn[face] - 1000) ** 2 / 1000 for face in range(1, 11)) < 27.9


@given(seed=seeds, league_id=names, match_id=names, attempt=attempts)
def test_a_kept_promise_is_verified(seed: bytes, league_id: str, match_id: str, attempt: int) -> None:
    match = (league_id, match_id, attempt)
    promised, drawn = commitment(seed, *match), number(seed, *match)
    assert verify(promised, seed.hex(), *match)
    assert verify(promised, seed.hex(), *match, drawn=drawn)
    assert not verify(promised, seed.hex(), *match, drawn=drawn % 10 + 1)


@given(seed=seeds, other=seeds)
def test_another_seed_is_not_the_promised_one(seed: bytes, other: bytes) -> None:
    assert verify(commitment(seed, *MATCH), other.hex(), *MATCH) == (seed == other)


@pytest.mark.parametrize("match", [("another", "R1M1", 1), (MATCH[0], "R1M2", 1), (MATCH[0], "R1M1", 2)])
def test_a_promise_holds_for_one_league_match_and_attempt(match: tuple[str, str, int]) -> None:
    assert not verify(commitment(SEED, *MATCH), SEED.hex(), *match)


@pytest.mark.parametrize("shown", ["", "no hex", "00", "ü" * 64, SEED.hex()[:-2], SEED.hex() + "00"])
def test_what_is_no_seed_is_not_the_promised_one(shown: str) -> None:
    assert not verify(commitment(SEED, *MATCH), shown, *MATCH)


@pytest.mark.parametrize("seed", [b"", bytes(31), bytes(33)])
def test_a_seed_of_another_length_is_never_used(seed: bytes) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        commitment(seed, *MATCH)
    with pytest.raises(ValueError, match="32 bytes"):
        number(seed, *MATCH)


def test_the_hmac_of_the_standard_library_agrees_with_the_one_written_out_here() -> None:
    assert bytes_of(SEED, *MATCH, 1) == [hmac.digest(SEED, b"league_2025_even_odd|R1M1|1|0", "sha256")[0]]
