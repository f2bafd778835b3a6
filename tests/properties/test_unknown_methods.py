"""Which answers say that there is no such method, so that another name for it may be tried."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from league.agent.outbound import WITHOUT_REFUSAL
from league.gateway import forms
from league.gateway.readers import understanding
from league.gateway.words import LIST_LIMIT, is_unknown
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Reading, unseal
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.wire import jsonrpc, quick_read
from tests.properties.test_codec import Fields, messages
from tests.support.examples import examples

UNKNOWN = b'"error":{"code":-32601,"message":"Method not found"}'


def result(content: bytes, more: bytes = b"") -> bytes:
    return b'{"jsonrpc":"2.0","id":17,"result":%b%b}' % (content, more)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b'{"jsonrpc":"2.0","id":17,%b}' % UNKNOWN, id="an error"),
        pytest.param(result(b'{"message_type":"GAME_JOIN_ACK"}', b"," + UNKNOWN), id="a reply with an error"),
        pytest.param(result(b'{"message_type":"GAME_JOIN_ACK",%b}' % UNKNOWN), id="a reply with an error in it"),
        pytest.param(result(b'{"message_type":"CHOOSE_PARITY_RESPONSE","status":"unknown"}'), id="another reply"),
        pytest.param(result(b'{"message_type":"GAME_ERROR","error_code":"E036"}'), id="an error of the protocol"),
        pytest.param(result(b'{"status":"unknown_method"}'), id="a status"),
        pytest.param(result(b'{"success":false,"reason":"No such tool"}'), id="words"),
        pytest.param(result(b'{"content":[{"text":"Unknown tool: x"}],"isError":true}'), id="an error of a tool"),
        pytest.param(result(rb'{"content":[{"text":"{\"status\":\"unknown\"}"}]}'), id="text within text"),
        pytest.param(result(rb'{"st\u0061tus":"unknown"}'), id="escaped"),
        pytest.param(b'{"status":"NOT_FOUND"}', id="without JSON-RPC"),
    ],
)
def test_who_says_that_there_is_no_such_method_has_not(said: bytes) -> None:
    assert is_unknown(said)


@pytest.mark.parametrize(
    "said",
    [
        *(b"", b"not found", b"{", result(b"{}"), result(b'{"status":"ok"}'), result(b'{"reason":"not now"}')),
        result(b'{"message_type":"GAME_OVER_ACK","status":"ACKNOWLEDGED","reason":"unknown method"}'),
    ],
)
def test_whatever_else_is_said_is_an_answer(said: bytes) -> None:
    assert not is_unknown(said)


KEYS = st.sampled_from(
    [
        *("jsonrpc", "id", "result", "params", "error", "code", "data", "message", "message_type", "status", "success"),
        *("error_code", "reason", "text", "content", "structuredContent", "isError", "envelope", "payload"),
    ]
)
WORDS = st.sampled_from(
    [
        *("2.0", "GAME_JOIN_ACK", "ACKNOWLEDGED", "Accepted", "unknown", "UNSUPPORTED", "error", "failed", "E036"),
        *("unknown method", "no such tool", "method not found", "not_implemented", '{"error":"unknown method"}'),
        *(-32601, 1, True, False, None),
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    WORDS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.booleans(), st.booleans())
def test_nothing_is_overlooked_by_looking_only_where_it_could_be_said(
    said: dict[str, Any], is_framed: bool, is_compact: bool
) -> None:
    framed = {"jsonrpc": "2.0", "id": 17, "result": said} if is_framed else said
    body = json.dumps(framed, separators=(",", ":") if is_compact else None).encode()
    try:
        answer = forms.answer_in(jsonrpc.parse_answer(body, LIST_LIMIT))
    except PeerError:
        assert not is_unknown(body)
    else:
        wanted = understanding.says_unknown(answer.content, answer.number, is_error=answer.is_error)
        assert is_unknown(body) == wanted


@pytest.mark.parametrize("message_type", sorted(WITHOUT_REFUSAL))
@given(data=st.data(), more=st.dictionaries(KEYS, VALUES, max_size=2), is_compact=st.booleans())
@examples(15)
def test_the_expected_reply_is_never_taken_for_no_such_method(
    message_type: str, data: st.DataObject, more: Fields, is_compact: bool
) -> None:
    reply: Fields = data.draw(messages(EXCHANGES[message_type].replies[0]))
    plain = jsonrpc.encode_result(17, unseal(reply).open())
    assert b"\\" in plain or quick_read.read_answer(plain, message_type, Reading()), "nearly all are read so"
    whole = {"jsonrpc": "2.0", "id": 17, "result": reply | more}
    dumped = json.dumps(whole, separators=(",", ":") if is_compact else None).encode()
    for body in (plain, dumped):
        assert quick_read.read_answer(body, message_type, Reading()) is None or not is_unknown(body)


def test_replies_that_may_hold_an_error_are_looked_at_closely() -> None:
    assert set(EXCHANGES) - WITHOUT_REFUSAL == {"LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST", "LEAGUE_QUERY"}
