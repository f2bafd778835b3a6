"""A server for tests with an application that notes what it is given, and requests for it as bytes."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from league.features.mcp.asgi import ASGIAnswer
from league.transport.http import Answer, ASGIApp, Handler, HttpRequest
from league.transport.http_server import App, Limits, Response, Server, serve

HOST = b"Host: localhost\r\n"
JSON = b"Content-Type: application/json\r\n"
CLOSE = b"Connection: close\r\n"
LIMITS = Limits(body=100, linger_s=0.2)


class RecordingHandler:
    """An application that notes what it is given and echoes it; it can be told to wait."""

    def __init__(self) -> None:
        self.got: list[tuple[bytes, str]] = []
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.answer: Callable[[bytes], Response] = lambda body: Response(200, body)

    async def post(self, body: bytes, address: str) -> Response:
        self.got.append((body, address))
        await self.go_on.wait()
        return self.answer(body)


@asynccontextmanager
async def serving(
    limits: Limits = LIMITS,
    handler: RecordingHandler | None = None,
    tls: ssl.SSLContext | None = None,
    **more: Any,
) -> AsyncIterator[tuple[Server, RecordingHandler]]:
    handler = handler or RecordingHandler()
    pages: dict[str, Callable[[], Awaitable[Response] | Response]] = {
        "/healthz": lambda: Response(200, b"well", "text/plain"),
        "/readyz": _ready,
    }
    server = await serve("127.0.0.1", 0, App(handler.post, pages, **more), limits, tls=tls)
    try:
        yield server, handler
    finally:
        await server.close(0.5)


def asgi_handler(app: ASGIApp) -> Handler:
    """An application for `App.rest`."""

    async def handle(request: HttpRequest) -> Answer:
        return ASGIAnswer(app, request)

    return handle


async def _ready() -> Response:
    return Response(503, b"{}", headers=(("x-why", "starting"),))


def message(body: bytes, *headers: bytes, first: bytes = b"POST /mcp HTTP/1.1", host: bytes = HOST) -> bytes:
    """A request; its media type is JSON unless a header says otherwise."""
    length = b"Content-Length: %d\r\n" % len(body)
    media_type = b"" if any(line.startswith(b"Content-Type") for line in headers) else JSON
    return b"".join([first, b"\r\n", host, media_type, length, *(line + b"\r\n" for line in headers), b"\r\n", body])


def chunked(*chunks: bytes) -> bytes:
    body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    return b"POST /mcp HTTP/1.1\r\n" + HOST + JSON + CLOSE + b"Transfer-Encoding: chunked\r\n\r\n" + body


def error_of(answers: bytes) -> dict[str, Any]:
    """The JSON-RPC error in the body of the last answer."""
    said = json.loads(answers.rpartition(b"\r\n\r\n")[2])
    assert said["jsonrpc"] == "2.0"
    assert said["id"] is None
    error: dict[str, Any] = said["error"]
    return error
