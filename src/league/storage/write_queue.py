"""What waits for the disk: entries and letters, queued by any thread and taken as one group by the writer thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Lock

from league.storage.journal import Entry, encode
from league.storage.notices import JournalError
from league.storage.transcript import DEFAULT_LIMIT, ROW_COST, LetterNote, Mode


@dataclass(frozen=True, slots=True)
class Settings:
    """How much may wait, and how a journal keeps its transcript."""

    queue_entries: int = 4096
    queue_bytes: int = 16 << 20
    transcript: Mode = "full"
    transcript_bytes: int = DEFAULT_LIMIT
    notes_bytes: int = 8 << 20
    """So much of the transcript may wait for the disk; letters beyond it are left out, and counted."""
    notes_wait_s: float = 0.5
    """Letters go along with the next events, or alone after this time."""
    recent_bytes: int = 4 << 20
    """So much of the newest events is kept in memory for followers."""
    busy_s: float = 1.0
    """How long a commit waits for a lock that another program holds on the file."""


@dataclass(frozen=True, slots=True)
class QueuedEntry:
    """An entry, encoded when it was appended: what changes later does not change it."""

    events: list[tuple[float, str, bytes]]
    secrets: list[tuple[str, str]]


@dataclass(slots=True)
class WriteGroup:
    """What is queued, or what is committed at once."""

    entries: list[QueuedEntry] = field(default_factory=list)
    notes: list[LetterNote] = field(default_factory=list)
    entry_bytes: int = 0
    note_bytes: int = 0
    missing: int = 0
    """Letters before these notes that could not be kept."""
    is_awaited: bool = False
    """Is the writer to take it at once?"""


class WriteQueue:
    """Entries and letters on their way to the disk. After a failure it takes nothing until it is resumed."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self._path, self._settings = path, settings
        self._lock = Lock()
        self._changed = Condition(self._lock)
        """Of the lock; whoever only adds takes the lock itself, which is cheaper."""
        self._waiting, self._under_way = WriteGroup(), WriteGroup()
        self._is_failed = self._is_closed = False
        self._is_idle = True
        """Has nothing been queued for a while? Only then need the first letter wake the writer, to begin to wait."""

    def add_entry(self, entry: Entry) -> None:
        """Queue an entry behind all earlier ones, until the writer is woken; after a failure it is dropped."""
        size, events, secrets = 0, [], list(entry.secrets.items())
        for event in entry.events:
            body = encode(event)
            size += len(body)
            events.append((event.at, type(event).__name__, body))
        for name, value in secrets:
            size += len(f"{name}{value}".encode())
        with self._lock:
            if self._is_closed:
                raise JournalError(f"{self._path} is closed")
            if self._is_failed:
                return
            self._waiting.entries.append(QueuedEntry(events, secrets))
            self._waiting.entry_bytes += size

    def wake_writer(self) -> None:
        """Let the writer thread take what is queued."""
        with self._lock:
            if self._waiting.entries and not self._waiting.is_awaited:
                self._waiting.is_awaited = True
                self._changed.notify()

    def add_note(self, letter: LetterNote) -> None:
        """Queue a letter if there is room; otherwise count it as missing."""
        size = ROW_COST + len(letter.body)
        with self._lock:
            waiting = self._waiting
            size += waiting.note_bytes
            if self._is_failed or size + self._under_way.note_bytes > self._settings.notes_bytes:
                waiting.missing += 1
                return
            waiting.notes.append(letter)
            waiting.note_bytes = size
            if self._is_idle:
                self._is_idle = False
                self._changed.notify()

    @property
    def is_full(self) -> bool:
        with self._lock:
            queued, writing = self._waiting, self._under_way
            return (
                len(queued.entries) + len(writing.entries) >= self._settings.queue_entries
                or queued.entry_bytes + writing.entry_bytes >= self._settings.queue_bytes
            )

    # --- for the writer thread ----------------------------------------------------------------------------------------

    def take(self) -> WriteGroup | None:
        """Everything queued, once it is awaited; None when the queue is closed and empty."""
        with self._lock:
            while not self._waiting.is_awaited and not self._is_closed:
                in_time = self._changed.wait(None if self._is_idle else self._settings.notes_wait_s)
                if not in_time and self._waiting.notes:
                    break
                self._is_idle = not in_time
            if not self._waiting.entries and not self._waiting.notes:
                return None
            taken, self._waiting = self._waiting, WriteGroup()
            if not taken.notes:
                self._waiting.missing, taken.missing = taken.missing, 0
            self._under_way = taken
            return taken

    def stored(self) -> None:
        """The group that was taken is on disk."""
        with self._lock:
            self._under_way = WriteGroup()

    def failed(self, group: WriteGroup) -> None:
        """The group could not be stored: it is dropped, and so is everything queued behind it."""
        with self._lock:
            missing = group.missing + len(group.notes) + self._waiting.missing + len(self._waiting.notes)
            self._waiting, self._under_way = WriteGroup(missing=missing), WriteGroup()
            self._is_failed = True

    def resume(self) -> None:
        """The disk can be written again."""
        with self._lock:
            self._is_failed = False

    def close(self) -> None:
        """Take nothing more: the writer thread stores what is queued and ends."""
        with self._lock:
            self._is_closed = True
            self._changed.notify()
