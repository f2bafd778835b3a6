"""The code on the page "Check a draw" runs as printed and agrees with the referee."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.games.draw import commitment, mixed, number

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "check-a-draw.md"
MATCH = ("league_2025_even_odd", "R1M1", 1)

seeds = st.binary(min_size=32, max_size=32)


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def printed_check() -> Callable[..., str]:
    names: dict[str, object] = {}
    exec(blocks()[0], names)
    check = names["check"]
    assert callable(check)
    return check


def test_the_example_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    exec("\n".join(blocks()), {})
    printed = capsys.readouterr().out.strip()
    assert printed == "right"
    assert f"It prints `{printed}`." in PAGE.read_text(encoding="utf-8")


def test_the_check_takes_a_dozen_lines() -> None:
    assert len([line for line in blocks()[0].splitlines() if line]) <= 12


def promises(seed: bytes, share: bytes, attempt: int = 1) -> tuple[str, str]:
    """The commitments of the referee and of the manager."""
    match = (*MATCH[:2], attempt)
    of_share = commitment(share, *match)
    return commitment(seed, *match, of_share), of_share


@given(seed=seeds, share=seeds, attempt=st.integers(1, 9))
def test_the_printed_check_finds_every_draw_of_ours_right(seed: bytes, share: bytes, attempt: int) -> None:
    match = (*MATCH[:2], attempt)
    drawn = number(mixed(seed, share), *match)
    assert CHECK(match, *promises(seed, share, attempt), seed.hex(), share.hex(), drawn) == "right"


@given(seed=seeds, share=seeds, shift=st.integers(1, 9))
def test_the_printed_check_finds_every_other_number_wrong(seed: bytes, share: bytes, shift: int) -> None:
    drawn = (number(mixed(seed, share), *MATCH) - 1 + shift) % 10 + 1
    told = "seed and share give another number"
    assert CHECK(MATCH, *promises(seed, share), seed.hex(), share.hex(), drawn) == told


@given(seed=seeds, share=seeds, attempt=st.integers(2, 9))
def test_the_printed_check_finds_a_changed_seed_share_or_attempt_wrong(seed: bytes, share: bytes, attempt: int) -> None:
    promised = promises(seed, share)
    another_seed = bytes([seed[0] ^ 1]) + seed[1:]
    another_share = bytes([share[0] ^ 1]) + share[1:]
    assert "seed" in CHECK(MATCH, *promised, another_seed.hex(), share.hex(), None)
    told = "this is not the share that the manager promised"
    assert CHECK(MATCH, *promised, seed.hex(), another_share.hex(), None) == told
    assert CHECK((*MATCH[:2], attempt), *promised, seed.hex(), share.hex(), None) == told


CHECK = printed_check()
