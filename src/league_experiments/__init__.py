"""Strategies meet many times, without servers."""

from __future__ import annotations

from league.features import CommandRow, Feature, ScriptRow

FEATURE = Feature(
    name="experiments",
    about="Compare strategies in thousands of matches.",
    page="docs/how-to/compare-strategies.md",
    rows=(
        CommandRow("tournament", "Compare strategies", "league_experiments.tournament_command"),
        ScriptRow("tournament", "league_experiments.tournament:tournament"),
    ),
)
