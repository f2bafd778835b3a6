"""A small HTTP/1.1 client for calls: a pool of kept-alive connections, one total deadline per call, no redirects,
no decompression, and connections that go to exactly the address that was looked up and found allowed.

Theory of operation. A call takes a free connection of its endpoint and is written at once. If there is none, a task
acquires one: it waits until the endpoint and the client may open another connection, or until a call ends and its
connection is handed over. A connection belongs to the pool from the moment the right to open it is granted (`open`
counts it) until it is closed; `_give_back` is the only place that takes it out. One timer looks after the deadlines of
all connections.

What must never happen: that a call ends twice or never, that a connection goes to an address that was not checked, that
more connections are open than the limits allow, or that a waiter is forgotten while there is room for it.

A request is written a second time in one case only: a kept connection turned out to be closed before a byte of the
answer came. The server may have read the first copy all the same, so both ends must bear a message twice (they do:
delivering a message twice changes nothing more).
"""

from __future__ import annotations

import asyncio
import errno
import math
import socket
import ssl
from collections import deque
from collections.abc import Callable, MutableSequence
from functools import partial
from typing import TypeVar

from msgspec import Struct, field

from league.letters import HttpReply
from league.machine import Failure, NoConnection
from league.protocol.endpoints import BadAddressError, EndpointPolicy, parse
from league.transport.http_call import (
    CallFailed,
    ClientConnection,
    PendingCall,
    Target,
)
from league.transport.resolving import Resolver

__all__ = ["CallFailed", "HttpClient", "HttpReply", "PoolLimits"]


class PoolLimits(Struct, frozen=True):
    """The limits of a client's connections."""

    per_endpoint: int = 2
    """While a player thinks about a call, the other connection carries notifications."""
    gives_way_s: float = 2.0
    """After this time without an acknowledgement a notification leaves its connection to a call that waits for one."""
    connections: int = 1000
    idle_s: float = 4.0
    """Many servers close after 5 s; we close first, or we would find out with a request."""


DEFAULT_LIMITS = PoolLimits()
_Waiter = asyncio.Future[ClientConnection | None]
_T = TypeVar("_T")
_TARGETS = 4096
_SWEEP_S = 0.005
_LOCAL_ERRORS = frozenset(
    {
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOBUFS,
        errno.ENOMEM,
        errno.EADDRNOTAVAIL,
    }
)


class _Endpoint(Struct, eq=False):
    """The connections to one address, its path included."""

    free: list[ClientConnection] = field(default_factory=list)
    open: int = 0
    """Connections that are open or being opened."""
    acquiring: int = 0
    """Calls that have no connection yet."""
    waiting: deque[_Waiter] = field(default_factory=deque)


_NOWHERE = _Endpoint()


class HttpClient:
    """Makes calls on the loop it was made in."""

    def __init__(
        self,
        *,
        resolver: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
        limits: PoolLimits = DEFAULT_LIMITS,
        user_agent: str = "agent-league",
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._resolver = resolver or Resolver(EndpointPolicy())
        self._tls = tls
        self._limits = limits
        self._user_agent = user_agent
        self._targets: dict[tuple[str, str], Target] = {}
        self._endpoints: dict[str, _Endpoint] = {}
        self._connections: set[ClientConnection] = set()
        self._open = 0
        self._waiting_for_room: deque[_Waiter] = deque()
        self._acquiring: set[asyncio.Timeout] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        """The tasks of calls that have no connection yet."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf
        self._closed: asyncio.Future[None] | None = None

    @property
    def load(self) -> dict[str, int]:
        """How much the client holds; tests watch that it stays bounded."""
        waiting = sum(len(endpoint.waiting) for endpoint in self._endpoints.values())
        return {
            "connections": self._open,
            "waiting": waiting,
            "endpoints": len(self._endpoints),
        }

    async def post(
        self,
        url: str,
        body: bytes,
        timeout_s: float,
        limit: int,
        headers: bytes = b"",
        origin: str = "",
        gives_way: bool = False,
        is_once: bool = False,
    ) -> HttpReply:
        """Post JSON as `send` does, and wait for the answer; CallFailed if there is none in time."""
        ended: asyncio.Future[HttpReply | CallFailed] = self._loop.create_future()
        call = self.send(
            url,
            body,
            timeout_s,
            limit=limit,
            on_end=partial(_settle, ended),
            headers=headers,
            origin=origin,
            gives_way=gives_way,
            is_once=is_once,
        )
        try:
            result = await ended
        except asyncio.CancelledError:
            call.cancel()
            raise
        if isinstance(result, CallFailed):
            raise result
        return result

    def send(
        self,
        url: str,
        body: bytes,
        timeout_s: float,
        limit: int,
        on_end: Callable[[HttpReply | CallFailed], None],
        headers: bytes = b"",
        origin: str = "",
        gives_way: bool = False,
        is_once: bool = False,
    ) -> PendingCall:
        """Post JSON; `on_end` gets the answer, of at most `limit` bytes, or the reason why there is none in time.
        `headers` are whole lines to add; `origin` is the address of the agent that named this URL; `gives_way`: its
        answer matters less than a call that waits for a connection; `is_once`: it is not sent again if a kept
        connection is lost. CallFailed if this URL must not be called."""
        target = self._targets.get((url, origin)) or self._target_of(url, origin)
        now = self._loop.time()
        request = b"".join((target.head, b"%d\r\n%b\r\n" % (len(body), headers), body))
        gives_way_s = self._limits.gives_way_s if gives_way else math.inf
        call = PendingCall(target, request, now + timeout_s, limit, gives_way_s, on_end)
        call.is_repeated = is_once
        endpoint = self._endpoints.get(target.key, _NOWHERE)
        if endpoint.free and timeout_s > 0:
            deadline = endpoint.free.pop().send(call, now, endpoint.waiting)
            if deadline < self._timer_at:
                self._sweep_at(deadline)
        else:
            self._send_when_connected(call)
        return call

    def _send_when_connected(self, call: PendingCall) -> None:
        task = self._loop.create_task(self._connect_and_send(call))
        call.acquiring = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect_and_send(self, call: PendingCall) -> None:
        try:
            connection = await self._acquire(call.target, call.deadline)
        except CallFailed as failed:
            call.acquiring = None
            call.on_end(failed)
            return
        call.acquiring = None
        waiting = self._endpoints[call.target.key].waiting
        deadline = connection.send(call, self._loop.time(), waiting)
        if deadline < self._timer_at:
            self._sweep_at(deadline)

    async def close(self) -> None:
        """Close everything; calls under way fail."""
        if self._closed is None:
            self._closed = self._loop.create_future()
        # Calls that wait for a connection end as if their time were up; `_ensure_open` then says why.
        for limit in self._acquiring:
            if not limit.expired():
                limit.reschedule(self._loop.time())
        for connection in list(self._connections):
            connection.fail(Failure.BROKEN, "the client was closed", local=True)
        if self._tasks:
            await asyncio.wait(self._tasks)
        if self._open:
            await asyncio.shield(self._closed)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # --- where to -----------------------------------------------------------------------------------------------------

    def _target_of(self, url: str, origin: str) -> Target:
        try:
            endpoint = parse(url)
        except BadAddressError as error:
            raise CallFailed(Failure.FORBIDDEN, str(error)) from None
        authority = url.partition("://")[2].partition("/")[0].partition("?")[0]
        lines = (
            f"POST {endpoint.target} HTTP/1.1",
            f"Host: {authority}",
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",  # MCP servers insist on both
            "Accept-Encoding: identity",
            f"User-Agent: {self._user_agent}",
            "Content-Length: ",
        )
        # With the path: players with mailboxes at one server must not wait for each other's connections.
        key = f"{endpoint.scheme}://{endpoint.host}:{endpoint.port}{endpoint.target}"
        target = Target(key, endpoint, origin, "\r\n".join(lines).encode("ascii"))
        if len(self._targets) >= _TARGETS:
            self._targets.clear()
        self._targets[url, origin] = target
        return target

    # --- getting a connection -----------------------------------------------------------------------------------------

    async def _acquire(self, target: Target, deadline: float) -> ClientConnection:
        """Get a connection for a call: a new one, or one that became free while there were too many."""
        self._ensure_open()
        endpoint = self._endpoints.setdefault(target.key, _Endpoint())
        endpoint.acquiring += 1
        stage = "no connection was free in time"
        limit = asyncio.timeout_at(deadline)
        try:
            async with limit:
                self._acquiring.add(limit)
                connection = await self._wait_for_connection(target.key, endpoint)
                stage = ""
                return connection or await self._connect(target, endpoint, deadline)
        except TimeoutError:
            self._ensure_open()
            raise CallFailed(
                Failure.TIMEOUT,
                stage or "no connection in time",
                local=bool(stage),
            ) from None
        except OSError as error:
            raise CallFailed(Failure.REFUSED, _reason(error), local=error.errno in _LOCAL_ERRORS) from None
        finally:
            self._acquiring.discard(limit)
            endpoint.acquiring -= 1
            self._forget_if_unused(target.key, endpoint)

    def _ensure_open(self) -> None:
        if self._closed is not None:
            raise CallFailed(Failure.REFUSED, "the client was closed", local=True)

    async def _wait_for_connection(self, key: str, endpoint: _Endpoint) -> ClientConnection | None:
        """Wait for a free connection, or (None) for the right to open one."""
        while not self._may_open(endpoint):
            waiter: _Waiter = self._loop.create_future()
            endpoint.waiting.append(waiter)
            if endpoint.open < self._limits.per_endpoint:
                self._waiting_for_room.append(waiter)
            self._make_way(key)
            try:
                connection = await waiter
            except asyncio.CancelledError:
                if waiter.done() and not waiter.cancelled():
                    self._pass_on(waiter.result(), endpoint)
                raise
            finally:
                _remove(endpoint.waiting, waiter)
                _remove(self._waiting_for_room, waiter)
            # It may have been closed since it was handed over; then there is room for another.
            if connection is not None and connection.is_free:
                return connection
        endpoint.open += 1
        self._open += 1
        return None

    def _may_open(self, endpoint: _Endpoint) -> bool:
        if endpoint.open >= self._limits.per_endpoint:
            return False
        if self._open < self._limits.connections:
            return True
        for connection in self._connections:
            if connection.is_free:
                self._discard(connection)
                break
        return False

    def _make_way(self, key: str) -> None:
        """Have the oldest notification that was not acknowledged yet give way to a call that waits. It has been sent:
        only its answer will not be read."""
        oldest = None
        for connection in self._connections:
            if connection.key != key or connection.gives_way_at >= connection.deadline:
                continue
            if oldest is None or connection.gives_way_at < oldest.gives_way_at:
                oldest = connection
        if oldest is not None:
            oldest.deadline = oldest.gives_way_at
            if oldest.deadline < self._timer_at:
                self._sweep_at(oldest.deadline)

    def _pass_on(self, connection: ClientConnection | None, endpoint: _Endpoint) -> None:
        """The waiter that was given this has gone away."""
        if connection is not None and connection.is_free:
            self.connection_freed(connection)
        else:
            self._wake_next(endpoint)

    async def _connect(self, target: Target, endpoint: _Endpoint, deadline: float) -> ClientConnection:
        connection = None
        try:
            addresses = await self._resolver.resolve(target.endpoint, target.origin)
            connection = await self._connect_to_any(target, addresses, deadline)
        finally:
            if connection is None:
                # Nobody was reached: the name may lead elsewhere by now.
                self._resolver.forget(target.endpoint, target.origin)
                self._give_back(endpoint)
        self._connections.add(connection)
        return connection

    async def _connect_to_any(
        self, target: Target, addresses: list[tuple[int, str]], deadline: float
    ) -> ClientConnection:
        failed: OSError = OSError(errno.EADDRNOTAVAIL, "the name has no address")
        for place, (family, address) in enumerate(addresses):
            # Each address gets an equal share of the time that remains.
            now = self._loop.time()
            share = (deadline - now) / (len(addresses) - place)
            try:
                async with asyncio.timeout_at(now + share):
                    return await self._connect_to(target, family, address)
            except OSError as error:
                # A server that was reached, and speaks no TLS or has a bad certificate, is the better reason.
                if not isinstance(failed, ssl.SSLError):
                    failed = error
        raise failed

    async def _connect_to(self, target: Target, family: int, address: str) -> ClientConnection:
        tls = None
        server_hostname = None
        if target.endpoint.scheme == "https":
            tls = self._tls_context()
            server_hostname = target.endpoint.host
        _, connection = await self._loop.create_connection(
            lambda: ClientConnection(self, target.key),
            address,
            target.endpoint.port,
            family=family,
            ssl=tls,
            server_hostname=server_hostname,
        )
        if not connection.is_free:
            raise ConnectionAbortedError(errno.ECONNABORTED, "the server closed the connection at once")
        return connection

    def _tls_context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
        return self._tls

    # --- what connections report --------------------------------------------------------------------------------------

    def connection_freed(self, connection: ClientConnection) -> None:
        """A connection has carried its call."""
        endpoint = self._endpoints[connection.key]
        if endpoint.waiting and _hand_over(endpoint.waiting, connection):
            connection.deadline = math.inf
        elif self._waiting_for_room:
            # Calls to other endpoints wait for a place: closing this connection makes one.
            connection.abort()
        else:
            endpoint.free.append(connection)
            deadline = self._loop.time() + self._limits.idle_s
            connection.deadline = deadline
            if deadline < self._timer_at:
                self._sweep_at(deadline)

    def _discard(self, connection: ClientConnection) -> None:
        """Close a connection whose time is over, or whose place is needed."""
        endpoint = self._endpoints[connection.key]
        _remove(endpoint.free, connection)
        connection.expire()

    def connection_was_stale(self, call: PendingCall) -> None:
        """A kept connection was closed before a byte of the answer came: send once more, over another."""
        if call.is_repeated:
            call.on_end(
                CallFailed(
                    Failure.BROKEN,
                    "the server closed the connection before it answered",
                )
            )
        else:
            call.is_repeated = True
            self._send_when_connected(call)

    def connection_closed(self, connection: ClientConnection) -> None:
        """A connection is closed."""
        endpoint = self._endpoints.get(connection.key)
        if connection not in self._connections or endpoint is None:
            return
        self._connections.remove(connection)
        _remove(endpoint.free, connection)
        self._give_back(endpoint)
        self._forget_if_unused(connection.key, endpoint)

    def _give_back(self, endpoint: _Endpoint) -> None:
        endpoint.open -= 1
        self._open -= 1
        self._wake_next(endpoint)
        if self._closed is not None and not self._open and not self._closed.done():
            self._closed.set_result(None)

    def _wake_next(self, endpoint: _Endpoint) -> None:
        """There is room for a connection again: to the same endpoint first."""
        if not _hand_over(endpoint.waiting, None):
            _hand_over(self._waiting_for_room, None)

    def _forget_if_unused(self, key: str, endpoint: _Endpoint) -> None:
        if not endpoint.open and not endpoint.acquiring:
            self._endpoints.pop(key, None)

    # --- time ---------------------------------------------------------------------------------------------------------

    def _sweep_at(self, deadline: float) -> None:
        """Set the timer to ring earlier than it would."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._loop.call_at(deadline, self._sweep)

    def _sweep(self) -> None:
        """One timer for all connections: it is set to the earliest deadline there was when it last rang."""
        now = self._loop.time()
        soonest = math.inf
        self._timer = None
        self._timer_at = math.inf
        for connection in list(self._connections):
            if connection.deadline <= now:
                self._discard(connection)
            else:
                soonest = min(soonest, connection.deadline)
        # Many deadlines close together are looked after in one go.
        soonest = max(soonest, now + _SWEEP_S)
        if soonest < self._timer_at:
            self._sweep_at(soonest)


def _settle(ended: asyncio.Future[_T], result: _T) -> None:
    """Set the result, unless the waiter has gone away in this very moment."""
    if not ended.done():
        ended.set_result(result)


def _hand_over(waiters: deque[_Waiter], connection: ClientConnection | None) -> bool:
    """Give this to the first waiter."""
    while waiters:
        waiter = waiters.popleft()
        if not waiter.done():
            waiter.set_result(connection)
            return True
    return False


def _remove(items: MutableSequence[_T], item: _T) -> None:
    if item in items:
        items.remove(item)


def _reason(error: OSError) -> str:
    """Why there is no connection: people look in the wrong place if all is said to be refused."""
    if isinstance(error, socket.gaierror):
        return NoConnection.UNKNOWN_HOST
    if isinstance(error, ssl.SSLCertVerificationError):
        return NoConnection.NOT_TRUSTED
    if isinstance(error, ssl.SSLError):
        return NoConnection.NO_TLS
    return str(error)
