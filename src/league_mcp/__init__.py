"""What MCP clients are offered, and the bridge for assistants that start local servers."""

from __future__ import annotations

from league.features import CommandRow, DoorRow, Feature, StrategyRow

FEATURE = Feature(
    name="mcp",
    about="Every agent is an MCP server; assistants can follow a league and play in it.",
    page="docs/reference/mcp.md",
    rows=(
        CommandRow("mcp", "Play a league", "league_mcp.bridge_command"),
        DoorRow("league_mcp.door:open_door"),
        StrategyRow("mcp", "whoever is connected over MCP", "league_mcp.offered_turns:entrant", needs_server=True),
    ),
)
