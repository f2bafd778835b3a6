"""Every agent is an MCP server, and assistants can follow a league and play in it.

What an agent offers is a set of **tables** (`tables.ServerTables`): `offers/manager_offer.py` makes those of a manager,
`offers/member_offer.py` those of players and referees, with the tools of `offers/offered_turns.py` for a player that is
played over MCP. A table knows nothing of HTTP, of versions of MCP, or of the official package `mcp`.

The tables become a **server** of the package (`server.py`). An **endpoint** (`endpoint.py`) runs it over HTTP, in the
two eras of MCP: up to 2025-11-25 a client greets us and may have a session; since 2026-07-28 each request stands for
itself and names its version. `subscriptions.py` tells clients in both eras which resources have changed.

The **door** (`door.py`) stands before all of this. The router gives it the requests that have a header of MCP or that
are a greeting, and the agent gives it requests that are no message of the protocol. It makes the tables and imports
the package when the first client comes, never at the start. Without a supported version of the package it answers by
`plain_server.py`: the same tools, in the older era, without sessions, resources and prompts.

Messages of the protocol never wait for any of this. A `tools/call` without a header of MCP is read by the agent first
(`league.letters`), and so costs agents the same whether or not the package is there.

`bridge.py` (`league mcp`) is for assistants that start local servers. It carries their lines to an agent and back.
"""

from __future__ import annotations

from league.rows import CommandRow, DoorRow, Feature, StrategyRow

FEATURE = Feature(
    name="mcp",
    about="Every agent is an MCP server; assistants can follow a league and play in it.",
    page="docs/reference/mcp.md",
    rows=(
        CommandRow("mcp", "Play a league", "league.features.mcp.bridge_command"),
        DoorRow("league.features.mcp.door:open_door", "league.features.mcp.door:describe"),
        StrategyRow(
            "mcp",
            "whoever is connected over MCP",
            "league.features.mcp.offers.offered_turns:entrant",
            needs_server=True,
        ),
    ),
)
