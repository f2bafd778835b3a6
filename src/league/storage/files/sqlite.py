"""The journal in an SQLite file: each group is one transaction with one fsync.

One limit: if a disk stores a group, reports an error for its fsync all the same, and the machine dies at that very
moment, the group may be found whole after the restart, though its senders were told that nothing was stored.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from league.storage.files import journal_files
from league.storage.files.file_lock import FileLock
from league.storage.group_commit import PROBE_BYTES, GroupRows, GroupWriter, KeptJournal, Row
from league.storage.notices import JournalLostError, Notify, StorageError
from league.storage.urls import FilePlace
from league.storage.write_queue import Settings

if TYPE_CHECKING:
    from league.storage.transcripts.pruning import Statement

__all__ = ["Settings", "SqliteJournal"]

WRITE_ERRORS = (*journal_files.DISK_ERRORS, StorageError)


class _FileWriter(GroupWriter):
    """Writes groups into the file."""

    def __init__(self, path: Path, connection: sqlite3.Connection, transcript_bytes: int) -> None:
        super().__init__(transcript_bytes)
        self._path = path
        self._connection = connection
        with journal_files.journal_errors(path, "opened"):
            self._files = {name: _identity(name) for name in (str(path), f"{path}-wal")}
            self.find_end()

    def _select(self, query: str) -> list[Any]:
        return self._connection.execute(query).fetchall()

    def _store(self, rows: GroupRows) -> None:
        connection = self._connection
        connection.execute("BEGIN IMMEDIATE")
        if rows.events:
            journal_files.insert(connection, "events", _bound(rows.events, rows.head.digest))
        if rows.secrets:
            connection.executemany("INSERT OR REPLACE INTO secrets VALUES (?, ?)", rows.secrets)
        if rows.transcript.letters:
            journal_files.insert(connection, "letters", rows.transcript.letters)
        if rows.transcript.meta:
            connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", rows.transcript.meta.items())
        # As late as possible: a file that is replaced after this check is noticed with the next group.
        self._check_file()
        connection.execute("COMMIT")

    def change_letters(self, statements: Sequence[Statement]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        for query, values in statements:
            self._connection.execute(query, values)
        self._check_file()
        self._connection.execute("COMMIT")
        # The changes are stored. That the file becomes smaller takes room on the disk, which there may not be.
        with suppress(*WRITE_ERRORS):
            self._connection.execute("VACUUM")

    def give_up(self, error: Exception) -> str:
        self._roll_back()
        # A lost journal cannot be tried again: what was stored is saved at once, while the file is still open.
        if isinstance(error, JournalLostError):
            return f"{error}; {self._rescue()}"
        if journal_files.code_of(error) == sqlite3.SQLITE_IOERR:
            # If only the fsync failed, the group stands whole in the write-ahead log, where a restart would find
            # it; whatever is written next takes its place there.
            with suppress(*WRITE_ERRORS):
                self.probe(PROBE_BYTES)
        return f"{self._path} cannot be written: {error}"

    def _roll_back(self) -> None:
        with suppress(*journal_files.DISK_ERRORS):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def probe(self, size: int) -> None:
        self._check_file()
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES ('probe', zeroblob(?))", (size,))
        self._connection.execute("DELETE FROM meta WHERE key = 'probe'")

    def _check_file(self) -> None:
        """Writes to a file that was moved or removed succeed, and are lost."""
        for path, identity in self._files.items():
            try:
                is_same = _identity(path) == identity
            except OSError as error:
                raise JournalLostError(f"{path} is gone ({error.strerror})") from error
            if not is_same:
                raise JournalLostError(f"another file is in the place of {path}")

    def _rescue(self) -> str:
        """Save what was stored: into the database if only its log is lost, or else into a copy. Return a sentence for
        people."""
        try:
            if self._path.exists() and _identity(str(self._path)) == self._files[str(self._path)]:
                busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
                if not busy:
                    return f"all that was stored is in {self._path}; start again"
            copy = journal_files.rescue(self._connection, self._path)
        except (OSError, *WRITE_ERRORS) as error:
            return f"what was stored last could not be saved ({error}); go on from a copy made by 'league backup'"
        return f"all that was stored is in {copy}; put it in the place of {self._path} and start again"

    def close(self) -> None:
        self._connection.close()


def _bound(rows: Sequence[Row], digest: bytes) -> list[tuple[object, ...]]:
    """Make the events of a group ready to be inserted; the last holds the digest."""
    bound: list[tuple[object, ...]] = []
    for seq, entry, at, kind, body in rows:
        bound.append((seq, entry, at, kind, journal_files.blob(body), journal_files.NO_BLOB))
    bound[-1] = (*bound[-1][:-1], journal_files.blob(digest))
    return bound


class SqliteJournal(KeptJournal):
    """The journal at `path`, made if there is none."""

    def __init__(
        self,
        path: str | Path,
        notify: Notify,
        *,
        identity: Mapping[str, str] | None = None,
        settings: Settings | None = None,
    ) -> None:
        """`identity`: role, league_id and created, as kept in a new journal; an old one must not contradict them."""
        # One journal has one lock, by whatever name it is called; and the working directory may change.
        self.path = Path(path).resolve()
        settings = settings or Settings()
        with ExitStack() as opened:
            journal_files.make_folders(self.path)
            journal_files.create(self.path, identity or {})
            self._lock = FileLock(self.path)
            opened.callback(self._lock.release)
            connection, self.upgrade = journal_files.open_writable(self.path, identity or {}, settings.busy_s)
            opened.callback(connection.close)
            tables = journal_files.SqliteRows(self.path, journal_files.open_readable(self.path))
            opened.callback(tables.close)
            writer = _FileWriter(self.path, connection, settings.transcript_bytes)
            super().__init__(FilePlace(self.path), tables, writer, WRITE_ERRORS, notify, settings)
            opened.pop_all()

    def close(self) -> None:
        super().close()
        self._lock.release()


def _identity(path: str) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116 - with every commit, and Path.stat takes three calls
    return status.st_dev, status.st_ino
