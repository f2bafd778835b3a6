"""Bytes in, requests out: llhttp reads. Requests that are too large, or could be read in two ways, are rejected."""

from __future__ import annotations

import re
import urllib.parse
from enum import Enum
from functools import lru_cache
from typing import Protocol

import httptools
from msgspec import Struct
from msgspec.structs import replace

from league.transport.http import HttpRequest, Limits

FRAMING = 8
"""A body in the smallest chunks takes six bytes for one; a client that needs more than this sends something else."""

KNOWN_SIZE = 1024
"""The largest head that is remembered."""
LENGTH_SIZE = 9
"""Digits of a Content-Length, at most."""

_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = re.compile(rb"\r\n[Cc]ontent-[Ll]ength: ([0-9]{1,9})\r\n")
_ONCE_ONLY = frozenset({b"host", b"origin", b"content-type", b"content-encoding"})
_OFFER = (b"connection", b"upgrade")


class RequestPhase(Enum):
    """The part of a request that a client is sending. Answering is not a phase: several requests may wait for it."""

    IDLE = "between requests"
    HEAD = "headers"
    BODY = "body"


_IDLE, _HEAD, _BODY = RequestPhase  # names of the module are found faster


class RequestRejectedError(Exception):
    """The request gets this status; nothing that follows it can be read."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail


class StopReading(Exception):  # noqa: N818 (an order, not an error)
    """Raised by a listener that takes no more requests."""


class RequestListener(Protocol):
    """Hears what was read. All methods may raise RequestRejectedError or StopReading."""

    def request_begun(self) -> None:
        """The first byte of a request is here."""

    def head_read(self, request: HttpRequest) -> None:
        """Everything but the body is here."""

    def request_read(self, request: HttpRequest) -> None:
        """The request is complete."""


class KnownHead(Struct, frozen=True, gc=False):
    """The head of a request that was parsed: most clients send the same one again and again. Two that differ in the
    number of their Content-Length alone differ in nothing else."""

    before: bytes
    """Up to that number."""
    after: bytes
    size: int
    """Without that number."""
    request: HttpRequest
    """Without its body and its length."""


def known_head(data: bytes, request: HttpRequest) -> KnownHead | None:
    """Remember the head of a request that was parsed from these bytes, if it may come again: its body had a length,
    nothing came after it, and the connection stays open."""
    end = data.find(_END_OF_HEAD) + len(_END_OF_HEAD)
    length = _LENGTH.search(data, 0, end)
    if length is None or not request.keep_alive or end > KNOWN_SIZE or data[end:] != request.body:
        return None
    start, behind = length.span(1)
    headers = {name: value for name, value in request.headers.items() if name != b"content-length"}
    head = replace(request, headers=headers, body=b"", is_complete=False)
    return KnownHead(data[:start], data[behind:end], start + end - behind, head)


@lru_cache(maxsize=4096)
def length_in(size: int) -> bytes | None:
    """Find the digits of a Content-Length that take, together with the body they count, this many bytes."""
    for digits in range(1, min(LENGTH_SIZE, size) + 1):
        length = b"%d" % (size - digits)
        if len(length) == digits:
            return length
    return None


class RequestParser:
    """Reads the requests of one connection, in order."""

    def __init__(self, limits: Limits, listener: RequestListener) -> None:
        self.phase = _IDLE
        self.request = HttpRequest()
        """The one being read; between requests, the last one."""
        self.known: KnownHead | None = None
        """The head of the last request, if it may come again."""
        self._limits = limits
        self._listener = listener
        self._llhttp: httptools.HttpRequestParser = httptools.HttpRequestParser(self)
        self._headers: dict[bytes, bytes] = {}
        self._repeated = 0
        """Header lines whose name had come before."""
        self._body = bytearray()
        self._begun = 0
        """How many requests have begun in the piece of data at hand."""
        self._piece = 0
        self._received = 0
        """Bytes of earlier pieces that belong to the request being read, and to no other."""
        self._shared = 0
        """Bytes of an earlier piece of which a part belongs to it."""

    def close(self) -> None:
        """Nothing more will be read. Without this, parser and llhttp would keep each other alive."""
        del self._llhttp, self._listener

    def known_body(self, data: bytes) -> bytes | None:
        """The body of the request in these bytes, if it has the known head, is whole and has nothing after it."""
        head_parts = self.known
        if head_parts is None or self.phase is not _IDLE:
            return None
        length = length_in(len(data) - head_parts.size)
        if length is None:
            return None
        head = head_parts.before + length + head_parts.after
        # Two messages that came together, or half of one, differ in length from what the digits say.
        if not data.startswith(head) or len(data) - len(head) > self._limits.body:
            return None
        return data[len(head) :]

    def feed(self, data: bytes) -> None:
        """Read on. RequestRejectedError when it can go no further, StopReading when the listener wants no more."""
        was_idle = self.phase is _IDLE
        self._parse(data, was_idle)
        if was_idle and self._begun == 1 and self.phase is _IDLE:
            self.known = None
            if self.request.is_repeatable:
                self.known = known_head(data, self.request)

    def _parse(self, data: bytes, was_idle: bool) -> None:
        self._begun = 0
        self._piece = len(data)
        try:
            rest = self._feed(data)
            while rest is not None:
                self._read_again_without_offer()
                rest = self._feed(rest)
        except httptools.HttpParserCallbackError as error:
            raise error.__context__ or error from None
        except httptools.HttpParserError as error:
            raise RequestRejectedError(400, f"this is not HTTP/1.1: {error}") from None
        if self.phase is not _IDLE:
            if self._begun == 0 or (self._begun == 1 and was_idle):
                self._count()
            else:  # the piece holds the end of another request too
                self._shared = self._piece

    def _feed(self, data: bytes) -> bytes | None:
        """Feed llhttp. Return the rest after a request that offers to switch to another protocol; None without one."""
        try:
            self._llhttp.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            return data[offer.args[0] :]
        return None

    def _read_again_without_offer(self) -> None:
        """Java's client offers HTTP/2 with its first request. llhttp then takes the body for another protocol, so the
        head is read again without the offer."""
        request = self.request
        head = [b"%b %b HTTP/%b" % (request.method.encode(), request.target, request.version.encode())]
        head += [b"%b: %b" % header for header in request.headers.items() if header[0] not in _OFFER]
        self._llhttp = httptools.HttpRequestParser(self)
        self._llhttp.feed_data(b"\r\n".join([*head, b"", b""]))

    def _count(self) -> None:
        """A request came in without its end: it may not grow for ever."""
        self._received += self._piece
        if self.phase is _HEAD and self._received > self._limits.head:
            raise RequestRejectedError(431, "the headers are too large")
        if self._received > self._limits.head + FRAMING * self._limits.body:
            raise RequestRejectedError(413, "the chunks or trailers of the body are too large")

    # --- what llhttp calls --------------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._listener.request_begun()
        self.request = HttpRequest()
        self.phase = _HEAD
        self._begun += 1
        self._received = self._shared = self._repeated = 0
        self._headers = {}
        self._body.clear()

    def on_url(self, url: bytes) -> None:
        self.request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.phase is not _HEAD:
            return  # a trailer
        headers = self._headers
        name = name.lower()
        if name not in headers:
            headers[name] = value.strip(b" \t")
        # Two readers of such a request could each take another of the two values.
        elif name in _ONCE_ONLY:
            raise RequestRejectedError(400, "a header that may stand once stands twice")
        else:
            headers[name] += b", " + value.strip(b" \t")
            self._repeated += 1
        if len(headers) + self._repeated > self._limits.headers:
            raise RequestRejectedError(431, "there are too many headers")

    def on_headers_complete(self) -> None:
        request = self.request
        llhttp = self._llhttp
        request.headers = self._headers
        request.method = llhttp.get_method().decode("ascii")
        request.version = llhttp.get_http_version()
        self._check_form(request)
        if llhttp.should_upgrade():
            return  # it is going to be read again
        self._check_size(request)
        request.path, request.query, host = split_target(request.target)
        if host:  # it counts more than the Host header (RFC 9112, 3.2.2)
            self._headers[b"host"] = host
        expects = request.headers.get(b"expect")
        if expects is not None and request.version == "1.1":
            request.expects_continue = expects.lower() == b"100-continue"
        # A client that is refused before it was told to go on may send the body or not: only an end is unambiguous.
        request.keep_alive = request.version == "1.1" and not request.expects_continue and llhttp.should_keep_alive()
        self._listener.head_read(request)
        self.phase = _BODY

    def _check_form(self, request: HttpRequest) -> None:
        version = request.version
        headers = request.headers
        if version != "1.1" and version != "1.0":
            raise RequestRejectedError(505, "this server speaks HTTP/1.1")
        if version == "1.1" and b"host" not in headers:
            raise RequestRejectedError(400, "the Host header is missing")
        if request.method == "CONNECT":
            raise RequestRejectedError(400, "this is no proxy")
        coding = headers.get(b"transfer-encoding")
        if coding is not None and (version == "1.0" or coding.lower() != b"chunked"):
            raise RequestRejectedError(400, "the only transfer encoding is chunked, in HTTP/1.1")

    def _check_size(self, request: HttpRequest) -> None:
        # Usually what came in is too little to hold too much, and nothing need be counted.
        limits = self._limits
        if self._shared + self._received + self._piece > limits.head and _head_size(request) > limits.head:
            raise RequestRejectedError(431, "the headers are too large")
        length = request.headers.get(b"content-length")
        if length is not None and int(length) > limits.body:
            raise RequestRejectedError(413, f"at most {limits.body} bytes are taken")

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > self._limits.body:
            raise RequestRejectedError(413, f"at most {self._limits.body} bytes are taken")

    def on_message_complete(self) -> None:
        if self.phase is _HEAD:
            return  # the head is going to be read again
        self.phase = _IDLE
        self.request.body = bytes(self._body)
        self.request.is_complete = True
        self._listener.request_read(self.request)


def _head_size(request: HttpRequest) -> int:
    return len(request.target) + sum(len(name) + len(value) + 4 for name, value in request.headers.items())


@lru_cache(maxsize=256)
def split_target(target: bytes) -> tuple[str, bytes, bytes]:
    """Path, query and host in the first line of a request."""
    try:
        parts = httptools.parse_url(target)
        path = (parts.path or b"/").decode("ascii")
    except (httptools.HttpParserInvalidURLError, UnicodeError):
        raise RequestRejectedError(400, "the address in the first line is none") from None
    host = parts.host or b""
    if b":" in host:
        host = b"[%b]" % host
    return urllib.parse.unquote(path), parts.query or b"", host
