"""The least that HTTP on loopback costs: httptools parses both heads, and the bytes are moved. No limits, no deadlines,
no rules: a yardstick, not a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import cast

import httptools

Answer = Callable[[bytes], bytes]


class _End(asyncio.Protocol):
    """Either end: collects the body of a message and passes it on when it is whole."""

    def __init__(self) -> None:
        self.body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def on_body(self, body: bytes) -> None:
        self.body += body


class _AnsweringEnd(_End):
    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer = answer
        self.data_received = httptools.HttpRequestParser(self).feed_data  # type: ignore[method-assign]

    def on_message_complete(self) -> None:
        body, self.body = self._answer(self.body), b""
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


class _AskingEnd(_End):
    def __init__(self) -> None:
        super().__init__()
        self.data_received = httptools.HttpResponseParser(self).feed_data  # type: ignore[method-assign]
        self.answer: asyncio.Future[bytes] | None = None

    def on_message_complete(self) -> None:
        if self.answer is not None:
            self.answer.set_result(self.body)
        self.body = b""


class BareServer:
    """Answers every request at once."""

    def __init__(self, listener: asyncio.Server) -> None:
        self._listener = listener
        self.port: int = listener.sockets[0].getsockname()[1]
        self.close = listener.close

    @classmethod
    async def start(cls, answer: Answer) -> BareServer:
        loop = asyncio.get_running_loop()
        return cls(await loop.create_server(partial(_AnsweringEnd, answer), "127.0.0.1", 0))


class BareClient:
    """Keeps its connections open, as many to a port as were ever needed at once."""

    def __init__(self) -> None:
        self._free: dict[int, list[_AskingEnd]] = {}
        self._all: list[_AskingEnd] = []

    async def post(self, port: int, body: bytes) -> bytes:
        free = self._free.setdefault(port, [])
        end = free.pop() if free else await self._connect(port)
        end.answer = asyncio.get_running_loop().create_future()
        end.transport.write(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        answer = await end.answer
        free.append(end)
        return answer

    async def _connect(self, port: int) -> _AskingEnd:
        _, end = await asyncio.get_running_loop().create_connection(_AskingEnd, "127.0.0.1", port)
        self._all.append(end)
        return end

    def close(self) -> None:
        for end in self._all:
            end.transport.abort()
