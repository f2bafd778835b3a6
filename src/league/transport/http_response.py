"""Answers as they go over the wire."""

from __future__ import annotations

from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

from league.transport.http import Headers, HttpRequest, Response


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
        kind = answer.status, answer.content_type
        return b"%bcontent-length: %d\r\n%b%b" % (
            self._beginnings.get(kind) or self._begin(*kind),
            len(answer.body),
            _end(answer.headers, request.keep_alive),
            answer.body if request.method != "HEAD" else b"",
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
