"""One HTTP/1.1 server for every role, on the running loop: it listens, limits the connections, watches their deadlines
and ends them."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import sys
from collections.abc import Iterable
from itertools import chain
from typing import Any, Final, Protocol

from league.transport.http import (
    DEFAULT_LIMITS,
    AccessPolicy,
    App,
    Limits,
    Response,
    look_up,
)
from league.transport.http_connection import NEVER, ServerConnection
from league.transport.http_router import Router
from league.transport.http_tls import TlsLayer

__all__ = [
    "AccessPolicy",
    "App",
    "Limits",
    "PortTakenError",
    "Response",
    "Server",
    "serve",
]

BACKLOG = 1024
REFUSED_AT_ONCE = 64
"""Number of connections over the cap that get an answer; any more are cut off."""
SHUTTING_DOWN = 503, "this server is shutting down"
GONE = 400, "this connection has no other end"
"""A client that reset its connection may have left a request behind: nobody reads the answer, and uvloop does not know
where the request came from."""
CROWDED = 503, "too many connections"
CROWDED_ADDRESS = 429, "too many connections from this address"
_NOBODY: Final[dict[Connection, None]] = {}


class PortTakenError(OSError):
    """Somebody else listens there."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            errno.EADDRINUSE,
            f"port {port} of {host} is taken by another program",
        )
        self.host = host
        self.port = port


class Connection(Protocol):
    """A connection as the table sees it."""

    address: str
    deadline: float
    write_deadline: float

    def eviction_order(self, now: float) -> tuple[bool, float] | None: ...

    def expire(self, now: float) -> None: ...

    def evict(self, status: int, detail: str) -> None: ...

    def finish(self) -> None: ...

    def give_up(self) -> None: ...

    def abort(self) -> None: ...


class Server:
    """A running server."""

    def __init__(
        self,
        host: str,
        port: int,
        listener: asyncio.Server,
        table: ConnectionTable,
    ) -> None:
        self.host = host
        self.port = port
        self._listener = listener
        self._table = table

    @property
    def load(self) -> dict[str, int]:
        """How much the server holds; tests watch that it stays bounded."""
        return {
            "connections": self._table.count,
            "requests": self._table.requests,
        }

    async def close(self, grace_s: float = 5.0) -> None:
        """Accept no more, let running requests end within the grace, then cut off what is left."""
        await self._stop_accepting()
        try:
            async with asyncio.timeout(grace_s):
                await self._table.finish()
        except TimeoutError:
            await self._table.cut_off()
        await self._listener.wait_closed()

    async def _stop_accepting(self) -> None:
        loop = asyncio.get_running_loop()
        if isinstance(loop, asyncio.SelectorEventLoop):
            # It would lose, and leave open, a connection that was accepted and not yet handed over.
            for listening in self._listener.sockets:
                loop.remove_reader(listening)
            await asyncio.sleep(0)
        self._listener.close()


class ConnectionTable:
    """All connections of one server: counts them in and out, and looks after their deadlines with one timer for all."""

    def __init__(self, router: Router, limits: Limits) -> None:
        self.router = router
        self.limits = limits
        self.loop = asyncio.get_running_loop()
        self.connections: dict[str, dict[Connection, None]] = {}
        """By the address of the client, the oldest first."""
        self.count = 0
        """The number of those connections."""
        self.requests = 0
        """Number of requests whose heads were read and that have no answer yet."""
        self.tasks: set[asyncio.Future[Any]] = set()
        """Tasks that answer requests; a task may outlive its connection."""
        self._leaving: set[Connection] = set()
        """Connections refused or evicted, and not yet gone: they take nobody's place."""
        self._all_gone = asyncio.Event()
        self._all_gone.set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_closing = False
        # Often enough that no limit is overrun by more than a quarter.
        shortest = min(
            limits.header_s,
            limits.body_s,
            limits.idle_s,
            limits.answer_s,
            limits.linger_s,
        )
        self._interval_s = min(1.0, max(0.01, shortest / 4))

    def admit(self, new: Connection) -> tuple[int, str] | None:
        """Count a connection in; or say why not."""
        self._all_gone.clear()
        if self._timer is None:
            self._sweep()
        # This may evict another connection to make room.
        refusal = self._refusal_of(new.address)
        if refusal is None:
            self.connections.setdefault(new.address, {})[new] = None
            self.count += 1
        else:
            self._leaving.add(new)
        return refusal

    def _refusal_of(self, address: str) -> tuple[int, str] | None:
        limits = self.limits
        neighbours = self.connections.get(address, _NOBODY)
        if self._is_closing:
            return SHUTTING_DOWN
        if not address:
            return GONE
        if len(neighbours) >= limits.connections_per_address and not self._make_room(neighbours, *CROWDED_ADDRESS):
            return CROWDED_ADDRESS
        if self.count >= limits.connections and not self._make_room(self.all, *CROWDED):
            return CROWDED
        return None

    @property
    def all(self) -> Iterable[Connection]:
        """All connections that have a place."""
        return chain.from_iterable(self.connections.values())

    @property
    def is_flooded(self) -> bool:
        """True if there is no time to tell a refused connection why."""
        return self._is_closing or len(self._leaving) > REFUSED_AT_ONCE

    def _make_room(self, crowd: Iterable[Connection], status: int, detail: str) -> bool:
        """Evict the client of this crowd that keeps us waiting most; clients that wait for us are left alone."""
        now = self.loop.time()
        first = None
        first_order = (True, NEVER)
        for connection in crowd:
            order = connection.eviction_order(now)
            if order is not None and order < first_order:
                first = connection
                first_order = order
        if first is None:
            return False
        self._give_up_place(first)
        self._leaving.add(first)
        if self.is_flooded:
            first.abort()
        else:
            first.evict(status, detail)
        return True

    def _give_up_place(self, connection: Connection) -> None:
        neighbours = self.connections.get(connection.address, _NOBODY)
        if connection in neighbours:
            del neighbours[connection]
            self.count -= 1
            if not neighbours:
                del self.connections[connection.address]

    def forget(self, gone: Connection) -> None:
        """A connection is closed."""
        self._give_up_place(gone)
        self._leaving.discard(gone)
        if not self.connections and not self._leaving:
            self._all_gone.set()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _sweep(self) -> None:
        """The one timer; there is none while nobody is connected."""
        now = self.loop.time()
        self._timer = self.loop.call_at(now + self._interval_s, self._sweep)
        for connection in [*self.all, *self._leaving]:
            if connection.deadline <= now or connection.write_deadline <= now:
                connection.expire(now)

    async def finish(self) -> None:
        """Let running requests end, take no more."""
        self._is_closing = True
        for connection in list(self.all):
            connection.finish()
        while self.tasks:
            await asyncio.wait(self.tasks)
        await self._all_gone.wait()

    async def cut_off(self) -> None:
        """End what is left: requests that have no answer yet are told, answers under way break off."""
        for connection in list(self.all):
            connection.give_up()
        await asyncio.sleep(0)  # a task that is cancelled before it begins would never await what it was given
        for task in self.tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=self.limits.linger_s)
        for connection in [*self.all, *self._leaving]:
            connection.abort()
        await self._all_gone.wait()


async def serve(
    host: str,
    port: int,
    app: App,
    limits: Limits = DEFAULT_LIMITS,
    policy: AccessPolicy | None = None,
    tls: ssl.SSLContext | None = None,
) -> Server:
    """Listen at one address (of several, the first) and serve the app; port 0 takes any free one."""
    family, address = (await look_up(host, port))[0]
    listening = _listen(socket.AddressFamily(family), address, port)
    table = ConnectionTable(Router(app, policy or AccessPolicy.known_as((host, address))), limits)

    def accept() -> ServerConnection | TlsLayer:
        if tls is None:
            return ServerConnection(table)
        return TlsLayer(table, tls)

    try:
        listener = await asyncio.get_running_loop().create_server(accept, sock=listening, backlog=BACKLOG)
    except BaseException:
        listening.close()
        raise
    return Server(address, listening.getsockname()[1], listener, table)


def _listen(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    # asyncio turns Nagle's algorithm off only where the protocol is named; with it, every answer waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if sys.platform != "win32":  # where it would let two programs share a port
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if address == "::":
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind((address, port))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTakenError(address, port) from None
        raise
    return listening
