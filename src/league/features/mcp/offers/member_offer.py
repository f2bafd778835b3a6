"""What every agent offers MCP clients: its messages and questions as tools, and its state as a resource.

The manager offers more (`manager_offer.py`). A call of a message's tool goes where any message goes, so it is judged,
limited, logged and answered like one.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from league import letters
from league.features.mcp import message_schemas as schemas
from league.features.mcp.tables import (
    NO_ARGUMENTS,
    UNKNOWN_TOOL,
    McpCaller,
    MemberTools,
    Object,
    ResourceRow,
    ServerTables,
    ToolRow,
    string,
    taking,
)
from league.protocol.errors import PeerError
from league.protocol.message.exchanges import EXCHANGES, Role
from league.protocol.message.messages import AMONG_OURS
from league.protocol.wire.jsonrpc import TOOLS_CALL

if TYPE_CHECKING:
    from league.hosting.serving import HostedAgent

_JSON = msgspec.json.Encoder()
_INSTRUCTIONS: Final = {
    Role.PLAYER: "A player in a league. Referees call its tools during a match; anybody may call `get_player_state`.",
    Role.REFEREE: "A referee in a league. Managers and players call its tools; anybody may call `get_match_state`.",
}


class OpenQuestion(NamedTuple):
    """Something that anybody may ask a role without a message of the protocol."""

    name: str
    about: str
    schema: Object


_QUESTIONS: Final[Mapping[Role, tuple[OpenQuestion, ...]]] = {
    Role.MANAGER: (
        OpenQuestion("get_standings", "Returns the standings of the league.", NO_ARGUMENTS),
        OpenQuestion(
            "get_assigned_matches",
            "Returns the matches that a referee has to conduct.",
            taking(
                referee_id=string("the id of the referee"),
                auth_token=string("its token"),
            ),
        ),
    ),
    Role.REFEREE: (
        OpenQuestion(
            "get_match_state",
            "Returns the state of a match.",
            taking("match_id", match_id=string("the id of the match, such as R1M1")),
        ),
    ),
    Role.PLAYER: (
        OpenQuestion(
            "get_player_state",
            "Returns what the player is doing.",
            taking(player_id=string("the id of the player")),
        ),
    ),
}
_COMBINATORS: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else"})
"""Clients drop a tool, or the whole list, over one of these at the root of its schema."""


def member_tables(host: HostedAgent, more: MemberTools | None = None) -> ServerTables:
    """Make the tables of a player or a referee, which may have more tools."""
    role = host.running.speaker.role
    if more is None:
        more = MemberTools((), _INSTRUCTIONS[role])
    state = ResourceRow(
        "league://state",
        "state",
        "State",
        f"What this {role.value} is doing.",
        partial(_state, host, role),
    )
    return ServerTables(
        f"agent-league {role.value}",
        title=f"League {role.value}",
        instructions=more.instructions,
        tools=more.rows,
        messages=message_tools(host),
        messages_hidden=True,
        resources=(state,),
        is_operator=more.is_owner,
        unlisted=partial(unlisted_tool, host),
        changed=partial(changed, host),
    )


# --- messages as tools ------------------------------------------------------------------------------------------------


def message_tools(host: HostedAgent) -> list[ToolRow]:
    """Make a tool of every message and question that the agent accepts."""
    speaker = host.running.speaker
    rows = [
        _message_tool(
            host,
            exchange.method,
            f"Accepts a {exchange.message_type} of league.v2 and returns {' or '.join(exchange.replies)}.",
            _flat(schemas.schema(exchange.message_type)),
        )
        for exchange in EXCHANGES.values()
        if speaker.role in exchange.receivers and exchange.message_type not in AMONG_OURS
    ]
    # A strict manager answers nothing but messages.
    if speaker.role is not Role.MANAGER or speaker.reading.profile != "strict":
        rows += [_message_tool(host, *question, read_only=True) for question in _QUESTIONS[speaker.role]]
    return rows


def _message_tool(host: HostedAgent, name: str, about: str, schema: Object, read_only: bool = False) -> ToolRow:
    title = name.replace("_", " ").capitalize()
    call = partial(call_message, host, name)
    return ToolRow(name, title, about, schema, call, read_only, is_judged=False)


def _flat(schema: Object) -> Object:
    """Drop the combinators at the root of a schema: the agent judges the message anyway."""
    return {name: value for name, value in schema.items() if name not in _COMBINATORS}


def unlisted_tool(host: HostedAgent, name: str, arguments: Object) -> ToolRow | None:
    """Accept a whole message under any name: third-party agents have their own names for tools (R-01)."""
    if "message_type" not in arguments:
        return None
    return _message_tool(host, name, "A message.", {})


async def call_message(host: HostedAgent, name: str, caller: McpCaller, arguments: Object) -> dict[str, Any]:
    """Call a tool that stands for a message (Any: a result as MCP defines it)."""
    return await _ask(host, caller, TOOLS_CALL, {"name": name, "arguments": arguments})


async def _ask(host: HostedAgent, caller: McpCaller, method: str, params: Object) -> dict[str, Any]:
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    # Through the same gate as every other request, with the caller's own address.
    response = await host.running.post(_JSON.encode(call), caller.address, is_mcp=method == TOOLS_CALL)
    answer = msgspec.json.decode(response.body)
    if "error" in answer:
        raise _as_peer_error(answer["error"])
    result: dict[str, Any] = answer["result"]
    return result


def _as_peer_error(error: Object) -> PeerError:
    # An unknown tool is MCP's own error, and comes without our data.
    data = error.get("data", {})
    code = UNKNOWN_TOOL if error["code"] == letters.UNKNOWN_TOOL else "E035"
    return PeerError(data.get("error_code", code), data.get("error_detail", error["message"]))


# --- the state --------------------------------------------------------------------------------------------------------


async def _state(host: HostedAgent, role: Role, caller: McpCaller) -> str:
    if role is Role.PLAYER:
        state = await _ask(host, caller, "get_player_state", {})
    else:
        referee_id = host.running.speaker.sender.partition(":")[2]
        state = {"referee_id": referee_id, **await _ask(host, caller, letters.PING, {})}
    return _JSON.encode(state).decode()


async def changed(host: HostedAgent, position: int) -> int:
    """Wait until the journal, or what is to be seen of live matches, is beyond a position; return the new one."""
    agent = host.running
    while (reached := agent.sights) == position:
        agent.changed.clear()
        await agent.changed.wait()
    return reached
