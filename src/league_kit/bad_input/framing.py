"""Bad HTTP (spec sections 2.1, 2.4): wrong methods, paths, media types and hosts; lengths and chunks that contradict
each other; heads that are too large or not HTTP at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from league.protocol.jsonrpc import MANAGER_LIMIT, MESSAGE_LIMIT
from league_kit.bad_input.cases import (
    MANAGER,
    BadInput,
    Expected,
    Make,
    Standing,
    call_of,
    encoded,
    refused,
)
from league_kit.kit_wire import RawRequest

PING: Final = encoded(call_of({}, "ping"))
FRAMING: Final = "HTTP.framing"
STATUSES: Final = "HTTP.other_statuses"
ACCESS: Final = "HTTP.origin_and_host"
JSON_TYPE: Final = "Content-Type: application/json"
LENGTH: Final = f"Content-Length: {len(PING)}"
CHUNKED: Final = "Transfer-Encoding: chunked"
EVIL: Final = "evil.example"
MEDIA_TYPES: Final = (
    "text/plain",
    "text/html",
    "text/json",
    "application/xml",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/jsonx",
    "application/json, text/plain",
    "json",
    "*/*",
    "",
)
HOSTS: Final = (
    EVIL,
    f"localhost.{EVIL}",
    f"127.0.0.1.{EVIL}",
    f"127.0.0.1@{EVIL}",
    "0.0.0.0",
    "127.0.0.1:80:80",
    "[::1",
    "127.0.0.1/x",
    "local host",
)
ORIGINS: Final = (
    f"http://{EVIL}",
    f"https://{EVIL}",
    "null",
    "file://",
    f"http://localhost.{EVIL}",
    "http://",
    f"http://127.0.0.1@{EVIL}",
    "chrome-extension://abc",
    "*",
)


def _chunked(body: bytes) -> bytes:
    """Return a body as one whole chunk."""
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)


_WHOLE_CHUNK: Final = _chunked(PING)


def framing(role: str) -> Iterator[BadInput]:
    """Return every case for an agent of this role."""
    yield from _first_lines()
    yield from _media_types()
    yield from _hosts_and_origins()
    yield from _lengths()
    yield from _chunks()
    yield from _heads()
    yield from _sizes(MESSAGE_LIMIT if role == MANAGER else MANAGER_LIMIT)


def _case(
    name: str,
    status: int | None,
    headers: Sequence[str] = (JSON_TYPE, LENGTH),
    body: bytes = PING,
    *,
    first: str = "POST {path} HTTP/1.1",
    host: str | None = "{host}",
    clause: str = FRAMING,
    code: str = "",
    ends: bool = False,
) -> BadInput:
    """Write a request line by line. `{path}` and `{host}` stand for the agent's; without `host` there is no Host
    header."""

    def make(standing: Standing) -> RawRequest:
        parts = urlsplit(standing.url)
        lines = [first, *headers, "Connection: close", "", ""]
        if host is not None:
            lines.insert(1, f"Host: {host}")
        head = "\r\n".join(lines)
        # No str.format: headers may hold braces of their own.
        head = head.replace("{path}", parts.path or "/")
        head = head.replace("{host}", parts.netloc)
        return RawRequest(standing.url, verbatim=head.encode("latin-1") + body, ends=ends)

    expected = refused(code) if code else Expected(status)
    return _bad_input(clause, name, expected, make)


def _verbatim(name: str, data: bytes, status: int | None, ends: bool = False) -> BadInput:
    """Send these bytes and nothing else."""

    def make(standing: Standing) -> RawRequest:
        return RawRequest(standing.url, verbatim=data, ends=ends)

    return _bad_input(FRAMING, name, Expected(status), make)


def _bad_input(clause: str, name: str, expected: Expected, make: Make) -> BadInput:
    return BadInput(
        id=f"{clause}/{name}",
        clause=clause,
        what=name.replace("-", " "),
        expected=expected,
        make=make,
    )


# In the tables below, a row is the name of the case (part of its id), the expected status, and what makes it wrong.


def _first_lines() -> Iterator[BadInput]:
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS"):
        yield _case(
            f"{method}-of-a-message",
            405,
            first=f"{method} {{path}} HTTP/1.1",
            clause=STATUSES,
        )
    for name, status, first in (
        ("an-unknown-method", 400, "BREW {path} HTTP/1.1"),
        ("a-method-in-small-letters", 400, "post {path} HTTP/1.1"),
        ("a-tunnel", 400, "CONNECT evil.example:80 HTTP/1.1"),
        ("no-version", 505, "POST {path}"),
        ("version-0.9", 505, "POST {path} HTTP/0.9"),
        ("version-1.9", 400, "POST {path} HTTP/1.9"),
        ("version-2.0", 505, "POST {path} HTTP/2.0"),
        ("version-of-three-parts", 400, "POST {path} HTTP/1.1.1"),
        ("another-protocol", 400, "POST {path} SPDY/1.1"),
        ("an-empty-first-line-of-blanks", 400, "   "),
        ("the-words-the-wrong-way-round", 400, "HTTP/1.1 POST {path}"),
        ("a-path-without-slash", 400, "POST mcp HTTP/1.1"),
        ("a-path-with-a-blank", 400, "POST {path} x HTTP/1.1"),
        ("a-path-with-a-control-character", 400, "POST {path}\x01 HTTP/1.1"),
        ("a-path-of-20000-letters", 431, f"POST /{'x' * 20_000} HTTP/1.1"),
    ):
        yield _case(name, status, first=first)
    for name, path in (
        ("a-path-that-is-none", "/nothing-here"),
        ("a-path-below", "{path}/deeper"),
        ("a-path-with-dots", "/x/..{path}"),
        ("a-path-with-an-escaped-NUL", "{path}%00"),
        ("a-path-out-of-the-folder", "/../../etc/passwd"),
    ):
        yield _case(name, 404, first=f"POST {path} HTTP/1.1", clause="HTTP.post_mcp")


def _media_types() -> Iterator[BadInput]:
    for kind in MEDIA_TYPES:
        name = kind.partition(";")[0].replace("/", "-") or "nothing"
        yield _case(f"the-media-type-{name}", 415, (f"Content-Type: {kind}", LENGTH), clause=STATUSES)
    yield _case("no-media-type", 415, (LENGTH,), clause=STATUSES)
    yield _case("two-media-types", 400, (JSON_TYPE, "Content-Type: text/plain", LENGTH))
    for coding in ("gzip", "deflate", "br", "zstd", "gzip, gzip"):
        lines = (JSON_TYPE, f"Content-Encoding: {coding}", LENGTH)
        yield _case(f"compressed-with-{coding}", 415, lines, clause=STATUSES)
    expects = (JSON_TYPE.replace("json", "xml"), LENGTH, "Expect: 100-continue")
    yield _case("another-media-type-that-waits-for-100", 415, expects, b"", clause=STATUSES)


def _hosts_and_origins() -> Iterator[BadInput]:
    for host in HOSTS:
        yield _case(f"the-host-{host}", 421, host=host, clause=ACCESS)
    yield _case(
        "an-address-in-the-first-line",
        421,
        first=f"POST http://{EVIL}/mcp HTTP/1.1",
        clause=ACCESS,
    )
    yield _case("no-host", 400, host=None)
    yield _case("two-hosts", 400, (f"Host: {EVIL}", JSON_TYPE, LENGTH))
    for origin in ORIGINS:
        lines = (JSON_TYPE, LENGTH, f"Origin: {origin}")
        yield _case(f"the-origin-{origin}", 403, lines, clause=ACCESS)
    yield _case(
        "two-origins",
        400,
        (JSON_TYPE, LENGTH, "Origin: http://127.0.0.1", f"Origin: http://{EVIL}"),
    )


def _lengths() -> Iterator[BadInput]:
    size = len(PING)
    for name, value in (
        ("negative", "-1"),
        ("with-a-sign", f"+{size}"),
        ("in-hex", f"0x{size:x}"),
        ("a-fraction", f"{size}.0"),
        ("with-an-exponent", "1e2"),
        ("a-word", "many"),
        ("two-numbers", f"{size}, {size + 1}"),
        ("empty", ""),
        ("with-a-blank-inside", "4 0"),
        ("beyond-64-bits", "9" * 30),
    ):
        yield _case(f"a-length-{name}", 400, (JSON_TYPE, f"Content-Length: {value}"))
    yield _case("two-lengths", 400, (JSON_TYPE, LENGTH, f"Content-Length: {size + 1}"))
    yield _case("the-same-length-twice", 400, (JSON_TYPE, LENGTH, LENGTH))
    yield _case("a-length-and-chunks", 400, (JSON_TYPE, LENGTH, CHUNKED), _WHOLE_CHUNK)
    yield _case("chunks-and-a-length", 400, (JSON_TYPE, CHUNKED, LENGTH), _WHOLE_CHUNK)
    yield _case("neither-length-nor-chunks", 400, (JSON_TYPE,), b"", code="E034", clause="JSON.syntax")
    short = (JSON_TYPE, f"Content-Length: {size - 5}")
    yield _case("a-length-too-short", 400, short, code="E034", clause="JSON.syntax")
    # The body never becomes complete: there is nothing to answer.
    yield _case("a-length-too-long", None, (JSON_TYPE, f"Content-Length: {size + 5}"), ends=True)
    yield _case("a-length-without-a-body", None, (JSON_TYPE, LENGTH), b"", ends=True)
    yield _case(
        "a-body-that-stops-half-way-and-is-waited-for",
        408,
        (JSON_TYPE, LENGTH),
        PING[: size // 2],
    )


def _chunks() -> Iterator[BadInput]:
    body = PING
    for name, data in (
        ("size-in-words", b"many\r\n" + body + b"\r\n0\r\n\r\n"),
        ("size-negative", b"-1\r\n" + body + b"\r\n0\r\n\r\n"),
        ("size-with-0x", b"0x%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)),
        ("size-empty", b"\r\n" + body + b"\r\n0\r\n\r\n"),
        ("size-beyond-64-bits", b"f" * 17 + b"\r\n" + body),
        ("size-too-short", b"%x\r\n%b\r\n0\r\n\r\n" % (len(body) - 3, body)),
        ("no-line-after-the-data", b"%x\r\n%b0\r\n\r\n" % (len(body), body)),
    ):
        yield _case(f"chunks-{name}", 400, (JSON_TYPE, CHUNKED), data)
    yield _case("chunks-without-end", None, (JSON_TYPE, CHUNKED), _WHOLE_CHUNK[:-5], ends=True)
    # Only "chunked", alone and once, tells where a body ends; anything else invites request smuggling.
    for coding in (
        "gzip, chunked",
        "chunked, gzip",
        "gzip",
        "identity",
        "xchunked",
        "chunked, chunked",
    ):
        lines = (JSON_TYPE, f"Transfer-Encoding: {coding}")
        yield _case(f"the-transfer-encoding-{coding}", 400, lines, _WHOLE_CHUNK)
    twice = (JSON_TYPE, CHUNKED, CHUNKED)
    yield _case("chunked-twice", 400, twice, _WHOLE_CHUNK)
    yield _case(
        "chunks-in-HTTP-1.0",
        400,
        (JSON_TYPE, CHUNKED),
        _WHOLE_CHUNK,
        first="POST {path} HTTP/1.0",
    )


def _heads() -> Iterator[BadInput]:
    plain = (JSON_TYPE, LENGTH)
    for name, line in (
        ("without-colon", "X-Nothing"),
        ("with-a-blank-before-the-colon", "X-Blank : 1"),
        ("without-name", ": 1"),
        ("with-a-NUL", "X-Nul: a\0b"),
        ("with-a-control-character", "X-Bell: a\x07b"),
        ("with-a-line-feed-inside", "X-Split: a\nb"),
        ("with-a-carriage-return-inside", "X-Split: a\rb"),
        ("with-brackets-in-its-name", "X[0]: 1"),
        ("with-an-umlaut-in-its-name", "X-\u00fc: 1"),
    ):
        yield _case(f"a-header-{name}", 400, (*plain, line))
    yield _case("200-headers", 431, (*plain, *(f"X-{number}: 1" for number in range(200))))
    yield _case("a-name-200-times", 431, (*plain, *["X-Again: 1"] * 200))
    yield _case("a-header-of-40-kB", 431, (*plain, f"X-Long: {'x' * 40_000}"))
    yield _case("a-name-of-40-kB", 431, (*plain, f"X-{'x' * 40_000}: 1"))
    for name, data in (
        ("a-TLS-hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(64))),
        ("an-SSH-banner", b"SSH-2.0-OpenSSH_9.6\r\n\r\n"),
        ("an-HTTP-2-preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ("JSON-without-HTTP", PING + b"\r\n\r\n"),
        ("zeros", b"\0" * 64),
        ("an-answer-instead-of-a-request", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ):
        yield _verbatim(name, data, 400)
    yield _verbatim("a-first-line-without-end", b"POST /" + b"x" * 40_000, 431)
    yield _verbatim("half-a-head", b"POST /mcp HT", None, ends=True)


def _sizes(limit: int) -> Iterator[BadInput]:
    """Send bodies that are too large for the role, in every way to state a length."""
    clause = "SIZE.requests" if limit == MESSAGE_LIMIT else "SIZE.from_the_manager"
    large = PING + b" " * (limit + 1 - len(PING))
    yield _case(
        "one-byte-too-many",
        413,
        (JSON_TYPE, f"Content-Length: {len(large)}"),
        large,
        code="E037",
        clause=clause,
    )
    lines = (JSON_TYPE, CHUNKED)
    yield _case(
        "one-byte-too-many-in-a-chunk",
        413,
        lines,
        _chunked(large),
        code="E037",
        clause=clause,
    )
    for name, size in (("a-gigabyte", 2**30), ("an-exabyte", 2**60)):
        lines = (JSON_TYPE, f"Content-Length: {size}")
        yield _case(f"{name}-announced", 413, lines, b"", code="E037", clause=clause)
        waits = (*lines, "Expect: 100-continue")
        yield _case(f"{name}-that-waits-for-100", 413, waits, b"", code="E037", clause=clause)
