"""The journal in an SQLite file: one writer thread, everything queued committed as one group, one fsync for all.

The journal is writing, failed or closed. Epochs keep the order whole when a commit fails. An epoch begins when the
journal is opened and ends with the first group that cannot be stored. That group, what is queued behind it and what is
appended from then on is dropped: it was computed from a state that never became durable. `notify` gets one
`WriteFailed`. Only `try_again` with that very notice begins the next epoch, so nobody who has not seen the failure can
end it: the shell first goes back to what is durable (`Pump.storage_failed`), then tries again until it works, then goes
on (`Pump.storage_back`). `Durable` counts from 0 in each epoch, as the pump does.

What must never happen: that `Durable` is reported for an entry that a restart would not find, or that an entry is
stored behind one that was dropped.

One limit: if a disk stores a group, reports an error for its fsync all the same, and the machine dies at that very
moment, the group may be found whole after the restart, though its senders were told that nothing was stored.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Lock, Thread

from league.events import Event
from league.machine import Entry
from league.storage import journal_files
from league.storage.chain import digest_after
from league.storage.file_lock import FileLock
from league.storage.journal import StorageError
from league.storage.notices import Durable, Notify, WriteFailed
from league.storage.reading import (
    CHUNK,
    Follower,
    Followers,
    JournalReader,
    Raw,
    Recent,
)
from league.storage.transcript import TranscriptWriter
from league.storage.write_queue import Settings, WriteGroup, WriteQueue

__all__ = ["Settings", "SqliteJournal"]

PROBE_BYTES = 64 << 10
PROBE_LIMIT = 1 << 20
"""As much as failed, within these bounds, must fit on the disk before the journal goes on, or it would fail again."""
WRITE_ERRORS = (*journal_files.DISK_ERRORS, StorageError)


class JournalLostError(StorageError):
    """The files were removed or replaced while they were written: nothing more can be stored in them."""


class _GroupWriter:
    """Writes groups into the file, each in one transaction. Only one thread may use it at a time."""

    def __init__(self, path: Path, connection: sqlite3.Connection, transcript_bytes: int) -> None:
        self._path = path
        self._connection = connection
        self._seq = 0
        """Of the last event."""
        self._entry = 0
        """Of the last event."""
        self._digest = b""
        """Of all events."""
        with journal_files.journal_errors(path, "opened"):
            self._files = {name: _identity(name) for name in (str(path), f"{path}-wal")}
            self._transcript = TranscriptWriter(connection, transcript_bytes)
            self.find_end()

    @property
    def takes_letters(self) -> bool:
        return not self._transcript.is_stopped

    def find_end(self) -> None:
        """Read where events and transcript end."""
        self._transcript.find_end()
        last = self._connection.execute("SELECT seq, entry, digest FROM events ORDER BY seq DESC LIMIT 1").fetchone()
        self._seq, self._entry, self._digest = last or (0, 0, b"")

    def store(self, group: WriteGroup) -> list[Raw]:
        """Store a group; return its events with their numbers."""
        self._connection.execute("BEGIN IMMEDIATE")
        seq = self._seq
        entry = self._entry
        digest = self._digest
        rows: list[Row] = []
        secrets: list[tuple[str, str]] = []
        for queued in group.entries:
            entry += 1
            for at, kind, body in queued.events:
                seq += 1
                rows.append((seq, entry, at, kind, body))
            secrets += queued.secrets
        if rows:
            digest = digest_after(digest, rows)
            journal_files.insert(self._connection, "events", _bound(rows, digest))
        if secrets:
            self._connection.executemany("INSERT OR REPLACE INTO secrets VALUES (?, ?)", secrets)
        self._transcript.write(group.notes, group.missing)
        # As late as possible: a file that is replaced after this check is noticed with the next group.
        self._check_file()
        self._connection.execute("COMMIT")
        self._seq = seq
        self._entry = entry
        self._digest = digest
        return [(seq, body) for seq, _, _, _, body in rows]

    def roll_back(self) -> None:
        with suppress(*journal_files.DISK_ERRORS):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def probe(self, size: int) -> None:
        """Write this many bytes for real, and clear them away."""
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

    def rescue(self) -> str:
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


Row = tuple[int, int, float, str, bytes]
"""An event as its digest covers it: number, number of its entry, time, kind, body."""


def _bound(rows: Sequence[Row], digest: bytes) -> list[tuple[object, ...]]:
    """Make the events of a group ready to be inserted; the last holds the digest."""
    bound: list[tuple[object, ...]] = []
    for seq, entry, at, kind, body in rows:
        bound.append((seq, entry, at, kind, journal_files.blob(body), journal_files.NO_BLOB))
    bound[-1] = (*bound[-1][:-1], journal_files.blob(digest))
    return bound


class SqliteJournal(JournalReader):
    """The journal at `path`, made if there is none. Its methods may be called from any thread."""

    is_volatile = False

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
        real = Path(path).resolve()
        settings = settings or Settings()
        self._notify = notify
        with ExitStack() as opened:
            journal_files.make_folders(real)
            journal_files.create(real, identity or {})
            self._lock = FileLock(real)
            opened.callback(self._lock.release)
            connection, self.upgrade = journal_files.open_writable(real, identity or {}, settings.busy_s)
            opened.callback(connection.close)
            super().__init__(real, journal_files.open_readable(real))
            opened.callback(self._reading.close)
            self._writer = _GroupWriter(real, connection, settings.transcript_bytes)
            self._begin(settings)
            opened.pop_all()

    def _begin(self, settings: Settings) -> None:
        self._one_writes = Lock()
        self._queue = WriteQueue(self.path, settings)
        self._queue.keeps_letters &= self._writer.takes_letters
        # Every step of the shell calls these: they are the queue's own methods.
        self.enqueue = self._queue.add_entry
        self.wake_writer = self._queue.wake_writer
        self.note = self._queue.add_note
        self._failed: WriteFailed | None = None
        self._probe_bytes = PROBE_BYTES
        self._epoch = 0
        self._durable = 0
        """Entries stored in this epoch."""
        self._recent = Recent(settings.recent_bytes)
        self._followers = Followers()
        self._thread = Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    # --- for the shell ------------------------------------------------------------------------------------------------

    def append(self, entry: Entry) -> None:
        """Queue an entry behind all earlier ones, and have it written. After a failure it is dropped, like the group
        that failed."""
        self._queue.add_entry(entry)
        self._queue.wake_writer()

    @property
    def keeps_letters(self) -> bool:
        """True while there is any point in noting letters."""
        return self._queue.keeps_letters

    @property
    def is_full(self) -> bool:
        """True if so much waits for the disk that no new request should be taken (E042). An append is queued even
        then: what follows from requests already taken must not be lost."""
        return self._queue.is_full

    def try_again(self, failed: WriteFailed) -> bool:
        """Try to write and commit for real, which may take as long as a disk takes; True begins the next epoch. The
        caller has gone back to what was durable when `failed` came."""
        with self._one_writes:
            if self._failed != failed:
                raise ValueError("this is not the failure that the journal is in")
            try:
                self._writer.probe(self._probe_bytes)
                self._writer.find_end()
            except WRITE_ERRORS:
                self._writer.roll_back()
                return False
            self._epoch += 1
            self._durable = 0
            self._failed = None
            self._queue.resume()
            return True

    def follow(self, after: int, wake: Callable[[], None]) -> Follower:
        """Follow the events after that number. `wake` is called from the journal's thread after each commit: it must
        not raise, and should only let somebody know that there is something to `take`."""
        return self._followers.add(after, wake, self._read_recent)

    def close(self) -> None:
        """Store what is queued, then let the file go."""
        self._queue.close()
        self._thread.join()
        super().close()
        # The last to close takes the write-ahead log over into the file, which a reader could not.
        with self._one_writes:
            self._writer.close()
        self._lock.release()

    def _read_recent(self, after: int, limit: int) -> list[tuple[int, Event]]:
        limit = min(limit, CHUNK)
        raw = self._recent.after(after, limit)
        if raw is None:
            return self.read_chunk(after, limit)
        return self._decoded(after, raw)

    # --- the writer thread --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while (group := self._queue.take()) is not None:
                self._commit(group)
        finally:
            self._queue.close()

    def _commit(self, group: WriteGroup) -> None:
        try:
            with self._one_writes:
                stored = self._writer.store(group)
        except WRITE_ERRORS as error:
            self._notify(self._fail(group, error))
            return
        # The transcript may have reached its limit with this group.
        self._queue.keeps_letters &= self._writer.takes_letters
        self._queue.stored()
        self._recent.add(stored)
        if group.entries:
            self._durable += len(group.entries)
            self._notify(Durable(self._epoch, self._durable))
            self._followers.wake()

    def _fail(self, group: WriteGroup, error: Exception) -> WriteFailed:
        """End the epoch: nothing of the group is stored, and what was queued behind it is dropped too."""
        self._probe_bytes = max(PROBE_BYTES, min(group.entry_bytes, PROBE_LIMIT))
        with self._one_writes:
            self._writer.roll_back()
            # A lost journal cannot be tried again: what was stored is saved at once, while the file is still open.
            if isinstance(error, JournalLostError):
                failed = WriteFailed(
                    self._epoch,
                    f"{error}; {self._writer.rescue()}",
                    is_final=True,
                )
            else:
                failed = WriteFailed(self._epoch, f"{self.path} cannot be written: {error}")
            if journal_files.code_of(error) == sqlite3.SQLITE_IOERR:
                # If only the fsync failed, the group stands whole in the write-ahead log, where a restart would find
                # it; whatever is written next takes its place there.
                with suppress(*WRITE_ERRORS):
                    self._writer.probe(self._probe_bytes)
            self._failed = failed
            self._queue.failed(group)
            return failed


def _identity(path: str) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116 - with every commit, and Path.stat takes three calls
    return status.st_dev, status.st_ino
