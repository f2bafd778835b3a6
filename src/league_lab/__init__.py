"""Leagues held against their promises: simulated, verified, replayed."""

from __future__ import annotations

from league.features import CommandRow, ExportRow, Feature

FEATURE = Feature(
    name="lab",
    about="Simulate leagues with faults, and verify or replay a journal.",
    page="docs/how-to/read-a-journal.md",
    rows=(
        CommandRow("simulate", "Audit", "league_lab.simulate_command"),
        CommandRow("verify", "Audit", "league_lab.journal_commands"),
        CommandRow("replay", "Audit", "league_lab.journal_commands"),
        ExportRow(
            "bundle", "one file with which strangers verify the league", "league_lab.bundle:as_bundle", is_one_file=True
        ),
    ),
)
