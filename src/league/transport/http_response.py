"""Writes answers as they go over the wire."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING

from league.transport.http import Headers, HttpRequest, Response

if TYPE_CHECKING:
    from league.transport.http_connection import ServerConnection

_PHRASES = {status.value: status.phrase.encode() for status in HTTPStatus}


def whole_answer(answer: Response, request: HttpRequest) -> bytes:
    """Write head and body of an answer."""
    length = len(answer.body)
    head = _head(
        answer.status,
        answer.content_type,
        b"content-length: %d\r\n" % length,
        answer.headers,
        request,
    )
    if request.method == "HEAD":
        return head
    return head + answer.body


def streamed_head(status: int, content_type: str, headers: Headers, request: HttpRequest) -> bytes:
    """Write the head of an answer in pieces. In HTTP/1.0 the end of the connection is its end."""
    framing = b"transfer-encoding: chunked\r\n" if request.version == "1.1" else b""
    return _head(status, content_type, framing, headers, request)


def _head(
    status: int,
    content_type: str,
    framing: bytes,
    headers: Headers,
    request: HttpRequest,
) -> bytes:
    phrase = _PHRASES.get(status, b"")
    date = _date_line(int(time.time()))
    media_type = _header_line("content-type", content_type) if content_type else b""
    head = b"HTTP/1.1 %d %b\r\n%b%b%b" % (
        status,
        phrase,
        date,
        media_type,
        framing,
    )
    for name, value in headers:
        head += _header_line(name, value)
    if not request.keep_alive:
        head += b"connection: close\r\n"
    return head + b"\r\n"


_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


# Formatting a date takes longer than the rest of a head, and most answers of a second share it.
@lru_cache(maxsize=2)
def _date_line(second: int) -> bytes:
    # As email.utils.formatdate writes it: that module would take a player 4 ms to import, for this line alone.
    moment = time.gmtime(second)
    day = f"{_DAYS[moment.tm_wday]}, {moment.tm_mday:02} {_MONTHS[moment.tm_mon - 1]} {moment.tm_year:04}"
    return f"date: {day} {moment.tm_hour:02}:{moment.tm_min:02}:{moment.tm_sec:02} GMT\r\n".encode()


# Nearly all answers have the same few headers.
@lru_cache(maxsize=64)
def _header_line(name: str, value: str) -> bytes:
    if not (name + value).isprintable():
        raise ValueError(f"the header {name!r} cannot be sent")
    return f"{name}: {value}\r\n".encode("latin-1")


class StreamWriter:
    """Writes an answer in pieces: the ResponseWriter of a connection."""

    def __init__(self, connection: ServerConnection, request: HttpRequest) -> None:
        self.may_be_broken_off = False
        self.on_disconnect: Callable[[], object] = _do_nothing
        self.wants_body = request.method != "HEAD"
        self.is_started = False
        self._connection = connection
        self._request = request
        self._is_chunked = False

    def send(self, answer: Response) -> None:
        self._check_not_started()
        self._connection.write_response(self._request, answer)
        self.is_started = True
        self.wants_body = False

    def start(self, status: int, content_type: str, headers: Headers) -> None:
        self._check_not_started()
        self._connection.write_head(self._request, status, content_type, headers)
        # Only now: a head that cannot be sent leaves room for an error.
        self.is_started = True
        self._is_chunked = self.wants_body and self._request.version == "1.1"

    def _check_not_started(self) -> None:
        if self.is_started:
            raise RuntimeError("an answer has one head")

    async def write(self, piece: bytes) -> None:
        if not piece or not self.wants_body:
            return
        if self._is_chunked:
            piece = b"%x\r\n%b\r\n" % (len(piece), piece)
        await self._connection.write_piece(piece)

    async def end(self) -> None:
        """Mark the end of the answer."""
        if self._is_chunked:
            await self._connection.write_piece(b"0\r\n\r\n")


def _do_nothing() -> None:
    pass
