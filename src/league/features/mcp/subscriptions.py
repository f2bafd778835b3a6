"""Tells clients when a resource that they follow has changed.

Clients of the newer era hear it on the stream of `subscriptions/listen`, those of the older era on the stream of
their session. To find out what has changed, we read all followed resources again whenever the journal has grown: one
mechanism for everything that a server offers. A pause after each round limits it to a small share of one processor,
however much is followed.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final

import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError

from league.features.mcp.tables import McpCaller, ServerTables
from league.protocol.errors import PeerError

FRAME_S: Final = 0.25
"""The shortest pause between two rounds."""
PAUSE: Final = 20
"""A pause lasts this many times as long as the round before it."""
STREAMS: Final = 256
MOST_FOLLOWED: Final = 256
"""The number of different resources that clients may follow at once."""
_NOTHING: Final = b""
_NOBODY: Final = McpCaller()

Context = ServerRequestContext[Any, Any]
"""Any: this server keeps nothing between requests, and is called over any transport."""


class Subscriptions:
    """The resources of a server that clients follow."""

    def __init__(self, tables: ServerTables) -> None:
        self._tables = tables
        self._bus = InMemorySubscriptionBus()
        self._streams = ListenHandler(self._bus, max_subscriptions=STREAMS)
        self._followers: Counter[str] = Counter()
        """By the address of the resource."""
        self._digests: dict[str, bytes] = {}
        """Of the content that each followed resource had when it was read last."""
        self._sessions: dict[Connection, _Session] = {}
        self._watching: asyncio.Task[None] | None = None

    def close(self) -> None:
        """End all streams."""
        if self._watching is not None:
            self._watching.cancel()
        self._streams.close()
        for session in self._sessions.values():
            session.close()

    # --- followers ----------------------------------------------------------------------------------------------------

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Follow resources on one stream, until it ends."""
        followed: list[str] = []
        try:
            for uri in set(params.notifications.resource_subscriptions or ()):
                await self._follow(uri, followed.append)
            return await self._streams(context, params)
        finally:
            for uri in followed:
                self._unfollow(uri)

    async def subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        """Follow a resource within a session."""
        # The package has no other way to a connection yet.
        connection = context.session._connection
        if not connection.has_standalone_channel:
            raise MCPError(
                types.INVALID_REQUEST,
                "this session has ended: initialize a new one to follow a resource",
            )
        session = self._sessions.get(connection)
        if session is None:
            session = _Session(connection)
            self._sessions[connection] = session
            connection.exit_stack.callback(self._leave, connection)
        uri = str(params.uri)
        if uri not in session.uris:
            await self._follow(uri, session.uris.add)
        return types.EmptyResult()

    async def unsubscribe(self, context: Context, params: types.UnsubscribeRequestParams) -> types.EmptyResult:
        """Follow a resource no longer."""
        session = self._sessions.get(context.session._connection)
        uri = str(params.uri)
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
        """Add a follower. `note` is called as soon as there is something to unfollow, even if this fails later."""
        is_new = uri not in self._digests
        if is_new and len(self._digests) >= MOST_FOLLOWED:
            raise MCPError(types.INTERNAL_ERROR, "too many resources are followed at the moment")
        self._followers[uri] += 1
        note(uri)
        if is_new:
            # The place is taken before the resource is read: others may come meanwhile.
            self._digests[uri] = _NOTHING
            self._digests[uri] = await self._digest(uri)
        if self._watching is None or self._watching.done():
            self._watching = asyncio.create_task(self._watch())

    def _unfollow(self, uri: str) -> None:
        self._followers[uri] -= 1
        if self._followers[uri] <= 0:
            del self._followers[uri]
            self._digests.pop(uri, None)

    # --- changes ------------------------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Look for changes as long as anybody follows anything."""
        loop = asyncio.get_running_loop()
        position = -1
        while self._followers:
            position = await self._tables.changed(position)
            began = loop.time()
            for uri in list(self._digests):
                await self._look(uri)
            round_s = loop.time() - began
            await asyncio.sleep(max(FRAME_S, PAUSE * round_s))

    async def _look(self, uri: str) -> None:
        digest = await self._digest(uri)
        if uri not in self._digests or digest == self._digests[uri]:
            return
        self._digests[uri] = digest
        await self._bus.publish(ResourceUpdated(uri=uri))
        for session in self._sessions.values():
            session.tell(uri)

    async def _digest(self, uri: str) -> bytes:
        try:
            content, _ = await self._tables.read(uri, _NOBODY)
        except PeerError:
            return _NOTHING  # a resource that does not exist yet may come
        if isinstance(content, str):
            content = content.encode()
        return blake2b(content, digest_size=16).digest()


class _Session:
    """A client that follows resources within its session. A slow one hears of each resource once."""

    def __init__(self, connection: Connection) -> None:
        self.uris: set[str] = set()
        self._connection = connection
        self._untold: dict[str, None] = {}
        self._telling: asyncio.Task[None] | None = None

    def tell(self, uri: str) -> None:
        """Tell the client that a resource has changed, if it follows it."""
        if uri not in self.uris:
            return
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
