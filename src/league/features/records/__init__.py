"""What a league leaves behind: explanations, exports, shared files.

Commands, pages and tools for MCP show a match by the facts and the explanation made here. It reads journals, writes
exports, and removes old letters when `league prune` says so.
"""

from __future__ import annotations

from league.rows import CommandRow, ExportRow, Feature, FollowerRow

PUBLIC = (
    "broken_clauses",
    "explain",
    "exports",
    "fault_words",
    "letter_words",
    "live_facts",
    "match_facts",
    "shared.shared_files",
    "timeline",
)
"""The modules that other packages may import."""

FEATURE = Feature(
    name="records",
    about="Explain matches, export a league, keep shared files, prune transcripts.",
    page="docs/how-to/read-a-journal.md",
    rows=(
        CommandRow("explain", "Watch and understand", "league.features.records.explain_command"),
        CommandRow("prune", "Run a league", "league.features.records.prune_command"),
        CommandRow("export", "Audit", "league.features.records.export_command"),
        FollowerRow("league.features.records.shared.sharing:open_shared"),
        ExportRow(
            "shared",
            "the files of section 13.10, one for each match",
            "league.features.records.exports:shared",
            needs_letters=True,
        ),
        ExportRow(
            "csv", "standings.csv, matches.csv, agents.csv, grades.csv", "league.features.records.exports:as_csv"
        ),
        ExportRow("json", "the same as JSON", "league.features.records.exports:as_json"),
    ),
)
