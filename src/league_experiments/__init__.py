"""Leagues and tournaments in scripts: real agents in one process, or strategies that meet without servers."""

from __future__ import annotations

from league.features import CommandRow, Feature, ScriptRow

FEATURE = Feature(
    name="experiments",
    about="Compare strategies in thousands of matches.",
    page="docs/how-to/compare-strategies.md",
    rows=(
        CommandRow("tournament", "Compare strategies", "league_experiments.tournament_command"),
        CommandRow("merge", "Compare strategies", "league_experiments.merge_command"),
        CommandRow("compare", "Compare strategies", "league_experiments.compare_command"),
        ScriptRow("compare", "league_experiments.compare:compare"),
        ScriptRow("run", "league_experiments.running:run"),
        ScriptRow("tournament", "league_experiments.tournament:tournament"),
    ),
)
