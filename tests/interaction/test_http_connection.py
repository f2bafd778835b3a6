"""The order, the time and the end of the requests of one connection, over a real socket."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Awaitable
from contextlib import closing
from email.utils import formatdate, parsedate_to_datetime
from functools import partial
from typing import Any, cast

import pytest

from league.transport.http import AccessPolicy, App, HttpRequest, Limits, Response
from league.transport.http_connection import ServerConnection
from league.transport.http_response import _date_line, whole_answer
from league.transport.http_router import Router
from league.transport.http_server import ConnectionTable, serve
from tests.support.http_servers import CLOSE, HOST, LIMITS, RecordingHandler, chunked, error_of, message, serving
from tests.support.http_wire import exchange, hang_up, on_every_loop, one_answer, one_by_one, statuses, until

PAGE = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
NOWHERE = message(b"{}", first=b"POST /no HTTP/1.1")
NO_JSON = message(b"{}", b"Content-Type: a/b")


# --- which requests share a connection --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "keeps"),
    [
        pytest.param(PAGE, True, id="1.1"),
        pytest.param(PAGE.replace(HOST, HOST + b"Connection: keep-alive\r\n"), True, id="1.1 keep-alive"),
        pytest.param(PAGE.replace(HOST, HOST + CLOSE), False, id="1.1 close"),
        pytest.param(b"GET /healthz HTTP/1.0\r\n\r\n", False, id="1.0"),
        pytest.param(b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", False, id="1.0 keep-alive"),
    ],
)
@on_every_loop
async def test_a_connection_stays_open_where_both_sides_want_it(request_: bytes, keeps: bool) -> None:
    async with serving() as (server, _):
        said = await exchange(server.port, request_, PAGE.replace(HOST, HOST + CLOSE))
    assert statuses(said) == [200] * (1 + keeps)
    assert said.count(b"connection: close\r\n") == 1


@on_every_loop
async def test_the_same_request_gets_the_same_answer_every_time() -> None:
    """The first is parsed, the others are recognised."""
    async with serving() as (server, handler):
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            for body in (b"{}", b"[]", b"{}"):
                writer.write(message(body))
                assert await one_answer(reader) == (200, body)
                writer.write(NO_JSON)
                assert (await one_answer(reader))[0] == 415
            await hang_up(writer)
    assert handler.got == [(body, "127.0.0.1") for body in (b"{}", b"[]", b"{}") * 2]


@pytest.mark.parametrize(
    ("first", "status"),
    [
        (b"POST /%6d%63p HTTP/1.1", 200),
        (b"POST /mcp?session=1 HTTP/1.1", 200),
        (b"POST http://localhost:80/mcp HTTP/1.1", 200),
        (b"POST http://[::1]:80/mcp HTTP/1.1", 200),
        (b"POST http://localhost HTTP/1.1", 404),
        (b"POST http://evil/mcp HTTP/1.1", 421),
        (b"POST * HTTP/1.1", 404),
        (b"POST mcp HTTP/1.1", 400),
    ],
)
@on_every_loop
async def test_an_address_may_be_written_in_several_ways(first: bytes, status: int) -> None:
    async with serving() as (server, handler):
        assert statuses(await exchange(server.port, message(b"{}", b"Connection: close", first=first))) == [status]
    assert len(handler.got) == (status == 200)


# --- order ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [True, False])
@on_every_loop
async def test_refusals_and_pages_keep_their_place_in_line(whole: bool) -> None:
    in_line = [message(b"1"), NOWHERE, PAGE, NO_JSON, chunked(b"2").replace(CLOSE, b""), PAGE, b"nonsense\r\n"]
    async with serving() as (server, handler):
        handler.go_on.clear()
        everything = b"".join(in_line)
        pieces = [everything] if whole else one_by_one(everything)
        asking = asyncio.create_task(exchange(server.port, *pieces))
        await until(lambda: len(handler.got) == 1)
        handler.go_on.set()
        said = await asking
    assert statuses(said) == [200, 404, 200, 415, 200, 200, 400]
    assert [body for body, _ in handler.got] == [b"1", b"2"]


@pytest.mark.parametrize("whole", [True, False])
@on_every_loop
async def test_an_answer_that_is_there_at_once_keeps_its_place_in_line(whole: bool) -> None:
    handler = RecordingHandler()

    def post(body: bytes, address: str) -> Awaitable[Response] | Response:
        return Response(200, body) if body == b"now" else handler.post(body, address)

    server = await serve("127.0.0.1", 0, App(post), LIMITS)
    told = [b"now", b"now", b"1", b"now", b"2", b"now"]
    in_line = [message(one) for one in told]
    handler.go_on.clear()
    pieces = [b"".join(in_line)] if whole else in_line
    asking = asyncio.create_task(exchange(server.port, *pieces, half_close=True))
    await until(lambda: len(handler.got) == 1)
    handler.go_on.set()
    said = await asking
    await server.close()
    assert [one.rpartition(b"\r\n\r\n")[2] for one in said.split(b"HTTP/1.1 200 OK")[1:]] == told


@pytest.mark.parametrize("again", [1, 3])
@on_every_loop
async def test_a_bug_before_the_answer_is_begun_is_answered_too(again: int, caplog: pytest.LogCaptureFixture) -> None:
    def post(body: bytes, _address: str) -> Response:
        return Response(200, body) if body != b"{}" else Response(200, body, headers=(("x", "\n"),))

    server = await serve("127.0.0.1", 0, App(post), LIMITS)
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for _ in range(again):
            writer.write(message(b"[]"))
            assert await one_answer(reader) == (200, b"[]")
        writer.write(message(b"{}"))
        assert (await one_answer(reader))[0] == 500
        assert await reader.read() == b""
    await hang_up(writer)
    await server.close()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@on_every_loop
async def test_a_client_is_told_to_go_on_when_it_is_its_turn() -> None:
    async with serving() as (server, handler):
        handler.go_on.clear()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(message(b"first") + message(b"second", b"Expect: 100-continue")[:-6])
        await until(lambda: len(handler.got) == 1)
        handler.go_on.set()
        assert await one_answer(reader) == (200, b"first")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"second")
        assert await one_answer(reader) == (200, b"second")
        await hang_up(writer)


@on_every_loop
async def test_a_client_that_stops_sending_gets_an_answer_to_all_it_has_sent_completely() -> None:
    halves = (b"POS", message(b"{}")[:-1], chunked(b"{}")[:-3], b"")
    async with serving() as (server, handler):
        for half in halves:
            handler.go_on.clear()
            before = len(handler.got)
            asking = asyncio.create_task(exchange(server.port, message(b"1"), half, half_close=True))
            await until(lambda before=before: len(handler.got) > before)  # type: ignore[misc]
            handler.go_on.set()
            assert statuses(await asking) == [200]
        await until(lambda: server.load == {"connections": 0, "requests": 0})
        assert statuses(await exchange(server.port, message(b"1") + b"nonsense", half_close=True)) == [200, 400]
    assert [body for body, _ in handler.got] == [b"1"] * 5


@on_every_loop
async def test_requests_are_counted_until_they_are_answered_or_their_client_leaves() -> None:
    async with serving() as (server, handler):
        handler.go_on.clear()
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(message(b"1") + message(b"2") + message(b"3")[:-1])
        await until(lambda: server.load["requests"] == 3)
        await hang_up(writer)
        handler.go_on.set()
        await until(lambda: server.load == {"connections": 0, "requests": 0})


# --- answers ----------------------------------------------------------------------------------------------------------


class CountingTransport:
    """Stands in for a socket."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def get_extra_info(self, name: str) -> Any:
        return ("127.0.0.1", 1) if name == "peername" else None

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def is_closing(self) -> bool:
        return False

    def is_reading(self) -> bool:
        return True

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        pass

    abort = close


@on_every_loop
async def test_an_answer_is_one_write() -> None:
    async def echo(body: bytes, _address: str) -> Response:
        return Response(200, body, headers=(("x-a", "b"),))

    table = ConnectionTable(Router(App(echo), AccessPolicy()), Limits())
    connection, transport = ServerConnection(table), CountingTransport()
    connection.connection_made(cast(asyncio.Transport, transport))
    for request, status in ((message(b"{}"), 200), (message(b"[]"), 200), (NOWHERE, 404), (b"\0", 400)):
        transport.written.clear()
        connection.data_received(request)
        await until(lambda: table.requests == 0)
        assert [statuses(data) for data in transport.written] == [[status]]
    connection.connection_lost(None)


def test_the_head_of_an_answer_tells_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    request = HttpRequest()
    for seconds in (1_000_000_000.2, 1_000_000_000.9, 1_000_000_001.0):
        monkeypatch.setattr(time, "time", partial(float, seconds))
        for _ in range(2):
            head, _, body = whole_answer(Response(200, b"{}", headers=(("x-a", "b"),)), request).partition(b"\r\n\r\n")
            first, date, *lines = head.split(b"\r\n")
            assert first == b"HTTP/1.1 200 OK"
            assert lines == [b"content-type: application/json", b"content-length: 2", b"x-a: b"]
            assert parsedate_to_datetime(date.decode().removeprefix("date: ")).timestamp() == int(seconds)
            assert body == b"{}"


@pytest.mark.parametrize("header", [("x-a", "b\r\nx-c: d"), ("x\n", "b"), ("x", "\u20ac")])
@on_every_loop
async def test_a_header_that_would_break_the_answer_is_a_bug(
    header: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as (server, handler):
        handler.answer = lambda body: Response(200, body, headers=(header,))
        said = await exchange(server.port, message(b"{}"))
    assert statuses(said) == [500]
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@on_every_loop
async def test_a_client_that_reads_its_last_answer_slowly_gets_all_of_it() -> None:
    async with serving(Limits(linger_s=0.05, idle_s=0.05)) as (server, handler):
        handler.answer = lambda _: Response(200, b"x" * 5_000_000)
        with closing(socket.socket()) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", server.port))
            client.sendall(message(b"{}", b"Connection: close"))
            await until(lambda: len(handler.got) == 1)
            loop = asyncio.get_running_loop()
            late = loop.time() + 0.3  # long after the time to linger
            await until(lambda: loop.time() > late)
            client.setblocking(False)
            size = 0
            while data := await loop.sock_recv(client, 1_000_000):
                size += len(data)
    assert size > 5_000_000


# --- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "half", [message(b"{}")[:-1], chunked(b"{}")[:-3], message(b"{}", b"Expect: 100-continue")[:-2]]
)
@on_every_loop
async def test_half_a_body_at_the_end_is_refused_without_a_word_in_the_log(
    half: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as (server, handler):
        asking = asyncio.create_task(exchange(server.port, half))
        await until(lambda: server.load["requests"] == 1)
        await server.close(0.01)
        said = await asking
        assert statuses(said)[-1] == 503
        assert error_of(said)["message"] == "OVERLOADED"
    assert handler.got == []
    assert caplog.records == []


@on_every_loop
async def test_all_in_line_are_told_when_the_time_to_finish_is_over(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as (server, handler):
        handler.go_on.clear()
        asking = asyncio.create_task(exchange(server.port, message(b"1") + message(b"2") + PAGE + message(b"3")[:-1]))
        await until(lambda: server.load["requests"] == 4)
        await server.close(0.01)
        assert statuses(await asking) == [503] * 4
        assert server.load == {"connections": 0, "requests": 0}
    assert [body for body, _ in handler.got] == [b"1"]
    assert caplog.records == []


@on_every_loop
async def test_a_request_that_arrives_with_the_end_is_answered() -> None:
    async with serving() as (server, handler):
        handler.go_on.clear()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        await until(lambda: server.load["connections"] == 1)
        writer.write(message(b"{}"))
        await until(lambda: server.load["requests"] == 1)
        await server.close(0)
        assert statuses(await reader.read()) == [503]
        await hang_up(writer)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(("end", "status"), [("bug", 500), ("cancelled", 503), ("close", 503)])
@on_every_loop
async def test_without_what_a_future_should_bring_there_is_an_answer(is_known: bool, end: str, status: int) -> None:
    futures: list[asyncio.Future[bytes]] = []

    async def post(body: bytes, _address: str) -> Response:
        if body == b"0":
            return Response(200, b"{}")
        futures.append(asyncio.get_running_loop().create_future())
        return Response(200, await futures[-1])

    server = await serve("127.0.0.1", 0, App(post))
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    if is_known:
        writer.write(message(b"0"))
        assert await one_answer(reader) == (200, b"{}")
    writer.write(message(b"1"))
    await until(lambda: len(futures) == 1)
    if end == "bug":
        futures[0].set_exception(ValueError("a bug"))
    elif end == "cancelled":
        futures[0].cancel()
    else:
        await server.close(0)
    assert (await one_answer(reader))[0] == status
    await hang_up(writer)
    await server.close(1)
    assert server.load == {"connections": 0, "requests": 0}


@on_every_loop
async def test_a_handler_that_does_not_end_does_not_hold_up_the_close() -> None:
    freed = asyncio.Event()

    async def stubborn(_body: bytes, _address: str) -> Response:
        while not freed.is_set():
            try:
                await freed.wait()
            except asyncio.CancelledError:
                continue
        return Response(200, b"{}")

    table = ConnectionTable(Router(App(stubborn), AccessPolicy()), Limits(linger_s=0.05))
    connection, transport = ServerConnection(table), CountingTransport()
    connection.connection_made(cast(asyncio.Transport, transport))
    connection.data_received(message(b"{}"))
    await asyncio.sleep(0)
    ending = asyncio.create_task(table.cut_off())
    await asyncio.wait([ending], timeout=0.2)
    connection.connection_lost(None)
    await ending
    freed.set()
    await until(lambda: table.requests == 0)


@pytest.mark.parametrize("second", [0, 951_782_400, 1_709_164_799, 1_798_761_599, 4_102_444_799])
def test_the_date_of_an_answer_is_written_as_mail_writes_it(second: int) -> None:
    assert _date_line(second).decode() == f"date: {formatdate(second, usegmt=True)}\r\n"
