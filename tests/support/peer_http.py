"""HTTP as a scripted peer says it, byte by byte: its answers, as a Reaction wants them, and its own requests."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from urllib.parse import urlsplit

from tests.support.scripts import Reaction

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


def header(head: bytes, name: bytes) -> str:
    """The value of this header (its name in small letters); "" if there is none."""
    lines = (line.partition(b":") for line in head.split(b"\r\n")[1:])
    return next((value.strip().decode() for given, _, value in lines if given.lower() == name), "")


async def exchange(url: str, body: bytes, headers: Sequence[tuple[str, str]] = ()) -> tuple[int, bytes, bytes]:
    """Status, head and body of the answer; its end is told by its length or by the end of the connection."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        known = (("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream"), *headers)
        lines = "".join(f"{name}: {value}\r\n" for name, value in known)
        first = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n{lines}"
        writer.write(f"{first}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
        head = await reader.readuntil(b"\r\n\r\n")
        length = header(head, b"content-length")
        answer = await (reader.readexactly(int(length)) if length else reader.read())
        return int(head.split()[1]), head, answer
    except asyncio.IncompleteReadError:
        raise ConnectionResetError(f"{url} hung up") from None
    finally:
        writer.close()
