"""Whatever comes in, the codec answers with a message or an error of the catalogue; what goes out is read back."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import inspect as ms

from league.features.kit.message_verdicts import judge
from league.protocol import timestamps
from league.protocol.errors import ERRORS, Family, PeerError
from league.protocol.message import envelope
from league.protocol.message.envelope import STRICT, Reading, Unsealed, unseal
from league.protocol.message.exchanges import EXCHANGES, Role, speakers
from league.protocol.message.fields import QUERY_TYPES
from league.protocol.message.judge import peel, specs
from league.protocol.message.messages import MESSAGES, Message
from league.protocol.wire import strict_json
from league.protocol.wire.jsonrpc import (
    MANAGER_LIMIT,
    BadRequestError,
    RpcAnswer,
    decode_answer,
    decode_call,
    encode_body,
    encode_call,
    encode_error,
    encode_result,
    read_call,
)
from league.protocol.wire.strict_json import MAX_DEPTH, parse
from tests.support.examples import examples
from tests.support.vectors import raw_of, vectors

COMPAT = Reading("compat")
READINGS = (STRICT, COMPAT)
Fields = dict[str, Any]
T = TypeVar("T")
TYPES = pytest.mark.parametrize("message_type", MESSAGES)

# --- messages, built from their classes -------------------------------------------------------------------------------

INT64 = st.integers(-(2**63), 2**63 - 1)
LETTERS = st.characters(codec="utf-8", exclude_characters="\0")
TEXT = st.text(LETTERS, min_size=1, max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | INT64 | st.floats(allow_nan=False, allow_infinity=False) | st.text(LETTERS, max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
TIMES = st.floats(0, 4e9).map(timestamps.write) | st.sampled_from(("2025-01-15T10:30:00.5+00:00", "20240229T10:30:00Z"))
VERSIONS = st.tuples(*[st.integers(0, 99)] * 3).map(lambda parts: ".".join(map(str, parts)))
NAMES = st.text(st.characters(categories=("L", "N", "P")), min_size=1, max_size=50)
URLS = st.builds(
    "http://{}:{}/{}".format, st.from_regex("[a-z]{1,9}", fullmatch=True), st.integers(1, 65535), NAMES.map(len)
)

BY_RULE: dict[str, st.SearchStrategy[str]] = {
    "timestamp": TIMES,
    "reply_timestamp": TIMES,
    "sender": TEXT,  # replaced: it depends on the message
    "reply_sender": TEXT,  # likewise
    "semver": VERSIONS,
    "protocol_version": VERSIONS.map(lambda version: f"2.{version.partition('.')[2]}"),
    "display_name": NAMES,
    "url": URLS,
    "query_type": st.sampled_from(QUERY_TYPES),
    "player_id": st.integers(0, 999).map("P{:02}".format),
    "referee_id": st.integers(0, 999).map("REF{:02}".format),
    "token": TEXT,
    "error_code": st.integers(0, 999).map("E{:03}".format),
}


def _values(info: ms.Type, rule: str | None = None) -> st.SearchStrategy[Any]:
    """Values a field of this type may have."""
    if rule is not None:
        return BY_RULE[rule]
    return BY_TYPE[type(info)](info) if type(info) in BY_TYPE else JSON


def _inner(info: ms.Type) -> st.SearchStrategy[Any]:
    bare, extra, _ = peel(info)
    return _values(bare, extra.get("rule"))


@cache
def _objects(cls: type) -> st.SearchStrategy[Fields]:
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for spec in specs(cls):
        values = _values(spec.type, spec.rule)
        may_be_null = spec.nullable and not spec.needed
        into = required if spec.required or spec.needed else optional
        into[spec.name] = st.none() | values if may_be_null else values
    return st.fixed_dictionaries(required, optional=optional)


BY_TYPE: dict[type[ms.Type], Callable[[Any], st.SearchStrategy[Any]]] = {
    ms.StrType: lambda info: st.from_regex(info.pattern, fullmatch=True) if info.pattern else TEXT,
    ms.IntType: lambda info: st.integers(info.ge, info.le),
    ms.FloatType: lambda info: st.floats(info.ge, 1e9) | st.integers(0, 1000),
    ms.BoolType: lambda _: st.booleans(),
    ms.LiteralType: lambda info: st.sampled_from(info.values),
    ms.ListType: lambda info: st.lists(_inner(info.item_type), min_size=info.min_length or 0, max_size=3),
    ms.DictType: lambda info: st.dictionaries(TEXT, _inner(info.value_type), max_size=3),
    ms.StructType: lambda info: _objects(info.cls),
}


def _agree(message_type: str, content: Fields) -> Fields:
    """Make the clauses about several fields true."""
    change = AGREEING.get(message_type)
    if change:
        change(content)
    return content


def _accepted(id_field: str, prefix: str) -> Callable[[Fields], None]:
    def change(content: Fields) -> None:
        if content["status"] == "ACCEPTED":
            content[id_field] = f"{prefix}01"

    return change


def _different_players(content: Fields) -> None:
    for place, match in enumerate(content["matches"]):
        match["player_A_id"], match["player_B_id"] = f"P{place}A", f"P{place}B"


def _no_parity_game(content: Fields) -> None:
    content["game_type"] = "hex"


def _with_winner(content: Fields) -> None:
    _no_parity_game(content)
    content["game_result"]["winner_player_id"] = "P01"


def _few_matches(content: Fields) -> None:
    if content["referee_meta"].get("max_concurrent_matches"):
        content["referee_meta"]["max_concurrent_matches"] %= 10
        content["referee_meta"]["max_concurrent_matches"] += 1


AGREEING: dict[str, Callable[[Fields], None]] = {
    "REFEREE_REGISTER_REQUEST": _few_matches,
    "REFEREE_REGISTER_RESPONSE": _accepted("referee_id", "REF"),
    "LEAGUE_REGISTER_RESPONSE": _accepted("player_id", "P"),
    "ROUND_ANNOUNCEMENT": _different_players,
    "ROUND_COMPLETED": lambda content: content.update(matches_completed=1),
    "GAME_OVER": _with_winner,
    "MATCH_RESULT_REPORT": _no_parity_game,
    "LEAGUE_QUERY": lambda content: content.update(query_params={"player_id": "P01"}),
    "LEAGUE_QUERY_RESPONSE": lambda content: content.update(success=None),
}


@cache
def messages(message_type: str) -> st.SearchStrategy[Fields]:
    """Right messages of this type, as parsed JSON."""
    senders = [role.value if role is Role.MANAGER else f"{role.value}:X1" for role in speakers(message_type)]
    return st.builds(
        lambda content, sender: _agree(message_type, {**content, "message_type": message_type, "sender": sender}),
        _objects(MESSAGES[message_type]).map(copy.deepcopy),
        st.sampled_from(senders),
    )


ANY_MESSAGE = st.sampled_from(sorted(MESSAGES)).flatmap(messages)


# --- what is written is read back -------------------------------------------------------------------------------------


@TYPES
@given(data=st.data())
@examples(25)
def test_what_is_written_is_read_back_equal(message_type: str, data: st.DataObject) -> None:
    content = data.draw(messages(message_type))
    message = unseal(content).open()
    assert type(message) is MESSAGES[message_type]
    body = encode_body(message)
    assert unseal(parse(body)).message == message
    answer = decode_answer(encode_result(1, message), MANAGER_LIMIT)
    assert unseal(answer.content).message == message


@given(content=st.sampled_from(sorted(EXCHANGES)).flatmap(messages), number=st.integers(0, 2**31))
@examples(100)
def test_a_written_call_is_read_back_equal(content: Fields, number: int) -> None:
    message = unseal(content).open()
    raw = encode_call(number, EXCHANGES[message.type].method, encode_body(message))
    call = decode_call(raw, MANAGER_LIMIT)
    assert call.id == number
    assert read_call(call, STRICT).message == message


@given(
    content=messages("LEAGUE_ERROR"), code=st.sampled_from(sorted(ERRORS)), family=st.sampled_from(Family), number=INT64
)
@examples(50)
def test_a_written_error_is_read_back_equal(content: Fields, code: str, family: Family, number: int) -> None:
    message = unseal(content).open()
    answer = decode_answer(encode_error(number, code, family, message), MANAGER_LIMIT)
    assert (answer.is_error, answer.number) == (True, ERRORS[code].number(family))
    assert unseal(answer.content).message == message


# --- whatever comes in ------------------------------------------------------------------------------------------------

RAWS = [raw for raw in map(raw_of, vectors("valid") + vectors("invalid")) if len(raw) < 5000]
WORDS = rb"""{ } [ ] " , : \ \u0000 \ud800 NaN 1e999 null true 1 - 0 99999999999999999999 "message_type" "GAME_OVER"
    "jsonrpc" "2.0" "id" "method" "params" "result" "error" """
BITS = st.sampled_from([b" ", b"\n", b"\xff", b"\xef\xbb\xbf", *WORDS.split()])


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A document with a few bytes cut out and others put in."""
    raw = draw(st.sampled_from(RAWS))
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(raw)))
        end = draw(st.integers(start, min(len(raw), start + 20)))
        raw = raw[:start] + draw(BITS | st.binary(max_size=4)) + raw[end:]
    return raw


ANY_BYTES = st.binary(max_size=200) | st.lists(BITS, max_size=60).map(b"".join) | damaged()


def _refused(reader: Callable[[bytes], T], raw: bytes) -> T | PeerError:
    """What the reader makes of the bytes, or the error it refuses them with."""
    try:
        return reader(raw)
    except BadRequestError as bad:
        return bad.error
    except PeerError as error:
        return error


@given(raw=ANY_BYTES)
@examples(600)
def test_any_bytes_are_a_call_or_an_error_of_the_catalogue(raw: bytes) -> None:
    found = _refused(decode_call, raw)
    if isinstance(found, PeerError):
        assert found.code in ("E034", "E035")
        return
    for reading in READINGS:
        for role in (None, *Role):
            unsealed = read_call(found, reading, role)
            assert (unsealed.message is None) == bool(unsealed.violations)
            assert {one.code for one in unsealed.violations} <= set(ERRORS)


@given(raw=ANY_BYTES)
@examples(300)
def test_any_bytes_are_an_answer_or_an_error_of_the_catalogue(raw: bytes) -> None:
    found = _refused(decode_answer, raw)
    assert isinstance(found, RpcAnswer) or found.code in ("E034", "E035")


@given(raw=ANY_BYTES, reading=st.sampled_from(READINGS))
@examples(300)
def test_any_bytes_can_be_judged(raw: bytes, reading: Reading) -> None:
    judgement = judge(raw, reading)
    assert {one.code for one in judgement.violations} <= set(ERRORS)
    assert all(one.requirement and one.detail for one in judgement.violations)


@given(size=st.integers(10_241, 2_000_000))
@examples(20)
def test_too_many_bytes_are_too_many_whatever_they_are(size: int) -> None:
    with pytest.raises(BadRequestError) as caught:
        decode_call(b"[" * size)
    assert caught.value.error.code == "E037"


# --- right, wrong, and in between -------------------------------------------------------------------------------------


ODD = st.sampled_from(("", 0, 1.0, True, None, "20250115T103000Z", "P01", "players:P01", 2**31, "\u202e"))


def _mutate(draw: st.DrawFn, content: Fields) -> None:
    place: Any = content
    while True:
        names: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not names:
            return
        name = draw(st.sampled_from(names))
        if not isinstance(place[name], dict | list) or draw(st.booleans()):
            break
        place = place[name]
    if isinstance(place, dict) and draw(st.booleans()):
        del place[name]
    else:
        place[name] = draw(ODD | JSON)


@st.composite
def mutated(draw: st.DrawFn) -> Fields:
    """A right message in which a few things were replaced, taken away or added."""
    content = copy.deepcopy(draw(ANY_MESSAGE))
    for _ in range(draw(st.integers(1, 3))):
        _mutate(draw, content)
    return content


def _by_the_walk(content: Fields, reading: Reading) -> Unsealed:
    cls = MESSAGES.get(content["message_type"]) if isinstance(content.get("message_type"), str) else None
    return envelope._slowly(cls, content, reading, ())


@given(content=mutated(), reading=st.sampled_from(READINGS))
@examples(600)
def test_the_quick_path_takes_exactly_what_the_walk_finds_nothing_wrong_with(content: Fields, reading: Reading) -> None:
    walked = _by_the_walk(content, reading)
    kind = content.get("message_type")
    cls: type[Message] | None = MESSAGES.get(kind) if isinstance(kind, str) else None
    quick = None if cls is None else envelope._quickly(cls, content, reading)
    assert (quick is not None) == (not walked.violations and not walked.deviations)
    if quick is not None:
        assert quick == walked


@given(content=mutated())
@examples(400)
def test_a_mutated_message_is_read_or_refused_with_reasons(content: Fields) -> None:
    for reading in READINGS:
        unsealed = unseal(content, reading)
        assert (unsealed.message is None) == bool(unsealed.violations)
        assert [one.stage for one in unsealed.violations if one.code == "E038"] == [
            one.stage for one in unsealed.violations[:1] if one.code == "E038"
        ]


@given(content=mutated())
@examples(400)
def test_compat_takes_all_that_strict_takes(content: Fields) -> None:
    strict, compat = unseal(content, STRICT), unseal(content, COMPAT)
    if strict.message is not None:
        assert (compat.message, compat.deviations) == (strict.message, ())
    else:
        assert {one.code for one in compat.violations} <= {one.code for one in strict.violations}


@given(content=ANY_MESSAGE, extra=st.dictionaries(TEXT.map("x-{}".format), JSON, max_size=3))
@examples(100)
def test_unknown_fields_change_nothing(content: Fields, extra: Fields) -> None:
    assert unseal({**extra, **content}).message == unseal(content).message is not None


@TYPES
@given(data=st.data())
@examples(10)
def test_a_null_for_an_optional_field_changes_nothing(message_type: str, data: st.DataObject) -> None:
    content = data.draw(messages(message_type))
    optional = [spec.name for spec in specs(MESSAGES[message_type]) if not spec.required and not spec.needed]
    absent = [name for name in optional if name not in content]
    with_nulls = {**content, **dict.fromkeys(absent)}
    assert unseal(with_nulls).violations == ()


# --- the strict gate --------------------------------------------------------------------------------------------------


def _depth(value: object) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


@given(value=JSON, indent=st.sampled_from((None, 1)), ascii_only=st.booleans())
@examples(300)
def test_the_gate_reads_right_json_as_any_parser_does(value: object, indent: int | None, ascii_only: bool) -> None:
    raw = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode()
    assert parse(raw) == json.loads(raw)


@given(raw=ANY_BYTES)
@examples(400)
def test_what_the_gate_takes_any_parser_reads_alike(raw: bytes) -> None:
    value = _refused(parse, raw)
    if isinstance(value, PeerError):
        assert value.code == "E034"
        return
    assert value == json.loads(raw)
    assert value == msgspec.json.decode(raw)
    assert _depth(value) <= MAX_DEPTH


_TWICE = st.tuples(st.sampled_from(("a", "b", "é")), st.sampled_from(('"a"', "1", "[]", '{"a":1}', "1.5e3", "null")))
NEARLY_RIGHT = st.lists(_TWICE, max_size=4).map(lambda some: ",".join(f'"{key}":{value}' for key, value in some))


@given(raw=st.one_of(ANY_BYTES, NEARLY_RIGHT.map("{{{}}}".format).map(str.encode)))
@examples(600)
def test_what_the_gate_reads_quickly_it_would_read_carefully_alike(raw: bytes) -> None:
    quickly = strict_json.quickly(raw)
    if quickly is not strict_json.IN_DOUBT:
        assert repr(strict_json.carefully(raw)) == repr(quickly)


@given(opening=st.text("[{", min_size=1, max_size=40), word=st.sampled_from(("", "[", '{"', "\\", "]}", '\\"')))
@examples(300)
def test_the_gate_counts_levels_whatever_is_in_the_strings(opening: str, word: str) -> None:
    value: object = word
    for bracket in reversed(opening):
        value = [word, value] if bracket == "[" else {f"{word}!": word, word: value}
    raw = json.dumps(value).encode()
    if len(opening) <= MAX_DEPTH:
        assert parse(raw) == value
    else:
        with pytest.raises(PeerError) as caught:
            parse(raw)
        assert caught.value.requirement == "JSON.depth"
