"""What agents offer MCP clients: their messages and questions as tools, their state as a resource. The manager offers
more (`manager_mcp.py`).

A tool call goes where any message goes, so it is judged, limited, logged and answered like one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from league.mcp_tables import McpCaller, MemberTools, Object, ResourceRow, ServerTables, ToolRow
from league.protocol.errors import PeerError
from league.protocol.exchanges import Role
from league.transport import mcp_door
from league.transport.letters import UNKNOWN_TOOL

if TYPE_CHECKING:
    from league.hosting.serving import HostedAgent

STATE: Final = "league://state"
_ABOUT: Final = {
    Role.PLAYER: "A player of a league. Referees call its tools in a match; `get_player_state` is for everybody.",
    Role.REFEREE: "A referee of a league. Managers and players call its tools; `get_match_state` is for everybody.",
}
_JSON = msgspec.json.Encoder()


def member_tables(host: HostedAgent, more: MemberTools | None = None) -> ServerTables:
    """Of a player or a referee, with these tools besides."""
    role = host.running.speaker.role
    return ServerTables(
        f"agent-league {role.value}",
        title=f"League {role.value}",
        instructions=more.instructions if more else _ABOUT[role],
        tools=(*(more.rows if more else ()), *message_tools(host)),
        resources=(
            ResourceRow(STATE, "state", "State", f"What this {role.value} is doing.", partial(_state, host, role)),
        ),
        is_operator=more.is_owner if more else lambda _: False,
        unlisted=partial(unlisted_tool, host),
        changed=partial(changed, host),
    )


def unlisted_tool(host: HostedAgent, name: str, arguments: Object) -> ToolRow | None:
    """A whole message is taken under any name: agents by others have names of their own for tools (R-01)."""
    takes = partial(call_message, host, name)
    return ToolRow(name, name, "A message.", {}, takes, is_judged=False) if "message_type" in arguments else None


def message_tools(host: HostedAgent) -> list[ToolRow]:
    """Every message and question that the agent takes, as a tool."""
    speaker = host.running.speaker
    return [
        ToolRow(
            name := one["name"],
            name.replace("_", " ").capitalize(),
            one["description"],
            one["inputSchema"],
            partial(call_message, host, name),
            read_only="annotations" in one,
            is_judged=False,
        )
        for one in mcp_door.tools(speaker.role, speaker.reading.profile)
    ]


async def call_message(host: HostedAgent, name: str, caller: McpCaller, arguments: Object) -> dict[str, Any]:
    """The result of a tool that stands for a message (Any: as MCP has it)."""
    return await _asked(host, caller, "tools/call", {"name": name, "arguments": arguments})


async def _asked(host: HostedAgent, caller: McpCaller, method: str, params: Object) -> dict[str, Any]:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    is_mcp = method == "tools/call"
    answer = msgspec.json.decode((await host.running.post(_JSON.encode(call), caller.address, is_mcp=is_mcp)).body)
    if "error" in answer:
        error = answer["error"]
        told, known = error.get("data", {}), "E036" if error["code"] == UNKNOWN_TOOL else "E035"
        raise PeerError(told.get("error_code", known), told.get("error_detail", error["message"]))
    result: dict[str, Any] = answer["result"]
    return result


async def _state(host: HostedAgent, role: Role, caller: McpCaller) -> str:
    if role is Role.PLAYER:
        told = await _asked(host, caller, "get_player_state", {})
    else:
        told = {"referee_id": host.running.speaker.sender.partition(":")[2], **await _asked(host, caller, "ping", {})}
    return _JSON.encode(told).decode()


async def changed(host: HostedAgent, seen: int) -> int:
    """Returns when the journal has come further than this, and how far."""
    agent = host.running
    while agent.journal_seq == seen:
        agent.changed.clear()
        await agent.changed.wait()
    return agent.journal_seq
