"""Games of skill that come with the league: Connect Four, Kuhn poker, and cop and thief; and the list of all games."""

from __future__ import annotations

from league.features import CommandRow, Feature, GameRow

FEATURE = Feature(
    name="games",
    about="Games of skill, and the list of all games.",
    page="docs/reference/games.md",
    rows=(
        CommandRow("games", "Play a league", "league_games.games_command"),
        GameRow("connect_four", "league_games.connect_four:GAME"),
        GameRow("kuhn_poker", "league_games.kuhn_poker:GAME"),
        GameRow("cop_and_thief", "league_games.cop_and_thief:GAME"),
    ),
)
