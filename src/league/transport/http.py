"""What the parts of HTTP share: answers, the limits of a server, who may call it, and how a refusal is worded."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import msgspec

from league.protocol.errors import ERRORS
from league.protocol.exchanges import family_of
from league.transport.jsonrpc import MESSAGE_LIMIT

MCP_PATH = "/mcp"
RETRY_AFTER_S = 2
ANSWER = "league.answer"
"""The extension of our server's ASGI scopes that takes a whole Response at once."""

ASGIScope = MutableMapping[str, Any]
ASGIReceive = Callable[[], Awaitable[MutableMapping[str, Any]]]
ASGISend = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[ASGIScope, ASGIReceive, ASGISend], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Response:
    """What a server answers."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a server gives its clients at most: sizes in bytes, times in seconds."""

    body: int = MESSAGE_LIMIT
    head: int = 16 * 1024
    headers: int = 64
    header_s: float = 5.0
    body_s: float = 10.0
    idle_s: float = 30.0
    answer_s: float = 30.0
    """How long a client may leave an answer unread once the buffers are full."""
    linger_s: float = 2.0
    """How long a closed connection may take to deliver its last answer."""
    connections: int = 1000
    connections_per_address: int = 256
    requests: int = 1000
    pipelined: int = 16


DEFAULT_LIMITS = Limits()


# --- refusals ---------------------------------------------------------------------------------------------------------

CODES: Mapping[int, str] = {413: "E037", 429: "E010", 500: "E099", 503: "E042"}
"""The row of the catalogue for a status that HTTP itself decides; the others have none."""

Refusal = Callable[[int, str | None, str], bytes]
"""The body for (status, code of the catalogue if one fits, a sentence about this case)."""


def plain_refusal(status: int, code: str | None, detail: str) -> bytes:
    """A JSON-RPC error that answers no particular request."""
    if code is None:
        number, name, data = -32600, HTTPStatus(status).phrase, {"error_detail": detail}
    else:
        row = ERRORS[code]
        number, name = row.number(family_of(None)), row.name
        data = {"error_code": code, "error_name": name, "error_description": name, "error_detail": detail}
    error = {"code": number, "message": name, "data": data}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})


def refuse(status: int, detail: str, word: Refusal, *headers: tuple[str, str]) -> Response:
    """The answer to a request that goes no further."""
    if status in (429, 503):
        headers = (*headers, ("retry-after", str(RETRY_AFTER_S)))
    return Response(status, word(status, CODES.get(status), detail), headers=headers)


@dataclass(frozen=True, slots=True)
class App:
    """What a server serves: messages posted to /mcp, pages at fixed paths, and an ASGI application for the rest."""

    post: Callable[[bytes, str], Awaitable[Response]]
    """The body and the address it came from."""
    get: Mapping[str, Callable[[], Awaitable[Response] | Response]] = field(default_factory=dict)
    refusal: Refusal = plain_refusal
    rest: ASGIApp | None = None


# --- who may call -----------------------------------------------------------------------------------------------------

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{0,5})?")
_ORIGIN = re.compile(r"https?://(.+)")


@dataclass(frozen=True, slots=True)
class Policy:
    """Which hosts a request may be meant for (None: any) and which pages may make a browser send one.

    A page on the web must not reach an agent through the browser of whoever runs it, by name (DNS rebinding) or
    across origins. Hosts are compared without their port.
    """

    hosts: frozenset[str] | None = None
    origins: frozenset[str] = LOOPBACK

    @classmethod
    def bound_to(cls, address: str) -> Policy:
        """On loopback only its own names; elsewhere a server cannot know by which names it is reached."""
        ip = ipaddress.ip_address(address)
        if not ip.is_loopback:
            return cls()
        return cls(LOOPBACK | {f"[{ip}]" if ip.version == 6 else str(ip)})

    def takes_host(self, header: bytes) -> bool:
        """Is this Host one of ours?"""
        return self.hosts is None or host_of(header) in self.hosts

    def takes_origin(self, header: bytes) -> bool:
        """May a page from this Origin call us?"""
        origin = _ORIGIN.fullmatch(header.decode("latin-1").lower())
        return origin is not None and host_of(origin[1].encode("latin-1")) in self.origins


@lru_cache(maxsize=256)
def host_of(header: bytes) -> str | None:
    """The host in a Host header, without its port; None if it is none."""
    found = _HOST.fullmatch(header.decode("latin-1").lower())
    return found[1] if found else None


@lru_cache(maxsize=64)
def is_json(content_type: bytes) -> bool:
    """Does this Content-Type announce JSON?"""
    kind = content_type.partition(b";")[0].strip().lower()
    return kind == b"application/json" or (kind.startswith(b"application/") and kind.endswith(b"+json"))


# --- addresses and loops ----------------------------------------------------------------------------------------------


def addresses_of(host: str) -> list[tuple[int, str]] | None:
    """(family, address) of what needs no looking up: an address, or localhost (RFC 6761)."""
    if host.lower() == "localhost":
        return [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return None
    return [(socket.AF_INET6 if ip.version == 6 else socket.AF_INET, host)]


async def look_up(host: str, port: int) -> list[tuple[int, str]]:
    """(family, address) for a host, in the order to try them. Only names go to the system's resolver."""
    known = addresses_of(host)
    if known is not None:
        return known
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label of no characters, or too many
        raise socket.gaierror(socket.EAI_NONAME, "this is no host name") from None
    return list(dict.fromkeys((int(family), str(address[0])) for family, _, _, _, address in found))


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """For `asyncio.Runner`: uvloop where it is installed, else the standard loop."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
