"""Games of skill that come with the league: Connect Four, Kuhn poker, and cop and thief; and the list of all games.

The core finds them by their rows, and authors of games use `checking`. They are pure, like the games of the core.
"""

from __future__ import annotations

from league.rows import CommandRow, Feature, GameRow

PUBLIC = ("checking",)
"""The modules that other packages may import."""

FEATURE = Feature(
    name="games",
    about="Games of skill, and the list of all games.",
    page="docs/reference/games.md",
    rows=(
        CommandRow("games", "Play a league", "league.features.games.games_command"),
        GameRow("connect_four", "league.features.games.connect_four:GAME"),
        GameRow("kuhn_poker", "league.features.games.kuhn_poker:GAME"),
        GameRow("cop_and_thief", "league.features.games.cop_and_thief:GAME"),
    ),
)
