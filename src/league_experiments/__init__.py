"""Leagues and tournaments in scripts: real agents in one process, or strategies that meet without servers."""

from __future__ import annotations

from league.features import CommandRow, Feature, ScriptRow

FEATURE = Feature(
    name="experiments",
    about="Compare strategies in thousands of matches.",
    page="docs/how-to/compare-strategies.md",
    rows=(
        CommandRow("tournament", "Compare strategies", "league_experiments.tournament_command"),
        ScriptRow("run", "league_experiments.running:run"),
        ScriptRow("tournament", "league_experiments.tournament:tournament"),
    ),
)
