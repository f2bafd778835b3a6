"""The quick way to read takes what our own agents write, and reads whatever it takes as the general way does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league import letters
from league.gateway.readers.foreign_assignments import is_answered_freely
from league.letters import Asked, Speaker
from league.machine import Ping
from league.protocol.errors import PeerError
from league.protocol.message.envelope import STRICT, Reading, unseal
from league.protocol.message.exchanges import EXCHANGES, Role
from league.protocol.wire import jsonrpc, quick_read
from league.protocol.wire.jsonrpc import MANAGER_LIMIT, BadRequestError
from league.protocol.wire.strict_json import MAX_DEPTH
from tests.fuzz.test_messages import ASKED, SPEAKERS, seed
from tests.properties.test_codec import ANY_BYTES, READINGS, Fields, messages, mutated
from tests.support.examples import examples
from tests.support.fuzzing import Mutator

BY_CHANCE = 4_000
KINDS = pytest.mark.parametrize("message_type", EXCHANGES)


def closely(raw: bytes, speaker: Speaker) -> Asked | PeerError:
    """As the general way reads it."""
    try:
        return letters.read_closely(raw, speaker, MANAGER_LIMIT)
    except BadRequestError as bad:
        return bad.error


def read_alike(raw: bytes) -> bool:
    """Does anybody read these bytes quickly? Then both ways must give the same."""
    taken = False
    for speaker in SPEAKERS:
        asked = letters.read_quickly(raw, speaker, MANAGER_LIMIT)
        if asked is not None:
            taken = True
            assert repr(asked) == repr(closely(raw, speaker)), raw
    for sent in ASKED:
        for reading in READINGS:
            if isinstance(sent, Ping) or is_answered_freely(sent):
                continue
            answer = quick_read.read_answer(raw, sent.type, reading)
            if answer is not None:
                taken = True
                assert repr(answer) == repr(letters._read_closely(raw, sent, reading, MANAGER_LIMIT)), raw
    return taken


# --- what our own agents write is taken -------------------------------------------------------------------------------


@KINDS
@given(data=st.data(), number=st.integers(0, 2**31))
@examples(15)
def test_what_our_own_agents_write_is_read_quickly(message_type: str, data: st.DataObject, number: int) -> None:
    row = EXCHANGES[message_type]
    message = unseal(data.draw(messages(message_type))).open()
    raw = jsonrpc.encode_call(number, row.method, jsonrpc.encode_body(message))
    reply = unseal(data.draw(messages(row.replies[0]))).open()
    answer = jsonrpc.encode_result(number, reply)
    read_alike(raw)
    read_alike(answer)
    if b"\\" not in raw and row.method.upper() != message_type:
        found = quick_read.read_request(raw, row.receivers[0], STRICT)
        assert found is not None
        assert (found[0], found[1].message) == (number, message)
    if b"\\" not in answer:
        read = quick_read.read_answer(answer, message_type, STRICT)
        assert read is not None
        assert read.message == reply


# --- what it takes is read alike --------------------------------------------------------------------------------------

NAMES = st.sampled_from(("jsonrpc", "id", "method", "params", "result", "message_type", "sender", "auth_token", "x"))


@given(
    content=mutated() | st.sampled_from(sorted(EXCHANGES)).flatmap(messages),
    frame=st.dictionaries(
        st.sampled_from(("id", "error", "x")), st.sampled_from((None, 1, 2**63, "7", {})), max_size=2
    ),
    as_answer=st.booleans(),
    indent=st.sampled_from((None, 1)),
)
@examples(200)
def test_a_mutated_message_that_is_read_quickly_is_read_alike(
    content: Fields, frame: Fields, as_answer: bool, indent: int | None
) -> None:
    kind = content.get("message_type")
    row = EXCHANGES.get(kind) if isinstance(kind, str) else None
    method = {} if as_answer else {"method": row.method if row else "notify_round"}
    whole = {"jsonrpc": "2.0", "id": 1, **frame, **method, "result" if as_answer else "params": content}
    read_alike(json.dumps(whole, indent=indent, ensure_ascii=False).encode(errors="replace"))


@given(
    content=messages("ROUND_ANNOUNCEMENT"),
    name=NAMES,
    value=st.sampled_from((b"1", b'"x"', b"null", b"{}")),
    place=st.integers(0, 400),
)
@examples(200)
def test_a_key_put_in_anywhere_is_read_alike(content: Fields, name: str, value: bytes, place: int) -> None:
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "notify_round", "params": content}).encode()
    commas = [at for at, byte in enumerate(raw) if byte in b",{"]
    at = commas[place % len(commas)] + 1
    read_alike(raw[:at] + b'"%b":%b,' % (name.encode(), value) + raw[at:])


@given(raw=ANY_BYTES)
@examples(200)
def test_any_bytes_that_are_read_quickly_are_read_alike(raw: bytes) -> None:
    read_alike(raw)


def test_messages_by_chance_that_are_read_quickly_are_read_alike() -> None:
    mutator = Mutator(seed())
    taken = [read_alike(mutator.next()) for _ in range(BY_CHANCE)]
    assert any(taken)
    assert not all(taken)


# --- what is lost is noticed ------------------------------------------------------------------------------------------

CALL = (
    b'{"jsonrpc":"2.0","id":1,"method":"notify_round_completed","params":{"message_type":"ROUND_COMPLETED",'
    b'"protocol":"league.v2","sender":"league_manager","timestamp":"2025-01-01T00:00:00Z","conversation_id":"c",'
    b'"league_id":"l","round_id":1,"matches_played":1,"next_round_id":null}}'
)
ANSWER = (
    b'{"jsonrpc":"2.0","id":1,"result":{"message_type":"GAME_ERROR_ACK","protocol":"league.v2","sender":"player:P",'
    b'"timestamp":"2025-01-01T00:00:00Z","conversation_id":"c","status":"ACKNOWLEDGED"}}'
)


def is_read_quickly(raw: bytes) -> bool:
    request = quick_read.read_request(raw, Role.PLAYER, Reading())
    return request is not None or quick_read.read_answer(raw, "GAME_ERROR", Reading()) is not None


@pytest.mark.parametrize("raw", [CALL, ANSWER])
def test_what_is_left_out_put_in_or_said_twice_is_not_read_quickly(raw: bytes) -> None:
    assert is_read_quickly(raw)
    assert is_read_quickly(raw.replace(b",", b" ,\n"))
    kind = raw[raw.index(b'"message_type"') : raw.index(b'"protocol"')]
    for other in (b"", b'"x":"y",', b'"%b":"",' % (b"x" * (len(kind) - 6)), kind + kind, b'"sender":"s",' + kind):
        changed = raw.replace(kind, other)
        assert not is_read_quickly(changed)
        read_alike(changed)


def test_a_number_that_is_longer_when_encoded_hides_no_second_key() -> None:
    raw = (
        b'{"jsonrpc":"2.0","id":1,"method":"notify_game_error","params":{"message_type":"GAME_ERROR",'
        b'"protocol":"league.v2","sender":"referee:R","timestamp":"2025-01-01T00:00:00Z","conversation_id":"c",'
        b'"error_code":"E001","time_remaining":1e9}}'
    )
    assert is_read_quickly(raw)
    twice = raw.replace(b'"id":1,', b'"id":123,"id":1,')
    assert len(twice) == len(raw.replace(b"1e9", b"1000000000.0"))
    assert not is_read_quickly(twice)
    assert isinstance(closely(twice, SPEAKERS[0]), PeerError)


# --- what a class does not bound --------------------------------------------------------------------------------------


def game_over(choices: bytes) -> bytes:
    result = b'{"status":"DRAW","choices":%b}' % choices
    envelope = b'"protocol":"league.v2","sender":"referee:R","timestamp":"2025-01-01T00:00:00Z","conversation_id":"c"'
    params = b'{"message_type":"GAME_OVER",%b,"match_id":"M","game_type":"hex","game_result":%b}' % (envelope, result)
    return b'{"jsonrpc":"2.0","id":1,"method":"notify_match_result","params":%b}' % params


@pytest.mark.parametrize(
    ("choices", "is_taken"),
    [
        (b'{"P01":"even"}', True),
        (b'{"P01":%b}' % (b"[" * (MAX_DEPTH - 4) + b"]" * (MAX_DEPTH - 4)), True),
        (b'{"P01":%b}' % (b"[" * (MAX_DEPTH - 3) + b"]" * (MAX_DEPTH - 3)), False),
        (b'{"P01":%d}' % 10**18, False),
        (b'{"P01":%d}' % 2**64, False),
        (b'{"P01":1e999}', False),
        (b'{"P01":1,"P01":2}', False),
    ],
)
def test_what_may_hold_anything_is_looked_at_for_depth_and_long_numbers(choices: bytes, is_taken: bool) -> None:
    raw = game_over(choices)
    assert (quick_read.read_request(raw, Role.PLAYER, Reading()) is not None) == is_taken
    read_alike(raw)


@pytest.mark.parametrize("deep", [b"[", b'{"a":', b"[[1,", b'{"":['])
@pytest.mark.parametrize("levels", [MAX_DEPTH, 600, 100_000])
def test_no_depth_is_too_deep_to_be_left_to_the_general_way(deep: bytes, levels: int) -> None:
    call = b'{"jsonrpc":"2.0","id":1,"method":"choose_parity","params":{"message_type":"CHOOSE_PARITY_CALL","context":'
    for start in (b"", b'{"jsonrpc":"2.0","id":', b'{"jsonrpc":"2.0","unknown":', call, b'{"jsonrpc":"2.0","result":'):
        assert not read_alike(start + deep * levels)
