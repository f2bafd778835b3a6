"""What a call over loopback costs, our client and our server in one process, beside a bare echo on httptools.

The floor does what cannot be left out: it parses both heads and moves the bytes. It has no limits, no deadlines and no
rules.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from typing import cast

import httptools

from benchmarks import Row
from league.transport.http import App, Response, loop_factory
from league.transport.http_client import HttpClient, PoolLimits
from league.transport.http_server import serve

NAME = "transport"
BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"' + b"x" * 450 + b'"}'
LIMIT = 10_240
CALLS = 960
ROUNDS = 15

Call = Callable[[], Awaitable[object]]


def run() -> list[Row]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return [_row(runner, concurrent, goal) for concurrent, goal in ((1, 3.0), (32, 3.0))]


def _row(runner: asyncio.Runner, concurrent: int, goal: float) -> Row:
    ours, floor = runner.run(_measure(concurrent))
    what = f"a call of {len(BODY)} bytes, {concurrent} at once"
    return Row(what, ours * 1e6, floor * 1e6, "bare httptools echo", "us", goal)


async def _measure(concurrent: int) -> tuple[float, float]:
    """CPU seconds of one call of ours and of the floor, the best of interleaved rounds."""
    server = await serve("127.0.0.1", 0, App(_echo))
    client = HttpClient(limits=PoolLimits(per_endpoint=concurrent))
    url = f"http://127.0.0.1:{server.port}/mcp"
    bare = await _Bare.start(concurrent)
    best = [float("inf")] * 2
    gc.collect()
    gc.disable()
    try:
        for _ in range(ROUNDS):
            for place, call in enumerate((lambda: client.post(url, BODY, 10.0, LIMIT), bare.call)):
                best[place] = min(best[place], await _timed(call, concurrent))
    finally:
        gc.enable()
        bare.close()
        await client.close()
        await server.close()
    return best[0], best[1]


async def _timed(call: Call, concurrent: int) -> float:
    start = time.process_time()
    await asyncio.gather(*(_repeat(call, CALLS // concurrent) for _ in range(concurrent)))
    return (time.process_time() - start) / CALLS


async def _repeat(call: Call, times: int) -> None:
    for _ in range(times):
        await call()


async def _echo(body: bytes, _address: str) -> Response:
    return Response(200, body)


# --- the floor --------------------------------------------------------------------------------------------------------


class _End(asyncio.Protocol):
    """Either end: collects the body of a message and passes it on when it is whole."""

    def __init__(self) -> None:
        self.body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def on_body(self, body: bytes) -> None:
        self.body += body


class _EchoEnd(_End):
    def __init__(self) -> None:
        super().__init__()
        self.data_received = httptools.HttpRequestParser(self).feed_data  # type: ignore[method-assign]

    def on_message_complete(self) -> None:
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(self.body), self.body))
        self.body = b""


class _AskingEnd(_End):
    def __init__(self) -> None:
        super().__init__()
        self.data_received = httptools.HttpResponseParser(self).feed_data  # type: ignore[method-assign]
        self.answer: asyncio.Future[bytes] | None = None

    def on_message_complete(self) -> None:
        if self.answer is not None:
            self.answer.set_result(self.body)
        self.body = b""


class _Bare:
    def __init__(self, listener: asyncio.Server, ends: list[_AskingEnd]) -> None:
        self._listener = listener
        self._ends = ends

    @classmethod
    async def start(cls, concurrent: int) -> _Bare:
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(_EchoEnd, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        ends = [(await loop.create_connection(_AskingEnd, "127.0.0.1", port))[1] for _ in range(concurrent)]
        return cls(listener, ends)

    async def call(self) -> bytes:
        end = self._ends.pop()
        end.answer = asyncio.get_running_loop().create_future()
        end.transport.write(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY))
        answer = await end.answer
        self._ends.append(end)
        return answer

    def close(self) -> None:
        self._listener.close()
        for end in self._ends:
            end.transport.abort()
