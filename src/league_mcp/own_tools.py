"""Tools that a member has beside its messages, for callers whom the official package does not serve: `tools/list` and
`tools/call` as in the older era of MCP, and the name of a tool as a plain method."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from league.mcp_tables import McpCaller, ToolRow, check_arguments, refused
from league.protocol import jsonrpc
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError
from league.protocol.exchanges import family_of
from league.protocol.jsonrpc import BadRequestError, RpcCall
from league.transport import mcp_door
from league.transport.http import Response, refuse

if TYPE_CHECKING:
    from league.hosting.serving import HostedAgent


class OwnTools:
    """The tools of one member."""

    def __init__(self, host: HostedAgent) -> None:
        assert host.tools is not None, "it has tools"
        self._host = host
        self._is_owner = host.tools.is_owner
        self._rows = {row.name: row for row in host.tools.rows}
        self._signs = (mcp_door.LIST.encode(), *(name.encode() for name in self._rows))

    async def answer(self, raw: bytes, caller: McpCaller) -> Response | None:
        """The answer to a request that is about these tools; None for any other."""
        setup = self._host.running.setup
        if len(raw) > setup.limit or not any(sign in raw for sign in self._signs):
            return None
        try:
            call = jsonrpc.decode_call(raw, setup.limit)
        except BadRequestError:
            return None
        row = self._rows.get(call.method)
        if row is None and call.method != mcp_door.LIST:
            return None
        if not setup.gate.allows_address(caller.address):
            return refuse(429, "too many requests at once from this address", self._host.refusal)
        if row is None:
            return Response(200, jsonrpc.encode_result(call.id, {"tools": self._listed(caller)}))
        return Response(200, await _called(row, call, caller))

    def _listed(self, caller: McpCaller) -> list[dict[str, Any]]:
        """Any: JSON Schema."""
        speaker, is_owner = self._host.running.speaker, self._is_owner(caller)
        shown = [one for one in self._rows.values() if is_owner or not one.for_operator]
        own = [{"name": one.name, "description": one.about, "inputSchema": one.schema} for one in shown]
        return [*own, *mcp_door.tools(speaker.role, speaker.reading.profile)]


async def _called(row: ToolRow, call: RpcCall, caller: McpCaller) -> bytes:
    """The answer to a call of a tool, in the way it was called."""
    is_tool_call = call.convention is Convention.TOOLS
    arguments = call.params if isinstance(call.params, dict) else {}
    try:
        check_arguments(row.schema, arguments)
        result = await row.call(caller, arguments)
    except PeerError as error:
        failed = refused(error)
        if is_tool_call:
            return jsonrpc.encode_result(call.id, failed)
        return jsonrpc.encode_error(call.id, error.code, family_of(None), failed["structuredContent"])
    return jsonrpc.encode_result(call.id, result if is_tool_call else result["structuredContent"])
