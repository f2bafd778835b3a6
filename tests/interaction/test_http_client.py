"""What a client makes of whatever a server answers, over real sockets."""

from __future__ import annotations

import asyncio
import errno
import random
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from email.utils import formatdate
from pathlib import Path

import pytest

from league.calling.delivery import in_words
from league.letters import HttpReply
from league.machine import Failure, NoConnection
from league.protocol.endpoints import EndpointPolicy
from league.transport.http import look_up
from league.transport.http_call import TOO_LARGE
from league.transport.http_client import DEFAULT_LIMITS, CallFailed, HttpClient, PoolLimits
from league.transport.http_server import App, Limits, Response, Server, serve
from league.transport.resolving import LookUp, Resolver
from tests.support.http_wire import (
    ScriptedServer,
    Visit,
    answer,
    cut_up,
    free_port,
    mutilated,
    on_every_loop,
    one_by_one,
    open_sockets,
    parsed_head,
    refusing,
    refusing_port,
    saying,
    until,
)

BODY = b'{"jsonrpc":"2.0","id":1}'
LONG = 20.0
SHORT = 0.1
LIMIT = 1000

Call = Callable[[str], Awaitable[HttpReply]]


def found_by(look_up: LookUp) -> Resolver:
    return Resolver(EndpointPolicy(), look_up)


@asynccontextmanager
async def calling(limits: PoolLimits = DEFAULT_LIMITS, **more: object) -> AsyncIterator[HttpClient]:
    client = HttpClient(limits=limits, **more)  # type: ignore[arg-type]
    try:
        yield client
    finally:
        await client.close()
        assert client.load == {"connections": 0, "waiting": 0, "endpoints": 0}


async def fails(client: HttpClient, url: str, timeout_s: float = LONG, limit: int = LIMIT) -> CallFailed:
    """The failure of a call that must fail."""
    with pytest.raises(CallFailed) as caught:
        await client.post(url, BODY, timeout_s, limit)
    return caught.value


async def keeps_answering(visit: Visit) -> None:
    while True:
        body = await visit.request()
        await visit.say(answer(body))


async def never_answers(visit: Visit) -> None:
    await visit.gone()


# --- a call -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("HTTP.post_mcp")
@on_every_loop
async def test_a_call_is_a_plain_post_of_json() -> None:
    async with ScriptedServer(keeps_answering) as server, calling(user_agent="league-test") as client:
        reply = await client.post(f"http://localhost:{server.port}/mcp?x=1", BODY, LONG, LIMIT)
        head = parsed_head(server.visits[0].head)
    assert reply == HttpReply(200, BODY, None, "")
    assert head == {
        b"": b"POST /mcp?x=1 HTTP/1.1",
        b"host": b"localhost:%d" % server.port,
        b"content-type": b"application/json",
        b"accept": b"application/json, text/event-stream",
        b"accept-encoding": b"identity",
        b"user-agent": b"league-test",
        b"content-length": b"%d" % len(BODY),
    }


@pytest.mark.parametrize("status", ["200 OK", "302 Found", "404 Not Found", "500 Oops", "503 Later", "429 Slow"])
@on_every_loop
async def test_any_status_is_a_reply_and_no_redirect_is_followed(status: str) -> None:
    said = answer(b"{}", "Location: http://127.0.0.1:1/", "Content-Type: application/json", status=status)
    async with ScriptedServer(saying(said)) as server, calling() as client:
        reply = await client.post(server.url, BODY, LONG, LIMIT)
    assert reply == HttpReply(int(status[:3]), b"{}", None, "application/json", location="http://127.0.0.1:1/")


@pytest.mark.parametrize(
    ("said", "body"),
    [
        pytest.param(answer(b"hello"), b"hello", id="counted"),
        pytest.param(answer(b""), b"", id="empty"),
        pytest.param(answer(b"hello", "Connection: close"), b"hello", id="closing"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nhello", b"hello", id="until the end"),
        pytest.param(b"HTTP/1.0 200 OK\r\n\r\nhello", b"hello", id="HTTP/1.0"),
        pytest.param(b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello", id="HTTP/1.0 counted"),
        pytest.param(b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", b"hello", id="no phrase"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n",
            b"hello",
            id="chunked",
        ),
        pytest.param(b"HTTP/1.1 204 No Content\r\n\r\n", b"", id="no content"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b"hello"), b"hello", id="after 100"),
        pytest.param(b"HTTP/1.1 103 Hints\r\nLink: x\r\n\r\n" * 3 + answer(b"hello"), b"hello", id="after 103"),
        pytest.param(answer(b"hello") + answer(b"again"), b"hello", id="said twice"),
        pytest.param(answer(b"hello") + b"and more", b"hello", id="with something behind"),
        pytest.param(answer(b"hello", "Content-Encoding: identity"), b"hello", id="identity"),
        pytest.param(answer(b"x" * LIMIT), b"x" * LIMIT, id="of exactly the limit"),
    ],
)
@pytest.mark.parametrize("cut", [lambda data: [data], one_by_one], ids=["whole", "byte by byte"])
@on_every_loop
async def test_an_answer_is_read_however_it_is_framed_and_cut(
    said: bytes, body: bytes, cut: Callable[[bytes], list[bytes]]
) -> None:
    async with ScriptedServer(saying(*cut(said))) as server, calling() as client:
        reply = await client.post(server.url, BODY, LONG, LIMIT)
        assert reply.body == body
        assert len(server.visits) == 1
        await client.post(server.url, BODY, LONG, LIMIT)
        assert len(server.visits) == 2, "a connection whose answer did not end cleanly is not used again"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        pytest.param(b"nonsense\r\n\r\n", "not HTTP", id="nonsense"),
        pytest.param(b"HTTP/1.1 OK\r\n\r\n", "not HTTP", id="no status"),
        pytest.param(b"HTTP/1.1 20x OK\r\n\r\n", "not HTTP", id="a bad status"),
        pytest.param(b"HTTP/1.1 99999 OK\r\n\r\n", "not HTTP", id="a long status"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", "not HTTP", id="another protocol"),
        pytest.param(b"\0\0\0\0", "not HTTP", id="NUL"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "not HTTP", id="a bad length"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "not HTTP", id="two lengths"
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            "not HTTP",
            id="CL.TE",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "not HTTP", id="bad chunks"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n", "not HTTP", id="a long chunk"
        ),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", "transfer encoding", id="gzipped transfer"
        ),
        pytest.param(answer(b"hello", "Content-Encoding: gzip"), "compressed", id="compressed"),
        pytest.param(answer(b"hello", "Content-Encoding: identity", "Content-Encoding: br"), "compressed", id="twice"),
        pytest.param(answer(b"x" * (LIMIT + 1)), TOO_LARGE, id="too large, declared"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", TOO_LARGE, id="huge, declared"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (LIMIT + 1), TOO_LARGE, id="too large, counted"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"64\r\n"
            + b"x" * 100
            + b"\r\n"
            + b"64\r\n"
            + b"x" * 100
            + b"\r\n" * 1,
            "closed",
            id="chunks without end",
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000, "too large", id="a header without end"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 20_000, "too large", id="headers without end"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" * 5_000, "too large", id="100 without end"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"x" * 100_000,
            TOO_LARGE,
            id="a chunk extension without end",
        ),
        pytest.param(
            b"HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "protocol", id="an upgrade"
        ),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", "closed", id="cut off"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel", "closed", id="cut off in a chunk"
        ),
        pytest.param(b"HTTP/1.1 2", "closed", id="cut off in the first line"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n", "closed", id="cut off after 100"),
        pytest.param(b"", "closed", id="nothing"),
    ],
)
@pytest.mark.parametrize("used_before", [False, True])
@on_every_loop
async def test_what_is_no_answer_breaks_the_call_and_is_not_asked_again(
    said: bytes, why: str, used_before: bool
) -> None:
    async def script(visit: Visit) -> None:
        if used_before:
            await visit.request()
            await visit.say(answer(b"{}"))
        await visit.request()
        await visit.say(said)

    async with ScriptedServer(script) as server, calling() as client:
        if used_before:
            await client.post(server.url, BODY, LONG, LIMIT)
            if not said:
                return  # that is a stale connection: see below
        failed = await fails(client, server.url)
        # An answer that is only too large or compressed shows that somebody is there.
        is_answer = any(word in why for word in ("compressed", "transfer encoding")) or why == TOO_LARGE
        assert failed.failure is (Failure.UNUSABLE if is_answer else Failure.BROKEN)
        assert why in failed.detail
        assert not failed.local
        assert len(server.visits) == 1


@on_every_loop
async def test_an_answer_without_end_is_cut_off_at_once() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await visit.say(b"64\r\n" + b"x" * 100 + b"\r\n")

    async with ScriptedServer(script) as server, calling() as client:
        failed = await fails(client, server.url)
        assert (failed.failure, failed.detail) == (Failure.UNUSABLE, TOO_LARGE)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("0", 0.0), ("7", 7.0), ("1.5", 1.5), ("soon", None), ("-1", None), ("9" * 400, None), ("", None), ("nan", None)],
)
@pytest.mark.requirement("HTTP.retry_after")
@on_every_loop
async def test_when_to_come_back_is_read_as_seconds(header: str, seconds: float | None) -> None:
    async with (
        ScriptedServer(saying(answer(b"{}", f"Retry-After: {header}", status="503 Later"))) as server,
        calling() as client,
    ):
        assert (await client.post(server.url, BODY, LONG, LIMIT)).retry_after == seconds


@on_every_loop
async def test_when_to_come_back_may_be_a_date() -> None:
    long_ago = formatdate(0, usegmt=True)
    far_off = formatdate(4_000_000_000, usegmt=True)
    script = saying(answer(b"{}", f"Retry-After: {long_ago}")), saying(answer(b"{}", f"Retry-After: {far_off}"))
    async with ScriptedServer(*script) as server, calling() as client:
        assert (await client.post(server.url, BODY, LONG, LIMIT)).retry_after == 0.0
        later = (await client.post(server.url, BODY, LONG, LIMIT)).retry_after
    assert later is not None
    assert later > 1_000_000


# --- time -------------------------------------------------------------------------------------------------------------


async def drips(visit: Visit) -> None:
    await visit.request()
    await visit.say(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        await visit.say(b"x")
        await asyncio.sleep(0)


async def reads_nothing(visit: Visit) -> None:
    visit.writer.transport.pause_reading()  # type: ignore[attr-defined]
    await asyncio.Event().wait()


@pytest.mark.parametrize("script", [never_answers, drips, reads_nothing])
@on_every_loop
async def test_one_deadline_holds_for_the_whole_call(script: Callable[[Visit], Awaitable[None]]) -> None:
    async with ScriptedServer(script) as server, calling() as client:
        loop = asyncio.get_running_loop()
        began = loop.time()
        with pytest.raises(CallFailed) as caught:
            await client.post(server.url, b"x" * 10_000_000, SHORT, limit=1_000_000)
        assert caught.value.failure is Failure.TIMEOUT
        assert not caught.value.local
        assert SHORT * 0.9 <= loop.time() - began < SHORT + 5
        await until(lambda: client.load["connections"] == 0)


@on_every_loop
async def test_the_deadline_holds_on_a_kept_connection_too() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.say(answer(b"{}"))
        await visit.request()
        await visit.gone()

    async with ScriptedServer(script) as server, calling() as client:
        await client.post(server.url, BODY, LONG, LIMIT)
        assert (await fails(client, server.url, SHORT)).failure is Failure.TIMEOUT
        assert len(server.visits) == 1
        assert (await fails(client, server.url, 0)).failure is Failure.TIMEOUT
        assert (await fails(client, server.url, -1)).failure is Failure.TIMEOUT


@on_every_loop
async def test_the_deadline_holds_while_connecting() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        url = f"http://127.0.0.1:{full.getsockname()[1]}/mcp"
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            assert one.connect_ex(full.getsockname()) in (0, errno.EINPROGRESS)
        async with calling() as client:
            failed = await fails(client, url, SHORT)
            assert failed.failure is Failure.TIMEOUT
        for one in waiting:
            one.close()


@on_every_loop
async def test_the_deadline_holds_while_a_name_is_looked_up() -> None:
    async def asleep(_host: str, _port: int) -> list[tuple[int, str]]:
        await asyncio.Event().wait()
        return []

    async with calling(resolver=found_by(asleep)) as client:
        assert (await fails(client, "http://agent.example/mcp", SHORT)).failure is Failure.TIMEOUT


@on_every_loop
async def test_short_and_long_deadlines_do_not_disturb_each_other() -> None:
    released = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.request()
        await released.wait()
        await visit.say(answer(b"{}"))

    async with ScriptedServer(script) as server, calling() as client:
        patient = asyncio.create_task(client.post(server.url, BODY, LONG, LIMIT))
        await until(lambda: len(server.visits) == 1)
        hasty = [fails(client, server.url, SHORT * factor) for factor in (1, 1.5, 0.5)]
        assert {one.failure for one in await asyncio.gather(*hasty)} == {Failure.TIMEOUT}
        released.set()
        assert (await patient).status == 200


# --- reaching a server ------------------------------------------------------------------------------------------------


@on_every_loop
async def test_a_port_where_nobody_listens_refuses() -> None:
    async with calling() as client:
        with refusing_port() as port:
            failed = await fails(client, f"http://127.0.0.1:{port}/mcp")
    assert failed.failure is Failure.REFUSED
    assert not failed.local


@pytest.mark.parametrize(
    "url",
    [
        "",
        "mcp",
        "ftp://127.0.0.1/mcp",
        "http://",
        "http:///mcp",
        "http://127.0.0.1:99999/mcp",
        "http://127.0.0.1:x/mcp",
        "http://[::1/mcp",
        "http://user:secret@127.0.0.1/mcp",
        "http://127.0.0.1/a b",
        "http://127.0.0.1/a\r\nX: y",
        "http://127.0.0.1\r\nX: y/",
        "http://127.0.0.1/caf\u00e9",
        "http://127.0.0.1/\0",
        f"http://{'a' * 70}.invalid/",
        "http://..invalid/",
    ],
)
@on_every_loop
async def test_what_is_no_address_is_not_called(url: str) -> None:
    async with calling() as client:
        failed = await fails(client, url)
        assert failed.failure is Failure.FORBIDDEN
        assert "secret" not in str(failed)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "256.256.256.256.invalid"])
@on_every_loop
async def test_a_name_without_an_address_refuses(host: str) -> None:
    async with calling() as client:
        assert (await fails(client, f"http://{host}/mcp")).failure is Failure.REFUSED


@on_every_loop
async def test_a_name_is_looked_up_once_and_exactly_that_address_is_called() -> None:
    asked = []

    async def scripted(host: str, port: int) -> list[tuple[int, str]]:
        asked.append((host, port))
        return [(socket.AF_INET, "127.0.0.1")]

    async with ScriptedServer(keeps_answering) as server, calling(resolver=found_by(scripted)) as client:
        for _ in range(3):
            await client.post(f"http://Agent.example:{server.port}/mcp", BODY, LONG, LIMIT)
        assert asked == [("agent.example", server.port)]
        assert parsed_head(server.visits[0].head)[b"host"] == b"Agent.example:%d" % server.port


@on_every_loop
async def test_addresses_are_tried_in_their_order() -> None:
    async def scripted(_host: str, _port: int) -> list[tuple[int, str]]:
        return [(socket.AF_INET, "127.0.0.2"), (socket.AF_INET, "127.0.0.1")]

    async with ScriptedServer(keeps_answering) as server, calling(resolver=found_by(scripted)) as client:
        with refusing("127.0.0.2", server.port):
            assert (await client.post(f"http://agent.example:{server.port}/", BODY, LONG, LIMIT)).status == 200


@on_every_loop
async def test_a_name_that_leads_nowhere_is_called_nowhere() -> None:
    async def nothing(_host: str, _port: int) -> list[tuple[int, str]]:
        return []

    async with calling(resolver=found_by(nothing)) as client:
        assert (await fails(client, "http://agent.example/mcp")).failure is Failure.REFUSED


@on_every_loop
async def test_a_lack_of_sockets_is_our_own_fault() -> None:
    async def exhausted(_host: str, _port: int) -> list[tuple[int, str]]:
        raise OSError(errno.EMFILE, "too many open files")

    async with calling(resolver=found_by(exhausted)) as client:
        failed = await fails(client, "http://agent.example/mcp")
    assert failed.failure is Failure.REFUSED
    assert failed.local


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
@on_every_loop
async def test_ipv6_is_called_like_ipv4() -> None:
    got = []

    async def post(body: bytes, address: str) -> Response:
        got.append(address)
        return Response(200, body)

    with refusing_port() as port:  # at the other address of this name
        server = await serve("::1", port, App(post))
        async with calling() as client:
            assert (await client.post(f"http://[::1]:{port}/mcp", BODY, LONG, LIMIT)).status == 200
            assert (await client.post(f"http://localhost:{port}/mcp", BODY, LONG, LIMIT)).status == 200
        await server.close()
    assert got == ["::1", "::1"]


# For tests only: it certifies localhost and agent.example, to nobody but these tests.
CERTIFICATE = """
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgWXEN/ZAK4pGOnUXe
kn8lod5JiB3WFkhq9RUfNgTIXRehRANCAAQyG8Vale6ZSDmsxoxOwJZNfu7XB9AH
S0znVSY4wnl667dfikwvRseezPkqvEIbgh33rXzFKnZXYtCi0/GjA+Lm
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBpDCCAUmgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CWxvY2FsaG9zdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABDIbxVqV7plIOazG
jE7Alk1+7tcH0AdLTOdVJjjCeXrrt1+KTC9Gx57M+Sq8QhuCHfetfMUqdldi0KLT
8aMD4uajgYkwgYYwIwYDVR0RBBwwGoIJbG9jYWxob3N0gg1hZ2VudC5leGFtcGxl
MA8GA1UdEwEB/wQFMAMBAf8wDgYDVR0PAQH/BAQDAgGGMB0GA1UdDgQWBBQ9ya0v
rVp0GrzUNPzeAlIDu0N2xzAfBgNVHSMEGDAWgBQ9ya0vrVp0GrzUNPzeAlIDu0N2
xzAKBggqhkjOPQQDAgNJADBGAiEAr8NDYxSxfewS8GiJagWPfNAoH3MDmur5nDSU
Pna4ekUCIQCAZ9UxdFOZ5xgoo9iEwIox2MM8kmipXLcjHnbbCAMvng==
-----END CERTIFICATE-----
"""


@on_every_loop
async def test_https_is_called_only_where_the_certificate_can_be_trusted(tmp_path: Path) -> None:
    file = tmp_path / "certificate.pem"
    file.write_text(CERTIFICATE, encoding="ascii")
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(file)
    async with ScriptedServer(keeps_answering, tls=theirs) as server:
        url = f"https://localhost:{server.port}/mcp"
        async with calling(tls=ssl.create_default_context(cafile=str(file))) as client:
            for _ in range(2):
                assert (await client.post(url, BODY, LONG, LIMIT)).body == BODY
            assert len(server.visits) == 1
            elsewhere = await fails(client, f"https://127.0.0.1:{server.port}/mcp")
        async with calling() as client:
            unknown = await fails(client, url)
            plain = await fails(client, url.replace("https", "http"))
    assert elsewhere.failure is unknown.failure is Failure.REFUSED
    assert elsewhere.detail == unknown.detail == NoConnection.NOT_TRUSTED
    assert plain.failure is Failure.BROKEN


@on_every_loop
async def test_only_a_refused_connection_is_called_refused() -> None:
    async def unknown(_host: str, _port: int) -> list[tuple[int, str]]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    async with calling(resolver=found_by(unknown)) as client:
        no_host = await fails(client, "http://agent.example/mcp")
    server = await _echo_server()
    async with calling() as client:
        no_tls = await fails(client, f"https://127.0.0.1:{server.port}/mcp")
        await server.close()
        with refusing_port() as port:
            refused = await fails(client, f"http://127.0.0.1:{port}/mcp")
    failures = (no_host, no_tls, refused)
    assert {failed.failure for failed in failures} == {Failure.REFUSED}
    words = [in_words(failed.failure, failed.detail) for failed in failures]
    assert words == [NoConnection.UNKNOWN_HOST, NoConnection.NO_TLS, "connection refused"]


# --- connections ------------------------------------------------------------------------------------------------------


@on_every_loop
async def test_a_connection_is_used_again() -> None:
    async with ScriptedServer(keeps_answering) as server, calling() as client:
        other = f"http://127.0.0.1:{server.port}/other"
        for url in (server.url, other) * 10:
            await client.post(url, BODY, LONG, LIMIT)
        # Two agents may be at one port: neither waits for the other's connection.
        assert len(server.visits) == 2
        assert client.load == {"connections": 2, "waiting": 0, "endpoints": 2}


@on_every_loop
async def test_a_free_connection_is_closed_after_a_while() -> None:
    async with ScriptedServer(keeps_answering) as server, calling(PoolLimits(idle_s=0.05)) as client:
        await client.post(server.url, BODY, LONG, LIMIT)
        assert client.load["connections"] == 1
        await until(lambda: client.load == {"connections": 0, "waiting": 0, "endpoints": 0})
        await client.post(server.url, BODY, LONG, LIMIT)
        assert len(server.visits) == 2


@on_every_loop
async def test_a_kept_connection_found_closed_is_replaced_once() -> None:
    async def once_then_closes(visit: Visit) -> None:
        await visit.request()
        await visit.say(answer(b"first"))
        await visit.request()

    async with ScriptedServer(once_then_closes, keeps_answering) as server, calling() as client:
        assert (await client.post(server.url, BODY, LONG, LIMIT)).body == b"first"
        assert (await client.post(server.url, BODY, LONG, LIMIT)).body == BODY
        assert len(server.visits) == 2


@on_every_loop
async def test_what_may_be_counted_twice_is_not_sent_again() -> None:
    async def once_then_closes(visit: Visit) -> None:
        await visit.request()
        await visit.say(answer(b"first"))
        await visit.request()

    async with ScriptedServer(once_then_closes, keeps_answering) as server, calling() as client:
        await client.post(server.url, BODY, LONG, LIMIT)
        with pytest.raises(CallFailed) as failed:
            await client.post(server.url, BODY, LONG, LIMIT, is_once=True)
        assert failed.value.failure is Failure.BROKEN
        assert len(server.visits) == 1


@on_every_loop
async def test_the_second_try_is_the_last() -> None:
    async def once_then_closes(visit: Visit) -> None:
        await visit.request()
        await visit.say(answer(b"first"))
        await visit.request()

    async def closes(visit: Visit) -> None:
        await visit.request()

    async with ScriptedServer(once_then_closes, closes, keeps_answering) as server, calling() as client:
        await client.post(server.url, BODY, LONG, LIMIT)
        assert (await fails(client, server.url)).failure is Failure.BROKEN
        assert len(server.visits) == 2


@on_every_loop
async def test_a_new_connection_that_closes_is_not_tried_again() -> None:
    async with ScriptedServer(saying(), keeps_answering) as server, calling() as client:
        assert (await fails(client, server.url)).failure is Failure.BROKEN
        assert len(server.visits) == 1


@on_every_loop
async def test_a_server_that_closes_at_once_leaves_nothing_behind() -> None:
    async def closes_at_once(visit: Visit) -> None:
        visit.writer.transport.abort()

    async with ScriptedServer(closes_at_once) as server, calling() as client:
        for _ in range(50):
            assert (await fails(client, server.url)).failure in (Failure.BROKEN, Failure.REFUSED)
        await until(lambda: client.load == {"connections": 0, "waiting": 0, "endpoints": 0})


@on_every_loop
async def test_what_comes_unasked_closes_a_free_connection() -> None:
    async def talks(visit: Visit) -> None:
        await visit.request()
        await visit.say(answer(b"{}"))
        await visit.say(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
        await visit.gone()

    async with ScriptedServer(talks) as server, calling() as client:
        await client.post(server.url, BODY, LONG, LIMIT)
        await until(lambda: client.load["connections"] == 0)


@on_every_loop
async def test_a_restarted_server_is_found_again() -> None:
    async with calling() as client:
        server = await _echo_server(free_port())
        for _ in range(10):
            url = f"http://127.0.0.1:{server.port}/mcp"
            assert (await client.post(url, BODY, LONG, LIMIT)).body == BODY
            await server.close()
            assert (await fails(client, url)).failure is Failure.REFUSED
            server = await _echo_server(server.port)
        await server.close()


async def _echo_server(port: int = 0, idle_s: float = 30.0) -> Server:
    async def post(body: bytes, _address: str) -> Response:
        return Response(200, body)

    return await serve("127.0.0.1", port, App(post), Limits(idle_s=idle_s))


@on_every_loop
async def test_no_more_connections_are_opened_to_an_endpoint_than_allowed() -> None:
    async with ScriptedServer(keeps_answering) as server, calling(PoolLimits(per_endpoint=3)) as client:
        replies = await asyncio.gather(*(client.post(server.url, b"%d" % n, LONG, LIMIT) for n in range(50)))
        assert [reply.body for reply in replies] == [b"%d" % n for n in range(50)]
        assert len(server.visits) == 3


@pytest.mark.requirement("ENDPOINT.two_connections")
@on_every_loop
async def test_usually_two_connections_to_an_endpoint_are_enough() -> None:
    async with ScriptedServer(never_answers, keeps_answering) as server, calling() as client:
        thinking = asyncio.create_task(client.post(server.url, BODY, LONG, LIMIT))
        await until(lambda: len(server.visits) == 1)
        replies = await asyncio.gather(*(client.post(server.url, b"%d" % n, LONG, LIMIT) for n in range(20)))
        assert [reply.body for reply in replies] == [b"%d" % n for n in range(20)]
        assert len(server.visits) == 2
        thinking.cancel()


@on_every_loop
async def test_a_notification_that_is_not_acknowledged_gives_way_to_a_call_that_waits() -> None:
    read = []

    async def keeps_silent(visit: Visit) -> None:
        read.append(await visit.request())
        await visit.gone()

    limits = PoolLimits(gives_way_s=SHORT)
    async with ScriptedServer(keeps_silent, keeps_silent, keeps_answering) as server, calling(limits) as client:
        call = asyncio.create_task(fails(client, server.url, LONG))
        await until(lambda: len(read) == 1)
        notification = asyncio.create_task(client.post(server.url, BODY, LONG, LIMIT, gives_way=True))
        await until(lambda: len(read) == 2)
        assert (await client.post(server.url, b"next", LONG, LIMIT)).body == b"next"
        with pytest.raises(CallFailed) as caught:
            await notification
        assert (caught.value.failure, caught.value.local, caught.value.gave_way) == (Failure.TIMEOUT, False, True)
        assert not call.done(), "what is no notification does not give way"
    await call


@on_every_loop
async def test_while_nobody_waits_a_notification_has_all_its_time() -> None:
    release = asyncio.Event()

    async def late(visit: Visit) -> None:
        await visit.request()
        await release.wait()
        await visit.say(answer(b"late"))

    async with ScriptedServer(late, keeps_answering) as server, calling(PoolLimits(gives_way_s=0.0)) as client:
        notification = asyncio.create_task(client.post(server.url, BODY, LONG, LIMIT, gives_way=True))
        await until(lambda: len(server.visits) == 1)
        for _ in range(20):
            await client.post(server.url, BODY, LONG, LIMIT)
        release.set()
        assert (await notification).body == b"late"


@on_every_loop
async def test_no_more_connections_are_opened_in_all_than_allowed() -> None:
    async with (
        ScriptedServer(keeps_answering) as one,
        ScriptedServer(keeps_answering) as two,
        ScriptedServer(keeps_answering) as three,
        calling(PoolLimits(connections=4)) as client,
    ):
        urls = [server.url for server in (one, two, three)] * 20
        before = open_sockets()
        calls = [asyncio.create_task(client.post(url, url.encode(), LONG, LIMIT)) for url in urls]
        while not all(call.done() for call in calls):
            assert client.load["connections"] <= 4
            await asyncio.sleep(0)
        assert [call.result().body for call in calls] == [url.encode() for url in urls]
        assert open_sockets() - before <= 2 * 4


@on_every_loop
async def test_a_call_to_another_server_does_not_wait_for_an_idle_connection() -> None:
    async with (
        ScriptedServer(keeps_answering) as one,
        ScriptedServer(keeps_answering) as two,
        calling(PoolLimits(connections=1, idle_s=LONG)) as client,
    ):
        for _ in range(3):
            replies = await asyncio.gather(*(client.post(server.url, BODY, LONG, LIMIT) for server in (one, two)))
            assert [reply.body for reply in replies] == [BODY, BODY]
            await client.post(one.url, BODY, LONG, LIMIT)
        assert client.load["connections"] == 1


@on_every_loop
async def test_a_server_that_closes_after_each_answer_without_a_word_costs_no_call() -> None:
    async with ScriptedServer(saying(answer(b"{}"))) as server, calling(PoolLimits(per_endpoint=1)) as client:
        replies = await asyncio.gather(*(client.post(server.url, BODY, LONG, LIMIT) for _ in range(5)))
        assert [reply.status for reply in replies] == [200] * 5


@on_every_loop
async def test_waiting_for_our_own_connections_is_nobody_elses_fault() -> None:
    async with ScriptedServer(never_answers) as server, calling(PoolLimits(per_endpoint=1)) as client:
        first = asyncio.create_task(fails(client, server.url, SHORT * 3))
        await until(lambda: len(server.visits) == 1)
        second = await fails(client, server.url, SHORT)
        assert second.failure is Failure.TIMEOUT
        assert second.local
        assert not (await first).local


@on_every_loop
async def test_a_waiting_call_takes_the_place_of_a_failed_one() -> None:
    async with ScriptedServer(never_answers, keeps_answering) as server, calling(PoolLimits(per_endpoint=1)) as client:
        failing = asyncio.create_task(fails(client, server.url, SHORT))
        waiting = asyncio.create_task(client.post(server.url, BODY, LONG, LIMIT))
        assert (await failing).failure is Failure.TIMEOUT
        assert (await waiting).body == BODY


@on_every_loop
async def test_a_cancelled_call_closes_its_connection() -> None:
    left = asyncio.Event()

    async def notices(visit: Visit) -> None:
        await visit.request()
        await visit.gone()
        left.set()

    async with ScriptedServer(notices) as server, calling() as client:
        call = asyncio.create_task(client.post(server.url, BODY, LONG, LIMIT))
        await until(lambda: len(server.visits) == 1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await left.wait()
        await until(lambda: client.load["connections"] == 0)


@on_every_loop
async def test_a_call_may_be_cancelled_at_any_moment() -> None:
    async with ScriptedServer(keeps_answering) as server, calling(PoolLimits(per_endpoint=2)) as client:
        for turns in range(60):
            calls = [asyncio.create_task(client.post(server.url, BODY, LONG, LIMIT)) for _ in range(4)]
            for _ in range(turns):
                await asyncio.sleep(0)
            calls[turns % 4].cancel()
            ends = await asyncio.gather(*calls, return_exceptions=True)
            for place, end in enumerate(ends):
                assert isinstance(end, HttpReply) or (place == turns % 4 and isinstance(end, asyncio.CancelledError))
            assert client.load["connections"] <= 2


@on_every_loop
async def test_closing_ends_every_call() -> None:
    async def asleep(host: str, port: int) -> list[tuple[int, str]]:
        if host == "asleep.example":
            await asyncio.Event().wait()
        return await look_up(host, port)

    async with ScriptedServer(never_answers) as server:
        client = HttpClient(limits=PoolLimits(per_endpoint=1), resolver=found_by(asleep))
        calls = [asyncio.create_task(fails(client, server.url)) for _ in range(3)]
        calls.append(asyncio.create_task(fails(client, "http://asleep.example/mcp")))
        await until(lambda: len(server.visits) == 1)
        await client.close()
        assert [failed.local for failed in await asyncio.gather(*calls)] == [True] * 4
        assert (await fails(client, server.url)).local
        await client.close()


# --- many -------------------------------------------------------------------------------------------------------------


@on_every_loop
async def test_a_thousand_calls_in_a_row_use_one_connection() -> None:
    server = await _echo_server()
    async with calling() as client:
        before = open_sockets()
        for number in range(1000):
            body = b"%d" % number
            assert (await client.post(f"http://127.0.0.1:{server.port}/mcp", body, LONG, LIMIT)).body == body
        assert open_sockets() - before <= 2
        assert server.load == {"connections": 1, "requests": 0}
    await server.close()


@on_every_loop
async def test_two_hundred_calls_at_once_get_each_its_own_answer() -> None:
    server = await _echo_server()
    async with calling() as client:
        url = f"http://127.0.0.1:{server.port}/mcp"
        for _ in range(3):
            replies = await asyncio.gather(*(client.post(url, b"%d" % n, LONG, LIMIT) for n in range(200)))
            assert [reply.body for reply in replies] == [b"%d" % n for n in range(200)]
        assert client.load["connections"] <= 200
    await server.close()


@on_every_loop
async def test_a_server_that_closes_idle_connections_early_costs_no_call() -> None:
    server = await _echo_server(idle_s=0.01)
    async with calling() as client:
        url = f"http://127.0.0.1:{server.port}/mcp"
        for call in range(100):
            assert (await client.post(url, BODY, LONG, LIMIT)).body == BODY
            for _ in range(call * 20):  # until the server is just about to close
                await asyncio.sleep(0)
    await server.close()


@on_every_loop
async def test_many_endpoints_leave_no_trace() -> None:
    async with calling() as client:
        for number in range(5000):
            await fails(client, f"ftp://127.0.0.1/{number}")
        for _ in range(50):
            with refusing_port() as port:
                await fails(client, f"http://127.0.0.1:{port}/mcp")
        assert client.load == {"connections": 0, "waiting": 0, "endpoints": 0}


@pytest.mark.parametrize("seed", range(4))
@on_every_loop
async def test_mutilated_answers_end_every_call_one_way_or_the_other(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(seed)

    async def script(visit: Visit) -> None:
        for _ in range(chance.randint(1, 5)):
            await visit.request()
            await visit.say(*cut_up(mutilated(chance.choice(ANSWERS), chance), chance))

    async with ScriptedServer(script) as server, calling(PoolLimits(per_endpoint=8, connections=8)) as client:
        for _ in range(5):
            calls = [asyncio.create_task(client.post(server.url, BODY, SHORT, LIMIT)) for _ in range(20)]
            for call in calls[: chance.randint(0, 3)]:
                call.cancel()
            ends = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(end, HttpReply | CallFailed | asyncio.CancelledError) for end in ends)
            assert client.load["connections"] <= 8
    assert caplog.records == []


ANSWERS = [
    answer(b"hello"),
    answer(b"hello", "Retry-After: 5", "Content-Type: application/json"),
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nX: y\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n" + answer(b"hello"),
    b"HTTP/1.0 200 OK\r\n\r\nhello",
    b"HTTP/1.1 204 No Content\r\n\r\n",
]
