"""Leagues held against their promises: verify and replay journals, and pack a bundle so that strangers can do both.

A study of models is held against what its folder says (`study.py`). The simulator judges its runs by the promises. It
reads journals and writes bundles.
"""

from __future__ import annotations

from league.rows import CommandRow, ExportRow, Feature, ScriptRow

PUBLIC = (
    "contradictions",
    "promises",
    "promises.grounds.event_history",
    "promises.grounds.event_log",
    "promises.grounds.evidence",
)
"""The modules that other packages may import."""

FEATURE = Feature(
    name="audit",
    about="Verify or replay a journal.",
    page="docs/how-to/read-a-journal.md",
    rows=(
        CommandRow("verify", "Audit", "league.features.audit.journal_commands"),
        CommandRow("replay", "Audit", "league.features.audit.journal_commands"),
        ExportRow(
            "bundle",
            "one file with which strangers verify the league",
            "league.features.audit.bundle:as_bundle",
            is_one_file=True,
        ),
        ScriptRow("Audit", "league.features.audit.study:StudyAudit"),
        ScriptRow("audit", "league.features.audit.study:audit"),
    ),
)
