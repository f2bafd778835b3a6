"""Journals of events, the secrets kept beside them, and transcripts of letters."""

PUBLIC = (
    "chain",
    "damage",
    "files.file_lock",
    "files.journal_files",
    "files.replacing",
    "formats",
    "group_commit",
    "journal",
    "notices",
    "opening",
    "reading",
    "transcripts.pruning",
    "transcripts.transcript",
    "urls",
    "volatile",
    "write_queue",
)
"""The modules that other packages may import."""
