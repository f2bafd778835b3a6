"""Who loses its place in a crowd: never whoever waits for us, and first whoever keeps us waiting; encrypted or not."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import subprocess
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from league.transport import http_connection, http_tls
from league.transport.http_client import HttpClient
from league.transport.http_server import Limits, Response, Server
from league.transport.http_tls import CertificateError, server_context
from tests.support.certificates import make_certificates
from tests.support.http_servers import HOST, RecordingHandler, error_of, message, serving
from tests.support.http_wire import exchange, hang_up, on_every_loop, one_answer, statuses, until

CROWD = 200
ASKING = message(b"asking", b"Connection: close")
HALVES = {
    "nothing": b"",
    "half a line": b"POST /mc",
    "half the headers": b"POST /mcp HTTP/1.1\r\n" + HOST,
    "half a body": message(b"{}")[:-1],
    "half a chunk": message(b"").replace(b"Content-Length: 0", b"Transfer-Encoding: chunked") + b"5\r\n{",
    "a second half": message(b"{}") + message(b"{}")[:-1],
}
LIMITS = (
    Limits(connections_per_address=CROWD, header_s=60, body_s=60),
    Limits(connections=CROWD, header_s=60, body_s=60),
)


@pytest.fixture
def nobody_is_spared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has sent less than a request counts as slow at once."""
    for module in (http_connection, http_tls):
        monkeypatch.setattr(module, "GRACE_S", 0.0)


@asynccontextmanager
async def crowd_of(
    server: Server, size: int, sending: bytes
) -> AsyncIterator[list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]:
    """So many clients that send this and then nothing more; all of them have a place."""
    clients = []
    try:
        for _ in range(size):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            clients.append((reader, writer))
            writer.write(sending)
            await writer.drain()
        await until(lambda: server.load["connections"] == size)
        yield clients
    finally:
        for _, writer in clients:
            await hang_up(writer)


@pytest.mark.requirement("HTTP.eviction")
@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("half", HALVES)
@on_every_loop
async def test_slow_clients_do_not_keep_out_a_neighbour_at_their_address(half: str, limits: Limits) -> None:
    async with serving(limits) as (server, handler), crowd_of(server, CROWD, HALVES[half]):
        for _ in range(20):
            assert statuses(await exchange(server.port, ASKING)) == [200]
        assert [body for body, _ in handler.got].count(b"asking") == 20
        assert server.load["connections"] <= CROWD


@pytest.mark.requirement("HTTP.eviction")
@pytest.mark.parametrize("limits", LIMITS)
@on_every_loop
async def test_many_neighbours_at_once_are_served_beside_slow_clients(limits: Limits) -> None:
    async with serving(limits) as (server, _), crowd_of(server, CROWD, HALVES["half a body"]):
        said = await asyncio.gather(*(exchange(server.port, ASKING) for _ in range(100)))
    assert [statuses(one) for one in said] == [[200]] * 100


@pytest.mark.requirement("HTTP.eviction")
@on_every_loop
async def test_whoever_is_slow_goes_before_whoever_is_idle(nobody_is_spared: None) -> None:
    async with serving(Limits(connections=11)) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(message(b"first"))
        assert await one_answer(reader) == (200, b"first")
        async with crowd_of_slow(server, 10) as slow:
            assert statuses(await exchange(server.port, ASKING)) == [200]
            told = await slow[0][0].read()
            assert statuses(told) == [503]
            assert error_of(told)["message"] == "OVERLOADED"
            assert b"\r\nretry-after: " in told
            writer.write(message(b"still here"))
            assert await one_answer(reader) == (200, b"still here")
        await hang_up(writer)


@asynccontextmanager
async def crowd_of_slow(
    server: Server, size: int
) -> AsyncIterator[list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]]:
    """Beside one connection that is there already."""
    clients = []
    for place in range(size):
        clients.append(await asyncio.open_connection("127.0.0.1", server.port))
        clients[-1][1].write(HALVES["half a body"])
        await until(lambda place=place: server.load == {"connections": place + 2, "requests": place + 1})  # type: ignore[misc]
    yield clients
    for _, writer in clients:
        await hang_up(writer)


@pytest.mark.requirement("HTTP.eviction")
@pytest.mark.parametrize(("limits", "status"), [(LIMITS[0], 429), (LIMITS[1], 503)])
@on_every_loop
async def test_whoever_waits_for_us_keeps_its_place(limits: Limits, status: int) -> None:
    async with serving(limits) as (server, handler):
        handler.go_on.clear()
        async with crowd_of(server, CROWD, message(b"{}")) as clients:
            await until(lambda: len(handler.got) == CROWD)
            assert statuses(await exchange(server.port, message(b"{}"), half_close=True)) == [status]
            handler.go_on.set()
            for reader, _ in clients:
                assert await one_answer(reader) == (200, b"{}")


@pytest.mark.requirement("HTTP.eviction")
@on_every_loop
async def test_clients_that_do_not_read_their_answers_do_not_keep_out_a_neighbour() -> None:
    handler = RecordingHandler()
    handler.answer = lambda body: Response(200, body * 8_000_000 if body == b"x" else body)
    async with serving(Limits(connections_per_address=10), handler) as (server, _), crowd_of(server, 10, message(b"x")):
        await until(lambda: len(handler.got) == 10)
        for _ in range(5):
            assert statuses(await exchange(server.port, ASKING)) == [200]


# --- encrypted --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Of a server, and of a client that trusts it."""
    files = make_certificates(tmp_path_factory.mktemp("certificates"))
    return server_context(files.certificate, files.key), ssl.create_default_context(cafile=files.authority)


@pytest.mark.requirement("HTTP.tls")
@on_every_loop
async def test_an_encrypted_message_is_answered(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    theirs, ours = contexts
    client = HttpClient(tls=ours)
    async with serving(tls=theirs) as (server, handler):
        for name in ("localhost", "127.0.0.1"):
            for _ in range(2):
                reply = await client.post(f"https://{name}:{server.port}/mcp", b"{}", 30, 1000)
                assert (reply.status, reply.body) == (200, b"{}")
        await client.close()
        assert [address for _, address in handler.got] == ["127.0.0.1"] * 4


@pytest.mark.requirement("HTTP.tls")
@on_every_loop
async def test_what_comes_right_behind_the_handshake_is_read(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    theirs, ours = contexts
    async with serving(Limits(body=100_000), tls=theirs) as (server, handler):
        for body in (b"{}", b"x" * 99_000):
            with closing(await asyncio.to_thread(_in_one_piece, server.port, ours, body)) as client:
                said = await asyncio.to_thread(client.recv, 100)
                assert statuses(said) == [200]
    assert [len(body) for body, _ in handler.got] == [2, 99_000]


def _in_one_piece(port: int, context: ssl.SSLContext, body: bytes) -> socket.socket:
    """A client whose last words of the handshake and first request leave together."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    client = socket.create_connection(("127.0.0.1", port))
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            client.sendall(outgoing.read())
            incoming.write(client.recv(65536))
    tls.write(message(body))
    client.sendall(outgoing.read())
    return _Decrypting(client, tls, incoming)  # type: ignore[return-value]


class _Decrypting:
    def __init__(self, client: socket.socket, tls: ssl.SSLObject, incoming: ssl.MemoryBIO) -> None:
        self._client, self._tls, self._incoming = client, tls, incoming
        self.close = client.close

    def recv(self, size: int) -> bytes:
        while True:
            try:
                return self._tls.read(size)
            except ssl.SSLWantReadError:
                self._incoming.write(self._client.recv(65536))


@pytest.mark.requirement("HTTP.tls")
@pytest.mark.parametrize(
    "garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100, b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"]
)
@on_every_loop
async def test_whoever_speaks_no_tls_is_cut_off_without_a_word(
    garbage: bytes, contexts: tuple[ssl.SSLContext, ssl.SSLContext], caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(Limits(header_s=0.05, linger_s=0.05), tls=contexts[0]) as (server, handler):
        with contextlib.suppress(ConnectionError):
            await exchange(server.port, garbage)
        await until(lambda: server.load["connections"] == 0)
    assert handler.got == []
    assert caplog.records == []


@pytest.mark.requirement("HTTP.tls")
@on_every_loop
async def test_old_tls_is_refused(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    old = ssl.create_default_context()
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    old.set_ciphers("ALL:@SECLEVEL=0")
    async with serving(tls=contexts[0]) as (server, _):
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection("127.0.0.1", server.port, ssl=old, server_hostname="localhost")


@pytest.mark.requirement("HTTP.eviction")
@pytest.mark.parametrize("sending", [b"", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"])
@pytest.mark.parametrize("limits", LIMITS)
@on_every_loop
async def test_handshakes_that_never_end_do_not_keep_out_a_neighbour(
    limits: Limits, sending: bytes, contexts: tuple[ssl.SSLContext, ssl.SSLContext]
) -> None:
    theirs, ours = contexts
    client = HttpClient(tls=ours)
    async with serving(limits, tls=theirs) as (server, _), crowd_of(server, CROWD, sending):
        for _ in range(5):
            assert (await client.post(f"https://localhost:{server.port}/mcp", b"{}", 30, 1000)).status == 200
        await client.close()


@on_every_loop
async def test_handshakes_under_way_do_not_hold_up_the_end(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(tls=contexts[0]) as (server, _), crowd_of(server, 20, b"\x16\x03\x01"):
        async with asyncio.timeout(30):
            await server.close(60)
    assert caplog.records == []


# --- certificates -----------------------------------------------------------------------------------------------------


def test_what_is_no_certificate_is_named(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
    files, others = make_certificates(one), make_certificates(other)
    locked = tmp_path / "locked.key"
    subprocess.run(
        ["openssl", "ec", "-aes256", "-passout", "pass:secret", "-in", files.key, "-out", locked],
        check=True,
        capture_output=True,
    )
    for certificate, key in (
        (tmp_path / "none.pem", files.key),
        (files.certificate, tmp_path / "none.key"),
        (files.certificate, others.key),
        (files.certificate, locked),
        (files.certificate, None),
        (files.key, files.key),
    ):
        with pytest.raises(CertificateError, match=str(certificate)):
            server_context(certificate, key)
    both = tmp_path / "both.pem"
    both.write_bytes(files.key.read_bytes() + files.certificate.read_bytes())
    assert server_context(both, None).minimum_version is ssl.TLSVersion.TLSv1_2


@on_every_loop
async def test_no_request_comes_from_an_unknown_address() -> None:
    """A registration that seems to come from nowhere would be refused, or wait for the operator."""
    async with serving() as (server, handler):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(message(b"left behind"))
            # Closed with a reset, before the server has had time to accept the connection.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert statuses(await exchange(server.port, ASKING)) == [200]
        assert {address for _, address in handler.got} == {"127.0.0.1"}
