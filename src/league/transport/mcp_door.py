"""What an MCP client wants to know before it calls a tool: `initialize`, `notifications/…` and `tools/list`; and that
its version of MCP is not spoken here, before anything is done.

It is the same for everybody and at any time, so nothing is kept: there is no session. The calls themselves are requests
like all others (jsonrpc.py), whatever was said before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from league.protocol import jsonrpc, schemas
from league.protocol.exchanges import EXCHANGES, Role
from league.protocol.jsonrpc import BadRequestError, RpcCall
from league.transport.http import Response

VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of MCP in which what we do means the same; ours first."""
UNSUPPORTED: Final = -32022
"""MCP's number for a version that is not spoken here."""
VERSION_HEADER: Final = b"mcp-protocol-version"
HEADERS: Final = (VERSION_HEADER, b"mcp-session-id", b"mcp-method")
"""Headers that only MCP clients send."""
INITIALIZE: Final = "initialize"
DISCOVER: Final = "server/discover"
GREETINGS: Final = (INITIALIZE.encode(), DISCOVER.encode())
"""What a client may say before it sends any of those headers."""
LIST: Final = "tools/list"
NOTIFICATION: Final = "notifications/"
_LIST, _NOTIFICATION = LIST.encode(), NOTIFICATION.encode()
_NO_BODY: Final = Response(202, b"")
_TEXT: Final = {"type": "string"}
_QUESTIONS: Final[Mapping[Role, Mapping[str, tuple[str, Mapping[str, object]]]]] = {
    Role.MANAGER: {
        "get_standings": ("Tells the table of the league.", {}),
        "get_assigned_matches": (
            "Tells a referee which matches it has to play.",
            {"referee_id": _TEXT, "auth_token": _TEXT},
        ),
    },
    Role.REFEREE: {"get_match_state": ("Tells how far a match has come.", {"match_id": _TEXT})},
    Role.PLAYER: {"get_player_state": ("Tells what the player is doing.", {"player_id": _TEXT})},
}
"""What may be asked of a role without a message of the protocol, with the arguments it takes."""
_NEEDED: Final = ("match_id",)
_COMBINATORS: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else"})
"""Clients drop a tool, or the whole list, over one of these at the root of its schema."""


def has_header(headers: Mapping[bytes, bytes]) -> bool:
    """Does an MCP client say so?"""
    return any(name in headers for name in HEADERS)


def greeting_in(raw: bytes) -> str | None:
    """The greeting that a body is, if it is one."""
    if not any(word in raw for word in GREETINGS):
        return None
    try:
        method = jsonrpc.decode_call(raw, len(raw)).method
    except BadRequestError:
        return None
    return method if method.encode() in GREETINGS else None


def refusal(raw: bytes, version: str, without_handshake: Sequence[str] = ()) -> Response | None:
    """The answer to a request that names a version of MCP which is not spoken here; None if it is. Only versions
    without a handshake need to be named: the others are found out by one."""
    if not version or version in VERSIONS or version in without_handshake:
        return None
    try:
        request_id = jsonrpc.decode_call(raw, len(raw)).id
    except BadRequestError as bad:
        request_id = bad.id
    data = {"supported": without_handshake or VERSIONS, "requested": version}
    error = {"code": UNSUPPORTED, "message": "Unsupported protocol version", "data": data}
    return Response(400, msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": error}))


def answer(raw: bytes, role: Role, limit: int, profile: str = "compat") -> Response | None:
    """The answer to a request that is MCP's own; None for any other, whatever may be wrong with it."""
    if (raw.find(_LIST) < 0 and raw.find(_NOTIFICATION) < 0 and raw.find(GREETINGS[0]) < 0) or len(raw) > limit:
        return None
    try:
        call = jsonrpc.decode_call(raw, limit)
    except BadRequestError:
        return None
    if call.method.startswith(NOTIFICATION) and call.without_id:
        return _NO_BODY
    result = _result(call, role, profile)
    return None if result is None else Response(200, jsonrpc.encode_result(call.id, result))


def _result(call: RpcCall, role: Role, profile: str) -> dict[str, Any] | None:
    """Any: JSON."""
    if call.method == INITIALIZE:
        asked = call.params.get("protocolVersion") if isinstance(call.params, Mapping) else None
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": f"agent-league {role.value}", "version": "1"},
        }
    return {"tools": tools(role, profile)} if call.method == LIST else None


def tools(role: Role, profile: str) -> list[dict[str, Any]]:
    """The tools of a role, as they are listed. Any: JSON Schema."""
    return [*_messages(role), *([] if profile == "strict" and role is Role.MANAGER else _questions(role))]


@cache
def _messages(role: Role) -> list[dict[str, Any]]:
    """Every message this role takes is a tool, by the documents' verb. Any: JSON Schema."""
    return [
        {
            "name": row.method,
            "description": f"Takes a {row.message_type} of league.v2; the answer is {' or '.join(row.replies)}.",
            "inputSchema": _flat(schemas.schema(row.message_type)),
        }
        for row in EXCHANGES.values()
        if role in row.receivers
    ]


def _flat(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without combinators at its root; what they demand is judged when the message comes. Any: JSON Schema."""
    return {name: value for name, value in schema.items() if name not in _COMBINATORS}


@cache
def _questions(role: Role) -> list[dict[str, Any]]:
    """Any: JSON Schema."""
    return [
        {
            "name": name,
            "description": about,
            "inputSchema": {
                "type": "object",
                "properties": dict(fields),
                "required": [one for one in fields if one in _NEEDED],
            },
            "annotations": {"readOnlyHint": True},
        }
        for name, (about, fields) in _QUESTIONS[role].items()
    ]
