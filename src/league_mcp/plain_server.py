"""Tables served without the official package: the tools, in the older era of MCP.

It answers `initialize`, `tools/list`, `tools/call` and notifications. Nothing is kept between requests: there are no
sessions, and so no resources to follow. Tools that stand for messages are not called here. Their requests go to the
agent as they are, which reads them like any other message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from league.mcp_tables import McpCaller, ServerTables
from league.protocol import jsonrpc
from league.protocol.conventions import Convention
from league.protocol.exchanges import family_of
from league.protocol.jsonrpc import Id, RpcCall
from league.transport.http import Response
from league.transport.mcp_door import INITIALIZE, VERSIONS

LIST: Final = "tools/list"
NOTIFICATION: Final = "notifications/"
ACCEPTED: Final = Response(202, b"")


def is_notification(call: RpcCall) -> bool:
    """Return whether a client only tells us something: it expects no answer."""
    return call.without_id and call.method.startswith(NOTIFICATION)


async def answer(tables: ServerTables, call: RpcCall, caller: McpCaller) -> Response | None:
    """Answer one of MCP's own methods, or call a tool; None for anything else.

    A tool can also be called by its name as the method, for callers that know no more of MCP than JSON-RPC.
    """
    is_tool_call = call.convention is Convention.TOOLS
    if call.method == INITIALIZE and not is_tool_call:
        return _success(call.id, _greeting(tables, call.params))
    if call.method == LIST and not is_tool_call:
        return _success(call.id, {"tools": [row.listed() for row in tables.tools_for(caller)]})
    for row in tables.tools:
        if row.name == call.method:
            arguments = call.params if isinstance(call.params, dict) else {}
            result = await row.result(caller, arguments)
            return _success(call.id, result) if is_tool_call else _plain_answer(call.id, result)
    return None


def _greeting(tables: ServerTables, params: object) -> dict[str, Any]:
    """Any: JSON."""
    requested = params.get("protocolVersion") if isinstance(params, Mapping) else None
    greeting: dict[str, Any] = {
        "protocolVersion": requested if requested in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": tables.name, "title": tables.title, "version": tables.version},
    }
    if tables.instructions:
        greeting["instructions"] = tables.instructions
    return greeting


def _success(request_id: Id, result: dict[str, Any]) -> Response:
    return Response(200, jsonrpc.encode_result(request_id, result))


def _plain_answer(request_id: Id, result: dict[str, Any]) -> Response:
    """Answer a caller that expects the data alone, and an error of JSON-RPC for a refusal. Any: JSON."""
    data = result.get("structuredContent", result)
    if not result["isError"]:
        return _success(request_id, data)
    return Response(200, jsonrpc.encode_error(request_id, data["error_code"], family_of(None), data))
