"""One connection to a server: it carries one request at a time and reads its answer, counting every byte."""

from __future__ import annotations

import asyncio
import math
import re
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Protocol, cast

import httptools

from league.machine import Failure

HEAD_LIMIT = 32 * 1024
_FRAMING = 8
"""A body sent in the smallest chunks takes six bytes for one; who needs more than this sends something else."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered, whatever the status."""

    status: int
    body: bytes
    retry_after: float | None = None
    content_type: str = ""
    session: str = ""
    """The MCP session the server opened with this answer."""


class CallFailed(Exception):  # noqa: N818 (what happened, not whose error it is)
    """No answer. REFUSED: no byte of the request has left. BROKEN: the server may have read it.

    `local` when the cause lies with us: no socket to be had, or no free connection in time.
    """

    def __init__(self, failure: Failure, detail: str, local: bool = False) -> None:
        super().__init__(f"{failure.value}: {detail}")
        self.failure = failure
        self.detail = detail
        self.local = local


class Owner(Protocol):
    """Who gets a connection back when it is free, and hears when it is gone."""

    def free(self, connection: Connection) -> None: ...

    def gone(self, connection: Connection) -> None: ...


class _Stop(Exception):  # noqa: N818 (it never leaves this module: it only stops the parser)
    """The parser is to stop here."""


class Connection(asyncio.Protocol):
    """One connection, free or carrying one call."""

    def __init__(self, owner: Owner, key: str) -> None:
        self.key = key
        self.due = math.inf
        """When the call under way fails, or a free connection is closed."""
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._parser: httptools.HttpResponseParser | None = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[Reply | None] | None = None
        self._uses = 0
        self._limit = self._bytes = self._size = self._status = 0
        self._whole = self._keep = False
        self._headers: dict[bytes, bytes] = {}
        self._body = bytearray()

    @property
    def is_free(self) -> bool:
        """Can it carry a call?"""
        return self._answer is None and self._transport is not None and not self._transport.is_closing()

    # --- carrying a call ----------------------------------------------------------------------------------------------

    async def carry(self, request: bytes, due: float, limit: int) -> Reply | None:
        """The answer; None if a connection that was used before closed without a byte of one."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return None
        answer: asyncio.Future[Reply | None] = self._loop.create_future()
        self._answer = answer
        self.due, self._limit = due, limit
        self._uses += 1
        self._bytes = 0
        self._begin()
        transport.write(request)
        try:
            return await answer
        except asyncio.CancelledError:
            if self._answer is answer:  # else the answer came in the same moment, and another call may be under way
                self._answer = None
                self.drop()
            raise

    def _begin(self) -> None:
        self._size = self._status = 0
        self._whole = False
        self._headers.clear()
        self._body.clear()

    def fail(self, failure: Failure, detail: str, local: bool = False) -> None:
        """The call under way gets no answer."""
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(CallFailed(failure, detail, local))
        self.drop()

    def expire(self) -> None:
        """`due` has passed."""
        if self._answer is not None:
            self.fail(Failure.TIMEOUT, "no complete answer in time")
        else:
            self.drop()

    def drop(self) -> None:
        """Close at once; nobody waits for what is still on its way."""
        self.due = math.inf
        if self._transport is not None:
            self._transport.abort()

    # --- the socket ---------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._parser is None:
            self.drop()  # nobody asked
            return
        self._bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.fail(Failure.BROKEN, "the answer switches to another protocol")
        except httptools.HttpParserError as error:
            if self._whole:
                self._finish(keep=False)
            else:
                self.fail(Failure.BROKEN, _reason(error))
        else:
            if self._whole:
                self._finish(self._keep)
            elif self._bytes > (HEAD_LIMIT + _FRAMING * self._limit if self._status else HEAD_LIMIT):
                self.fail(Failure.BROKEN, "the answer is too large")

    def connection_lost(self, exc: Exception | None) -> None:
        self._parser = self._transport = None  # or they would keep each other until a collection
        self.due = math.inf
        if self._answer is not None:
            self._lost(exc)
        self._owner.gone(self)

    def _lost(self, exc: Exception | None) -> None:
        if self._status and not self._has_end and exc is None:
            self._finish(keep=False)
        elif not self._bytes and self._uses > 1 and self._answer is not None and not self._answer.done():
            self._answer.set_result(None)
            self._answer = None
        else:
            at = "in its answer" if self._bytes else "before it answered"
            self.fail(Failure.BROKEN, f"the server closed the connection {at}{f': {exc}' if exc else ''}")

    # --- reading ------------------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._whole:
            raise _Stop  # two answers to one request

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in _READ and not self._status:
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
            raise _Stop("the answer is compressed")
        if headers.get(b"transfer-encoding", b"chunked").lower() != b"chunked":
            raise _Stop("the answer has a transfer encoding other than chunked")
        if int(headers.get(b"content-length", b"0")) > self._limit:
            raise _Stop("the answer is too large")

    @property
    def _has_end(self) -> bool:
        """Does the answer say where it ends? If not, it ends with the connection."""
        return b"content-length" in self._headers or b"transfer-encoding" in self._headers

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > self._limit:
            raise _Stop("the answer is too large")
        self._body += body

    def on_message_complete(self) -> None:
        if self._status and self._parser is not None:
            self._whole, self._keep = True, self._parser.should_keep_alive()
        else:  # 1xx: the answer is still to come
            self._begin()

    def _finish(self, keep: bool) -> None:
        answer, self._answer = self._answer, None
        headers = self._headers
        later = headers.get(b"retry-after")
        reply = Reply(
            self._status,
            bytes(self._body),
            _seconds(later.decode("latin-1")) if later is not None else None,
            headers.get(b"content-type", b"").decode("latin-1"),
            headers.get(b"mcp-session-id", b"").decode("latin-1"),
        )
        self._begin()
        self.due = math.inf
        if keep:
            self._owner.free(self)
        else:
            self.drop()
        if answer is not None and not answer.done():
            answer.set_result(reply)


_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_FRAME = frozenset({b"content-length", b"content-encoding", b"transfer-encoding"})
_READ = _FRAME | {b"content-type", b"retry-after", b"mcp-session-id"}


def _reason(error: httptools.HttpParserError) -> str:
    stop = error.__context__
    return str(stop) if isinstance(stop, _Stop) else f"the answer is not HTTP/1.1: {error}"


def _seconds(retry_after: str) -> float | None:
    """Retry-After as seconds from now: a number, or a date; None if it is neither."""
    if _NUMBER.fullmatch(retry_after):
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return None
