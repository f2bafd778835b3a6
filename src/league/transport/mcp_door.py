"""How a request shows that its caller speaks MCP, and what a caller of an unknown version is told.

The router needs it to tell MCP clients from agents. Clients send headers that nobody else sends, except with their
first request: that one is a greeting, and its method gives it away. `league.features.mcp` answers the clients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from league.protocol.wire import jsonrpc
from league.protocol.wire.jsonrpc import BadRequestError
from league.transport.http import Response

VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of MCP with a handshake; the one we prefer comes first."""
UNSUPPORTED: Final = -32022
"""MCP's number for an unsupported version."""
VERSION_HEADER: Final = b"mcp-protocol-version"
HEADERS: Final = (VERSION_HEADER, b"mcp-session-id", b"mcp-method")
"""Headers that only MCP clients send."""
INITIALIZE: Final = "initialize"
DISCOVER: Final = "server/discover"
GREETINGS: Final = (INITIALIZE.encode(), DISCOVER.encode())
"""Methods that a client may call before it sends any of those headers."""


def has_header(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether the headers show an MCP client."""
    return any(name in headers for name in HEADERS)


def version_in(headers: Mapping[bytes, bytes]) -> str:
    """Return the version of MCP that the headers name; empty if they name none."""
    return headers.get(VERSION_HEADER, b"").decode("latin-1").strip()


def greeting_in(raw: bytes) -> str | None:
    """Return the method of a request that is a greeting; None for any other."""
    # Most bodies are no greeting: searching them is cheaper than parsing them.
    if not any(word in raw for word in GREETINGS):
        return None
    try:
        method = jsonrpc.decode_call(raw, len(raw)).method
    except BadRequestError:
        return None
    if method.encode() in GREETINGS:
        return method
    return None


def refusal(raw: bytes, version: str, without_handshake: Sequence[str] = ()) -> Response | None:
    """Refuse a request that names an unsupported version of MCP; None if the version is supported.

    Clients find out about versions with a handshake by that handshake, so only the others are named.
    """
    if not version or version in VERSIONS or version in without_handshake:
        return None
    # Refused before anything is done, but under the id of the request, if that can be read.
    try:
        request_id = jsonrpc.decode_call(raw, len(raw)).id
    except BadRequestError as bad:
        request_id = bad.id
    data = {"supported": without_handshake or VERSIONS, "requested": version}
    error = {"code": UNSUPPORTED, "message": "Unsupported protocol version", "data": data}
    return Response(400, msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": error}))
