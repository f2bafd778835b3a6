"""Agents as processes: settings read, a port opened, a machine, its journal and its shell put together and served. It
touches files, the environment and the network for them.

Beside the command line and the SDK, which both build on it, this is the only place that reads configuration.
"""

from __future__ import annotations

PUBLIC = (
    "author.author_checks",
    "author.author_code",
    "author.authors",
    "background",
    "manager.admin_api",
    "manager.bare_posts",
    "manager.kept_secrets",
    "manager.manager_api",
    "manager.managers",
    "member.players",
    "member.referees",
    "serving",
    "settings.manager_options",
    "settings.options",
    "settings.player_options",
    "settings.referee_options",
    "settings.settings_file",
    "specification",
    "system",
)
"""The modules that other packages may import."""


def require_game(name: str) -> None:
    """Refuse a game that is not installed."""
    from league.games import registry
    from league.games.contract import SEATS
    from league.terminal import USAGE, CommandError

    game = registry.find(name)
    if game is None:
        raise CommandError(registry.why_unknown(name), USAGE)
    if game.seats != len(SEATS):
        raise CommandError(f"{name} has {game.seats} seats, and matches of league.v2 have two", USAGE)
