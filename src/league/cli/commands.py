"""The commands of the core, as rows of its feature."""

from __future__ import annotations

from league.protocol.order_table import PLAIN_ORDERS
from league.rows import CommandRow, Feature

FEATURE = Feature(
    name="core",
    about="The core: the three roles of a league, and the commands of its operator.",
    page="docs/how-to/operate-a-league.md",
    rows=(
        CommandRow("manager", "Play a league", "league.cli.manager_command"),
        CommandRow("referee", "Play a league", "league.cli.referee_command"),
        CommandRow("player", "Play a league", "league.cli.player_command"),
        *(CommandRow(name, "Run a league", "league.cli.operating.operator") for name in PLAIN_ORDERS),
        CommandRow("rotate-token", "Run a league", "league.cli.operating.rotation"),
        CommandRow("backup", "Run a league", "league.cli.operating.backup"),
        CommandRow("migrate", "Run a league", "league.cli.operating.migrate"),
        CommandRow("watch", "Watch and understand", "league.cli.watch_command"),
        CommandRow("standings", "Watch and understand", "league.cli.show"),
        CommandRow("schedule", "Watch and understand", "league.cli.show"),
        CommandRow("match", "Watch and understand", "league.cli.show"),
        CommandRow("agents", "Watch and understand", "league.cli.show"),
        CommandRow("spec", "Write a player", "league.cli.spec"),
        CommandRow("completion", "This machine", "league.cli.completion"),
    ),
)
