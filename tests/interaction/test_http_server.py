"""What a server does with whatever comes in over a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import random
import socket
import time
from contextlib import closing
from typing import cast

import pytest

from league.transport.http import ASGIReceive, ASGIScope, ASGISend
from league.transport.http_connection import ServerConnection
from league.transport.http_server import (
    REFUSED_AT_ONCE,
    AccessPolicy,
    App,
    Limits,
    PortTakenError,
    Response,
    serve,
)
from tests.support.http_servers import (
    CLOSE,
    HOST,
    JSON,
    LIMITS,
    RecordingHandler,
    asgi_handler,
    chunked,
    error_of,
    message,
    serving,
)
from tests.support.http_wire import (
    cut_up,
    exchange,
    hang_up,
    mutilated,
    on_every_loop,
    one_answer,
    one_by_one,
    open_sockets,
    statuses,
    until,
)

# --- what is answered -------------------------------------------------------------------------------------------------


@pytest.mark.requirement("HTTP.post_mcp")
@on_every_loop
async def test_a_posted_message_reaches_the_app_with_the_address_it_came_from() -> None:
    async with serving() as (server, handler):
        said = await exchange(server.port, message(b'{"id":1}', b"Connection: close"))
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\ndate: " in head
    assert b"\r\ncontent-type: application/json" in head
    assert body == b'{"id":1}'
    assert handler.got == [(b'{"id":1}', "127.0.0.1")]


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [("/healthz", 200, b"well"), ("/readyz", 503, b"{}"), ("/healthz?verbose=1", 200, b"well")],
)
@on_every_loop
async def test_a_fixed_page_is_read_with_get(path: str, status: int, body: bytes) -> None:
    async with serving() as (server, _):
        said = await exchange(server.port, b"GET %b HTTP/1.1\r\n%b%b\r\n" % (path.encode(), HOST, CLOSE))
    assert statuses(said) == [status]
    assert said.endswith(b"\r\n\r\n" + body)
    assert (b"x-why: starting" in said) == (status == 503)


@on_every_loop
async def test_head_gets_the_head_of_a_page_alone() -> None:
    async with serving() as (server, _):
        said = await exchange(server.port, b"HEAD /healthz HTTP/1.1\r\n" + HOST + CLOSE + b"\r\n")
    assert b"content-length: 4\r\n" in said
    assert said.endswith(b"\r\n\r\n")


@on_every_loop
async def test_what_nobody_serves_is_not_found() -> None:
    async with serving() as (server, _):
        for path in (b"/", b"/mcp/", b"/other", b"/mcp%2f"):
            said = await exchange(server.port, message(b"{}", b"Connection: close", first=b"POST %b HTTP/1.1" % path))
            assert statuses(said) == [404]


@pytest.mark.requirement("HTTP.other_statuses")
@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        (b"GET /mcp", b"POST"),
        (b"PUT /mcp", b"POST"),
        (b"OPTIONS /mcp", b"POST"),
        (b"DELETE /mcp", b"POST"),
        (b"POST /healthz", b"GET, HEAD"),
    ],
)
@on_every_loop
async def test_another_method_is_told_which_are_allowed(line: bytes, allowed: bytes) -> None:
    async with serving() as (server, handler):
        said = await exchange(server.port, message(b"", b"Connection: close", first=line + b" HTTP/1.1"))
    assert statuses(said) == [405]
    assert b"\r\nallow: " + allowed + b"\r\n" in said
    assert handler.got == []


@pytest.mark.requirement("HTTP.other_statuses")
@pytest.mark.parametrize(
    ("header", "status"),
    [
        (b"X-Nothing: x", 200),
        (b"Content-Type: application/json", 200),
        (b"Content-Type: application/json; charset=utf-8", 200),
        (b"Content-Type: Application/JSON ;charset=UTF-8  ", 200),
        (b"Content-Type: application/rpc+json", 200),
        (b"Content-Type: text/plain", 415),
        (b"Content-Type: text/plain; application/json", 415),
        (b"Content-Type: application/jsonx", 415),
        (b"Content-Type: application/x-www-form-urlencoded", 415),
        (b"Content-Type: ", 415),
        (b"Content-Encoding: identity", 200),
        (b"Content-Encoding: gzip", 415),
        (b"Content-Encoding: identity, br", 415),
    ],
)
@on_every_loop
async def test_only_json_without_compression_is_taken(header: bytes, status: int) -> None:
    async with serving() as (server, handler):
        assert statuses(await exchange(server.port, message(b"{}", header, b"Connection: close"))) == [status]
    assert len(handler.got) == (status == 200)


@pytest.mark.requirement("HTTP.other_statuses")
@on_every_loop
async def test_a_message_without_a_media_type_is_not_taken() -> None:
    async with serving() as (server, handler):
        assert statuses(await exchange(server.port, message(b"{}", b"Connection: close").replace(JSON, b""))) == [415]
    assert handler.got == []


@pytest.mark.requirement("HTTP.origin_and_host")
@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (b"http://localhost", 200),
        (b"http://localhost:8000", 200),
        (b"https://127.0.0.1:1", 200),
        (b"http://[::1]:3000", 200),
        (b"http://evil.example", 403),
        (b"http://localhost.evil.example", 403),
        (b"http://evil.example/localhost", 403),
        (b"http://localhost@evil.example", 403),
        (b"null", 403),
        (b"file://", 403),
        (b"", 403),
    ],
)
@on_every_loop
async def test_a_page_from_elsewhere_may_not_call(origin: bytes, status: int) -> None:
    async with serving() as (server, handler):
        said = await exchange(server.port, message(b"{}", b"Origin: " + origin, b"Connection: close"))
    assert statuses(said) == [status]
    assert len(handler.got) == (status == 200)


@pytest.mark.requirement("HTTP.origin_and_host")
@pytest.mark.parametrize(
    ("origin", "is_taken"),
    [
        (b"http://192.0.2.7:8000", True),
        (b"https://192.0.2.7:8000", True),
        (b"http://192.0.2.7:8001", False),
        (b"http://192.0.2.7", False),
        (b"http://evil.example:8000", False),
    ],
)
def test_a_page_of_our_own_may_call_under_whatever_host_it_was_found(origin: bytes, is_taken: bool) -> None:
    assert AccessPolicy.known_as(["192.0.2.7"]).takes_origin(origin, b"192.0.2.7:8000") == is_taken


@pytest.mark.requirement("HTTP.origin_and_host")
@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"localhost", 200),
        (b"LocalHost:8101", 200),
        (b"127.0.0.1:80", 200),
        (b"[::1]:80", 200),
        (b"evil.example", 421),
        (b"localhost.evil.example:80", 421),
        (b"evil.example:localhost", 421),
        (b"127.0.0.2", 421),
        (b"", 421),
    ],
)
@on_every_loop
async def test_a_server_on_loopback_answers_only_to_its_own_names(host: bytes, status: int) -> None:
    async with serving() as (server, handler):
        said = await exchange(server.port, message(b"{}", b"Connection: close", host=b"Host: %b\r\n" % host))
    assert statuses(said) == [status]
    assert len(handler.got) == (status == 200)


@on_every_loop
async def test_a_whole_address_in_the_first_line_counts_more_than_the_host() -> None:
    async with serving() as (server, _):
        to_evil = message(b"", b"Connection: close", first=b"POST http://evil.example/mcp HTTP/1.1")
        assert statuses(await exchange(server.port, to_evil)) == [421]
        to_us = message(b"", b"Connection: close", first=b"POST http://localhost/mcp HTTP/1.1", host=b"Host: evil\r\n")
        assert statuses(await exchange(server.port, to_us)) == [200]


@pytest.mark.requirement("HTTP.origin_and_host")
@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"league.example", 200),
        (b"League.Example:8000", 200),
        (b"127.0.0.1:80", 200),
        (b"localhost", 200),
        (b"127.0.0.2:80", 200),  # where the request is sent to
        (b"127.0.0.3:80", 421),
        (b"other.example", 421),
        (b"league.example.evil", 421),
        (b"0.0.0.0", 200),
    ],
)
@on_every_loop
async def test_a_server_open_to_others_answers_to_its_names_and_to_the_address_it_was_found_at(
    host: bytes, status: int
) -> None:
    handler, policy = RecordingHandler(), AccessPolicy.known_as(("0.0.0.0", "league.example"))
    server = await serve("0.0.0.0", 0, App(handler.post), LIMITS, policy)
    request = message(b"{}", b"Connection: close", host=b"Host: %b\r\n" % host)
    assert statuses(await exchange(server.port, request, host="127.0.0.2")) == [status]
    assert len(handler.got) == (status == 200)
    await server.close()


@on_every_loop
async def test_the_address_a_request_was_sent_to_is_a_name_of_the_server_there_only() -> None:
    handler, policy = RecordingHandler(), AccessPolicy.known_as(("league.example",))
    server = await serve("0.0.0.0", 0, App(handler.post), LIMITS, policy)
    request = message(b"{}", host=b"Host: 127.0.0.2\r\n")
    for address, status in (("127.0.0.2", 200), ("127.0.0.3", 421), ("127.0.0.2", 200)):
        assert statuses(await exchange(server.port, request, half_close=True, host=address)) == [status]
    await server.close()


@on_every_loop
async def test_the_words_of_a_refusal_can_be_given() -> None:
    async with serving(refusal=lambda status, code, _detail: f"{status} {code}".encode()) as (server, _):
        assert (await exchange(server.port, message(b"x" * 101))).endswith(b"\r\n\r\n413 E037")
        assert (await exchange(server.port, b"nonsense")).endswith(b"\r\n\r\n400 None")
        assert (await exchange(server.port, b"GET / HTTP/1.0\r\n\r\n")).endswith(b"\r\n\r\n404 None")


@on_every_loop
async def test_a_bug_is_answered_as_json_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as (server, handler):
        handler.answer = lambda _: 1 / 0  # type: ignore[assignment, return-value]
        said = await exchange(server.port, message(b"{}"))
    assert statuses(said) == [500]
    assert error_of(said)["code"] == -32603
    assert error_of(said)["message"] == "INTERNAL_ERROR"
    assert b"ZeroDivision" not in said
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


# --- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("SIZE.requests")
@on_every_loop
async def test_a_body_of_exactly_the_limit_is_taken() -> None:
    async with serving() as (server, handler):
        assert statuses(await exchange(server.port, message(b"x" * 100, b"Connection: close"))) == [200]
        assert statuses(await exchange(server.port, chunked(b"x" * 60, b"x" * 40))) == [200]
    assert [len(body) for body, _ in handler.got] == [100, 100]


@pytest.mark.requirement("SIZE.requests")
@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(message(b"x" * 101), id="declared and sent"),
        pytest.param(message(b"").replace(b"Length: 0", b"Length: 101"), id="declared, not sent"),
        pytest.param(message(b"").replace(b"Length: 0", b"Length: 9999999999"), id="declared, huge"),
        pytest.param(chunked(b"x" * 60, b"x" * 41), id="counted"),
        pytest.param(message(b"x" * 500_000), id="much more than a read"),
        pytest.param(chunked(*[b"x" * 1000] * 500), id="many chunks"),
    ],
)
@on_every_loop
async def test_a_larger_body_is_refused_at_once(request_: bytes) -> None:
    async with serving() as (server, handler):
        said = await exchange(server.port, request_, half_close=True)
    assert statuses(said) == [413]
    assert error_of(said)["message"] == "MESSAGE_TOO_LARGE"
    assert error_of(said)["code"] == -32600
    assert error_of(said)["data"]["error_code"] == "E037"
    assert handler.got == []


@on_every_loop
async def test_a_body_larger_than_the_buffers_is_read_whole() -> None:
    async with serving(Limits(body=1024 * 1024)) as (server, handler):
        assert statuses(await exchange(server.port, message(b"x" * 1024 * 1024, b"Connection: close"))) == [200]
    assert len(handler.got[0][0]) == 1024 * 1024


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([b"GET /healthz HTTP/1.1\r\n" + HOST + b"A: b\r\n" * 100 + b"\r\n"], id="many headers"),
        pytest.param([b"GET /healthz HTTP/1.1\r\n" + HOST + b"A: " + b"b" * 20_000 + b"\r\n\r\n"], id="a large header"),
        pytest.param([b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n"], id="a long address"),
        pytest.param([b"GET /" + b"a" * 20_000], id="an address without end"),
        pytest.param([b"GET /healthz HTTP/1.1\r\nA: ", *[b"b" * 100] * 200], id="a header without end"),
        pytest.param([b"GET /healthz HTTP/1.1\r\n", *[b"A: b\r\n"] * 100], id="headers without end"),
    ],
)
@on_every_loop
async def test_a_head_that_grows_too_large_is_refused(pieces: list[bytes]) -> None:
    async with serving() as (server, _):
        assert statuses(await exchange(server.port, *pieces)) == [431]


@on_every_loop
async def test_trailers_change_nothing_and_are_not_kept() -> None:
    request = chunked(b"{}")[:-2] + b"Origin: http://evil.example\r\n" + b"X: y\r\n" * 200 + b"\r\n"
    async with serving() as (server, handler):
        assert statuses(await exchange(server.port, request)) == [200]
    assert handler.got == [(b"{}", "127.0.0.1")]


# --- time -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(b"P", id="one byte"),
        pytest.param(b"POST /mcp HTTP/1.1\r\n", id="a line"),
        pytest.param(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Le", id="half the headers"),
        pytest.param(message(b"{}")[:-1], id="half the body"),
        pytest.param(chunked(b"{}")[:-3], id="half a chunk"),
        pytest.param(message(b"", b"Expect: 100-continue").replace(b"Length: 0", b"Length: 9"), id="no body"),
    ],
)
@on_every_loop
async def test_half_a_request_and_silence_is_a_timeout(part: bytes) -> None:
    async with serving(Limits(header_s=0.05, body_s=0.05, linger_s=0.05)) as (server, handler):
        said = await exchange(server.port, part)
    assert statuses(said)[-1] == 408
    assert handler.got == []


@on_every_loop
async def test_a_slow_sender_gains_nothing_by_sending_a_little() -> None:
    async with serving(Limits(header_s=0.05, linger_s=0.05)) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        answer = asyncio.create_task(reader.read())
        writer.write(b"GET /healthz HTTP/1.1\r\nA: ")
        while not answer.done():
            writer.write(b"b")
            await asyncio.wait([answer], timeout=0.01)
        assert statuses(answer.result()) == [408]
        await hang_up(writer)


@on_every_loop
async def test_a_client_that_says_nothing_is_left_without_a_word() -> None:
    async with serving(Limits(header_s=0.05)) as (server, _):
        assert await exchange(server.port) == b""
        assert await exchange(server.port, b"\r\n\r\n") == b""


@on_every_loop
async def test_an_idle_connection_is_closed_after_a_while() -> None:
    async with serving(Limits(idle_s=0.05)) as (server, _):
        said = await exchange(server.port, message(b"{}"))
        assert statuses(said) == [200]
        assert b"connection: close" not in said


@on_every_loop
async def test_a_request_that_came_while_the_server_stood_still_is_answered() -> None:
    async with serving(Limits(header_s=0.1)) as (server, _):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            await until(lambda: server.load["connections"] == 1)
            client.sendall(message(b"{}", b"Connection: close"))
            time.sleep(0.3)  # noqa: ASYNC251 (a process that is starved or suspended)
            answer = await asyncio.to_thread(client.recv, 1000)
    assert statuses(answer) == [200]


@on_every_loop
async def test_time_is_not_counted_while_the_app_thinks() -> None:
    async with serving(Limits(header_s=0.02, body_s=0.02, idle_s=0.02, answer_s=0.02, linger_s=0.02)) as (
        server,
        handler,
    ):
        handler.go_on.clear()
        asking = asyncio.create_task(exchange(server.port, message(b"{}", b"Connection: close")))
        await until(lambda: len(handler.got) == 1)
        await asyncio.wait([asking], timeout=0.2)
        handler.go_on.set()
        assert statuses(await asking) == [200]


@on_every_loop
async def test_a_client_that_does_not_read_is_cut_off() -> None:
    async with serving(Limits(answer_s=0.05, idle_s=0.05, linger_s=0.05)) as (server, handler):
        handler.answer = lambda _: Response(200, b"x" * 30_000_000)
        _, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        writer.write(message(b"{}") * 5)
        await until(lambda: bool(handler.got))
        await until(lambda: server.load["connections"] == 0)
        assert len(handler.got) <= 2, "a second answer may not be made before the first has left"
        await hang_up(writer)


@on_every_loop
async def test_a_small_answer_that_is_never_read_holds_the_connection_no_longer() -> None:
    async with serving(Limits(answer_s=0.05, idle_s=0.05, linger_s=0.05)) as (server, handler):
        handler.answer = lambda _: Response(200, b"x" * 50_000)
        with closing(socket.socket()) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            client.connect(("127.0.0.1", server.port))
            client.sendall(message(b"{}"))
            await until(lambda: len(handler.got) == 1)
            await until(lambda: server.load["connections"] == 0)


# --- what is not HTTP -------------------------------------------------------------------------------------------------

START = b"POST /mcp HTTP/1.1\r\n" + HOST + JSON


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(START + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="CL.TE"),
        pytest.param(START + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", id="TE.CL"),
        pytest.param(START + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc", id="two lengths"),
        pytest.param(START + b"Content-Length: 2, 2\r\n\r\nab", id="a list of lengths"),
        pytest.param(START + b"Content-Length: +2\r\n\r\nab", id="a signed length"),
        pytest.param(START + b"Content-Length: -2\r\n\r\nab", id="a negative length"),
        pytest.param(START + b"Content-Length: 0x2\r\n\r\nab", id="a length in hex"),
        pytest.param(START + b"Content-Length: 1_0\r\n\r\nab", id="a length as in Python"),
        pytest.param(START + b"Content-Length:\r\n\r\nab", id="an empty length"),
        pytest.param(START + b"Content-Length: 99999999999999999999999\r\n\r\n", id="an endless length"),
        pytest.param(START + b"Content-Length : 2\r\n\r\nab", id="a blank before the colon"),
        pytest.param(START + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", id="another encoding"),
        pytest.param(START + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", id="two encodings"),
        pytest.param(START + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", id="chunked not last"),
        pytest.param(
            START + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="chunked twice"
        ),
        pytest.param(b"POST /mcp HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", id="chunked in HTTP/1.0"),
        pytest.param(START + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n0\r\n\r\n", id="a chunk size in letters"),
        pytest.param(START + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nab\r\n0\r\n\r\n", id="a negative chunk"),
        pytest.param(START + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 20 + b"\r\n", id="an endless chunk"),
        pytest.param(START + b"Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", id="a chunk too long"),
        pytest.param(START + b"Transfer-Encoding: chunked\r\n\r\n2\nab\n0\n\n", id="chunks with bare LF"),
        pytest.param(START.replace(b"\r\n", b"\n") + b"\n", id="bare LF"),
        pytest.param(START + b"A: b\r\n folded\r\n\r\n", id="a folded header"),
        pytest.param(START + b"A: b\0c\r\n\r\n", id="NUL in a value"),
        pytest.param(START + b"A\0: b\r\n\r\n", id="NUL in a name"),
        pytest.param(b"POST /m\0cp HTTP/1.1\r\n" + HOST + b"\r\n", id="NUL in the address"),
        pytest.param(b"POST /m\xffcp HTTP/1.1\r\n" + HOST + b"\r\n", id="an address beyond ASCII"),
        pytest.param(b"\0" * 20, id="NUL"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="TLS"),
        pytest.param(b"nonsense\r\n\r\n", id="nonsense"),
        pytest.param(b"POST /mcp HTTP/1.1\r\n\r\n", id="no headers"),
        pytest.param(START + HOST + b"\r\n", id="two hosts"),
        pytest.param(START + b"Origin: http://localhost\r\nOrigin: http://evil\r\n\r\n", id="two origins"),
        pytest.param(b"POST /mcp HTTP/1.2\r\n" + HOST + b"\r\n", id="HTTP/1.2"),
        pytest.param(b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n", id="a tunnel"),
    ],
)
@on_every_loop
async def test_what_two_parsers_could_read_differently_is_refused(request_: bytes) -> None:
    async with serving() as (server, handler):
        smuggled = message(b"smuggled")
        said = await exchange(server.port, request_ + smuggled, half_close=True)
    assert statuses(said) == [400]
    assert b"connection: close" in said
    assert error_of(said)["code"] == -32600
    assert handler.got == []


@pytest.mark.parametrize("version", [b"HTTP/2.0", b"HTTP/0.9"])
@on_every_loop
async def test_another_version_of_http_is_not_spoken(version: bytes) -> None:
    async with serving() as (server, _):
        assert statuses(await exchange(server.port, message(b"", first=b"POST /mcp " + version))) == [505]
        assert statuses(await exchange(server.port, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) == [400]


@on_every_loop
async def test_bad_input_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "league")
    async with serving() as (server, _):
        for bad in (b"nonsense", message(b"x" * 101), START + b"A: b\0\r\n\r\n"):
            await exchange(server.port, bad)
    assert caplog.records == []


async def _page(scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["path"].encode()})


@pytest.mark.parametrize("seed", range(4))
@on_every_loop
async def test_mutilated_requests_do_the_server_no_harm(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    chance = random.Random(seed)
    limits = Limits(body=200, header_s=0.05, body_s=0.05, idle_s=0.05, linger_s=0.05, pipelined=4)
    async with serving(limits, rest=asgi_handler(_page)) as (server, handler):

        async def somebody() -> None:
            pieces = cut_up(mutilated(b"".join(chance.choices(REQUESTS, k=chance.randint(1, 5))), chance), chance)
            with contextlib.suppress(OSError, RuntimeError):  # the server may close before all is sent
                await exchange(server.port, *pieces, half_close=chance.random() < 0.3)

        for _ in range(4):
            await asyncio.gather(*(somebody() for _ in range(25)))
        assert statuses(await exchange(server.port, message(b"last", b"Connection: close"))) == [200]
        assert handler.got[-1] == (b"last", "127.0.0.1")
        await until(lambda: server.load == {"connections": 0, "requests": 0})
    assert caplog.records == []


# --- connections ------------------------------------------------------------------------------------------------------


@on_every_loop
async def test_a_connection_serves_many_requests_in_turn() -> None:
    async with serving() as (server, handler):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for number in range(50):
            writer.write(message(b"%d" % number))
            assert await one_answer(reader) == (200, b"%d" % number)
        assert server.load == {"connections": 1, "requests": 0}
        await hang_up(writer)
    assert len(handler.got) == 50


@on_every_loop
async def test_no_answer_waits_to_be_sent_with_another() -> None:
    async with serving() as (server, _):
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        await until(lambda: server.load["connections"] == 1)
        connection = cast(ServerConnection, next(iter(server._table.all)))
        accepted = connection._transport.get_extra_info("socket")
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        await hang_up(writer)


@on_every_loop
async def test_a_refused_request_leaves_the_connection_usable() -> None:
    async with serving() as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        refused = (
            message(b"{}", first=b"POST /no HTTP/1.1"),
            message(b"{}", b"Content-Type: a/b"),
            message(b"{}", first=b"GET /mcp HTTP/1.1"),
        )
        for request, status in zip(refused, (404, 415, 405), strict=True):
            writer.write(request[:-1])  # the answer comes before the end of the body
            assert (await one_answer(reader))[0] == status
            writer.write(request[-1:] + message(b"next"))
            assert await one_answer(reader) == (200, b"next")
        await hang_up(writer)


@on_every_loop
async def test_a_body_that_never_ends_after_its_refusal_ends_the_connection() -> None:
    async with serving(Limits(body=100, body_s=0.05, linger_s=0.05)) as (server, _):
        said = await exchange(server.port, message(b"{}", b"Content-Type: a/b")[:-1])
        assert statuses(said) == [415]
        said = await exchange(server.port, chunked(b"{}").replace(b"/mcp", b"/no")[:-5], b"ff\r\n" + b"x" * 255)
        assert statuses(said) in ([404], [413])


@on_every_loop
async def test_a_request_may_come_byte_by_byte() -> None:
    async with serving() as (server, handler):
        for request in (message(b'{"id":1}', b"Connection: close"), chunked(b'{"id', b'":1}')):
            assert statuses(await exchange(server.port, *one_by_one(request))) == [200]
    assert [body for body, _ in handler.got] == [b'{"id":1}'] * 2


@on_every_loop
async def test_http_1_0_is_answered_and_closed() -> None:
    async with serving() as (server, handler):
        said = await exchange(server.port, b"POST /mcp HTTP/1.0\r\n" + JSON + b"Content-Length: 2\r\n\r\n{}")
        assert statuses(said) == [200]
        assert b"\r\nconnection: close\r\n" in said
        assert statuses(await exchange(server.port, b"GET /healthz HTTP/1.0\r\n\r\n")) == [200]
    assert handler.got == [(b"{}", "127.0.0.1")]


@on_every_loop
async def test_a_client_that_stops_sending_still_gets_its_answer() -> None:
    async with serving() as (server, handler):
        handler.go_on.clear()
        asking = asyncio.create_task(exchange(server.port, message(b"{}"), half_close=True))
        await until(lambda: len(handler.got) == 1)
        await until(lambda: server.load["requests"] == 1)
        handler.go_on.set()
        assert statuses(await asking) == [200]


@on_every_loop
async def test_a_client_that_stops_in_the_middle_gets_no_answer() -> None:
    async with serving() as (server, handler):
        assert await exchange(server.port, message(b"{}")[:-1], half_close=True) == b""
        assert await exchange(server.port, message(b"{}")[:-20], half_close=True) == b""
        await until(lambda: server.load == {"connections": 0, "requests": 0})
    assert handler.got == []


@on_every_loop
async def test_a_client_that_went_away_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as (server, handler):
        handler.go_on.clear()
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(message(b"{}"))
        await until(lambda: len(handler.got) == 1)
        await hang_up(writer)
        handler.go_on.set()
        await until(lambda: server.load == {"connections": 0, "requests": 0})
    assert caplog.records == []


@on_every_loop
async def test_pipelined_requests_are_answered_in_their_order() -> None:
    async with serving() as (server, handler):
        handler.go_on.clear()
        numbers = [b"%d" % number for number in range(10)]
        last = message(b"last", b"Connection: close")
        asking = asyncio.create_task(
            exchange(server.port, b"".join(map(message, numbers)) + last + message(b"after the last"))
        )
        await until(lambda: len(handler.got) == 1)
        handler.go_on.set()
        said = await asking
    assert statuses(said) == [200] * 11
    assert [body for body, _ in handler.got] == [*numbers, b"last"]


@on_every_loop
async def test_no_more_requests_are_taken_ahead_than_allowed() -> None:
    async with serving(Limits(pipelined=3)) as (server, handler):
        said = await exchange(server.port, message(b"{}") * 50_000)  # more than the buffers on the way hold
    assert statuses(said) == [200] * 4
    assert b"connection: close" in said.rpartition(b"HTTP/1.1")[2]
    assert len(handler.got) == 4


@on_every_loop
async def test_requests_that_come_together_do_not_hold_up_others_even_if_each_is_answered_at_once() -> None:
    got: list[bytes] = []

    def post(body: bytes, _address: str) -> Response:
        got.append(body)
        return Response(200, body)

    server = await serve("127.0.0.1", 0, App(post), Limits(pipelined=3))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(message(b"alone"))
    assert await one_answer(reader) == (200, b"alone")
    writer.write(message(b"{}") * 1000 + message(b"last", b"Connection: close"))
    assert statuses(await reader.read()) == [200] * 4
    await hang_up(writer)
    await server.close(0.0)
    assert got == [b"alone", *[b"{}"] * 4]


@on_every_loop
async def test_a_bad_request_behind_good_ones_is_refused_in_its_place() -> None:
    async with serving() as (server, handler):
        said = await exchange(server.port, message(b"1") + message(b"2") + b"nonsense" + message(b"3"))
        assert statuses(said) == [200, 200, 400]
        said = await exchange(server.port, message(b"4") + message(b"x" * 101) + message(b"5"))
        assert statuses(said) == [200, 413]
    assert [body for body, _ in handler.got] == [b"1", b"2", b"4"]


@on_every_loop
async def test_a_later_body_is_not_late_because_an_earlier_answer_is() -> None:
    async with serving(Limits(body_s=0.05, linger_s=0.05)) as (server, handler):
        handler.go_on.clear()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(message(b"first") + message(b"second")[:-1])
        await until(lambda: len(handler.got) == 1)
        silence = asyncio.create_task(reader.read(1))
        await asyncio.wait([silence], timeout=0.2)
        handler.go_on.set()
        writer.write(b"d")
        assert await silence == b"H"
        assert (await one_answer(reader))[1] == b"first"
        assert await one_answer(reader) == (200, b"second")
        await hang_up(writer)


@on_every_loop
async def test_a_client_that_asks_first_is_told_to_go_on() -> None:
    async with serving() as (server, handler):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        request = message(b"{}", b"Expect: 100-continue")
        writer.write(request[:-2])
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        assert handler.got == []
        writer.write(request[-2:])
        assert statuses(await reader.read()) == [200]
        await hang_up(writer)


@pytest.mark.parametrize(("header", "length", "status"), [(b"Content-Type: a/b", b"2", 415), (b"X: y", b"101", 413)])
@on_every_loop
async def test_a_client_that_asks_first_may_be_refused_at_once(header: bytes, length: bytes, status: int) -> None:
    request = message(b"", b"Expect: 100-continue", header).replace(b"Length: 0", b"Length: " + length)
    async with serving() as (server, handler):
        said = await exchange(server.port, request)
    assert statuses(said) == [status]
    assert b"connection: close" in said
    assert handler.got == []


OFFER = (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABk")


@pytest.mark.parametrize("whole", [True, False])
@on_every_loop
async def test_an_offer_of_http_2_is_ignored_and_the_request_answered(whole: bool) -> None:
    counted = message(b"{}", *OFFER)
    in_chunks = chunked(b"{", b"}").replace(CLOSE, b"\r\n".join([*OFFER, b""]))
    websocket = message(b"", b"Connection: upgrade", b"Upgrade: websocket", first=b"GET /healthz HTTP/1.1")
    everything = counted + in_chunks + websocket + message(b"after", b"Connection: close")
    async with serving() as (server, handler):
        said = await exchange(server.port, *([everything] if whole else one_by_one(everything)))
    assert statuses(said) == [200] * 4
    assert [body for body, _ in handler.got] == [b"{}", b"{}", b"after"]


@on_every_loop
async def test_offers_of_http_2_without_end_are_answered_as_far_as_allowed() -> None:
    async with serving(Limits(pipelined=3)) as (server, handler):
        assert statuses(await exchange(server.port, message(b"", *OFFER) * 1000)) == [200] * 4
        assert statuses(await exchange(server.port, message(b"x" * 20_000, *OFFER))) == [413]
    assert len(handler.got) == 4


REQUESTS = [
    message(b'{"id":1}'),
    message(b"{}", b"Connection: close"),
    message(b"{}", b"Expect: 100-continue"),
    message(b"{}", *OFFER),
    message(b"{}", first=b"POST /feed HTTP/1.1"),
    message(b"x" * 300),
    chunked(b"{", b"}"),
    b"GET /healthz HTTP/1.0\r\n\r\n",
    b"HEAD /healthz HTTP/1.1\r\n" + HOST + b"\r\n",
]


# --- caps -------------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("HTTP.retry_after")
@pytest.mark.parametrize(
    ("limits", "status", "name"),
    [
        (Limits(connections=2, linger_s=0.05), 503, "OVERLOADED"),
        (Limits(connections_per_address=2, linger_s=0.05), 429, "RATE_LIMITED"),
        (Limits(requests=2, linger_s=0.05), 503, "OVERLOADED"),
    ],
)
@on_every_loop
async def test_too_many_at_once_are_told_to_come_later(limits: Limits, status: int, name: str) -> None:
    async with serving(limits) as (server, handler):
        handler.go_on.clear()
        asking = [asyncio.create_task(exchange(server.port, message(b"{}", b"Connection: close"))) for _ in range(2)]
        await until(lambda: len(handler.got) == 2)
        said = await exchange(server.port, message(b"{}"), half_close=True)
        assert statuses(said) == [status]
        assert b"\r\nretry-after: " in said
        assert error_of(said)["message"] == name
        handler.go_on.set()
        assert [statuses(await one) for one in asking] == [[200], [200]]
        assert statuses(await exchange(server.port, message(b"{}", b"Connection: close"))) == [200]


@pytest.mark.parametrize("limits", [Limits(connections=3), Limits(connections_per_address=3)])
@on_every_loop
async def test_the_oldest_idle_connection_makes_room_for_a_new_one(limits: Limits) -> None:
    async with serving(limits) as (server, _):
        older = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(3)]
        await until(lambda: server.load["connections"] == 3)
        assert statuses(await exchange(server.port, message(b"{}", b"Connection: close"))) == [200]
        assert await older[0][0].read() == b""
        older[1][1].write(message(b"still here"))
        assert await one_answer(older[1][0]) == (200, b"still here")
        for _, writer in older:
            await hang_up(writer)


@on_every_loop
async def test_a_crowd_over_the_cap_costs_no_more_than_the_cap() -> None:
    # Whoever is told why lingers for longer than the crowd takes to come: nobody is told in its place.
    async with serving(Limits(connections=5, linger_s=600)) as (server, handler):
        handler.go_on.clear()
        before = open_sockets()
        busy = [asyncio.create_task(exchange(server.port, message(b"{}", b"Connection: close"))) for _ in range(5)]
        await until(lambda: len(handler.got) == 5)
        crowd = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(300)]
        ends = await asyncio.gather(*(reader.read() for reader, _ in crowd), return_exceptions=True)
        told = [end for end in ends if isinstance(end, bytes) and end]
        assert {status for end in told for status in statuses(end)} == {503}
        assert len(told) == REFUSED_AT_ONCE
        for _, writer in crowd:
            await hang_up(writer)
        handler.go_on.set()
        assert [statuses(await one) for one in busy] == [[200]] * 5
        await until(lambda: server.load["connections"] == 0 and open_sockets() <= before)


# --- the end ----------------------------------------------------------------------------------------------------------


@on_every_loop
async def test_closing_lets_a_running_request_finish_and_takes_no_new_one() -> None:
    async with serving() as (server, handler):
        handler.go_on.clear()
        idle_reader, idle_writer = await asyncio.open_connection("127.0.0.1", server.port)
        asking = asyncio.create_task(exchange(server.port, message(b"{}")))
        await until(lambda: len(handler.got) == 1)
        ending = asyncio.create_task(server.close(30))
        assert await idle_reader.read() == b""
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", server.port)
        handler.go_on.set()
        said = await asking
        assert statuses(said) == [200]
        assert b"connection: close" in said
        await ending
        await hang_up(idle_writer)


@on_every_loop
async def test_a_request_being_sent_at_the_close_is_still_answered() -> None:
    async with serving() as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(message(b"{}")[:-1])
        await until(lambda: server.load["requests"] == 1)
        ending = asyncio.create_task(server.close(30))
        await asyncio.sleep(0)
        writer.write(b"}")
        assert statuses(await reader.read()) == [200]
        await ending
        await hang_up(writer)


@on_every_loop
async def test_what_outlasts_the_grace_is_told_to_come_later(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as (server, handler):
        handler.go_on.clear()
        asking = asyncio.create_task(exchange(server.port, message(b"{}")))
        await until(lambda: len(handler.got) == 1)
        await server.close(0.01)
        said = await asking
        assert statuses(said) == [503]
        assert error_of(said)["message"] == "OVERLOADED"
    assert caplog.records == []


@on_every_loop
async def test_half_a_request_does_not_hold_up_the_close() -> None:
    async with serving() as (server, _):
        for part in (b"POS", message(b"{}")[:-1]):
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(part)
            await until(lambda: server.load["connections"] == 1)
            await hang_up(writer)
            await until(lambda: server.load["connections"] == 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(message(b"{}")[:-1])
        await until(lambda: server.load["requests"] == 1)
        await server.close(0.01)
        await reader.read()
        await hang_up(writer)


@on_every_loop
async def test_connections_that_arrive_at_the_close_are_not_forgotten() -> None:
    for turns in range(6):
        async with serving() as (server, _):
            with contextlib.ExitStack() as clients:
                for _ in range(20):
                    client = clients.enter_context(socket.socket())
                    client.setblocking(False)
                    assert client.connect_ex(("127.0.0.1", server.port)) in (0, errno.EINPROGRESS)
                for _ in range(turns):
                    await asyncio.sleep(0)
                await server.close()


@on_every_loop
async def test_closing_twice_is_harmless() -> None:
    async with serving() as (server, _):
        await server.close()
        await server.close()


@on_every_loop
async def test_a_port_that_is_taken_is_named() -> None:
    async with serving() as (server, handler):
        with pytest.raises(PortTakenError, match=str(server.port)) as caught:
            await serve("127.0.0.1", server.port, App(handler.post))
        assert caught.value.port == server.port


@on_every_loop
async def test_a_port_can_be_taken_again_at_once() -> None:
    handler = RecordingHandler()
    server = await serve("localhost", 0, App(handler.post))
    assert server.host == "127.0.0.1"
    assert statuses(await exchange(server.port, message(b"{}", b"Connection: close"))) == [200]
    await server.close()
    again = await serve("localhost", server.port, App(handler.post))
    assert statuses(await exchange(again.port, message(b"{}", b"Connection: close"))) == [200]
    await again.close()


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
@on_every_loop
async def test_ipv6_is_served_like_ipv4() -> None:
    handler = RecordingHandler()
    server = await serve("::1", 0, App(handler.post))
    request = message(b"{}", b"Connection: close", host=b"Host: [::1]:%d\r\n" % server.port)
    assert statuses(await exchange(server.port, request, host="::1")) == [200]
    assert handler.got == [(b"{}", "::1")]
    await server.close()
    both = await serve("::", 0, App(handler.post))
    assert statuses(await exchange(both.port, request, host="127.0.0.1")) == [200]
    assert handler.got[1:] == [(b"{}", "127.0.0.1")]
    await both.close()
