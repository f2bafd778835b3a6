"""What a league leaves behind: explanations, exports, shared files."""

from __future__ import annotations

from league.features import CommandRow, ExportRow, Feature, FollowerRow

FEATURE = Feature(
    name="records",
    about="Explain matches, export a league, keep shared files, prune transcripts.",
    page="docs/how-to/read-a-journal.md",
    rows=(
        CommandRow("explain", "Watch and understand", "league_records.explain_command"),
        CommandRow("prune", "Run a league", "league_records.prune_command"),
        CommandRow("export", "Audit", "league_records.export_command"),
        FollowerRow("league_records.sharing:open_shared"),
        ExportRow(
            "shared",
            "the files of section 8.14, one for each match",
            "league_records.exports:shared",
            needs_letters=True,
        ),
        ExportRow("csv", "standings.csv, matches.csv, agents.csv, grades.csv", "league_records.exports:as_csv"),
        ExportRow("json", "the same as JSON", "league_records.exports:as_json"),
    ),
)
