"""The cheapest HTTP on loopback that Python allows: httptools parses both heads, and the bytes are moved. It has no
limits, no deadlines and no rules: a yardstick, not a server.

A request is written the moment it is posted, and its answer is a plain future. There is no coroutine and no task per
call, so that whoever awaits two answers pays for two answers and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import cast

import httptools

Answer = Callable[[bytes], bytes]


class _Connection(asyncio.Protocol):
    """One end of a connection. It collects the body of a message until the message is complete."""

    def __init__(self) -> None:
        self.body = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def on_body(self, body: bytes) -> None:
        self.body += body


class _ServerConnection(_Connection):
    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self._answer = answer
        # The parser reads straight from the loop: a method of ours in between would cost a call per message.
        self.data_received = httptools.HttpRequestParser(self).feed_data  # type: ignore[method-assign]

    def on_message_complete(self) -> None:
        body = self._answer(self.body)
        self.body = b""
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


class _ClientConnection(_Connection):
    def __init__(self, free: list[_ClientConnection]) -> None:
        super().__init__()
        self._free = free
        self._loop = asyncio.get_running_loop()
        self.data_received = httptools.HttpResponseParser(self).feed_data  # type: ignore[method-assign]

    def post(self, body: bytes) -> asyncio.Future[bytes]:
        self._answer: asyncio.Future[bytes] = self._loop.create_future()
        self.transport.write(b"POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        return self._answer

    def on_message_complete(self) -> None:
        self._answer.set_result(self.body)
        self.body = b""
        self._free.append(self)


class BareServer:
    """A server that answers every request at once."""

    def __init__(self, listener: asyncio.Server) -> None:
        self._listener = listener
        self.port: int = listener.sockets[0].getsockname()[1]
        self.close = listener.close

    @classmethod
    async def start(cls, answer: Answer) -> BareServer:
        loop = asyncio.get_running_loop()
        return cls(await loop.create_server(partial(_ServerConnection, answer), "127.0.0.1", 0))


class BareClient:
    """A client that keeps its connections open: to each port as many as it ever needed at once."""

    def __init__(self) -> None:
        self._free: dict[int, list[_ClientConnection]] = {}
        self._connections: list[_ClientConnection] = []

    def post(self, port: int, body: bytes) -> asyncio.Future[bytes]:
        """Send a request now; the future is its answer."""
        free = self._free.get(port)
        if free:
            return free.pop().post(body)
        # Only the first calls get here, before anything is measured.
        return asyncio.ensure_future(self._post_on_new_connection(port, body))

    async def _post_on_new_connection(self, port: int, body: bytes) -> bytes:
        open_connection = partial(_ClientConnection, self._free.setdefault(port, []))
        _, connection = await asyncio.get_running_loop().create_connection(open_connection, "127.0.0.1", port)
        self._connections.append(connection)
        return await connection.post(body)

    def close(self) -> None:
        for connection in self._connections:
            connection.transport.abort()
