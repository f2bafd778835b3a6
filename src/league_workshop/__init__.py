"""Tools for player authors: starters, and friendly matches without a league."""

from __future__ import annotations

from league.features import CommandRow, Feature

FEATURE = Feature(
    name="workshop",
    about="Start a player from a template, and let it spar.",
    page="docs/tutorial/first-player.md",
    rows=(
        CommandRow("new", "Write a player", "league_workshop.new_command"),
        CommandRow("spar", "Write a player", "league_workshop.spar_command"),
    ),
)
