"""Receipts: the specification's example, what a receipt binds, and the one spelling of JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from league.protocol import tokens
from league.protocol.canonical_json import NotCanonicalError, canonical
from league.protocol.receipts import Signed, is_receipt, receipt_key, seen_in, sign, statement

TOKEN = "tok_P01_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
COMMITMENT = "7a1a344ed27df0f0d1bbffe80d5f59996567b66ee8e40781b349d4380ccd4ede"
SIGNED = Signed("spring", "R1M1", 1, "even_odd", "P01", "P02", 1, COMMITMENT)
KEY = receipt_key(tokens.deriver(TOKEN), "P01", "spring", "R1M1", 1)
RECEIPT = "--zxKPbRx26fq7zPn0kQDjmy_c-XQcyuNQD46sCbP1w"


def test_the_example_of_the_specification() -> None:
    assert KEY.hex() == "8bbefca2441a684f1f60f7639ed8af3998b22d2ed873bb81222719b24b09fea4"
    assert statement(SIGNED, "even").decode() == (
        f"league.v2 receipt|spring|R1M1|1|even_odd|P01|P02|1|{COMMITMENT}|-|even"
    )
    assert sign(KEY, SIGNED, "even") == RECEIPT
    assert is_receipt(RECEIPT, [bytes(32), KEY], SIGNED, "even")


@pytest.mark.parametrize(
    "change",
    [
        {"league_id": "autumn"},
        {"match_id": "R1M2"},
        {"attempt": 2},
        {"game_type": "chess"},
        {"player_id": "P03"},
        {"opponent_id": "P03"},
        {"turn": 2},
        {"draw_commitment": "0" * 64},
        {"draw_commitment": ""},
        {"seen": "0" * 64},
    ],
    ids=str,
)
def test_a_receipt_binds_everything(change: dict[str, Any]) -> None:
    assert not is_receipt(RECEIPT, [KEY], structs.replace(SIGNED, **change), "even")


def test_a_receipt_binds_the_choice_and_the_key() -> None:
    assert not is_receipt(RECEIPT, [KEY], SIGNED, "odd")
    assert not is_receipt(RECEIPT, [], SIGNED, "even")
    for other in ("P02|spring|R1M1|1", "P01|spring|R1M1|2", "P01|spring|R1M2|1", "P01|autumn|R1M1|1"):
        player_id, league_id, match_id, attempt = other.split("|")
        key = receipt_key(tokens.deriver(TOKEN), player_id, league_id, match_id, int(attempt))
        assert not is_receipt(RECEIPT, [key], SIGNED, "even")


@pytest.mark.parametrize("receipt", [None, 7, "", "é", RECEIPT + "=", RECEIPT.upper(), [RECEIPT]])
def test_anything_else_is_no_receipt(receipt: object) -> None:
    assert not is_receipt(receipt, [KEY], SIGNED, "even")


def test_a_choice_may_contain_anything() -> None:
    assert sign(KEY, SIGNED, "a|b") != sign(KEY, SIGNED, "b")
    assert statement(SIGNED, "ö|☃").endswith("|-|ö|☃".encode())


def test_what_was_seen() -> None:
    assert seen_in(None) == "-"
    assert seen_in({"context": {"cards": [float("nan")]}}) == "-"
    assert seen_in({"b": 1, "a": []}) == seen_in({"a": [], "b": 1.0})
    assert len(seen_in({})) == 64


# The table of RFC 8785, appendix B, and its example of sorted names.
@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (5e-324, "5e-324"),
        (-1.7976931348623157e308, "-1.7976931348623157e+308"),
        (9007199254740992.0, "9007199254740992"),
        (295147905179352830000.0, "295147905179352830000"),
        (9.999999999999997e22, "9.999999999999997e+22"),
        (1e23, "1e+23"),
        (999999999999999700000.0, "999999999999999700000"),
        (1e21, "1e+21"),
        (9.999999999999997e-7, "9.999999999999997e-7"),
        (0.000001, "0.000001"),
        (333333333.33333329, "333333333.3333333"),
        (-0.0000033333333333333333, "-0.0000033333333333333333"),
        (1424953923781206.2, "1424953923781206.2"),
        (12, "12"),
    ],
)
def test_numbers_are_written_as_javascript_writes_them(number: float, text: str) -> None:
    assert canonical(number).decode() == text


def test_names_are_sorted_by_their_utf_16_units() -> None:
    names = ["€", "\r", "\ufb33", "1", "😀", "\u0080", "ö"]
    expected = ["\r", "1", "\u0080", "ö", "€", "😀", "\ufb33"]
    assert list(json.loads(canonical(dict.fromkeys(names, 1)))) == expected


def test_texts_are_escaped_as_little_as_possible() -> None:
    assert canonical('€$\u000f\nA\'B"\\\\"/\x7f').decode() == '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/\x7f"'


@pytest.mark.parametrize(
    "value",
    [float("inf"), 2**53 + 1, {1}, {"a": {"b": [object()]}}],
    ids=["infinite", "too large", "a set", "an object"],
)
def test_some_values_have_no_canonical_form(value: object) -> None:
    with pytest.raises(NotCanonicalError):
        canonical(value)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(value=values)
def test_what_was_written_reads_as_the_same_value(value: object) -> None:
    assert json.loads(canonical(value)) == value
    assert canonical(json.loads(canonical(value))) == canonical(value)
