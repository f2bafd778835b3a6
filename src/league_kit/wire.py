"""HTTP as bytes: one request, sent exactly as given, and all that came back, whatever it is.

The client of league.transport would repair, refuse or hide what the kit has to see.
"""

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
"""No answer is read further than this."""
_PIECE: Final = 65_536
_STATUS_LINE: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9][0-9])(?: [^\r\n]*)?")


class Trouble(Enum):
    """Why there is no HTTP answer."""

    REFUSED = "refused"
    TIMEOUT = "timeout"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class RawRequest:
    """What is sent. `Connection: close` ends every request, so that a second answer would be seen."""

    url: str
    body: bytes = b""
    method: str = "POST"
    host: str | None = None
    content_type: str | None = "application/json"
    headers: tuple[tuple[str, str], ...] = ()
    verbatim: bytes | None = None
    """These bytes instead of all that."""
    ends: bool = False
    """Nothing more is sent after it: the agent sees the end of our side."""

    def raw(self) -> bytes:
        if self.verbatim is not None:
            return self.verbatim
        parts = urlsplit(self.url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
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


@dataclass(frozen=True, slots=True)
class RawResponse:
    """What came back, as far as it did."""

    raw: bytes
    seconds: float
    trouble: Trouble | None = None
    detail: str = ""
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    rest: bytes = b""
    """Bytes after the end of the answer."""


@dataclass(slots=True)
class _Read:
    """An answer, as far as it was received."""

    data: bytes = b""
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    rest: bytes = b""

    def is_whole(self, ended: bool) -> bool:
        """Is the answer complete? ValueError: this is no HTTP."""
        head, end, tail = self.data.partition(b"\r\n\r\n")
        if not end:
            return False
        lines = head.split(b"\r\n")
        found = _STATUS_LINE.fullmatch(lines[0])
        if found is None:
            raise ValueError("this is no HTTP/1.1 answer")
        self.status = int(found[1])
        if self.status < 200:
            self.data = tail
            return self.is_whole(ended)
        pairs = (line.decode("latin-1").partition(":") for line in lines[1:])
        self.headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        return self._has_body(tail, ended)

    def _has_body(self, tail: bytes, ended: bool) -> bool:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            return self._has_chunks(tail)
        if "content-length" in self.headers:
            size = int(self.headers["content-length"])
            self.body, self.rest = tail[:size], tail[size:]
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
                self.body, self.rest = body, tail[2:]
                return True
            body, tail = body + tail[:size], tail[size + 2 :]


async def send_request(request: RawRequest, timeout_s: float) -> RawResponse:
    """Send a request on a connection of its own and read the answer."""
    began = time.monotonic()
    read = _Read()

    def done(trouble: Trouble | None = None, detail: str = "") -> RawResponse:
        seconds = time.monotonic() - began
        return RawResponse(read.data, seconds, trouble, detail, read.status, read.headers, read.body, read.rest)

    try:
        async with asyncio.timeout(timeout_s):
            await _transfer(request, read)
        return done()
    except TimeoutError:
        return done(Trouble.TIMEOUT, f"no complete answer within {timeout_s:g} seconds")
    except ConnectionRefusedError:
        return done(Trouble.REFUSED, "the connection was refused: nobody listens there")
    except (OSError, EOFError) as error:
        word = "the connection broke before the answer was complete"
        return done(Trouble.REFUSED if isinstance(error, _UnreachableError) else Trouble.BROKEN, str(error) or word)
    except ValueError as error:
        return done(Trouble.BROKEN, f"the answer is no HTTP: {error}")


class _UnreachableError(OSError):
    """No connection came about."""


async def _transfer(request: RawRequest, read: _Read) -> None:
    parts = urlsplit(request.url)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    context = ssl.create_default_context() if secure else None
    try:
        reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=context)
    except ConnectionRefusedError:
        raise
    except OSError as error:
        raise _UnreachableError(str(error)) from error
    try:
        writer.write(request.raw())
        if request.ends:
            writer.write_eof()
        await _answer(reader, read)
    finally:
        writer.close()


async def _answer(reader: asyncio.StreamReader, read: _Read) -> None:
    while True:
        piece = await reader.read(_PIECE)
        read.data += piece
        if read.is_whole(ended=not piece):
            return
        if not piece:
            raise EOFError("the connection was closed before the answer was complete")
        if len(read.data) > MOST:
            raise ValueError(f"more than {MOST} bytes")
