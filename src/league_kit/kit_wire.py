"""HTTP as bytes: one request, sent exactly as it is written, and everything that came back."""

# Theory of operation
#
# The client of league.transport would repair, refuse or hide what the kit has to see, so this one does nothing of the
# kind. Every request has a connection of its own. Its bytes are written as they are; the answer is read until it is
# complete, the connection ends, the time is up, or it grows too long. All four ways end in a RawResponse: `trouble`
# says why there is no complete answer, and what did come is kept as evidence. `send_request` never raises.
#
# An answer is complete when its length, its last chunk or the end of the connection says so. Whatever follows is kept
# in `rest`: a second answer to one request is a fault.

from __future__ import annotations

import asyncio
import re
import ssl
import time
from dataclasses import dataclass, field
from enum import Enum
from typing import Final
from urllib.parse import urlsplit

MOST: Final = 4 * 1024 * 1024
"""Maximum number of bytes that are read of an answer."""
_PIECE: Final = 65_536
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: [^\r\n]*)?")


class Trouble(Enum):
    """Why there is no HTTP answer."""

    REFUSED = "refused"
    TIMEOUT = "timeout"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A request. `Connection: close` ends it, so that a second answer would be seen."""

    url: str
    body: bytes = b""
    method: str = "POST"
    host: str | None = None
    content_type: str | None = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    verbatim: bytes | None = None
    """Send these bytes instead."""
    ends: bool = False
    """Close the kit's side of the connection after the request."""

    def raw(self) -> bytes:
        if self.verbatim is not None:
            return self.verbatim
        parts = urlsplit(self.url)
        path = parts.path or "/"
        if parts.query:
            path += f"?{parts.query}"
        lines = [f"{self.method} {path} HTTP/1.1", f"Host: {self.host or parts.netloc}"]
        if self.content_type is not None:
            lines.append(f"Content-Type: {self.content_type}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines += [
            "Accept: application/json, text/event-stream",
            f"Content-Length: {len(self.body)}",
            "Connection: close",
            "",
            "",
        ]
        return "\r\n".join(lines).encode("latin-1") + self.body


@dataclass(slots=True)
class RawResponse:
    """An answer, or as much of it as came. Only `send_request` writes to it."""

    at: float
    """When its request was sent."""
    raw: bytes = b""
    seconds: float = 0.0
    trouble: Trouble | None = None
    detail: str = ""
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    rest: bytes = b""
    """Bytes after the end of the answer."""

    def is_whole(self, ended: bool) -> bool:
        """Is the answer complete? ValueError: it is not HTTP."""
        head, end, tail = self.raw.partition(b"\r\n\r\n")
        if not end:
            return False
        lines = head.split(b"\r\n")
        status_line = _STATUS_LINE.fullmatch(lines[0])
        if status_line is None:
            raise ValueError("this is not an HTTP/1.1 answer")
        self.status = int(status_line[1])
        if self.status < 200:
            # An interim answer, such as 100 Continue: the real one follows.
            self.raw = tail
            return self.is_whole(ended)
        pairs = (line.decode("latin-1").partition(":") for line in lines[1:])
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        return self._has_body(tail, ended)

    def _has_body(self, tail: bytes, ended: bool) -> bool:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            return self._has_chunks(tail)
        if "content-length" in self.headers:
            size = int(self.headers["content-length"])
            self.body = tail[:size]
            self.rest = tail[size:]
            return len(self.body) == size
        self.body = tail
        return ended or self.status in (204, 304)

    def _has_chunks(self, tail: bytes) -> bool:
        body = b""
        while True:
            line, end, tail = tail.partition(b"\r\n")
            if not end:
                return False
            size = int(line.partition(b";")[0], 16)
            if len(tail) < size + 2:
                return False
            if size == 0:
                self.body = body
                self.rest = tail[2:]
                return True
            body += tail[:size]
            tail = tail[size + 2 :]


async def send_request(request: RawRequest, timeout_s: float) -> RawResponse:
    """Send a request on a connection of its own and read the answer."""
    response = RawResponse(at=time.time())
    began = time.monotonic()
    try:
        async with asyncio.timeout(timeout_s):
            await _transfer(request, response)
    except TimeoutError:
        response.trouble = Trouble.TIMEOUT
        response.detail = f"no complete answer within {timeout_s:g} seconds"
    except _UnreachableError as error:
        response.trouble = Trouble.REFUSED
        response.detail = str(error)
    except (OSError, EOFError) as error:
        response.trouble = Trouble.BROKEN
        response.detail = str(error) or "the connection broke before the answer was complete"
    except ValueError as error:
        response.trouble = Trouble.BROKEN
        response.detail = f"the answer is not HTTP: {error}"
    response.seconds = time.monotonic() - began
    return response


class _UnreachableError(OSError):
    """The connection could not be opened."""


async def _transfer(request: RawRequest, response: RawResponse) -> None:
    parts = urlsplit(request.url)
    secure = parts.scheme == "https"
    usual_port = 443 if secure else 80
    context = ssl.create_default_context() if secure else None
    try:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port or usual_port, ssl=context)
    except ConnectionRefusedError as error:
        raise _UnreachableError("the connection was refused: nobody listens at this address") from error
    except OSError as error:
        raise _UnreachableError(str(error)) from error
    try:
        writer.write(request.raw())
        if request.ends:
            writer.write_eof()
        await _read(reader, response)
    finally:
        writer.close()


async def _read(reader: asyncio.StreamReader, response: RawResponse) -> None:
    while True:
        piece = await reader.read(_PIECE)
        response.raw += piece
        if response.is_whole(ended=not piece):
            return
        if not piece:
            raise EOFError("the connection was closed before the answer was complete")
        if len(response.raw) > MOST:
            raise ValueError(f"more than {MOST} bytes")
