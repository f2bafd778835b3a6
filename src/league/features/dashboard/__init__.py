"""The dashboard: a league, a match and a player as pages for people.

Managers with the feature serve it, `league view` and exports write it to files. It reads leagues and changes none.
"""

from __future__ import annotations

from league.rows import CommandRow, ExportRow, Feature, PagesRow

PUBLIC = ("dashboard_server",)
"""The modules that other packages may import."""

FEATURE = Feature(
    name="dashboard",
    about="Pages for people: the league, its matches, its players.",
    page="docs/how-to/run-a-class-league.md",
    rows=(
        CommandRow("view", "Watch and understand", "league.features.dashboard.view_command"),
        PagesRow("league.features.dashboard.dashboard_server:open_dashboard"),
        ExportRow(
            "site",
            "the dashboard: open site/index.html",
            "league.features.dashboard.journal_league:site",
            needs_letters=True,
        ),
    ),
)
