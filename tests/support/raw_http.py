"""HTTP byte by byte, for a peer that has every byte in its hands: its answers, and its own requests."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from urllib.parse import urlsplit

from tests.support.scripts import Reaction, header

CHUNK = 7


def http_answer(body: bytes, reaction: Reaction) -> bytes:
    """The bytes of a whole answer."""
    headers = [("Content-Type", reaction.content_type), *reaction.headers]
    if reaction.gzip:
        body = gzip.compress(body)
        headers.append(("Content-Encoding", "gzip"))
    if reaction.framing == "length":
        headers.append(("Content-Length", str(len(body))))
    elif reaction.framing == "chunked":
        headers.append(("Transfer-Encoding", "chunked"))
        pieces = [body[start : start + CHUNK] for start in range(0, len(body), CHUNK)]
        body = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in [*pieces, b""])
    first = f"{reaction.version} {reaction.status} {reaction.reason}"
    lines = [first, *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


async def exchange(url: str, body: bytes, headers: Sequence[tuple[str, str]] = ()) -> tuple[int, bytes, bytes]:
    """Status, head and body of the answer; its end is told by its length or by the end of the connection."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        known = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **dict(headers)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in known.items())
        first = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n{lines}"
        writer.write(f"{first}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = header(head, b"content-length")
        answer = await (reader.readexactly(int(length)) if length else reader.read())
        if header(head, b"transfer-encoding"):
            answer = _joined(answer)
        return int(head.split()[1]), head, answer
    except asyncio.IncompleteReadError:
        raise ConnectionResetError(f"{url} hung up") from None
    finally:
        writer.close()


def _joined(chunks: bytes) -> bytes:
    """A body that came in chunks."""
    joined = b""
    while chunks:
        size, _, rest = chunks.partition(b"\r\n")
        joined, chunks = joined + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return joined


async def post(url: str, body: bytes) -> tuple[int, bytes]:
    """Status and body of the answer."""
    status, _, answer = await exchange(url, body)
    return status, answer
