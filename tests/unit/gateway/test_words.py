"""The words of one call, without any I/O: which request comes next, and which reply counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league.gateway.words import LIST_LIMIT, DialectCall, HttpPost, Words, is_final
from league.letters import HttpReply
from league.machine import Address, Ping
from league.protocol.conventions import Convention
from league.protocol.wire import jsonrpc
from tests.support.questions import CALL, INVITATION

HERE = "http://10.0.0.9:8101/mcp"
NO_SUCH = HttpReply(200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}')
CHOSEN = HttpReply(200, b'{"jsonrpc":"2.0","id":1,"result":{"parity_choice":"even"}}')


def begin(
    words: Words, message: Any = CALL, convention: Convention = Convention.SPEC, endpoint: str = HERE, **more: Any
) -> DialectCall:
    body = b"" if isinstance(message, Ping) else jsonrpc.encode_body(message)
    return words.begin(7, message, body, Address("P01", endpoint, "tok", convention, "10.0.0.1"), **more)


def method(post: HttpPost | HttpReply) -> str:
    assert isinstance(post, HttpPost)
    call: dict[str, Any] = json.loads(post.raw)
    return str(call["params"]["name"] if call["method"] == "tools/call" else call["method"])


def then(exchange: DialectCall, reply: HttpReply) -> HttpPost:
    post = exchange.step(reply)
    assert isinstance(post, HttpPost)
    return post


def listed(*names: str, **more: Any) -> HttpReply:
    tools = {"tools": [{"name": name} for name in names], **more}
    return HttpReply(200, jsonrpc.encode_result(1, tools))


def test_the_usual_call_is_one_request() -> None:
    words = Words()
    exchange = begin(words)
    assert (exchange.first.url, method(exchange.first), exchange.first.origin) == (HERE, "parity_choose", "10.0.0.1")
    assert exchange.step(CHOSEN) is CHOSEN
    assert words.endpoints == {}


def test_another_name_is_tried_only_after_no_such_method_and_is_remembered() -> None:
    words = Words()
    exchange = begin(words)
    assert method(then(exchange, NO_SUCH)) == "choose_parity"
    assert exchange.step(CHOSEN) is CHOSEN
    assert method(begin(words).first) == "choose_parity"


def test_an_error_that_is_another_one_counts() -> None:
    no = HttpReply(200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"no"}}')
    assert begin(Words()).step(no) is no


def test_when_no_name_is_known_the_last_answer_counts_and_nothing_is_remembered() -> None:
    words = Words()
    exchange = begin(words)
    then(exchange, NO_SUCH)
    assert exchange.step(NO_SUCH) is NO_SUCH
    assert words.endpoints == {}


def test_a_name_that_is_not_known_any_more_is_forgotten() -> None:
    words = Words()
    exchange = begin(words)
    then(exchange, NO_SUCH)
    exchange.step(CHOSEN)
    assert begin(words).step(NO_SUCH) is NO_SUCH
    assert words.endpoints == {}


def test_a_request_that_was_sent_already_is_not_sent_again() -> None:
    exchange = begin(Words(), was_sent=True)
    assert method(then(exchange, NO_SUCH)) == "choose_parity"


@pytest.mark.parametrize("status", [404, 405])
def test_an_endpoint_without_a_path_is_called_at_the_usual_one_where_nobody_takes_messages(status: int) -> None:
    words = Words()
    exchange = begin(words, endpoint="http://10.0.0.9:8101")
    post = then(exchange, HttpReply(status, b"Not Found"))
    assert (post.url, post.raw) == ("http://10.0.0.9:8101/mcp", exchange.first.raw)
    assert exchange.step(CHOSEN) is CHOSEN
    assert begin(words, endpoint="http://10.0.0.9:8101").first.url == "http://10.0.0.9:8101/mcp"


def test_an_endpoint_with_a_path_is_called_nowhere_else() -> None:
    gone = HttpReply(404, b"Not Found")
    assert begin(Words()).step(gone) is gone


def test_the_answer_is_taken_out_of_its_event_stream() -> None:
    stream = HttpReply(200, b"event: message\r\ndata: " + CHOSEN.body + b"\r\n\r\n", content_type="text/event-stream")
    assert not is_final(stream)
    reply = begin(Words()).step(stream)
    assert isinstance(reply, HttpReply)
    assert (reply.body, reply.content_type) == (CHOSEN.body, "application/json")


def test_tools_are_listed_once_page_by_page_and_one_of_them_is_called() -> None:
    words = Words()
    exchange = begin(words, INVITATION, Convention.TOOLS)
    assert (method(exchange.first), exchange.first.limit) == ("tools/list", LIST_LIMIT)
    post = then(exchange, listed("ping_me", nextCursor="more"))
    assert json.loads(post.raw)["params"] == {"cursor": "more"}
    post = then(exchange, listed("accept_invitation", "make_choice"))
    assert (method(post), post.limit) == ("accept_invitation", 0)
    exchange.step(CHOSEN)
    assert method(begin(words, CALL, Convention.TOOLS).first) == "make_choice"


def open_session(exchange: DialectCall, session: str) -> HttpPost:
    """A server that wants a handshake before it lists its tools; the call of the tool is returned."""
    refused = HttpReply(400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no session"}}')
    greeting = jsonrpc.encode_result(1, {"protocolVersion": "2025-06-18"})
    assert method(then(exchange, refused)) == "initialize"
    assert method(then(exchange, HttpReply(200, greeting, session=session))) == "notifications/initialized"
    post = then(exchange, HttpReply(202, b""))
    assert (method(post), f"Mcp-Session-Id: {session}".encode() in post.headers) == ("tools/list", True)
    return then(exchange, listed("make_choice"))


def test_a_server_that_wants_a_session_is_greeted_first() -> None:
    post = open_session(begin(Words(), CALL, Convention.TOOLS), "s-1")
    assert method(post) == "make_choice"
    assert b"Mcp-Session-Id: s-1" in post.headers


def test_a_session_that_is_over_is_opened_anew_once() -> None:
    words = Words()
    exchange = begin(words, CALL, Convention.TOOLS)
    open_session(exchange, "s-1")
    exchange.step(CHOSEN)
    over = HttpReply(404, b"{}")
    again = begin(words, CALL, Convention.TOOLS)
    assert method(again.first) == "make_choice"
    assert method(then(again, over)) == "tools/list"
    post = open_session(again, "s-2")
    assert (method(post), b"Mcp-Session-Id: s-2" in post.headers) == ("make_choice", True)
    assert again.step(over) is over


def test_a_call_that_ended_within_the_handshake_leaves_the_next_one_to_begin_anew() -> None:
    words = Words()
    exchange = begin(words, CALL, Convention.TOOLS)
    assert method(then(exchange, HttpReply(400, b"{}"))) == "initialize"
    assert method(open_session(begin(words, CALL, Convention.TOOLS), "s-1")) == "make_choice"


def test_a_server_that_lists_no_tools_is_called_by_the_documents_names() -> None:
    exchange = begin(Words(), CALL, Convention.TOOLS)
    post: HttpPost | HttpReply = exchange.first
    asked = []
    while isinstance(post, HttpPost) and method(post) in ("tools/list", "initialize"):
        asked.append(method(post))
        post = exchange.step(NO_SUCH)
    assert (asked, method(post)) == (["tools/list", "initialize", "tools/list"], "parity_choose")
    assert isinstance(post, HttpPost)
    assert post.headers == b""


def test_a_ping_is_one_request_wherever_it_goes() -> None:
    words = Words()
    assert begin(words, Ping(), Convention.TOOLS).step(NO_SUCH) is NO_SUCH
    assert words.endpoints == {}
