"""docs/reference/mcp.md: what agents offer MCP clients, from the tables that they serve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import cast

from league.agent.agent import Agent
from league.features.mcp.offers.manager_offer import LeagueOffer
from league.features.mcp.offers.member_offer import member_tables
from league.features.mcp.offers.offered_turns import OfferedTurns, TurnTools
from league.features.mcp.tables import ServerTables, ToolRow
from league.hosting.background import open_views
from league.hosting.serving import HostedAgent
from league.letters import Speaker
from league.protocol.message.envelope import Reading
from league.protocol.message.exchanges import Role
from scripts.tables import table

PAGE = """\
# MCP

Every agent is an MCP server at its `/mcp`. With the extra `agent-league[mcp]` it speaks both eras of MCP: 2026-07-28,
with self-contained requests, and 2025-11-25 and earlier, with a handshake. Without the extra it offers the same tools
to clients of the older era, but no resources and no prompts. [Decision
13](../decisions/0013-mcp-through-the-official-package.md) says why. `make generate` writes this page.

An unsupported version is rejected with status 400 and -32022 before anything happens. A tool that refuses answers
with `isError` and a sentence that begins with a code of [the catalogue](errors.md); an unknown tool is -32602.

## What a manager offers

{manager_tools}
`register_player` also takes a whole LEAGUE_REGISTER_REQUEST. These tools accept a message of [the
protocol](messages.md), or answer a question of an agent: {manager_messages}.

The operator's tools are visible, and work, only with the admin token in the header `Authorization: Bearer TOKEN`. The
token is never an argument, because the model that makes the call would see it.

{orders}
Clients can follow all resources (`resources/subscribe` in the older era, `subscriptions/listen` in the newer one),
and can complete the parts in braces.

{resources}
The prompts give a model the facts together with the question.

{prompts}
## What players and referees offer

Each message that they accept is a tool, and so are the questions you may ask them. The resource `league://state` says
what they are doing. A referee has {referee_messages}; a player has {player_messages}.

A player that is played over MCP (`league player --strategy mcp`) has three more tools. All of them but `play_turn`
also work without the extra. [Play with an assistant](../how-to/play-with-an-assistant.md) shows how to use them.

{turn_tools}
What the referee and other players wrote stands under `text_by_others`: what the game shows (`shown`), `role`,
`move_format`, `opponent_said`, and past matches in words.

## Limits

An address may send 100 MCP requests a second, and 1,000 at once. An agent serves at most 256 sessions, 256 streams
and 256 other requests at the same time, and clients can follow at most 256 different resources. A session ends after
a minute without a request and without a stream. After its end, or after a restart of the agent, its requests are
still answered, but it no longer follows anything. An answer takes at most 120 seconds. Messages have the same maximum
size as elsewhere.
"""


def page() -> str:
    """Return the page."""
    manager, referee, player = (_tables(role) for role in (Role.MANAGER, Role.REFEREE, Role.PLAYER))
    resources = [(row.uri, row.about) for row in manager.resources]
    templates = [(row.template, row.about) for row in manager.templates]
    return PAGE.format(
        manager_tools=_tools(row for row in manager.tools if not row.for_operator),
        manager_messages=_names(manager.messages),
        orders=_tools(row for row in manager.tools if row.for_operator),
        resources=table(("resource", "what it is"), ([f"`{uri}`", about] for uri, about in resources + templates)),
        prompts=table(
            ("prompt", "arguments", "about"),
            ([f"`{row.name}`", ", ".join(f"`{name}`" for name in row.arguments), row.about] for row in manager.prompts),
        ),
        referee_messages=_names(referee.messages),
        player_messages=_names(player.messages),
        turn_tools=_tools(TurnTools(OfferedTurns(), key=None).offered().rows),
    )


def _tables(role: Role) -> ServerTables:
    """Return the tables of an agent that has not started. Nobody calls what is in them."""
    host = HostedAgent()
    host.agent = cast(Agent, SimpleNamespace(speaker=Speaker(role, sender="", reading=Reading())))
    if role is not Role.MANAGER:
        return member_tables(host)
    host.views = open_views()
    return LeagueOffer(host).tables()


def _tools(rows: Iterable[ToolRow]) -> str:
    return table(("tool", "arguments", "what it does"), ([f"`{row.name}`", _arguments(row), row.about] for row in rows))


def _arguments(row: ToolRow) -> str:
    required = row.schema.get("required", ())
    names = [f"`{name}`" + ("" if name in required else " (optional)") for name in row.schema["properties"]]
    return ", ".join(names)


def _names(rows: Sequence[ToolRow]) -> str:
    return ", ".join(f"`{row.name}`" for row in rows)
