"""Ratings, points and intervals: what the results of a league show, and what is luck.

Pages, commands and experiments use it. It computes with results alone, and touches nothing.
"""

from __future__ import annotations

from league.rows import CommandRow, Feature, SectionRow, ViewRow

PUBLIC = (
    "analysis",
    "findings",
    "methods.points",
    "methods.sequential",
    "methods.strata",
    "observations",
    "tournaments",
)
"""The modules that other packages may import."""

FEATURE = Feature(
    name="statistics",
    about="Ratings or points with intervals, who is tied, and what is luck.",
    page="docs/how-to/read-the-statistics.md",
    rows=(
        CommandRow("statistics", "Watch and understand", "league.features.statistics.command"),
        ViewRow(
            name="statistics",
            title="Statistics",
            about="Points or ratings with intervals, who is tied, and what is luck.",
            observe="league.features.statistics.observations:observe",
            work_out="league.features.statistics.analysis:analyse",
            document="league.features.statistics.analysis:document",
        ),
        SectionRow("statistics", "league.features.statistics.section:section", "league.features.statistics"),
    ),
)
