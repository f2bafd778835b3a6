"""Which answers say that there is no such method, so that another name for it may be tried."""

from __future__ import annotations

import pytest

from league.protocol.exchanges import EXCHANGES
from league.transport.caller import is_unknown

UNKNOWN = b'"error":{"code":-32601,"message":"Method not found"}'


def result(content: bytes, more: bytes = b"") -> bytes:
    return b'{"jsonrpc":"2.0","id":17,"result":%b%b}' % (content, more)


@pytest.mark.parametrize("sent", EXCHANGES)
def test_who_answers_with_the_reply_has_understood_whatever_it_says(sent: str) -> None:
    for reply in EXCHANGES[sent].replies:
        said = b'{"message_type":"%b","reason":"unknown method","status":"UNKNOWN"}' % reply.encode()
        assert not is_unknown(result(said), sent)


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
        pytest.param(b'{"status":"NOT_FOUND"}', id="without JSON-RPC"),
    ],
)
def test_who_says_that_there_is_no_such_method_has_not(said: bytes) -> None:
    assert is_unknown(said, "GAME_INVITATION")


@pytest.mark.parametrize(
    "said", [b"", b"not found", b"{", result(b"{}"), result(b'{"status":"ok"}'), result(b'{"reason":"not now"}')]
)
def test_whatever_else_is_said_is_an_answer(said: bytes) -> None:
    assert not is_unknown(said, "GAME_INVITATION")
