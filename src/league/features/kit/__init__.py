"""The conformance kit: an agent is judged by the protocol and by raw bytes, clause by clause.

`league check` uses it. It calls the agent and listens for it, and touches no journal.
"""

from __future__ import annotations

from league.rows import CommandRow, Feature

FEATURE = Feature(
    name="kit",
    about="Check an agent or a message against the protocol.",
    page="docs/reference/conformance.md",
    rows=(
        CommandRow("check", "Write a player", "league.features.kit.check_command"),
        CommandRow("validate", "Write a player", "league.features.kit.validate_command"),
    ),
)
