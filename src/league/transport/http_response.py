"""Answers as they go over the wire."""

from __future__ import annotations

from collections.abc import Callable
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING

from league.transport.http import Headers, HttpRequest, Response

if TYPE_CHECKING:
    from league.transport.http_connection import ServerConnection


class ResponseHeads:
    """Writes answers as they go over the wire; what is the same for a second is put together once."""

    def __init__(self) -> None:
        self._date = b""
        self._beginnings: dict[tuple[int, str], bytes] = {}

    def set_date(self, seconds: float) -> None:
        """It is that late, since 1970."""
        date = _date_line(int(seconds))
        if date != self._date:
            self._date = date
            self._beginnings.clear()

    def whole(self, answer: Response, request: HttpRequest) -> bytes:
        """Head and body of an answer."""
        kind, body = (answer.status, answer.content_type), answer.body
        return b"%bcontent-length: %d\r\n%b%b" % (
            self._beginnings.get(kind) or self._begin(*kind),
            len(body),
            _end(answer.headers, request.keep_alive) if answer.headers or not request.keep_alive else b"\r\n",
            body if request.method != "HEAD" else b"",
        )

    def streamed(self, status: int, content_type: str, headers: Headers, request: HttpRequest) -> bytes:
        """The head of an answer in pieces. In HTTP/1.0 the end of the connection is its end."""
        framing = b"transfer-encoding: chunked\r\n" if request.version == "1.1" else b""
        return self._begin(status, content_type) + framing + _end(headers, request.keep_alive)

    def _begin(self, status: int, content_type: str) -> bytes:
        phrase = _PHRASES.get(status, b"")
        media_type = _header_line("content-type", content_type) if content_type else b""
        begun = b"HTTP/1.1 %d %b\r\n%b%b" % (status, phrase, self._date, media_type)
        self._beginnings[status, content_type] = begun
        return begun


@lru_cache(maxsize=2)
def _date_line(second: int) -> bytes:
    """For all servers of a process."""
    return b"date: %b\r\n" % formatdate(second, usegmt=True).encode()


_PHRASES = {status.value: status.phrase.encode() for status in HTTPStatus}


def _end(headers: Headers, keep_alive: bool) -> bytes:
    lines = b"".join([_header_line(name, value) for name, value in headers]) if headers else b""
    return lines + (b"\r\n" if keep_alive else b"connection: close\r\n\r\n")


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
        self.is_started, self.wants_body = True, False

    def start(self, status: int, content_type: str, headers: Headers) -> None:
        self._check_not_started()
        self._connection.write_head(self._request, status, content_type, headers)
        self.is_started, self._is_chunked = True, self.wants_body and self._request.version == "1.1"

    def _check_not_started(self) -> None:
        if self.is_started:
            raise RuntimeError("an answer has one head")

    async def write(self, piece: bytes) -> None:
        if piece and self.wants_body:
            await self._connection.write_piece(b"%x\r\n%b\r\n" % (len(piece), piece) if self._is_chunked else piece)

    async def end(self) -> None:
        """The answer is complete."""
        if self._is_chunked:
            await self._connection.write_piece(b"0\r\n\r\n")


def _do_nothing() -> None:
    pass
