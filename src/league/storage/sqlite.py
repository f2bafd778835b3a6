"""The journal in an SQLite file: one writer thread, everything queued committed as one group, one fsync for all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Lock, Thread

from league.events import Event
from league.storage import files
from league.storage.journal import Entry, StorageError, encode
from league.storage.notices import Durable, Failed, JournalError, Notice, Notify
from league.storage.reading import CHUNK, Follower, JournalReader, Raw, Recent
from league.storage.transcript import DEFAULT_LIMIT, ROW_COST, LetterNote, Mode, TranscriptWriter

PROBE_BYTES, PROBE_LIMIT = 64 << 10, 1 << 20
"""As much as failed, within these bounds, must fit on the disk before the journal goes on, or it would fail again."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much may wait, and how a journal keeps its transcript."""

    queue_entries: int = 4096
    queue_bytes: int = 16 << 20
    transcript: Mode = "full"
    transcript_bytes: int = DEFAULT_LIMIT
    notes_bytes: int = 8 << 20
    """So much of the transcript may wait for the disk; what comes then is left out, and counted."""
    notes_wait_s: float = 0.5
    """Letters go along with the next events, or alone after this time."""
    recent_bytes: int = 4 << 20
    """So much of the newest events is kept in memory for followers."""
    busy_s: float = 1.0
    """How long a commit waits for a lock that another program holds on the file."""


@dataclass(frozen=True, slots=True)
class _Queued:
    """An entry, encoded when it was appended: what changes later does not change it."""

    events: list[tuple[float, str, bytes]]
    secrets: list[tuple[str, str]]


@dataclass(slots=True)
class _Group:
    """What is queued, or what is being committed at once."""

    entries: list[_Queued] = field(default_factory=list)
    notes: list[LetterNote] = field(default_factory=list)
    entry_bytes: int = 0
    note_bytes: int = 0
    missing: int = 0
    """Letters that could not be kept before these notes."""


class SqliteJournal(JournalReader):
    """The journal at `path`, made if there is none. Its methods may be called from any thread.

    Epochs keep the order whole when a commit fails. An epoch begins when the journal is opened and ends with the first
    group that cannot be stored: that group, all that is queued behind it and all that is appended from then on is
    dropped, since it was computed from a state that never became durable. `notify` gets one `Failed`. Only `try_again`
    with that very notice begins the next epoch, so nobody who has not seen the failure can end it: the shell first goes
    back to what is durable (`Pump.storage_failed`), then tries again until it works, then goes on
    (`Pump.storage_back`). `Durable` counts from 0 in each epoch, as the pump does.

    One limit: if a disk stores a group, reports an error for its fsync all the same, and the machine dies at that very
    moment, the group may be found whole after the restart, though its senders were told that nothing was stored.
    """

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
        self._notify, self._settings = notify, settings or Settings()
        with ExitStack() as opened:
            files.make_folders(real)
            self._lock = files.Lock(real)
            opened.callback(self._lock.release)
            self._writing = files.open_writable(real, identity or {}, self._settings.busy_s)
            opened.callback(self._writing.close)
            super().__init__(real, files.open_readable(real))
            opened.callback(self._reading.close)
            self._begin()
            opened.pop_all()

    def _begin(self) -> None:
        with files.in_words(self.path, "opened"):
            stat = self.path.stat()
            self._file = (stat.st_dev, stat.st_ino)
            self._seq, self._entry = self._end()
            self._transcript = TranscriptWriter(self._writing, self._settings.transcript_bytes)
            self._keeps_letters = self._settings.transcript != "off" and not self._transcript.is_stopped
        self._one_writes = Lock()
        self._changed = Condition()
        self._queue, self._under_way = _Group(), _Group()
        self._failed: Failed | None = None
        self._probe_bytes = PROBE_BYTES
        self._epoch = self._durable = 0
        self._closing = self._closed = False
        self._recent = Recent(self._settings.recent_bytes)
        self._followers: tuple[Follower, ...] = ()
        self._thread = Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    # --- for the shell ------------------------------------------------------------------------------------------------

    def append(self, entry: Entry) -> None:
        """Queue an entry behind all earlier ones. After a failure it goes the way of the group that failed."""
        events = [(event.at, type(event).__name__, encode(event)) for event in entry.events]
        secrets = list(entry.secrets.items())
        size = sum(len(body) for _, _, body in events) + sum(len(f"{name}{value}".encode()) for name, value in secrets)
        with self._changed:
            if self._closing or self._closed:
                raise JournalError(f"{self.path} is closed")
            if self._failed is not None:
                return
            self._queue.entries.append(_Queued(events, secrets))
            self._queue.entry_bytes += size
            self._changed.notify()

    def note(self, letter: LetterNote) -> None:
        """Keep a letter in the transcript, if it is kept and has room. Nothing waits for it, and it may be lost."""
        if not self._keeps_letters or (self._settings.transcript == "matches" and letter.match_id is None):
            return
        with self._changed:
            size = ROW_COST + len(letter.body)
            waiting = self._queue.note_bytes + self._under_way.note_bytes
            if self._failed is not None or waiting + size > self._settings.notes_bytes:
                self._queue.missing += 1
                return
            self._queue.notes.append(letter)
            self._queue.note_bytes += size
            if len(self._queue.notes) == 1:
                self._changed.notify()

    @property
    def keeps_letters(self) -> bool:
        """Is there any point in noting letters?"""
        return self._keeps_letters

    @property
    def is_full(self) -> bool:
        """Is so much waiting for the disk that no new request should be taken (E042)? An append is queued even then:
        what follows from requests already taken must not be lost."""
        with self._changed:
            queued, writing = self._queue, self._under_way
            return (
                len(queued.entries) + len(writing.entries) >= self._settings.queue_entries
                or queued.entry_bytes + writing.entry_bytes >= self._settings.queue_bytes
            )

    def try_again(self, failed: Failed) -> bool:
        """Can it be written again? Writes and commits for real, so it may take as long as a disk takes. True begins the
        next epoch. Whoever calls has gone back to what was durable when `failed` came."""
        with self._one_writes:
            if self._failed != failed:
                raise ValueError("this is not the failure that the journal is in")
            try:
                self._probe()
                self._seq, self._entry = self._end()
            except (*files.DISK_ERRORS, StorageError):
                self._roll_back()
                return False
            with self._changed:
                self._epoch, self._durable, self._failed = self._epoch + 1, 0, None
            return True

    def follow(self, after: int, wake: Callable[[], None]) -> Follower:
        """Follow the events after that number. `wake` is called from the journal's thread after each commit: it must
        not raise, and should only let somebody know that there is something to `take`."""
        follower = Follower(after, wake, self._read_recent, self._leave)
        with self._changed:
            self._followers = (*self._followers, follower)
        return follower

    def close(self) -> None:
        """Store what is queued, then let the file go."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._thread.join()
        super().close()
        # The last to close takes the write-ahead log over into the file, which a reader could not.
        with self._one_writes:
            self._writing.close()
        self._lock.release()

    def _leave(self, follower: Follower) -> None:
        with self._changed:
            self._followers = tuple(one for one in self._followers if one is not follower)

    def _read_recent(self, after: int, limit: int) -> list[tuple[int, Event]]:
        raw = self._recent.after(after, min(limit, CHUNK))
        return self.read_chunk(after, min(limit, CHUNK)) if raw is None else self._decoded(after, raw)

    # --- the writer thread --------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while (group := self._take()) is not None:
                self._commit(group)
        finally:
            with self._changed:
                self._closed = True

    def _take(self) -> _Group | None:
        """Everything queued, once there is something; None when all is done."""
        with self._changed:
            while not self._queue.entries and not self._closing:
                in_time = self._changed.wait(self._settings.notes_wait_s if self._queue.notes else None)
                if not in_time and self._queue.notes:
                    break
            if not self._queue.entries and not self._queue.notes:
                return None
            taken, self._queue = self._queue, _Group()
            if not taken.notes:
                self._queue.missing, taken.missing = taken.missing, 0
            self._under_way = taken
            return taken

    def _commit(self, group: _Group) -> None:
        try:
            with self._one_writes:
                stored = self._store(group)
        except (*files.DISK_ERRORS, StorageError) as error:
            self._notify(self._fail(group, error))
            return
        self._seq += len(stored)
        self._entry += len(group.entries)
        with self._changed:
            self._under_way = _Group()
            self._durable += len(group.entries)
            notice = Durable(self._epoch, self._durable)
        self._recent.add(stored)
        if group.entries:
            self._notify(notice)
            for follower in self._followers:
                follower.wake()

    def _store(self, group: _Group) -> Sequence[Raw]:
        """The group in one transaction; its events with their numbers."""
        self._writing.execute("BEGIN IMMEDIATE")
        seq, rows, secrets = self._seq, [], []
        for entry, queued in enumerate(group.entries, start=self._entry + 1):
            for at, kind, body in queued.events:
                seq += 1
                rows.append((seq, entry, at, kind, body))
            secrets += queued.secrets
        self._writing.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)
        self._writing.executemany("INSERT OR REPLACE INTO secrets VALUES (?, ?)", secrets)
        self._transcript.write(group.notes, group.missing)
        stopped = bool(group.notes) and self._transcript.is_stopped
        self._check_file()
        self._writing.execute("COMMIT")
        self._keeps_letters = self._keeps_letters and not stopped
        return [(row[0], row[4]) for row in rows]

    def _fail(self, group: _Group, error: Exception) -> Notice:
        """The end of the epoch: nothing of the group is stored, and what was queued behind it goes too."""
        self._probe_bytes = max(PROBE_BYTES, min(group.entry_bytes, PROBE_LIMIT))
        with self._one_writes:
            self._roll_back()
            if files.kind_of(error) == sqlite3.SQLITE_IOERR:
                # If only the fsync failed, the group stands whole in the write-ahead log, where a restart would find
                # it; whatever is written next takes its place there.
                with suppress(*files.DISK_ERRORS, StorageError):
                    self._probe()
        with self._changed:
            missing = group.missing + len(group.notes) + self._queue.missing + len(self._queue.notes)
            self._queue, self._under_way = _Group(missing=missing), _Group()
            self._failed = Failed(self._epoch, f"{self.path} cannot be written: {error}")
            return self._failed

    def _roll_back(self) -> None:
        with suppress(*files.DISK_ERRORS):
            if self._writing.in_transaction:
                self._writing.execute("ROLLBACK")

    def _probe(self) -> None:
        """Write as much as failed, for real, and clear it away."""
        self._check_file()
        self._writing.execute("INSERT OR REPLACE INTO meta VALUES ('probe', zeroblob(?))", (self._probe_bytes,))
        self._writing.execute("DELETE FROM meta WHERE key = 'probe'")

    def _check_file(self) -> None:
        """A file that was moved or removed takes writes as before, and they are lost."""
        try:
            stat = self.path.stat()
        except OSError as error:
            raise StorageError(f"its file is gone ({error.strerror})") from error
        if (stat.st_dev, stat.st_ino) != self._file:
            raise StorageError("another file is in its place")

    def _end(self) -> tuple[int, int]:
        """The numbers of the last event and of its entry, as stored."""
        row = self._writing.execute("SELECT seq, entry FROM events ORDER BY seq DESC LIMIT 1").fetchone()
        return (row[0], row[1]) if row else (0, 0)
