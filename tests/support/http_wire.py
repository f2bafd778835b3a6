"""HTTP by hand: tests on every event loop that leave nothing open, raw requests, and a server that says anything."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import random
import socket
import ssl
import warnings
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from league.transport.http import loop_factory

WATCHDOG_S = 60.0
DESCRIPTORS = Path("/proc/self/fd")
PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
FIRST_FREE_PORT = 10_000
LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": loop_factory()}


def on_every_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test on asyncio and, where it is installed, on uvloop; then nothing of it may be left."""

    @functools.wraps(test)
    def run(loop: str, **arguments: object) -> None:
        runner = asyncio.Runner(loop_factory=LOOPS[loop])
        try:
            runner.run(_leaves_nothing(test(**arguments)))
        finally:
            # A test that failed may leave a server open. uvloop warns of it; where warnings are errors, uvloop does not
            # close the server then, and waits for it forever.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                runner.close()

    wanted = inspect.signature(test).parameters.values()
    mine = inspect.Parameter("loop", inspect.Parameter.KEYWORD_ONLY)
    run.__signature__ = inspect.Signature([*wanted, mine])  # type: ignore[attr-defined]
    names = [name for name, factory in LOOPS.items() if factory is not None]
    marked: Callable[..., None] = pytest.mark.parametrize("loop", names)(run)
    return marked


async def _leaves_nothing(story: Awaitable[None]) -> None:
    before = open_sockets()
    async with asyncio.timeout(WATCHDOG_S):
        await story
        await until(lambda: open_sockets() <= before and len(asyncio.all_tasks()) == 1)


def open_sockets() -> int:
    """How many sockets this process has open, where the system tells."""
    return sum(_is_socket(one) for one in DESCRIPTORS.iterdir()) if DESCRIPTORS.is_dir() else 0


def _is_socket(descriptor: Path) -> bool:
    with contextlib.suppress(OSError):  # such as the one that lists the folder
        return str(descriptor.readlink()).startswith("socket:")
    return False


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until this is so; the test's own watchdog ends a wait in vain."""
    while not condition():  # noqa: ASYNC110 (what is waited for happens inside the server and has no event)
        await asyncio.sleep(0)


# --- a client that says anything --------------------------------------------------------------------------------------


async def exchange(port: int, *pieces: bytes, half_close: bool = False, host: str = "127.0.0.1") -> bytes:
    """Write these pieces one by one, and read until the server closes."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if half_close:
            writer.write_eof()
        return await reader.read()
    finally:
        await hang_up(writer)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Close without waiting for what was not read."""
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def one_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The status and body of the next answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
    return int(head[9:12]), await reader.readexactly(int(length or 0))


def statuses(answers: bytes) -> list[int]:
    """The statuses of the answers in these bytes."""
    return [int(part[:3]) for part in answers.split(b"HTTP/1.1 ")[1:]]


# --- a server that says anything --------------------------------------------------------------------------------------


class Visit:
    """One connection to the scripted server: whole requests come out of it one by one."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.head = b""

    async def request(self) -> bytes:
        """The body of the next request; IncompleteReadError when the client has gone."""
        self.head = await self._reader.readuntil(b"\r\n\r\n")
        length = self.head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        return await self._reader.readexactly(int(length))

    async def bare_request(self) -> None:
        """Read a request without a body."""
        self.head = await self._reader.readuntil(b"\r\n\r\n")

    async def say(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()

    async def gone(self) -> None:
        """Wait until the client closes."""
        await self._reader.read()


class ScriptedServer:
    """Every connection is handled by the script; then it is closed. Counts connections and requests."""

    def __init__(self, *scripts: Callable[[Visit], Awaitable[None]], tls: ssl.SSLContext | None = None) -> None:
        self._scripts = scripts
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self.visits: list[Visit] = []

    async def __aenter__(self) -> ScriptedServer:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self._tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        return self

    async def __aexit__(self, *_: object) -> None:
        for _turn in range(5):  # asyncio loses a connection that was accepted and not yet handed over
            await asyncio.sleep(0)
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        visit = Visit(reader, writer)
        self.visits.append(visit)
        script = self._scripts[min(len(self.visits), len(self._scripts)) - 1]
        try:
            await script(visit)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)


def saying(*pieces: bytes) -> Callable[[Visit], Awaitable[None]]:
    """A script: read a request, say this, close."""

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.say(*pieces)

    return script


def answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """An answer as bytes."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def one_by_one(data: bytes) -> Iterable[bytes]:
    """Bytes as pieces of one byte."""
    return (data[place : place + 1] for place in range(len(data)))


@contextlib.contextmanager
def refusing_port() -> Iterator[int]:
    """A port where nobody listens, nor can: it is taken meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def free_port() -> int:
    """A port where nobody listens yet, to listen there soon, or to call in vain."""
    return free_ports(1)


def free_ports(count: int) -> int:
    """The first of so many free ports in a row.

    They lie below those that the system hands out by itself. Tests that run at the same time ask the system for ports:
    one of them would sooner or later get a port that a test of ours calls in vain, or has left for a moment, and then
    be called by strangers.
    """
    while True:
        first = random.SystemRandom().randrange(FIRST_FREE_PORT, _first_ephemeral_port() - count)
        with contextlib.ExitStack() as taken, contextlib.suppress(OSError):
            for number in range(first, first + count):
                taken.enter_context(socket.socket()).bind(("127.0.0.1", number))
            return first


def _first_ephemeral_port() -> int:
    """The first port that the system hands out by itself."""
    if PORT_RANGE.exists():
        return int(PORT_RANGE.read_text().split()[0])
    return 32768


@contextlib.contextmanager
def refusing(host: str, port: int) -> Iterator[None]:
    """Nobody listens here, nor can: the port is taken meanwhile."""
    with socket.socket() as taken:
        taken.bind((host, port))
        yield


def parsed_head(head: bytes) -> dict[bytes, bytes]:
    """The headers of a request, by name in small letters; the first line under b''."""
    first, *lines = head.rstrip(b"\r\n").split(b"\r\n")
    return {b"": first, **{name.lower(): value for name, _, value in (line.partition(b": ") for line in lines)}}


# --- mutilation -------------------------------------------------------------------------------------------------------


def mutilated(data: bytes, chance: random.Random) -> bytes:
    """These bytes with up to three wounds."""
    hurt = bytearray(data)
    for _ in range(chance.randint(0, 3)):
        place = chance.randrange(len(hurt) or 1)
        wound = chance.randrange(4)
        if wound == 0:
            hurt[place : place + 1] = chance.randbytes(1)
        elif wound == 1:
            del hurt[place : place + chance.randint(1, 20)]
        elif wound == 2:
            hurt[place:place] = bytes(chance.choices(b"\r\n: 0aA;", k=chance.randint(1, 5)))
        else:
            del hurt[place + 1 :]
    return bytes(hurt)


def cut_up(data: bytes, chance: random.Random) -> list[bytes]:
    """These bytes in pieces of any size."""
    pieces = []
    while data:
        size = chance.choice((1, 5, 50, 1000))
        pieces.append(data[:size])
        data = data[size:]
    return pieces
