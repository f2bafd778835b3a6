"""Leagues held against their promises: verify and replay journals, and pack a bundle so that strangers can do both."""

from __future__ import annotations

from league.features import CommandRow, ExportRow, Feature

FEATURE = Feature(
    name="audit",
    about="Verify or replay a journal.",
    page="docs/how-to/read-a-journal.md",
    rows=(
        CommandRow("verify", "Audit", "league_audit.journal_commands"),
        CommandRow("replay", "Audit", "league_audit.journal_commands"),
        ExportRow(
            "bundle",
            "one file with which strangers verify the league",
            "league_audit.bundle:as_bundle",
            is_one_file=True,
        ),
    ),
)
