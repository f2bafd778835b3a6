"""One connection to a server: it carries one request at a time and reads its answer, counting every byte."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import Callable, Collection
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Protocol, cast

import httptools
from msgspec import Struct

from league.machine import Failure
from league.protocol.endpoints import Endpoint
from league.transport.reply import HttpReply

HEAD_LIMIT = 32 * 1024
_FRAMING = 8
"""A body sent in the smallest chunks takes six bytes for one; who needs more than this sends something else."""


class CallFailed(Exception):  # noqa: N818 (what happened, not whose error it is)
    """No answer. REFUSED: no byte of the request has left. BROKEN: the server may have read it.

    `local` when the cause lies with us: no socket to be had, or no free connection in time. `gave_way`: its connection
    was needed by another call before the answer came.
    """

    def __init__(self, failure: Failure, detail: str, local: bool = False, gave_way: bool = False) -> None:
        super().__init__(f"{failure.value}: {detail}")
        self.failure = failure
        self.detail = detail
        self.local = local
        self.gave_way = gave_way


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
    """After so long its connection may be given to another call."""
    on_end: Callable[[HttpReply | CallFailed], None]
    """Is told the answer or the failure, once, unless the call is cancelled."""
    connection: ClientConnection | None = None
    acquiring: asyncio.Task[None] | None = None
    is_repeated: bool = False

    def cancel(self) -> None:
        """Nobody waits for its end any more."""
        if self.acquiring is not None:
            self.acquiring.cancel()
        elif self.connection is not None:
            self.connection.call_off(self)


class ConnectionOwner(Protocol):
    """Who gets a connection back when it is free, and hears when it is gone."""

    def connection_freed(self, connection: ClientConnection) -> None: ...

    def connection_closed(self, connection: ClientConnection) -> None: ...

    def connection_was_stale(self, call: PendingCall) -> None:
        """A connection that was used before closed without a byte of an answer to this call."""


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
        self._limit = self._received = self._status = 0
        self._is_complete = self._keep_alive = False
        self._headers: dict[bytes, bytes] = {}
        self._body = bytearray()

    @property
    def is_free(self) -> bool:
        """Can it carry a call?"""
        return self._call is None and self._transport is not None and not self._transport.is_closing()

    # --- carrying a call ----------------------------------------------------------------------------------------------

    def send(self, call: PendingCall, now: float, waiting: Collection[object]) -> float:
        """Write the request, and tell until when there is time for its answer; `waiting`: others who want a
        connection."""
        transport = self._transport
        if transport is None or transport.is_closing():
            self._owner.connection_was_stale(call)
            return math.inf
        self._call, call.connection = call, self
        self._limit = call.limit
        self._uses += 1
        self.gives_way_at = now + call.gives_way_s
        self.deadline = ends = min(call.deadline, self.gives_way_at) if waiting else call.deadline
        transport.write(call.request)
        return ends

    def call_off(self, call: PendingCall) -> None:
        """Nobody waits for this answer any more."""
        if self._call is call:  # else it came in the same moment, and another call may be under way
            self._call = None
            self.abort()

    def fail(self, failure: Failure, detail: str, local: bool = False, gave_way: bool = False) -> None:
        """The call under way gets no answer."""
        call, self._call = self._call, None
        self.abort()
        if call is not None:
            call.on_end(CallFailed(failure, detail, local, gave_way))

    def expire(self) -> None:
        """`deadline` has passed."""
        if self._call is not None:
            self.fail(Failure.TIMEOUT, "no complete answer in time", gave_way=self.deadline == self.gives_way_at)
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
        call = self._call
        if call is None or self._parser is None:
            self.abort()  # nobody asked
            return
        reply = read_plain(data, self._limit) if not self._received else None
        if reply is None:
            self._parse(data, self._parser)
            return
        self._call = None
        self._owner.connection_freed(self)
        call.on_end(reply)

    def _parse(self, data: bytes, parser: httptools.HttpResponseParser) -> None:
        self._received += len(data)
        try:
            parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.fail(Failure.BROKEN, "the answer switches to another protocol")
        except httptools.HttpParserError as error:
            if self._is_complete:
                self._finish(self._parsed(), keep=False)
            else:
                self.fail(Failure.BROKEN, _reason(error))
        else:
            if self._is_complete:
                self._finish(self._parsed(), self._keep_alive)
            elif self._received > (HEAD_LIMIT + _FRAMING * self._limit if self._status else HEAD_LIMIT):
                self.fail(Failure.BROKEN, "the answer is too large")

    def connection_lost(self, exc: Exception | None) -> None:
        self._parser = self._transport = None  # or they would keep each other until a collection
        self.deadline = math.inf
        if self._call is not None:
            self._lost(self._call, exc)
        self._owner.connection_closed(self)

    def _lost(self, call: PendingCall, exc: Exception | None) -> None:
        if self._status and not self._has_end and exc is None:
            self._finish(self._parsed(), keep=False)
        elif not self._received and self._uses > 1:
            self._call = None
            self._owner.connection_was_stale(call)
        else:
            at = "in its answer" if self._received else "before it answered"
            self.fail(Failure.BROKEN, f"the server closed the connection {at}{f': {exc}' if exc else ''}")

    # --- reading ------------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._is_complete:
            raise _StopParsing  # two answers to one request

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in _KEPT_HEADERS and not self._status:
            value = value.strip(b" \t")
            self._headers[name] = self._headers[name] + b", " + value if name in self._headers else value

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code() if self._parser is not None else 0
        if status >= 200:
            self._status = status
            self._check_headers()

    def _check_headers(self) -> None:
        headers = self._headers
        if headers.get(b"content-encoding", b"identity").lower() != b"identity":
            raise _StopParsing("the answer is compressed")
        if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            raise _StopParsing("the answer has a transfer encoding other than chunked")
        if int(headers.get(b"content-length", b"0")) > self._limit:
            raise _StopParsing("the answer is too large")

    @property
    def _has_end(self) -> bool:
        """Does the answer say where it ends? If not, it ends with the connection."""
        return b"content-length" in self._headers or b"transfer-encoding" in self._headers

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > self._limit:
            raise _StopParsing("the answer is too large")

    def on_message_complete(self) -> None:
        if self._status and self._parser is not None:
            self._is_complete, self._keep_alive = True, self._parser.should_keep_alive()
        else:  # 1xx: the answer is still to come
            self._reset()

    def _reset(self) -> None:
        self._status = 0
        self._is_complete = False
        self._headers.clear()
        self._body.clear()

    def _parsed(self) -> HttpReply:
        headers = self._headers
        later = headers.get(b"retry-after")
        reply = HttpReply(
            self._status,
            bytes(self._body),
            _read_retry_after(later.decode("latin-1")) if later is not None else None,
            headers.get(b"content-type", b"").decode("latin-1"),
            headers.get(b"mcp-session-id", b"").decode("latin-1"),
        )
        self._received = 0
        self._reset()
        return reply

    def _finish(self, reply: HttpReply, keep: bool) -> None:
        call, self._call = self._call, None
        if keep:
            self._owner.connection_freed(self)
        else:
            self.abort()
        if call is not None:
            call.on_end(reply)


_PLAIN = re.compile(
    rb"HTTP/1\.1 200 OK\r\n(?:[Dd]ate: [ -~]{1,64}\r\n)?(?:[Cc]ontent-[Tt]ype: (application/json)\r\n)?[Cc]ontent-[Ll]"
)
_PLAIN_SIZE = 256
_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_FRAME = frozenset({b"content-length", b"content-encoding", b"transfer-encoding"})
_KEPT_HEADERS = _FRAME | {b"content-type", b"retry-after", b"mcp-session-id"}


def read_plain(data: bytes, limit: int) -> HttpReply | None:
    """The usual answer, as our servers write it, if it is here as a whole; any other is left to the parser, which reads
    this one alike."""
    start = data.find(b"ength: ", 0, _PLAIN_SIZE)
    end = data.find(b"\r\n\r\n", 0, _PLAIN_SIZE)
    media_type = _plain_type(data[:start]) if 0 < start < end else None
    body = data[end + 4 :]
    size = len(body)
    if media_type is None or size > limit or data[start + 7 : end] != b"%d" % size:
        return None
    return HttpReply(200, body, None, media_type)


@lru_cache(maxsize=64)
def _plain_type(head: bytes) -> str | None:
    """The media type in the head of a plain answer up to its length; None if it is another. With their dates, servers
    change it every second."""
    found = _PLAIN.fullmatch(head)
    return None if found is None else (found[1] or b"").decode()


def _reason(error: httptools.HttpParserError) -> str:
    stop = error.__context__
    return str(stop) if isinstance(stop, _StopParsing) else f"the answer is not HTTP/1.1: {error}"


def _read_retry_after(retry_after: str) -> float | None:
    """Retry-After as seconds from now: a number, or a date; None if it is neither."""
    if _NUMBER.fullmatch(retry_after):
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None
