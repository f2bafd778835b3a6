"""A probe: what is found out about an endpoint before anything depends on it, and how it is told."""

from __future__ import annotations

import json

import msgspec
import pytest

from league.gateway.words import DialectCall, HttpPost, Words
from league.letters import HttpReply
from league.machine import Address, DialectProbe
from league.protocol.conventions import Convention
from league.protocol.message.findings import Findings, alike, unanswered, unusable
from league.protocol.wire import jsonrpc
from tests.support.questions import CALL, INVITATION

HERE = "http://10.0.0.9:8101/mcp"
PONG = HttpReply(200, b'{"jsonrpc":"2.0","id":1,"result":{"protocol":"league.v2"}}')
NO_SUCH = HttpReply(200, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}')
NOT_ACCEPTABLE = HttpReply(406, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"Not Acceptable"}}')
GREETED = HttpReply(200, jsonrpc.encode_result(1, {"protocolVersion": "2025-06-18"}), session="abc")


def listed(*names: str) -> HttpReply:
    return HttpReply(200, jsonrpc.encode_result(1, {"tools": [{"name": name} for name in names]}))


def begin(words: Words, convention: Convention = Convention.SPEC, endpoint: str = HERE) -> DialectCall:
    return words.begin(7, DialectProbe("player", "even_odd"), b"", Address("P01", endpoint, "tok", convention))


def methods(exchange: DialectCall, *replies: HttpReply) -> tuple[list[str], Findings]:
    """The methods of all requests, and the findings."""
    posts = [exchange.first]
    for reply in replies:
        result = exchange.step(reply)
        if isinstance(result, HttpReply):
            asked = [str(json.loads(post.raw)["method"]) for post in posts]
            return asked, msgspec.json.decode(result.body, type=Findings)
        posts.append(result)
    raise AssertionError(f"still asking: {posts[-1].raw!r}")


@pytest.mark.requirement("REGISTER.findings")
def test_an_agent_that_names_the_protocol_is_asked_nothing_else() -> None:
    words = Words()
    asked, findings = methods(begin(words), PONG)
    assert asked == ["ping"]
    assert (findings.in_words(), findings.is_trouble) == ("", False)
    assert words.endpoints == {}


def test_a_plain_agent_without_a_ping_is_asked_for_tools_once() -> None:
    words = Words()
    asked, findings = methods(begin(words), NO_SUCH, NO_SUCH)
    assert asked == ["ping", "tools/list"]
    assert findings.in_words() == ""
    assert words.endpoints == {}
    asked, _ = methods(begin(words), NO_SUCH)
    assert asked == ["ping"]


@pytest.mark.requirement("REGISTER.findings")
@pytest.mark.parametrize(
    ("reply", "remedy"),
    [
        (HttpReply(401, b""), "status 401: let requests in without credentials"),
        (HttpReply(404, b""), "status 404: nothing is served at this path"),
        (HttpReply(405, b""), "status 405: this path does not take POST"),
        (HttpReply(307, b"", location="http://elsewhere.example/"), "sends us to http://elsewhere.example/"),
    ],
)
def test_an_agent_that_answers_with_an_error_is_told_what_to_change(reply: HttpReply, remedy: str) -> None:
    asked, findings = methods(begin(Words()), reply)
    assert asked == ["ping"]
    assert findings.is_trouble
    assert remedy in findings.in_words()
    assert "nobody" not in findings.in_words()


@pytest.mark.requirement("REGISTER.findings")
@pytest.mark.parametrize("status", [500, 502])
def test_an_agent_that_breaks_over_a_ping_is_not_said_to_be_broken(status: int) -> None:
    _, findings = methods(begin(Words()), HttpReply(status, b"Internal Server Error, id 17 at 10:00:01"))
    assert not findings.is_trouble
    assert "No document has this probe" in findings.in_words()
    _, later = methods(begin(Words()), HttpReply(status, b"Internal Server Error, id 23 at 10:00:09"))
    assert findings.in_words() != later.in_words()
    assert alike(findings.in_words()) == alike(later.in_words())


def test_whoever_hangs_up_on_a_ping_is_there() -> None:
    findings = unanswered("http://10.0.0.9:8101/mcp", "the connection broke", hangs_up=True)
    assert not findings.is_trouble
    assert "nobody" not in findings.in_words()


def test_an_unknown_method_may_be_answered_with_404() -> None:
    _, findings = methods(begin(Words()), HttpReply(404, b'{"error":"unknown method ping"}'))
    assert (findings.in_words(), findings.is_trouble) == ("", False)
    _, findings = methods(begin(Words()), HttpReply(404, b'{"detail":"Not Found"}'))
    assert findings.is_trouble


def test_prose_is_quoted_and_an_empty_body_is_no_trouble() -> None:
    _, findings = methods(begin(Words()), HttpReply(200, b"Hello,\n you"), HttpReply(200, b"Hello"), *[NO_SUCH] * 3)
    assert findings.is_trouble
    assert '"Hello, you" is not JSON' in findings.in_words()
    _, findings = methods(begin(Words()), *[HttpReply(200, b"")] * 5)
    assert not findings.is_trouble
    assert "an empty body" in findings.in_words()


def test_an_answer_that_cannot_be_read_is_an_answer() -> None:
    findings = unusable("http://10.0.0.9:8101/mcp", "answered in a way that cannot be read: the answer is too large")
    assert findings.is_trouble
    assert findings.in_words() == (
        "the agent at http://10.0.0.9:8101/mcp answered in a way that cannot be read: the answer is too large. "
        "Answer with a short JSON object, without compression"
    )


def test_a_busy_agent_is_asked_again() -> None:
    _, findings = methods(begin(Words()), HttpReply(429, b""))
    assert not findings.is_trouble
    assert "it is busy" in findings.in_words()


@pytest.mark.requirement("DIALECT.redirects")
@pytest.mark.parametrize("location", ["/mcp/", "http://10.0.0.9:8101/mcp/", "HTTP://10.0.0.9:8101/mcp/"])
def test_a_redirect_on_the_same_server_is_followed_once_and_remembered(location: str) -> None:
    words = Words()
    exchange = begin(words)
    second = exchange.step(HttpReply(308, b"", location=location))
    assert isinstance(second, HttpPost)
    assert second.url.lower() == HERE + "/"
    final = exchange.step(PONG)
    assert isinstance(final, HttpReply)
    findings = msgspec.json.decode(final.body, type=Findings)
    assert findings.in_words() == f"messages to {HERE} belong to {second.url}, and go there from now on"
    assert begin(words).first.url == second.url
    call = words.begin(8, CALL, jsonrpc.encode_body(CALL), Address("P01", HERE))
    assert call.first.url == second.url


@pytest.mark.requirement("DIALECT.redirects")
@pytest.mark.parametrize(
    "location", ["", HERE, "http://10.0.0.9:8102/mcp", "https://10.0.0.9:8101/mcp", "http://me@10.0.0.9:8101/x", "//b/"]
)
def test_no_other_redirect_is_followed(location: str) -> None:
    asked, findings = methods(begin(Words()), HttpReply(307, b"", location=location))
    assert asked == ["ping"]
    assert findings.is_trouble == bool(location)


def test_a_second_redirect_is_an_answer() -> None:
    moved = HttpReply(307, b"", location="/a")
    again = HttpReply(307, b"", location="/b")
    words = Words()
    _, findings = methods(begin(words), moved, again)
    assert findings.location == "/b"
    assert words.endpoints == {}


@pytest.mark.requirement("REGISTER.findings")
def test_the_tools_of_a_server_are_told_and_which_of_them_are_called() -> None:
    words = Words()
    replies = (
        NOT_ACCEPTABLE,
        NOT_ACCEPTABLE,
        GREETED,
        HttpReply(202, b""),
        listed("handle_game_invitation", "play_move"),
    )
    asked, findings = methods(begin(words), *replies)
    assert asked == ["ping", "tools/list", "initialize", "notifications/initialized", "tools/list"]
    assert findings.tools is not None
    assert not findings.is_trouble
    assert findings.in_words() == (
        "it is an MCP server (2025-06-18); its tools are: handle_game_invitation, play_move; play_move is asked for "
        "the choice, handle_game_invitation takes the invitation"
    )
    assert words.of(HERE).session.id == "abc"


def test_a_server_without_a_tool_for_the_choice_is_told_which_names_do() -> None:
    _, findings = methods(begin(Words(), Convention.TOOLS), NO_SUCH, listed("play"))
    assert findings.is_trouble
    assert findings.in_words().startswith("it is an MCP server; its tools are: play; none takes a choice. Name a tool ")
    assert "parity_choose" in findings.in_words()


@pytest.mark.requirement("DIALECT.on_our_time")
def test_a_server_that_is_too_slow_is_asked_again_and_what_it_said_counts() -> None:
    words = Words()
    exchange = begin(words)
    exchange.step(NOT_ACCEPTABLE)
    exchange.step(NOT_ACCEPTABLE)
    reply = exchange.fail()
    assert reply is not None
    findings = msgspec.json.decode(reply.body, type=Findings)
    assert findings.is_incomplete
    assert not findings.failure
    assert words.of(HERE).tools is None
    assert begin(words).fail() is None


@pytest.mark.requirement("DIALECT.on_our_time")
def test_a_server_that_fails_once_is_not_taken_for_one_without_tools() -> None:
    words = Words()
    broken = HttpReply(500, b"")
    methods(begin(words, Convention.TOOLS), broken, broken, broken, broken)
    assert words.of(HERE).tools is None
    _, findings = methods(begin(words, Convention.TOOLS), broken, listed("choose_parity"))
    assert findings.tools is not None
    assert findings.tools.names == ("choose_parity",)


@pytest.mark.requirement("DIALECT.joined_by_tools")
def test_a_server_with_a_tool_for_the_choice_alone_has_joined() -> None:
    words = Words()
    _, findings = methods(begin(words, Convention.TOOLS), NO_SUCH, listed("choose_parity"))
    assert "choose_parity is asked for the choice, none takes the invitation" in findings.in_words()
    to = Address("P01", HERE, None, Convention.TOOLS)
    exchange = words.begin(9, INVITATION, jsonrpc.encode_body(INVITATION), to)
    assert json.loads(exchange.first.raw)["method"] == "tools/list"
    joined = exchange.step(listed("choose_parity"))
    assert isinstance(joined, HttpReply)
    assert json.loads(joined.body) == {"jsonrpc": "2.0", "id": 9, "result": {"joined_by": "tools/list"}}
    again = words.begin(9, INVITATION, jsonrpc.encode_body(INVITATION), to)
    refused = HttpReply(500, b"")
    assert again.step(refused) is refused


def test_nobody_answers() -> None:
    words = unanswered(HERE, "connection refused").in_words()
    assert words.startswith(f"nobody answers at {HERE}: connection refused. ")
