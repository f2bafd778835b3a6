"""One connection to a server: it carries one request at a time and reads its answer, counting every byte.

A connection is connecting, free, carrying a call, or closed. The client (`ConnectionOwner`) hands it a call while it is
free; the connection ends that call exactly once, by `on_end`, and then says whether it is free again. It is closed
after anything that leaves doubt about where an answer ends: a call that was given up, a second answer, an answer
without a length. A connection must never be free while bytes of an older answer may still arrive, or the next call
would read them as its own.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Callable, Collection
from typing import Protocol, cast

import httptools
from msgspec import Struct

from league.letters import HttpReply
from league.machine import Failure, NoConnection
from league.protocol.endpoints import Endpoint

HEAD_LIMIT = 32 * 1024
_FRAMING = 8
TLS_ALERT = b"\x15\x03"
"""How a server that expects TLS begins its answer."""
"""A body in the smallest chunks takes six bytes for one; an answer that needs more than this is rejected."""
_READ_HEADERS = frozenset(
    {
        b"content-length",
        b"content-encoding",
        b"transfer-encoding",
        b"content-type",
        b"retry-after",
        b"mcp-session-id",
        b"location",
    }
)
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


class CallFailed(Exception):  # noqa: N818 (what happened, not whose error it is)
    """No answer. REFUSED: no byte of the request has left. BROKEN: the server may have read it.

    `local` when the cause lies with us: no socket to be had, or no free connection in time. `gave_way`: its connection
    was needed by another call before the answer came.
    """

    def __init__(
        self,
        failure: Failure,
        detail: str,
        local: bool = False,
        gave_way: bool = False,
    ) -> None:
        super().__init__(f"{failure.value}: {detail}")
        self.failure = failure
        self.detail = detail
        self.local = local
        self.gave_way = gave_way

    @property
    def unreadable(self) -> str:
        """What is said of a peer whose answer is UNUSABLE."""
        return f"answered in a way that cannot be read: {self.detail}"


class Target(Struct, frozen=True):
    """A URL as it is used: where to connect, on whose word, and the head of every request up to its length."""

    key: str
    endpoint: Endpoint
    origin: str
    head: bytes


class PendingCall(Struct, eq=False):
    """A request until its end: it waits for a connection (`acquiring`), or for the answer on one."""

    target: Target
    request: bytes
    deadline: float
    limit: int
    """The largest answer that is read."""
    gives_way_s: float
    """After this time its connection may be given to another call."""
    on_end: Callable[[HttpReply | CallFailed], None]
    """Gets the answer or the failure, once, unless the call is cancelled."""
    connection: ClientConnection | None = None
    acquiring: asyncio.Task[None] | None = None
    is_repeated: bool = False
    """It is not sent once more if its connection was stale."""

    def cancel(self) -> None:
        """Nobody waits for its end any more."""
        if self.acquiring is not None:
            self.acquiring.cancel()
        elif self.connection is not None:
            self.connection.call_off(self)


class ConnectionOwner(Protocol):
    """Gets a connection back when it is free, and hears when it is gone."""

    def connection_freed(self, connection: ClientConnection) -> None: ...

    def connection_closed(self, connection: ClientConnection) -> None: ...

    def connection_was_stale(self, call: PendingCall) -> None:
        """A connection that was used before closed without a byte of an answer to this call."""


TOO_LARGE = "the answer is too large"


class _StopParsing(Exception):  # noqa: N818 (it never leaves this module: it only stops the parser)
    """The parser is to stop here."""


class ClientConnection(asyncio.Protocol):
    """One connection, free or carrying one call."""

    def __init__(self, owner: ConnectionOwner, key: str) -> None:
        self.key = key
        self.deadline = math.inf
        """When the call under way fails, or a free connection is closed."""
        self.gives_way_at = math.inf
        """When the call under way may be given up for another."""
        self._owner = owner
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._call: PendingCall | None = None
        self._uses = 0
        self._limit = 0
        self._received = 0
        """Bytes of the answer, its head included."""
        self._status = 0
        """Of the answer, once its head was read."""
        self._is_complete = False
        self._is_reusable = False
        self._headers: dict[bytes, bytes] = {}
        self._body = bytearray()

    @property
    def is_free(self) -> bool:
        """True if it can carry a call."""
        return self._call is None and self._transport is not None and not self._transport.is_closing()

    # --- carrying a call ----------------------------------------------------------------------------------------------

    def send(self, call: PendingCall, now: float, waiting: Collection[object]) -> float:
        """Write the request and return the deadline for its answer. `waiting`: others who want a connection."""
        transport = self._transport
        if transport is None or transport.is_closing():
            self._owner.connection_was_stale(call)
            return math.inf
        self._call = call
        call.connection = self
        self._limit = call.limit
        # A connection that was used before may be stale: the server may have closed it meanwhile.
        self._uses += 1
        self.gives_way_at = now + call.gives_way_s
        deadline = call.deadline
        if waiting:
            deadline = min(deadline, self.gives_way_at)
        self.deadline = deadline
        transport.write(call.request)
        return deadline

    def call_off(self, call: PendingCall) -> None:
        """Nobody waits for this answer any more."""
        if self._call is call:  # else it came in the same moment, and another call may be under way
            self._call = None
            self.abort()

    def fail(
        self,
        failure: Failure,
        detail: str,
        local: bool = False,
        gave_way: bool = False,
    ) -> None:
        """The call under way gets no answer."""
        call = self._call
        self._call = None
        self.abort()
        if call is not None:
            call.on_end(CallFailed(failure, detail, local, gave_way))

    def expire(self) -> None:
        """`deadline` has passed."""
        if self._call is not None:
            self.fail(
                Failure.TIMEOUT,
                "no complete answer in time",
                gave_way=self.deadline == self.gives_way_at,
            )
        else:
            self.abort()

    def abort(self) -> None:
        """Close at once; nobody waits for what is still on its way."""
        self.deadline = math.inf
        if self._transport is not None:
            self._transport.abort()

    # --- the socket ---------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        parser = self._parser
        if self._call is None or parser is None:
            self.abort()  # the server speaks though it has no request to answer
            return
        self._received += len(data)
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.fail(Failure.BROKEN, "the answer switches to another protocol")
        except httptools.HttpParserError as error:
            if self._is_complete:
                self._finish(is_reusable=False)
            else:
                self._stop_reading(error, data)
        else:
            if self._is_complete:
                self._finish(self._is_reusable)
            elif self._received > HEAD_LIMIT:
                self._check_size()

    def _check_size(self) -> None:
        """An answer without an end must not grow for ever."""
        if not self._status:
            self.fail(Failure.BROKEN, "the head of the answer is too large")
        elif self._received > HEAD_LIMIT + _FRAMING * self._limit:
            self.fail(Failure.UNUSABLE, TOO_LARGE)

    def _stop_reading(self, error: httptools.HttpParserError, data: bytes) -> None:
        """Give up an answer. If it is an answer by its head, somebody is there."""
        if data.startswith(TLS_ALERT):
            self.fail(Failure.REFUSED, NoConnection.TLS)
        elif isinstance(error.__context__, _StopParsing):
            self.fail(Failure.UNUSABLE, str(error.__context__))
        else:
            self.fail(Failure.BROKEN, f"the answer is not HTTP/1.1: {error}")

    def connection_lost(self, exc: Exception | None) -> None:
        self._parser = self._transport = None  # or they would keep each other until a collection
        self.deadline = math.inf
        if self._call is not None:
            self._lost(self._call, exc)
        self._owner.connection_closed(self)

    def _lost(self, call: PendingCall, exc: Exception | None) -> None:
        has_end = b"content-length" in self._headers or b"transfer-encoding" in self._headers
        if self._status and not has_end and exc is None:
            self._finish(is_reusable=False)  # an answer without a length ends with its connection
        elif not self._received and self._uses > 1:
            self._call = None
            self._owner.connection_was_stale(call)
        else:
            detail = "the server closed the connection before it answered"
            if self._received:
                detail = "the server closed the connection in its answer"
            if exc:
                detail += f": {exc}"
            self.fail(Failure.BROKEN, detail)

    # --- reading ------------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._is_complete:
            raise _StopParsing  # two answers to one request

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in _READ_HEADERS and not self._status:
            value = value.strip(b" \t")
            if name in self._headers:
                value = self._headers[name] + b", " + value
            self._headers[name] = value

    def on_headers_complete(self) -> None:
        assert self._parser is not None
        status = self._parser.get_status_code()
        headers = self._headers
        # 1xx is not the answer: it announces one.
        if status < 200:
            headers.clear()  # the answer is still to come
            return
        self._status = status
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise _StopParsing("the answer is compressed")
        if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            raise _StopParsing("the answer has a transfer encoding other than chunked")
        if int(headers.get(b"content-length", b"0")) > self._limit:
            raise _StopParsing(TOO_LARGE)

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > self._limit:
            raise _StopParsing(TOO_LARGE)

    def on_message_complete(self) -> None:
        if self._status and self._parser is not None:
            self._is_complete = True
            self._is_reusable = self._parser.should_keep_alive()

    def _finish(self, is_reusable: bool) -> None:
        """Hand over the answer, and get ready for the next one."""
        headers = self._headers
        later = headers.get(b"retry-after")
        reply = HttpReply(
            self._status,
            bytes(self._body),
            None if later is None else _read_retry_after(later.decode("latin-1")),
            headers.get(b"content-type", b"").decode("latin-1"),
            headers.get(b"mcp-session-id", b"").decode("latin-1"),
            headers.get(b"location", b"").decode("latin-1"),
        )
        self._received = 0
        self._status = 0
        self._is_complete = False
        self._headers.clear()
        self._body.clear()
        call = self._call
        self._call = None
        # The connection is free before the call ends: what the answer causes may use it at once.
        if is_reusable:
            self._owner.connection_freed(self)
        else:
            self.abort()
        if call is not None:
            call.on_end(reply)


def _read_retry_after(retry_after: str) -> float | None:
    """Read Retry-After as seconds from now: a number, or a date; None if it is neither."""
    if _NUMBER.fullmatch(retry_after):
        return float(retry_after)
    from email.utils import parsedate_to_datetime  # imported here because hardly anybody writes a date

    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None
