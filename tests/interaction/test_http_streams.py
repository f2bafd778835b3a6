"""Answers that are made while they are sent: streams, and ASGI applications behind the server."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from league.transport.http import (
    ASGIApp,
    ASGIReceive,
    ASGIScope,
    ASGISend,
    HttpRequest,
    Limits,
    StreamingResponse,
)
from tests.support.http_servers import CLOSE, HOST, asgi_handler, message, serving
from tests.support.http_wire import exchange, hang_up, on_every_loop, statuses, until

# --- an ASGI application behind it ------------------------------------------------------------------------------------


class Feed:
    """Server-sent events: repeats what it was asked, then holds the stream until the client leaves."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    async def __call__(self, scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
        asked = await receive()
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"data: %b\n\n" % asked["body"], "more_body": True})
        self.ended.append((await receive())["type"])


async def _subscribe(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(message(b"hello", first=b"POST /feed HTTP/1.1"))
    assert b"text/event-stream" in await reader.readuntil(b"\r\n\r\n")
    assert await reader.readuntil(b"\n\n\r\n") == b"d\r\ndata: hello\n\n\r\n"
    return reader, writer


@on_every_loop
async def test_other_paths_go_to_the_application_behind_which_learns_when_the_client_leaves() -> None:
    feed = Feed()
    async with serving(rest=asgi_handler(feed)) as (server, _):
        _, writer = await _subscribe(server.port)
        await hang_up(writer)
        await until(lambda: feed.ended == ["http.disconnect"])


@on_every_loop
async def test_the_rules_hold_for_the_application_behind_too() -> None:
    feed = Feed()
    async with serving(rest=asgi_handler(feed)) as (server, _):
        foreign = message(b"", b"Origin: http://evil.example", b"Connection: close", first=b"POST /feed HTTP/1.1")
        assert statuses(await exchange(server.port, foreign)) == [403]
        assert statuses(await exchange(server.port, message(b"x" * 101, first=b"POST /feed HTTP/1.1"))) == [413]
    assert feed.ended == []


@on_every_loop
async def test_a_stream_that_outlasts_the_grace_is_cut(caplog: pytest.LogCaptureFixture) -> None:
    feed = Feed()
    async with serving(rest=asgi_handler(feed)) as (server, _):
        reader, writer = await _subscribe(server.port)
        await server.close(0.01)
        assert await reader.read() == b""
        await hang_up(writer)
    assert caplog.records == []


def _page(*messages: dict[str, Any]) -> ASGIApp:
    """An application that sends these."""

    async def app(_scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
        assert await receive() == {"type": "http.request", "body": b"{}", "more_body": False}
        for one in messages:
            await send(one)

    return app


START = {"type": "http.response.start", "status": 201, "headers": [(b"Content-Length", b"4"), (b"X-A", b"b")]}
ASK = message(b"{}", b"Connection: close", first=b"POST /page HTTP/1.1")


@on_every_loop
async def test_a_whole_answer_of_an_application_is_sent_with_its_length() -> None:
    app = _page(START, {"type": "http.response.body", "body": b"well"})
    async with serving(rest=asgi_handler(app)) as (server, _):
        said = await exchange(server.port, ASK)
    assert statuses(said) == [201]
    assert said.lower().count(b"content-length") == 1
    assert b"\r\ncontent-length: 4\r\nX-A: b\r\n" in said
    assert said.endswith(b"\r\n\r\nwell")


@on_every_loop
async def test_an_answer_of_an_application_in_pieces_is_sent_in_chunks() -> None:
    more = {"type": "http.response.body", "body": b"we", "more_body": True}
    app = _page(START, more, {"type": "http.response.body", "body": b"ll"})
    async with serving(rest=asgi_handler(app)) as (server, _):
        said = await exchange(server.port, ASK)
    assert statuses(said) == [201]
    assert b"content-length" not in said.lower()
    assert said.endswith(b"\r\n\r\n2\r\nwe\r\n2\r\nll\r\n0\r\n\r\n")


@pytest.mark.parametrize("messages", [(), ({"type": "http.response.body", "body": b""},), (START,)])
@on_every_loop
async def test_an_application_that_does_not_answer_is_a_bug(
    messages: tuple[dict[str, Any], ...], caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(rest=asgi_handler(_page(*messages))) as (server, _):
        assert statuses(await exchange(server.port, ASK)) == [500]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@on_every_loop
async def test_events_of_an_application_begin_before_the_first_of_them() -> None:
    async def app(_scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
        head = [(b"content-type", b"text/event-stream; charset=utf-8")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        while (await receive())["type"] != "http.disconnect":
            pass

    async with serving(rest=asgi_handler(app)) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(ASK)
        assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
        await hang_up(writer)


@on_every_loop
async def test_a_client_that_leaves_before_its_answer_is_no_bug(caplog: pytest.LogCaptureFixture) -> None:
    is_left = asyncio.Event()

    async def app(_scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        is_left.set()

    async with serving(rest=asgi_handler(app)) as (server, _):
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(ASK)
        await until(lambda: server.load["requests"] == 1)
        await hang_up(writer)
        await is_left.wait()
    assert caplog.records == []


@on_every_loop
async def test_an_application_may_answer_when_it_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    async def app(_scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await send({"type": "http.response.start", "status": 503, "headers": []})
            await send({"type": "http.response.body", "body": b"later"})

    async with serving(rest=asgi_handler(app)) as (server, _):
        asking = asyncio.create_task(exchange(server.port, ASK))
        await until(lambda: server.load["requests"] == 1)
        await server.close(0.01)
        assert (await asking).endswith(b"\r\n\r\nlater")
    assert caplog.records == []


# --- answers in pieces ------------------------------------------------------------------------------------------------

LISTEN = b"GET /events HTTP/1.1\r\n" + HOST + b"\r\n"


class Counter:
    """A stream of numbers, as far as it is let."""

    def __init__(self, last: int | None = None) -> None:
        self.last = last
        self.sent = 0
        self.fed = asyncio.Event()
        self.fed.set()
        self.is_over = False
        self.size = 1

    async def handle(self, request: HttpRequest) -> StreamingResponse:
        assert request.path == "/events"
        return StreamingResponse(200, self._pieces(), headers=(("cache-control", "no-store"),))

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        try:
            while self.sent != self.last:
                await self.fed.wait()
                self.sent += 1
                yield b"%d" % self.sent * self.size
        finally:
            self.is_over = True


@on_every_loop
async def test_a_stream_is_sent_in_chunks_and_the_connection_is_kept() -> None:
    counter = Counter(2)
    async with serving(rest=counter.handle) as (server, _):
        said = await exchange(server.port, LISTEN, message(b"next", b"Connection: close"))
    head, _, rest = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\ndate: ")
    assert head.endswith(b"content-type: text/event-stream\r\ntransfer-encoding: chunked\r\ncache-control: no-store")
    assert rest.startswith(b"1\r\n1\r\n1\r\n2\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert rest.endswith(b"\r\n\r\nnext")


@on_every_loop
async def test_in_http_1_0_the_end_of_the_connection_ends_a_stream() -> None:
    counter = Counter(3)
    async with serving(rest=counter.handle) as (server, _):
        said = await exchange(server.port, b"GET /events HTTP/1.0\r\n\r\n")
    assert b"transfer-encoding" not in said
    assert b"connection: close\r\n" in said
    assert said.endswith(b"\r\n\r\n123")


@on_every_loop
async def test_head_gets_the_head_of_a_stream_alone() -> None:
    counter = Counter()
    async with serving(rest=counter.handle) as (server, _):
        said = await exchange(server.port, LISTEN.replace(b"GET", b"HEAD").replace(HOST, HOST + CLOSE))
    assert said.endswith(b"connection: close\r\n\r\n")
    assert counter.sent == 0


@on_every_loop
async def test_a_stream_ends_when_its_client_leaves(caplog: pytest.LogCaptureFixture) -> None:
    counter = Counter()
    async with serving(rest=counter.handle) as (server, _):
        counter.fed.clear()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(LISTEN)
        await reader.readuntil(b"\r\n\r\n")
        await hang_up(writer)
        await until(lambda: counter.is_over)
        await until(lambda: server.load == {"connections": 0, "requests": 0})
    assert caplog.records == []


@on_every_loop
async def test_a_stream_waits_for_a_slow_reader_and_is_cut_off_when_it_does_not_read() -> None:
    counter = Counter()
    counter.size = 100_000
    async with serving(Limits(answer_s=0.2, linger_s=0.05), rest=counter.handle) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, limit=1024)
        writer.write(LISTEN)
        await until(lambda: counter.is_over)
        assert counter.sent < 1000, "no more is made than the buffers on the way hold"
        await until(lambda: server.load == {"connections": 0, "requests": 0})
        await hang_up(writer)
        del reader


@on_every_loop
async def test_a_stream_that_fails_is_cut_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    async def pieces() -> AsyncGenerator[bytes, None]:
        yield b"1"
        raise ZeroDivisionError

    async def handle(_request: HttpRequest) -> StreamingResponse:
        return StreamingResponse(200, pieces())

    async with serving(rest=handle) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(LISTEN)
        said = b""
        with contextlib.suppress(ConnectionError):
            said = await reader.read()
        assert not said.endswith(b"0\r\n\r\n"), "the client must see that this was not the end"
        await hang_up(writer)
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@on_every_loop
async def test_a_stream_whose_head_cannot_be_sent_is_an_error_the_client_sees(caplog: pytest.LogCaptureFixture) -> None:
    async def pieces() -> AsyncGenerator[bytes, None]:
        yield b"1"

    async def handle(_request: HttpRequest) -> StreamingResponse:
        return StreamingResponse(200, pieces(), headers=(("x-a", "b\r\n"),))

    async with serving(rest=handle) as (server, _):
        assert statuses(await exchange(server.port, LISTEN)) == [500]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@on_every_loop
async def test_a_stream_is_cut_at_the_end_of_the_grace_and_cleans_up(caplog: pytest.LogCaptureFixture) -> None:
    counter = Counter()
    async with serving(rest=counter.handle) as (server, _):
        counter.fed.clear()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(LISTEN)
        await reader.readuntil(b"\r\n\r\n")
        await server.close(0.01)
        assert await reader.read() == b""
        assert counter.is_over
        await hang_up(writer)
    assert caplog.records == []
