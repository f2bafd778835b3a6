"""An ASGI application as an answer. Our limits hold in front of it: it gets the whole body at once."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from league.transport.http import (
    ASGIApp,
    Headers,
    HttpRequest,
    Response,
    ResponseWriter,
)

EVENTS = "text/event-stream"
_FRAMING = frozenset({"connection", "content-length", "content-type", "date", "transfer-encoding"})
"""Headers of an answer that the connection writes itself."""


@dataclass(frozen=True, slots=True)
class ASGIAnswer:
    """The answer of an application to a request."""

    app: ASGIApp
    request: HttpRequest
    may_be_broken_off: bool = False
    """As in ResponseWriter."""

    async def send_to(self, writer: ResponseWriter) -> None:
        writer.may_be_broken_off = self.may_be_broken_off
        exchange = _Exchange(self.request, writer)
        await self.app(_scope(self.request), exchange.receive, exchange.send)


class _Exchange:
    """The two channels of one call of the application."""

    def __init__(self, request: HttpRequest, writer: ResponseWriter) -> None:
        self._request: HttpRequest | None = request
        self._writer = writer
        self._head: tuple[int, str, Headers] | None = None
        self._is_started = False
        self._disconnected = asyncio.Event()
        writer.on_disconnect = self._disconnected.set

    async def receive(self) -> dict[str, Any]:
        request = self._request
        # The body is handed over once; any later call waits for the end of the connection.
        self._request = None
        if request is not None:
            return {
                "type": "http.request",
                "body": request.body,
                "more_body": False,
            }
        await self._disconnected.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        """Any: the messages of ASGI."""
        if message["type"] == "http.response.start":
            headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in message.get("headers", ())]
            media_type = next(
                (value for name, value in headers if name.lower() == "content-type"),
                "",
            )
            ours = tuple(header for header in headers if header[0].lower() not in _FRAMING)
            self._head = message["status"], media_type, ours
            if media_type.startswith(EVENTS):  # its reader wants to know that it is there; events may come much later
                self._writer.start(*self._head)
                self._is_started = True
        elif self._head is None:
            raise RuntimeError(f"an answer begins with http.response.start, not with {message['type']}")
        else:
            await self._send_body(
                self._head,
                message.get("body", b""),
                message.get("more_body", False),
            )

    async def _send_body(self, head: tuple[int, str, Headers], body: bytes, more: bool) -> None:
        status, media_type, headers = head
        if not self._is_started and not more:
            self._writer.send(Response(status, body, media_type, headers))
        elif not self._is_started:
            self._writer.start(status, media_type, headers)
        if self._is_started or more:
            await self._writer.write(body)
        self._is_started = True


def _scope(request: HttpRequest) -> dict[str, Any]:
    """Any: as ASGI has it."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": request.version,
        "server": None,
        "client": (request.address, 0),
        "scheme": "http",
        "method": request.method,
        "root_path": "",
        "path": request.path,
        "raw_path": request.target.partition(b"?")[0],
        "query_string": request.query,
        "headers": [(name, value.strip()) for name, value in request.headers.items()],
        "state": {},
    }
