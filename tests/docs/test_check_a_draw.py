"""The code on the page "Check a draw" runs as printed and agrees with the referee."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.games.draw import commitment, number

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


def test_the_check_takes_ten_lines() -> None:
    assert len([line for line in blocks()[0].splitlines() if line]) <= 10


@given(seed=seeds, attempt=st.integers(1, 9))
def test_the_printed_check_finds_every_draw_of_ours_right(seed: bytes, attempt: int) -> None:
    match = (*MATCH[:2], attempt)
    for drawn in (number(seed, *match), None):
        assert CHECK(*match, commitment(seed, *match), seed.hex(), drawn) == "right"


@given(seed=seeds, shift=st.integers(1, 9))
def test_the_printed_check_finds_every_other_number_wrong(seed: bytes, shift: int) -> None:
    drawn = (number(seed, *MATCH) - 1 + shift) % 10 + 1
    assert CHECK(*MATCH, commitment(seed, *MATCH), seed.hex(), drawn) == "the seed gives another number"


@given(seed=seeds, attempt=st.integers(2, 9))
def test_the_printed_check_finds_a_changed_seed_or_attempt_wrong(seed: bytes, attempt: int) -> None:
    promised, told = commitment(seed, *MATCH), "this is not the seed the referee promised"
    another = bytes([seed[0] ^ 1]) + seed[1:]
    assert CHECK(*MATCH, promised, another.hex(), None) == told
    assert CHECK(*MATCH[:2], attempt, promised, seed.hex(), None) == told


CHECK = printed_check()
