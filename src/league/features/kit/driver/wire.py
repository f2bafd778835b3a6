"""HTTP as bytes: one request, sent exactly as it is written, and everything that came back."""

# Theory of operation
#
# Every request has a connection of its own: a connection of the core's HTTP client, which reads the answer and judges
# whether it is one. But the request is written as it is, however wrong, and all bytes of the answer are kept.
# Both ways in which a request can end, an answer or a failure, are a RawResponse. `send_request` never raises.

from __future__ import annotations

import asyncio
import math
import ssl
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from league.letters import HttpReply
from league.machine import Failure
from league.protocol.endpoints import parse
from league.transport.http_call import CallFailed, ClientConnection, PendingCall, Target

MOST: Final = 4 * 1024 * 1024
"""Maximum number of bytes that are read of an answer."""
NO_REPLY: Final = HttpReply(0, b"")


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A request. `Connection: close` ends it, so that a second answer would be seen."""

    url: str
    body: bytes = b""
    method: str = "POST"
    host: str | None = None
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    verbatim: bytes | None = None
    """Send these bytes instead."""
    ends: bool = False
    """Close the kit's side of the connection after the request."""

    def raw(self) -> bytes:
        if self.verbatim is not None:
            return self.verbatim
        headers = {"Host": self.host or urlsplit(self.url).netloc}
        if self.content_type:
            headers["Content-Type"] = self.content_type
        headers |= dict(self.headers)
        headers |= {"Accept": "application/json, text/event-stream", "Content-Length": str(len(self.body))}
        lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
        head = f"{self.method} {parse(self.url).target} HTTP/1.1\r\n{''.join(lines)}Connection: close\r\n\r\n"
        return head.encode("latin-1") + self.body


@dataclass(slots=True)
class RawResponse:
    """An answer, or why there is none (`trouble`: refused, timeout or broken), and all bytes that came."""

    at: float
    """When its request was sent."""
    raw: bytes = b""
    seconds: float = 0.0
    trouble: Failure | None = None
    detail: str = ""
    reply: HttpReply = NO_REPLY
    has_second: bool = False
    """A second answer followed."""

    @property
    def status(self) -> int:
        return self.reply.status

    @property
    def body(self) -> bytes:
        return self.reply.body


class _Connection(ClientConnection):
    """A connection for one request; it is its own owner."""

    def __init__(self, response: RawResponse) -> None:
        super().__init__(self, "")
        self._response = response

    def data_received(self, data: bytes) -> None:
        self._response.raw += data
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._response.has_second = self._is_complete
        super().on_message_begin()

    def connection_freed(self, connection: ClientConnection) -> None:
        connection.abort()

    def connection_closed(self, connection: ClientConnection) -> None:
        pass

    def connection_was_stale(self, call: PendingCall) -> None:
        call.on_end(CallFailed(Failure.BROKEN, "the connection was closed at once"))


async def send_request(request: RawRequest, timeout_s: float) -> RawResponse:
    """Send a request on a connection of its own and read the answer."""
    response = RawResponse(at=time.time())
    began = time.monotonic()
    try:
        async with asyncio.timeout(timeout_s):
            result = await _transfer(request, response)
    except TimeoutError:
        result = CallFailed(Failure.TIMEOUT, f"no complete answer within {timeout_s:g} seconds")
    except ConnectionRefusedError:
        result = CallFailed(Failure.REFUSED, "the connection was refused: nobody listens at this address")
    except OSError as error:
        result = CallFailed(Failure.REFUSED, str(error))
    response.seconds = time.monotonic() - began
    if isinstance(result, HttpReply):
        response.reply = result
    else:
        # An answer that cannot be used is broken, too: there is one way to be wrong.
        response.trouble = Failure.BROKEN if result.failure is Failure.UNUSABLE else result.failure
        response.detail = result.detail
    return response


async def _transfer(request: RawRequest, response: RawResponse) -> HttpReply | CallFailed:
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[HttpReply | CallFailed] = loop.create_future()
    endpoint = parse(request.url)
    secure = ssl.create_default_context() if endpoint.scheme == "https" else None
    transport, connection = await loop.create_connection(
        lambda: _Connection(response), endpoint.host, endpoint.port, ssl=secure
    )
    call = PendingCall(Target("", endpoint, "", b""), request.raw(), math.inf, MOST, math.inf, ended.set_result)
    try:
        connection.send(call, loop.time(), ())
        if request.ends:
            transport.write_eof()
        return await ended
    finally:
        connection.call_off(call)
        transport.abort()
