"""A whole league on one machine, and whether the machine is ready for one.

Only its two commands use it. It starts processes and folders of its own, and stops what it started.
"""

from __future__ import annotations

from league.rows import CommandRow, Feature

FEATURE = Feature(
    name="demo",
    about="Play a demonstration league, and check this machine.",
    page="docs/tutorial/first-player.md",
    rows=(
        CommandRow("demo", "Play a league", "league.features.demo.demo_command"),
        CommandRow("doctor", "This machine", "league.features.demo.doctor_command"),
    ),
)
