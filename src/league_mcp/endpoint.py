"""A server of the official package over HTTP: requests with a session, and requests that stand for themselves.

A session lives in memory: it ends with the process, after a minute without a request, or when its client deletes it. A
request for one that is not there any more, though nobody deleted it, is answered without a session, so that clients go
on after a restart. So is a client for whose session there is no room, and one that takes no events.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import MutableMapping
from contextlib import AsyncExitStack
from typing import Any, Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from league.mcp_tables import ServerTables
from league.transport.http import Answer, ASGIApp, ASGIReceive, ASGIScope, ASGISend, HttpRequest, Response
from league.transport.http_asgi import EVENTS, ASGIAnswer
from league_mcp.server import build_server
from league_mcp.subscriptions import STREAMS, Subscriptions

SESSIONS: Final = 256
IDLE_S: Final = 60.0
CALLS: Final = 256
"""So many requests are answered at once, streams aside."""
CALL_S: Final = 120.0
"""So long an answer may take: a person may be asked for it. Two requests of one id in a session get none at all."""
GRACE_S: Final = 2.0
DELETED: Final = 4096
"""So many sessions that were deleted are remembered."""
VERSION, SESSION, METHOD, ACCEPT = b"mcp-protocol-version", b"mcp-session-id", b"mcp-method", b"accept"
LISTEN: Final = b"subscriptions/listen"
_FULL: Final = Response(
    503,
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"too many at once"}}',
    headers=(("retry-after", "10"),),
)

# Whatever clients do wrong the package logs as a warning; nobody has asked for that on the terminal.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class McpEndpoint:
    """Answers the requests of MCP clients. `server` may be given more handlers before `start`."""

    without_handshake = MODERN_PROTOCOL_VERSIONS
    """The versions of MCP that every request names for itself."""

    def __init__(self, tables: ServerTables, limit: int = 2**20) -> None:
        self._subscriptions = Subscriptions(tables)
        self.server = build_server(tables, self._subscriptions)
        # Host and Origin are judged by our own router, before a request comes here.
        self._with_session = StreamableHTTPSessionManager(
            self.server, session_idle_timeout=IDLE_S, max_sessions=SESSIONS, max_request_body_size=limit
        )
        self._without = StreamableHTTPSessionManager(
            self.server, stateless=True, json_response=True, max_request_body_size=limit
        )
        self._deleted: dict[bytes, None] = {}
        self._open: dict[bool, set[asyncio.Task[Any]]] = {True: set(), False: set()}
        """Streams, and other requests, that are being answered."""
        self._is_closing = False
        self._ending = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """From here on it answers."""
        started = asyncio.Event()
        self._running = asyncio.create_task(self._run(started))
        await started.wait()

    async def _run(self, started: asyncio.Event) -> None:
        """The package wants its managers begun and ended in one task."""
        async with AsyncExitStack() as stack:
            for manager in (self._with_session, self._without):
                await stack.enter_async_context(manager.run())
            started.set()
            await self._ending.wait()

    async def close(self) -> None:
        """Let running calls end within the grace, then end all sessions and streams."""
        self._is_closing = True
        self._subscriptions.close()
        if self._open[False]:
            await asyncio.wait(self._open[False].copy(), timeout=GRACE_S)
        for late in self._open[False]:
            late.cancel()
        self._ending.set()
        if self._running is not None:
            await self._running

    async def answer(self, request: HttpRequest, *, is_greeting: bool = False) -> Answer:
        """The answer to a request; `is_greeting`: it wants to begin a session."""
        is_stream = request.method == "GET" or request.headers.get(METHOD) == LISTEN
        if len(self._open[is_stream]) >= (STREAMS if is_stream else CALLS) or self._is_closing:
            return _FULL
        app = self._app_for(request, is_greeting)
        return ASGIAnswer(self._limited(app, is_stream), request, may_be_broken_off=True)

    def _app_for(self, request: HttpRequest, is_greeting: bool) -> ASGIApp:
        version, session = (request.headers.get(name, b"").strip() for name in (VERSION, SESSION))
        if request.method == "DELETE":
            self._deleted[session] = None
            if len(self._deleted) > DELETED:
                del self._deleted[next(iter(self._deleted))]
        is_modern = version.decode("latin-1") in MODERN_PROTOCOL_VERSIONS  # the manager knows that it has no sessions
        if is_modern or request.method != "POST" or session in self._deleted:
            return self._with_session.handle_request
        takes_events = EVENTS.encode() in request.headers.get(ACCEPT, b"")  # who does not is answered with JSON
        return self._go_on if takes_events and (session or is_greeting) else self._without.handle_request

    def _limited(self, app: ASGIApp, is_stream: bool) -> ASGIApp:
        """The application, counted, and broken off when it takes too long: a stream may take as long as it likes."""

        async def handle(scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
            if not any(name == ACCEPT for name, _ in scope["headers"]):
                scope["headers"].append((ACCEPT, b"*/*"))  # who says nothing takes anything (RFC 9110)
            has_begun = False

            async def watch(message: MutableMapping[str, Any]) -> None:
                nonlocal has_begun
                has_begun = True
                await send(message)

            task = asyncio.current_task()
            assert task is not None
            self._open[is_stream].add(task)
            try:
                async with asyncio.timeout(None if is_stream else CALL_S):
                    await app(scope, receive, watch)
            except TimeoutError:
                if not has_begun:
                    await send({"type": "http.response.start", "status": 503, "headers": ()})
                await send({"type": "http.response.body"})
            finally:
                self._open[is_stream].discard(task)

        return handle

    async def _go_on(self, scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
        """Within the session if it is there, or there is room for it; else without."""
        body = await receive()
        is_refused = False

        async def watch(message: MutableMapping[str, Any]) -> None:
            nonlocal is_refused
            if message["type"] == "http.response.start":
                is_refused = message["status"] in (404, 503)
            if not is_refused:
                await send(message)

        await self._with_session.handle_request(scope, _again(body, receive), watch)
        if is_refused:
            await self._without.handle_request(scope, _again(body, receive), send)


def _again(first: MutableMapping[str, Any], receive: ASGIReceive) -> ASGIReceive:
    """What was received already, then the rest. Any: the messages of ASGI."""
    left = [first]

    async def received() -> MutableMapping[str, Any]:
        return left.pop() if left else await receive()

    return received
