"""Journals of events, the secrets kept beside them, and transcripts of letters.

The shell writes them, and whatever looks at a league reads them. Only this room touches files and databases of
journals; what an event means is not its business.
"""

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
