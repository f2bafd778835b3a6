"""The formats of journals in SQLite files, and how an older one is brought up to date.

Theory of operation. The format of a file is a number. It stands in the file's header (`PRAGMA user_version`), so a
program can read it before it knows anything else about the file. Files from before there was a number have a 0 there;
their tables tell which of the first two formats they have.

    1  0.1.0, early: no longer read; 0.2.0 and 0.3.0 turn it into one of theirs
    2  0.1.0, late: a chain of digests; letters hold their bodies
    3  0.2.0: the number in the header; the journal knows which version wrote it
    4  0.3.0: events of receipts, draws, pauses, probes and models
    5  since 0.4.0: no more events of outages and of reports that are held

A migration writes the new number, and nothing else: rows, bytes and digests stay. So the heads that members kept are
still in the chain. Events that this version has no class for are translated whenever they are read, by the table in
`league.storage.retired`. The number keeps older programs from a journal whose events they do not know.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from league.version import __version__

OLDEST = 2
FORMAT = 5
"""The format that this version writes. CONTRIBUTING.md says when there must be a new one."""
FORMAT_KEY = "schema_version"
"""The format of a journal in a database, and the first place where old programs look in a file."""
WRITTEN_BY_KEY = "written_by"
"""The version of the program that opened the journal last to write it."""


def format_of(connection: sqlite3.Connection) -> int:
    """Return the format of a journal."""
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if number != 0:
        return number
    columns = [row[1] for row in connection.execute("PRAGMA table_info(events)")]
    return 2 if "digest" in columns or not columns else 1


def unreadable_format(connection: sqlite3.Connection) -> str:
    """Say what is wrong with a journal of a format that this version does not read, or "" if it reads it."""
    number = format_of(connection)
    if OLDEST <= number <= FORMAT:
        return ""
    return unknown_format(number, written_by(connection))


def written_by(connection: sqlite3.Connection) -> str:
    """Return the version that opened a journal last to write it, or "" if the journal does not say."""
    with suppress(sqlite3.Error):  # a newer format may have another table
        row = connection.execute("SELECT value FROM meta WHERE key = ?", (WRITTEN_BY_KEY,)).fetchone()
        return str(row[0]) if row else ""
    return ""


def unknown_format(number: int, writer: str) -> str:
    """Say that this version does not read a format."""
    program = f"version {writer}" if writer else "another version"
    remedy = ""
    if number < OLDEST:
        remedy = "; `league migrate` of version 0.3.0 turns it into format 4"
    return (
        f"was written by {program} in format {number}; this version, {__version__}, reads formats {OLDEST} to {FORMAT}"
        f"{remedy}"
    )


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a journal to the newest format, within the caller's transaction."""
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    # Programs from before there was a number look here, and refuse a number that they do not know.
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (FORMAT_KEY, str(FORMAT)))
