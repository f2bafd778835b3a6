"""Clients are told when a resource they follow has changed: on the stream of `subscriptions/listen`, or on that of
their session in the handshake's versions of MCP.

What has changed is found by reading what is followed again: one mechanism for whatever a server offers. It takes a
small share of one processor at most, however much is followed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from typing import Any, Final

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError

from league.mcp_tables import McpCaller, ServerTables
from league.protocol.errors import PeerError

FRAME_S: Final = 0.25
PAUSE: Final = 20
"""After looking for what has changed, pause so many times as long as that took."""
STREAMS: Final = 256
MOST_FOLLOWED: Final = 256
"""So many different resources are looked at."""
_NOTHING: Final = b""
_NOBODY: Final = McpCaller()

Context = ServerRequestContext[Any, Any]
"""Any: this server keeps nothing between requests, and is asked over any transport."""


class Subscriptions:
    """Who follows which resources of a server."""

    def __init__(self, tables: ServerTables) -> None:
        self._tables = tables
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus, max_subscriptions=STREAMS)
        self._followed: Counter[str] = Counter()
        self._seen: dict[str, bytes] = {}
        """The digest of what each followed resource was when it was read last."""
        self._sessions: dict[Connection, _Session] = {}
        self._watching: asyncio.Task[None] | None = None

    def close(self) -> None:
        """End all streams."""
        if self._watching is not None:
            self._watching.cancel()
        self._streams.close()
        for session in self._sessions.values():
            session.close()

    # --- who follows --------------------------------------------------------------------------------------------------

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """One call is one stream."""
        followed: list[str] = []
        try:
            for uri in set(params.notifications.resource_subscriptions or ()):
                await self._follow(uri, followed.append)
            return await self._streams(context, params)
        finally:
            for uri in followed:
                self._unfollow(uri)

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        connection = context.session._connection  # the package has no other way to a connection yet
        if not connection.has_standalone_channel:
            raise MCPError(types.INVALID_REQUEST, "this session has ended: initialize a new one to follow a resource")
        if connection not in self._sessions:
            self._sessions[connection] = _Session(connection)
            connection.exit_stack.callback(self._leave, connection)
        uri = str(params.uri)
        if uri not in self._sessions[connection].uris:
            await self._follow(uri, self._sessions[connection].uris.add)
        return types.EmptyResult()

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        session, uri = self._sessions.get(context.session._connection), str(params.uri)
        if session is not None and uri in session.uris:
            session.uris.remove(uri)
            self._unfollow(uri)
        return types.EmptyResult()

    def _leave(self, connection: Connection) -> None:
        session = self._sessions.pop(connection)
        session.close()
        for uri in session.uris:
            self._unfollow(uri)

    async def _follow(self, uri: str, note: Callable[[str], object]) -> None:
        """`note` takes what must be unfollowed in the end."""
        if uri not in self._seen and len(self._seen) >= MOST_FOLLOWED:
            raise MCPError(types.INTERNAL_ERROR, "too many resources are followed at the moment")
        self._followed[uri] += 1
        note(uri)
        if uri not in self._seen:
            self._seen[uri] = _NOTHING
            self._seen[uri] = await self._digest(uri)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())

    def _unfollow(self, uri: str) -> None:
        self._followed[uri] -= 1
        if self._followed[uri] <= 0:
            del self._followed[uri]
            self._seen.pop(uri, None)

    # --- what has changed ---------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """As long as anybody follows anything."""
        loop, position = asyncio.get_running_loop(), -1
        while self._followed:
            position = await self._tables.changed(position)
            began = loop.time()
            for uri in list(self._seen):
                await self._look(uri)
            await asyncio.sleep(max(FRAME_S, PAUSE * (loop.time() - began)))

    async def _look(self, uri: str) -> None:
        digest = await self._digest(uri)
        if uri not in self._seen or digest == self._seen[uri]:
            return
        self._seen[uri] = digest
        await self._bus.publish(ResourceUpdated(uri=uri))
        for session in self._sessions.values():
            session.tell(uri)

    async def _digest(self, uri: str) -> bytes:
        with suppress(PeerError):  # what is not there yet may come
            found, _ = await self._tables.read(uri, _NOBODY)
            return blake2b(found.encode() if isinstance(found, str) else found, digest_size=16).digest()
        return _NOTHING


class _Session:
    """A client that follows resources within its session. A slow one is told of each resource once."""

    def __init__(self, connection: Connection) -> None:
        self.uris: set[str] = set()
        self._connection = connection
        self._untold: dict[str, None] = {}
        self._telling: asyncio.Task[None] | None = None

    def tell(self, uri: str) -> None:
        """It has changed."""
        if uri in self.uris:
            self._untold[uri] = None
            if self._telling is None or self._telling.done():
                self._telling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        while self._untold:
            uri = next(iter(self._untold))
            del self._untold[uri]
            await self._connection.send_resource_updated(uri)

    def close(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
