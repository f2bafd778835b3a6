"""Leagues and tournaments in scripts: real agents in one process, or strategies that meet without servers.

Scripts, notebooks and `league grade` use it. It writes the folder that it is given, and starts workers.
"""

from __future__ import annotations

from league.rows import CommandRow, Feature, ScriptRow

PUBLIC = (
    "outcome.result_files",
    "playing.plan",
    "playing.series",
    "tournament",
    "tournament_command",
)
"""The modules that other packages may import."""

FEATURE = Feature(
    name="experiments",
    about="Compare strategies in thousands of matches.",
    page="docs/how-to/compare-strategies.md",
    rows=(
        CommandRow("tournament", "Compare strategies", "league.features.experiments.tournament_command"),
        CommandRow("merge", "Compare strategies", "league.features.experiments.merge_command"),
        CommandRow("compare", "Compare strategies", "league.features.experiments.compare_command"),
        ScriptRow("Comparison", "league.features.experiments.compare:Comparison"),
        ScriptRow("RunningLeague", "league.features.experiments.running:RunningLeague"),
        ScriptRow("TournamentResult", "league.features.experiments.tournament:TournamentResult"),
        ScriptRow("compare", "league.features.experiments.compare:compare"),
        ScriptRow("run", "league.features.experiments.running:run"),
        ScriptRow("tournament", "league.features.experiments.tournament:tournament"),
    ),
)
