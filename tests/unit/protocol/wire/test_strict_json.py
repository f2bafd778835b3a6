"""The strict gate: what two parsers might read differently is refused with E034."""

from __future__ import annotations

import json

import pytest

from league.protocol.errors import PeerError
from league.protocol.wire.strict_json import MAX_DEPTH, parse


def refusal(raw: bytes) -> PeerError:
    with pytest.raises(PeerError) as caught:
        parse(raw)
    assert caught.value.code == "E034"
    return caught.value


@pytest.mark.parametrize(
    "raw",
    [
        b"null",
        b" \t\r\n[1, -2.5e3, true, false, null] ",
        b'"caf\xc3\xa9 \xf0\x9f\x8e\xb2"',
        rb'"\ud83c\udfb2 \u00e9 \n \\u0000 \" \/"',
        b'{"a": {"a": [{"a": 1}, {"a": 1}]}}',
        b"9223372036854775807",
        b"-9223372036854775808",
        b"0.12345678901234567890123456789",
        b"1e308",
        b"-0",
        b'"12345678901234567890123456789"',
        b"[" * MAX_DEPTH + b"]" * MAX_DEPTH,
        b'["' + b"[{" * 100 + b'"]',
        rb'["\"' + b"[" * 100 + b'"]',
        b'{"' + b"}" * 100 + b'": [[]]}',
    ],
)
def test_right_json_is_read_as_any_parser_reads_it(raw: bytes) -> None:
    assert parse(raw) == json.loads(raw)


@pytest.mark.requirement("JSON.duplicate_keys")
@pytest.mark.parametrize(
    "raw",
    [b'{"a":1,"a":1}', b'{"a":1,"b":2,"a":3}', rb'{"a":1,"\u0061":2}', b'[{"x":[{"a":1,"a":null}]}]', b'{"":1,"":2}'],
)
def test_a_key_that_stands_twice_is_refused(raw: bytes) -> None:
    assert refusal(raw).requirement == "JSON.duplicate_keys"


@pytest.mark.requirement("JSON.syntax")
@pytest.mark.parametrize(
    "raw", [b"", b" ", b"{", b"[1,]", b"{'a':1}", b"01", b".5", b"+1", b"nul", b"[1] [2]", b'"a\nb"', b'"\\x"', b'"']
)
def test_what_is_not_json_is_refused(raw: bytes) -> None:
    assert refusal(raw).requirement == "JSON.syntax"


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b"I play\n  even!", 'not JSON: "I play even!"'),
        (b" \n", "not JSON: the text is empty"),
        (b"{'choice': 'even'}", "not JSON, from character 2 on: \"{'choice': 'even'}\""),
        (b"<html>" + b"x" * 500, 'not JSON: "<html>' + "x" * 73 + '…"'),
        (
            b'{"auth_token": "tok_P01_secretsecretsecret", "a": }',
            'not JSON, from character 51 on: "{"auth_token": "tok_…',
        ),
        (b"\x1b[2J", 'not JSON: "\\x1b[2J"'),
    ],
    ids=["prose", "nothing", "python", "long", "a token", "control characters"],
)
def test_a_text_that_is_not_json_is_quoted_and_no_parser_is(raw: bytes, detail: str) -> None:
    assert refusal(raw).detail.startswith(detail)
    assert "secretsecret" not in refusal(raw).detail


@pytest.mark.requirement("JSON.syntax")
@pytest.mark.parametrize("raw", [b"NaN", b"[Infinity]", b'{"a":-Infinity}'])
def test_numbers_that_are_none_are_refused(raw: bytes) -> None:
    assert refusal(raw).requirement == "JSON.syntax"


@pytest.mark.requirement("JSON.large_numbers")
@pytest.mark.parametrize(
    "raw", [b"9223372036854775808", b"-9223372036854775809", b"1" * 5000, b"1e999", b"[-1e400]", b"1" * 400 + b".5"]
)
def test_numbers_beyond_64_bits_and_beyond_doubles_are_refused(raw: bytes) -> None:
    assert refusal(raw).requirement == "JSON.large_numbers"


@pytest.mark.requirement("JSON.nul")
@pytest.mark.parametrize("raw", [rb'"\u0000"', rb'{"\u0000":1}', rb'[["a\u0000b"]]'])
def test_nul_is_refused_wherever_it_stands(raw: bytes) -> None:
    assert refusal(raw).requirement == "JSON.nul"


@pytest.mark.requirement("JSON.surrogates")
@pytest.mark.parametrize("raw", [rb'"\ud800"', rb'"\udfff"', rb'"\udc00\ud800"', rb'{"\ud800":1}', rb'"\ud800\u0041"'])
def test_half_a_character_is_refused(raw: bytes) -> None:
    assert refusal(raw).requirement == "JSON.surrogates"


@pytest.mark.requirement("JSON.utf8")
@pytest.mark.parametrize(
    "raw",
    [b'"\xff"', b'"caf\xe9"', b'"\xc3"', b'"\xed\xa0\x80"', b'"\xc0\xaf"', "[]".encode("utf-16"), b"\xef\xbb\xbf[]"],
)
def test_what_is_not_plain_utf_8_is_refused(raw: bytes) -> None:
    assert refusal(raw).requirement == "JSON.utf8"


@pytest.mark.requirement("JSON.depth")
@pytest.mark.parametrize(
    "raw",
    [
        b"[" * 17 + b"]" * 17,
        b'{"a":' * 17 + b"1" + b"}" * 17,
        b'[{"a":' * 9 + b"1" + b"}]" * 9,
        b"[1," * 17 + b"1" + b"]" * 17,
        b'["\\"",' * 17 + b"1" + b"]" * 17,
        b'["[",' * 17 + b"1" + b"]" * 17,
        b"[" * 100_000 + b"]" * 100_000,
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
)
def test_seventeen_levels_are_refused_in_any_disguise(raw: bytes) -> None:
    assert refusal(raw).requirement == "JSON.depth"


@pytest.mark.parametrize("raw", [b"]" * 100, b"[}" * 100, b"}{" * 50, b'["' + b"[" * 5000])
def test_brackets_that_do_not_match_are_refused_too(raw: bytes) -> None:
    refusal(raw)
