"""The common types of HTTP: requests, answers, the limits of a server, its access policy, and refusals."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    MutableMapping,
)
from contextlib import aclosing
from functools import lru_cache
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from league.protocol.errors import ERRORS
from league.protocol.message.exchanges import family_of
from league.protocol.wire.jsonrpc import MESSAGE_LIMIT

MCP_PATH = "/mcp"
OTHER_PATHS = frozenset({"/MCP", "/mcp/", "/"})
"""Where third-party agents post messages too (spec section 13.1)."""
RETRY_AFTER_S = 2

ASGIScope = MutableMapping[str, Any]
ASGIReceive = Callable[[], Awaitable[MutableMapping[str, Any]]]
ASGISend = Callable[[MutableMapping[str, Any]], Awaitable[None]]
ASGIApp = Callable[[ASGIScope, ASGIReceive, ASGISend], Awaitable[None]]

Headers = tuple[tuple[str, str], ...]


# --- requests and answers ---------------------------------------------------------------------------------------------


class HttpRequest(Struct, eq=False):
    """A request of a client. The parser fills it in; a handler gets it once the body is complete."""

    method: str = ""
    target: bytes = b""
    """The address in the first line, as it was sent."""
    path: str = ""
    """Without the query, percent-decoded."""
    query: bytes = b""
    version: str = "1.1"
    headers: Mapping[bytes, bytes] = MappingProxyType({})
    """By their names in small letters; several of one name are joined by commas."""
    body: bytes = b""
    address: str = ""
    """The client's address."""
    keep_alive: bool = True
    """True if the connection may be used again after the answer."""
    expects_continue: bool = False
    is_complete: bool = False
    is_message: bool = False
    """True if it is a message for the agent."""
    is_repeatable: bool = False
    """True if every other request with the same head passes the check, too."""
    refusal: Response | None = None
    """The answer, when it is clear from the head alone."""


class Response(Struct, frozen=True, gc=False):
    """A whole answer; it is sent in one write."""

    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Headers = ()


class ResponseWriter(Protocol):
    """Takes an answer that is made while it is sent."""

    on_disconnect: Callable[[], object]
    """Called when the client leaves before the end of the answer."""
    wants_body: bool
    """False for HEAD: only the head is sent."""
    may_be_broken_off: bool
    """True if the connection may be closed to make room for others: then its client must come back by itself."""

    def send(self, answer: Response) -> None:
        """The whole answer at once."""

    def start(self, status: int, content_type: str, headers: Headers) -> None:
        """The head of an answer whose pieces follow."""

    async def write(self, piece: bytes) -> None:
        """The next piece; waits while the client is slow to read."""


class StreamedAnswer(Protocol):
    """An answer that writes itself; it ends when this returns."""

    async def send_to(self, writer: ResponseWriter) -> None: ...


class StreamingResponse(Struct, frozen=True):
    """An answer in pieces, such as server-sent events. When the client leaves, the generator is cancelled."""

    status: int
    pieces: AsyncGenerator[bytes, None]
    content_type: str = "text/event-stream"
    headers: Headers = ()
    may_be_broken_off: bool = False

    async def send_to(self, writer: ResponseWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        writer.on_disconnect = task.cancel
        writer.may_be_broken_off = self.may_be_broken_off
        async with aclosing(self.pieces):
            writer.start(self.status, self.content_type, self.headers)
            if writer.wants_body:
                async for piece in self.pieces:
                    await writer.write(piece)


Answer = Response | StreamedAnswer
Handler = Callable[[HttpRequest], Awaitable[Answer] | Answer]


class McpHandler(Protocol):
    """A handler for callers that speak MCP."""

    @property
    def takes_streams(self) -> bool:
        """True if it takes GET and DELETE too."""

    def __call__(self, request: HttpRequest) -> Awaitable[Answer]: ...


# --- limits -----------------------------------------------------------------------------------------------------------


class Limits(Struct, frozen=True):
    """The limits a server sets its clients: sizes in bytes, times in seconds."""

    body: int = MESSAGE_LIMIT
    head: int = 16 * 1024
    headers: int = 64
    header_s: float = 5.0
    body_s: float = 5.0
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

RefusalBody = Callable[[int, str | None, str], bytes]
"""The body for (status, code of the catalogue if one fits, a sentence about this case)."""


def plain_refusal(status: int, code: str | None, detail: str) -> bytes:
    """A JSON-RPC error that answers no particular request."""
    number = -32600
    name = HTTPStatus(status).phrase
    data = {"error_detail": detail}
    if code is not None:
        number = ERRORS[code].number(family_of(None))
        name = ERRORS[code].name
        data = {
            "error_code": code,
            "error_name": name,
            "error_description": name,
            "error_detail": detail,
        }
    error = {"code": number, "message": name, "data": data}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error})


def refuse(status: int, detail: str, body: RefusalBody, *headers: tuple[str, str]) -> Response:
    """Answer a request that goes no further."""
    if status in (429, 503):
        headers = (*headers, ("retry-after", str(RETRY_AFTER_S)))
    return Response(status, body(status, CODES.get(status), detail), headers=headers)


class App(Struct, frozen=True):
    """The content of a server: messages posted to /mcp, pages at fixed paths, and a handler for all other paths."""

    post: Callable[[bytes, str], Awaitable[Response] | Response]
    """The body and the address it came from."""
    get: Mapping[str, Callable[[], Awaitable[Response] | Response]] = {}
    refusal: RefusalBody = plain_refusal
    rest: Handler | None = None
    other_paths: frozenset[str] = frozenset()
    """Other paths where messages are taken."""
    mcp: McpHandler | None = None
    """Answers callers that speak MCP, at the paths for messages."""
    unlimited: tuple[str, ...] = ()
    """How paths begin whose pages count their callers' requests themselves."""

    def takes_messages(self, method: str, path: str) -> bool:
        """True for the paths of messages."""
        return path == MCP_PATH or (method == "POST" and path in self.other_paths)


# --- who may call -----------------------------------------------------------------------------------------------------

LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{0,5})?")
_ORIGIN = re.compile(r"https?://(.+)")


class AccessPolicy(Struct, frozen=True):
    """Which hosts a request may be meant for, and which pages may make a browser send one.

    A page on the web must not reach an agent through the browser of the person who runs it, by name (DNS rebinding) or
    across origins. Hosts are compared without their port. The address a connection came to is always one of ours.
    """

    hosts: frozenset[str] = LOOPBACK
    origins: frozenset[str] = LOOPBACK

    @classmethod
    def known_as(cls, names: Iterable[str]) -> AccessPolicy:
        """Make the policy of a server with these names and addresses, loopback's included."""
        return cls(LOOPBACK | {as_host(name) for name in names})

    def takes_host(self, header: bytes, local_address: Callable[[], str]) -> bool:
        """True if this Host is one of ours."""
        host = host_of(header)
        return host in self.hosts or (host is not None and host == as_host(local_address()))

    def takes_origin(self, header: bytes, host: bytes) -> bool:
        """True if a page from this Origin may call us. Our own pages may, under whatever Host they were found."""
        origin = _ORIGIN.fullmatch(header.decode("latin-1").lower())
        if origin is None:
            return False
        authority = origin[1].encode("latin-1")
        return authority == host.lower() or host_of(authority) in self.origins


@lru_cache(maxsize=256)
def host_of(header: bytes) -> str | None:
    """The host in a Host header, without its port; None if it is none."""
    match = _HOST.fullmatch(header.decode("latin-1").lower())
    return match[1] if match else None


def as_host(name: str) -> str:
    """A name or address as it stands in a Host header."""
    if ":" in name and not name.startswith("["):
        return f"[{name}]"
    return name.lower()


@lru_cache(maxsize=64)
def is_json(content_type: bytes) -> bool:
    """True if this Content-Type announces JSON."""
    kind = content_type.partition(b";")[0].strip().lower()
    return kind == b"application/json" or (kind.startswith(b"application/") and kind.endswith(b"+json"))


# --- addresses and loops ----------------------------------------------------------------------------------------------


def address_of(transport: asyncio.BaseTransport, end: Literal["peername", "sockname"]) -> str:
    """The address of one end of a connection; IPv4 as itself, also where it arrives through an IPv6 socket."""
    name = transport.get_extra_info(end)
    return str(name[0]).removeprefix("::ffff:") if name else ""


def addresses_of(host: str) -> list[tuple[int, str]] | None:
    """(family, address) of a host that needs no looking up: an address, or localhost (RFC 6761)."""
    if host.lower() == "localhost":
        return [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return None
    family = socket.AF_INET6 if ip.version == 6 else socket.AF_INET
    return [(family, host)]


async def look_up(host: str, port: int) -> list[tuple[int, str]]:
    """(family, address) for a host, in the order to try them. Only names go to the system's resolver."""
    addresses = addresses_of(host)
    if addresses is not None:
        return addresses
    try:
        infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label of no characters, or too many
        raise socket.gaierror(socket.EAI_NONAME, "this is no host name") from None
    return list(dict.fromkeys((int(family), str(address[0])) for family, _, _, _, address in infos))


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """For `asyncio.Runner`: uvloop where it is installed, else the standard loop."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
