"""Leagues in virtual time, with injected faults: every run is judged by the promises of `league_audit`."""

from __future__ import annotations

from league.features import CommandRow, Feature

FEATURE = Feature(
    name="lab",
    about="Simulate leagues with faults.",
    page="docs/how-to/read-a-journal.md",
    rows=(CommandRow("simulate", "Audit", "league_lab.simulate_command"),),
)
