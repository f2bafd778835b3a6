"""Leagues in virtual time, with injected faults: every run is judged by the promises of `league.features.audit`.

`league simulate` and tests run them. Nothing leaves the process: clock, network and disk are simulated.
"""

from __future__ import annotations

from league.rows import CommandRow, Feature

FEATURE = Feature(
    name="lab",
    about="Simulate leagues with faults.",
    page="docs/how-to/read-a-journal.md",
    rows=(CommandRow("simulate", "Audit", "league.features.lab.simulate_command"),),
)
