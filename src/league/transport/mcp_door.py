"""What an MCP client wants to know before it calls a tool: `initialize`, `notifications/…` and `tools/list`.

It is the same for everybody and at any time, so nothing is kept: there is no session. The calls themselves are requests
like all others (jsonrpc.py), whatever was said before.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from league.protocol import jsonrpc, schemas
from league.protocol.exchanges import EXCHANGES, Role
from league.protocol.jsonrpc import BadRequestError, RpcCall
from league.transport.http import Response

VERSIONS: Final = ("2025-06-18", "2025-03-26", "2024-11-05")
"""The versions of MCP in which what we do means the same; ours first."""
INITIALIZE: Final = "initialize"
LIST: Final = "tools/list"
NOTIFICATION: Final = "notifications/"
_SIGNS: Final = tuple(word.encode() for word in (INITIALIZE, LIST, NOTIFICATION))
_NO_BODY: Final = Response(202, b"")


def answer(raw: bytes, role: Role, limit: int) -> Response | None:
    """The answer to a request that is MCP's own; None for any other, whatever may be wrong with it."""
    if not any(sign in raw for sign in _SIGNS) or len(raw) > limit:
        return None
    try:
        call = jsonrpc.decode_call(raw, limit)
    except BadRequestError:
        return None
    if call.method.startswith(NOTIFICATION) and call.without_id:
        return _NO_BODY
    result = _result(call, role)
    return None if result is None else Response(200, jsonrpc.encode_result(call.id, result))


def _result(call: RpcCall, role: Role) -> dict[str, Any] | None:
    """Any: JSON."""
    if call.method == INITIALIZE:
        asked = call.params.get("protocolVersion") if isinstance(call.params, Mapping) else None
        return {
            "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": f"agent-league {role.value}", "version": "1"},
        }
    return {"tools": _tools(role)} if call.method == LIST else None


@cache
def _tools(role: Role) -> list[dict[str, Any]]:
    """Every message this role takes is a tool, by the documents' verb. Any: JSON Schema."""
    return [
        {
            "name": row.method,
            "description": f"Takes a {row.message_type} of league.v2; the answer is {' or '.join(row.replies)}.",
            "inputSchema": schemas.schema(row.message_type),
        }
        for row in EXCHANGES.values()
        if role in row.receivers
    ]
