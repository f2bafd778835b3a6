"""Code that students handed in: each submission in a sandbox of its own, and a row for everyone.

Only `league grade` and the checks of `league doctor` use it. It runs foreign code, behind walls that it builds first.
"""

from __future__ import annotations

from league.rows import CommandRow, Feature

PUBLIC = ("sandbox",)
"""The modules that other packages may import."""

FEATURE = Feature(
    name="grade",
    about="Grade code that was handed in, in sandboxes.",
    page="docs/how-to/grade-a-class.md",
    rows=(CommandRow("grade", "Compare strategies", "league.features.grade.grade_command"),),
)
