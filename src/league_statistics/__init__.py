"""Ratings, points and intervals: what the results of a league show, and what is luck."""

from __future__ import annotations

from league.features import CommandRow, Feature, SectionRow, ViewRow

FEATURE = Feature(
    name="statistics",
    about="Ratings or points with intervals, who is tied, and what is luck.",
    page="docs/how-to/read-the-statistics.md",
    rows=(
        CommandRow("statistics", "Watch and understand", "league_statistics.command"),
        ViewRow(
            name="statistics",
            title="Statistics",
            about="Points or ratings with intervals, who is tied, and what is luck.",
            observe="league_statistics.observations:observe",
            work_out="league_statistics.analysis:analyse",
            document="league_statistics.analysis:document",
        ),
        SectionRow("statistics", "league_statistics.section:section", "league_statistics"),
    ),
)
