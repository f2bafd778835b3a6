"""A server of the official package over HTTP.

Requests of the older era may have a session; those of the newer era stand for themselves. A session lives in memory:
it ends with the process, after a minute without a request, or when its client deletes it. A request for a session
that is gone, though nobody deleted it, is answered without a session, so that clients go on after a restart. So are
clients for whose session there is no room, and clients that accept no events.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import MutableMapping
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from league.calling.fair_places import FairPlaces
from league.features.mcp.asgi import EVENTS, ASGIAnswer
from league.features.mcp.server import build_server
from league.features.mcp.subscriptions import STREAMS, Subscriptions
from league.features.mcp.tables import ServerTables
from league.transport import mcp_door
from league.transport.http import (
    Answer,
    ASGIApp,
    ASGIReceive,
    ASGIScope,
    ASGISend,
    HttpRequest,
    Response,
)

SESSIONS: Final = 256
IDLE_S: Final = 60.0
CALLS: Final = 256
"""The number of requests that are answered at once, streams aside."""
CALL_S: Final = 120.0
"""How long an answer may take: a tool may ask a person. Two requests with one id in a session get no answer at all."""
GRACE_S: Final = 2.0
DELETED: Final = 4096
"""The number of deleted sessions that are remembered."""
SESSION: Final = b"mcp-session-id"
METHOD: Final = b"mcp-method"
ACCEPT: Final = b"accept"
LISTEN: Final = b"subscriptions/listen"
START: Final = "http.response.start"
_FULL: Final = Response(
    503,
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"too many at once"}}',
    headers=(("retry-after", "10"),),
)
_NO_ROOM: Final = (404, 503)
"""The statuses of a request whose session is gone, and of one for whose session there is no room."""

# The package logs whatever clients do wrong as a warning, which nobody wants on the terminal.
logging.getLogger("mcp").addHandler(logging.NullHandler())


class McpEndpoint:
    """Answers the requests of MCP clients. `server` may get more handlers before `start`."""

    without_handshake = MODERN_PROTOCOL_VERSIONS
    """The versions of MCP that every request names for itself."""

    def __init__(self, tables: ServerTables, limit: int = 2**20) -> None:
        self._subscriptions = Subscriptions(tables)
        self.server = build_server(tables, self._subscriptions)
        # Our own router judges Host and Origin before a request comes here.
        self._with_session = StreamableHTTPSessionManager(
            self.server,
            session_idle_timeout=IDLE_S,
            max_sessions=SESSIONS,
            max_request_body_size=limit,
        )
        self._without_session = StreamableHTTPSessionManager(
            self.server,
            stateless=True,
            json_response=True,
            max_request_body_size=limit,
        )
        self._deleted: dict[bytes, None] = {}
        self._places = {True: FairPlaces(STREAMS), False: FairPlaces(CALLS)}
        """Of streams, and of calls."""
        self._calls: set[asyncio.Task[Any]] = set()
        """The requests that are being answered, streams aside."""
        self._sessions: dict[bytes, str] = {}
        """The address that began each session."""
        self._is_closing = False
        self._ending = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to answer."""
        started = asyncio.Event()
        self._running = asyncio.create_task(self._run(started))
        await started.wait()

    async def _run(self, started: asyncio.Event) -> None:
        # The package wants its managers begun and ended in one task.
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._with_session.run())
            await stack.enter_async_context(self._without_session.run())
            started.set()
            await self._ending.wait()

    async def close(self) -> None:
        """Let running calls end within the grace, then end all sessions and streams."""
        self._is_closing = True
        self._subscriptions.close()
        if self._calls:
            await asyncio.wait(self._calls.copy(), timeout=GRACE_S)
        for call in self._calls:
            call.cancel()
        self._ending.set()
        if self._running is not None:
            await self._running

    async def answer(self, request: HttpRequest, *, is_greeting: bool = False) -> Answer:
        """Answer a request; `is_greeting`: it wants to begin a session."""
        is_stream = request.method == "GET" or request.headers.get(METHOD) == LISTEN
        if self._is_closing or not self._places[is_stream].has_room(request.address):
            return _FULL
        app = self._app_for(request, is_greeting)
        limited = self._limited(app, request.address, is_stream)
        return ASGIAnswer(limited, request, may_be_broken_off=True)

    def _app_for(self, request: HttpRequest, is_greeting: bool) -> ASGIApp:
        """Choose who answers a request: the package with its sessions, without them, or one after the other."""
        session = request.headers.get(SESSION, b"").strip()
        if request.method == "DELETE":
            self._forget(session)
        is_modern = mcp_door.version_in(request.headers) in MODERN_PROTOCOL_VERSIONS
        # The manager with sessions knows that the newer era has none.
        if is_modern or request.method != "POST" or session in self._deleted:
            return self._with_session.handle_request
        accepts_events = EVENTS.encode() in request.headers.get(ACCEPT, b"")
        if accepts_events and session:
            return self._go_on
        if accepts_events and is_greeting and self._may_begin_session(request.address):
            return partial(self._begin_session, request.address)
        return self._without_session.handle_request

    def _may_begin_session(self, address: str) -> bool:
        """False if an address has its share of the sessions; its requests are answered all the same."""
        alive = self._with_session._server_instances  # the package tells its sessions to nobody
        self._sessions = {session: holder for session, holder in self._sessions.items() if session.decode() in alive}
        held = sum(holder == address for holder in self._sessions.values())
        return held < SESSIONS - len(self._sessions)

    async def _begin_session(self, address: str, scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
        async def watch(message: MutableMapping[str, Any]) -> None:
            if message["type"] == START:
                session = dict(message.get("headers", ())).get(SESSION)
                if session is not None:
                    self._sessions[session] = address
            await send(message)

        await self._go_on(scope, receive, watch)

    def _forget(self, session: bytes) -> None:
        self._deleted[session] = None
        if len(self._deleted) > DELETED:
            oldest = next(iter(self._deleted))
            del self._deleted[oldest]

    def _limited(self, app: ASGIApp, address: str, is_stream: bool) -> ASGIApp:
        """Wrap an application: count it, and break it off when it takes too long, unless it is a stream."""
        places = self._places[is_stream]
        limit_s = None if is_stream else CALL_S

        async def handle(scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
            # A client that names nothing accepts anything (RFC 9110); the package would refuse it.
            if all(name != ACCEPT for name, _ in scope["headers"]):
                scope["headers"].append((ACCEPT, b"*/*"))
            has_begun = False

            async def watch(message: MutableMapping[str, Any]) -> None:
                nonlocal has_begun
                has_begun = True
                await send(message)

            task = asyncio.current_task()
            assert task is not None
            if not places.take(address):
                await send({"type": START, "status": 503, "headers": ()})
                await send({"type": "http.response.body"})
                return
            if not is_stream:
                self._calls.add(task)
            try:
                async with asyncio.timeout(limit_s):
                    await app(scope, receive, watch)
            except TimeoutError:
                # An answer that has begun has its status already, and can only be cut off.
                if not has_begun:
                    await send({"type": START, "status": 503, "headers": ()})
                await send({"type": "http.response.body"})
            finally:
                places.leave(address)
                self._calls.discard(task)

        return handle

    async def _go_on(self, scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
        """Answer within the session, or without one if the session is gone or finds no room."""
        body = await receive()
        is_refused = False

        async def watch(message: MutableMapping[str, Any]) -> None:
            nonlocal is_refused
            if message["type"] == START:
                is_refused = message["status"] in _NO_ROOM
            if not is_refused:
                await send(message)

        await self._with_session.handle_request(scope, _replay(body, receive), watch)
        if is_refused:
            await self._without_session.handle_request(scope, _replay(body, receive), send)


def _replay(first: MutableMapping[str, Any], receive: ASGIReceive) -> ASGIReceive:
    """Receive a message once more, then the rest (Any: the messages of ASGI)."""
    messages = [first]

    async def receive_again() -> MutableMapping[str, Any]:
        if messages:
            return messages.pop()
        return await receive()

    return receive_again
