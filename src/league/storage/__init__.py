"""Journals of events, the secrets kept beside them, and transcripts of letters."""

PUBLIC = (
    "chain",
    "damage",
    "file_lock",
    "formats",
    "group_commit",
    "journal",
    "journal_files",
    "notices",
    "opening",
    "pruning",
    "reading",
    "replacing",
    "transcript",
    "urls",
    "volatile",
    "write_queue",
)
"""The modules that other packages may import."""
