"""Tables served without the official package: the tools, in the older era of MCP.

It answers `initialize`, the lists, `tools/call` and notifications. Nothing is kept between requests: there are no
sessions, and so no resources to follow. Tools that stand for messages are not called here. Their requests go to the
agent as they are, which reads them like any other message.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from league.features.mcp.tables import McpCaller, Object, ServerTables
from league.protocol.conventions import Convention
from league.protocol.message.exchanges import family_of
from league.protocol.wire import jsonrpc
from league.protocol.wire.jsonrpc import Id, RpcCall
from league.transport.http import Response
from league.transport.mcp_door import INITIALIZE, VERSIONS

LIST: Final = "tools/list"
LISTS: Final = {
    LIST: "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
"""The lists, of which only the first has something to offer. Some clients ask for all of them, whatever the greeting
says, and give up on an error."""
ACCEPTED: Final = Response(202, b"")

Load = Callable[[], Awaitable[ServerTables]]
"""Returns the tables, which are made when they are needed first."""


async def answer(load: Load, call: RpcCall, caller: McpCaller) -> Response | None:
    """Answer one of MCP's own methods, or call a tool; None for anything else.

    A tool can also be called by its name as the method, for callers that know no more of MCP than JSON-RPC.
    """
    # Clients that greeted us say so afterwards, and expect no answer.
    if call.without_id and call.method.startswith("notifications/"):
        return ACCEPTED
    tables = await load()
    params = call.params if isinstance(call.params, dict) else {}
    if call.method == INITIALIZE:
        return _success(call.id, _greeting(tables, params))
    if call.method in LISTS:
        rows = tables.tools_for(caller) if call.method == LIST else ()
        return _success(call.id, {LISTS[call.method]: [row.listed() for row in rows]})
    for row in tables.tools:
        if row.name == call.method:
            result = await row.result(caller, params)
            # Only a `tools/call` is answered with the whole result of a tool.
            if call.convention is Convention.TOOLS:
                return _success(call.id, result)
            return _plain_answer(call.id, result)
    return None


def _greeting(tables: ServerTables, params: Object) -> dict[str, Any]:
    """Any: JSON."""
    version = params.get("protocolVersion")
    if version not in VERSIONS:
        version = VERSIONS[0]
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {
            "name": tables.name,
            "title": tables.title,
            "version": tables.version,
        },
        "instructions": tables.instructions,
    }


def _success(request_id: Id, result: dict[str, Any]) -> Response:
    return Response(200, jsonrpc.encode_result(request_id, result))


def _plain_answer(request_id: Id, result: dict[str, Any]) -> Response:
    """Answer a caller that expects the data alone, and an error of JSON-RPC for a refusal. Any: JSON."""
    data = result.get("structuredContent", result)
    if not result["isError"]:
        return _success(request_id, data)
    error = jsonrpc.encode_error(request_id, data["error_code"], family_of(None), data)
    return Response(200, error)
