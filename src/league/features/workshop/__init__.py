"""Tools for player authors: starters, and friendly matches without a league.

Its commands use it, and `league compare`. It writes the starter that somebody asked for, and keeps journals of friendly
matches for their explanation.
"""

from __future__ import annotations

from league.rows import CommandRow, Feature

PUBLIC = ("sparring", "sparring_manager", "sparring_matches")
"""The modules that other packages may import."""

FEATURE = Feature(
    name="workshop",
    about="Start a player from a template, and let it spar.",
    page="docs/tutorial/first-player.md",
    rows=(
        CommandRow("new", "Write a player", "league.features.workshop.new_command"),
        CommandRow("spar", "Write a player", "league.features.workshop.spar_command"),
    ),
)
