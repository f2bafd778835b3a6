"""One HTTP/1.1 server for every role, on the loop that is running: where it listens, how many connections there may be,
which have run out of time, and how they end."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
import time
from collections import Counter

from league.transport.http import DEFAULT_LIMITS, AccessPolicy, App, Limits, Response, look_up
from league.transport.http_connection import ServerConnection
from league.transport.http_parser import KnownHeads
from league.transport.http_response import ResponseHeads
from league.transport.http_router import Router

__all__ = ["AccessPolicy", "App", "Limits", "PortTakenError", "Response", "Server", "serve"]

BACKLOG = 1024
REFUSED_AT_ONCE = 64
"""So many connections over the cap are told so; any more are cut off."""


class PortTakenError(OSError):
    """Somebody else listens there."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(errno.EADDRINUSE, f"port {port} of {host} is taken by another program")
        self.host = host
        self.port = port


class Server:
    """A running server."""

    def __init__(self, host: str, port: int, listener: asyncio.Server, table: ConnectionTable) -> None:
        self.host = host
        self.port = port
        self._listener = listener
        self._table = table

    @property
    def load(self) -> dict[str, int]:
        """How much the server holds, for those who watch that it stays bounded."""
        return {"connections": len(self._table.connections), "requests": self._table.requests}

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
        self.known_heads = KnownHeads()
        self.response_heads = ResponseHeads()
        self.connections: dict[ServerConnection, None] = {}
        """The oldest first."""
        self.requests = 0
        """Whose heads were read and that have no answer yet."""
        self.tasks: set[asyncio.Task[None]] = set()
        """That answer requests; one may outlive its connection."""
        self._refused: set[ServerConnection] = set()
        self._per_address: Counter[str] = Counter()
        self._all_gone = asyncio.Event()
        self._all_gone.set()
        self._timer: asyncio.TimerHandle | None = None
        self._is_closing = False
        shortest = min(limits.header_s, limits.body_s, limits.idle_s, limits.answer_s, limits.linger_s)
        self._interval_s = min(1.0, max(0.01, shortest / 4))

    def admit(self, new: ServerConnection) -> tuple[int, str] | None:
        """Count a connection in; or say why not."""
        self._all_gone.clear()
        if self._timer is None:
            self._sweep()
        refusal = self._refusal_of(new.address)
        if refusal is None:
            self.connections[new] = None
            self._per_address[new.address] += 1
        else:
            self._refused.add(new)
        return refusal

    def _refusal_of(self, address: str) -> tuple[int, str] | None:
        limits = self.limits
        if self._is_closing:
            return 503, "this server is shutting down"
        if len(self.connections) >= limits.connections and not self._make_room():
            return 503, "too many connections"
        if self._per_address[address] >= limits.connections_per_address and not self._make_room(address):
            return 429, "too many connections from this address"
        return None

    @property
    def is_flooded(self) -> bool:
        """Is there no time to tell a refused connection why?"""
        return self._is_closing or len(self._refused) > REFUSED_AT_ONCE

    def _make_room(self, address: str | None = None) -> bool:
        """Close the oldest connection that is idle; HTTP allows that at any time."""
        for one in self.connections:
            if one.is_idle and address in (None, one.address):
                one.hang_up()
                return True
        return False

    def forget(self, gone: ServerConnection) -> None:
        """A connection is closed."""
        if gone in self.connections:
            del self.connections[gone]
            self._per_address[gone.address] -= 1
            if not self._per_address[gone.address]:
                del self._per_address[gone.address]
        self._refused.discard(gone)
        if not self.connections and not self._refused:
            self._all_gone.set()
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def _sweep(self) -> None:
        """The one timer; there is none while nobody is connected."""
        now = self.loop.time()
        self._timer = self.loop.call_at(now + self._interval_s, self._sweep)
        self.response_heads.set_date(time.time())
        for one in [*self.connections, *self._refused]:
            if one.deadline <= now or one.write_deadline <= now:
                one.expire(now)

    async def finish(self) -> None:
        """Let running requests end, take no more."""
        self._is_closing = True
        for one in list(self.connections):
            one.finish()
        while self.tasks:
            await asyncio.wait(self.tasks)
        await self._all_gone.wait()

    async def cut_off(self) -> None:
        """End what is left: requests that have no answer yet are told, answers under way break off."""
        for one in list(self.connections):
            one.give_up()
        await asyncio.sleep(0)  # a task that is cancelled before it begins could not answer
        for task in self.tasks:
            task.cancel()
        if self.tasks:
            await asyncio.wait(self.tasks, timeout=self.limits.linger_s)
        for one in [*self.connections, *self._refused]:
            one.abort()
        await self._all_gone.wait()


async def serve(
    host: str, port: int, app: App, limits: Limits = DEFAULT_LIMITS, policy: AccessPolicy | None = None
) -> Server:
    """Listen at one address (of several, the first) and serve the app; port 0 takes any free one."""
    family, address = (await look_up(host, port))[0]
    listening = _listen(socket.AddressFamily(family), address, port)
    table = ConnectionTable(Router(app, policy or AccessPolicy.bound_to(address)), limits)
    try:
        listener = await asyncio.get_running_loop().create_server(
            lambda: ServerConnection(table), sock=listening, backlog=BACKLOG
        )
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
