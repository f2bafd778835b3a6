"""The queue of the journal: entries and letters, added by any thread and taken as one group by the writer thread.

Two groups exist at any time: one that is waiting, to which everything is added, and one that is being written. The
writer thread takes the waiting group whole once somebody has called `wake_writer`, or a letter has waited for
`notes_wait_s`; it then reports `stored` or `failed`. After a failure the queue drops whatever is added until `resume`:
that was computed from a state that never became durable, and must never reach the disk behind a gap. Entries are never
dropped otherwise, even when the queue is full; letters are, and are counted as missing.

A writer that must come by regularly (`renew_s`) gets an empty group when there is nothing else for that long.
"""

from __future__ import annotations

from threading import Condition, Lock

from msgspec import Struct

from league.machine import Entry
from league.storage.journal import encode
from league.storage.notices import JournalError
from league.storage.transcripts.transcript import DEFAULT_LIMIT, ROW_COST, LetterNote, Mode


class Settings(Struct, frozen=True):
    """How much may wait, and how a journal keeps its transcript."""

    queue_entries: int = 4096
    queue_bytes: int = 16 << 20
    transcript: Mode = "full"
    transcript_bytes: int = DEFAULT_LIMIT
    notes_bytes: int = 8 << 20
    """Bytes of the transcript that may wait for the disk; letters beyond them are left out, and counted."""
    notes_wait_s: float = 0.5
    """Letters go along with the next events, or alone after this time."""
    recent_bytes: int = 4 << 20
    """Bytes of the newest events that are kept in memory for followers."""
    busy_s: float = 1.0
    """How long a commit waits for a lock that another program holds on the file."""


class QueuedEntry(Struct, frozen=True):
    """An entry, encoded when it was appended: later changes do not reach it."""

    events: list[tuple[float, str, bytes]]
    """Time, kind and body of each."""
    secrets: list[tuple[str, str]]


class WriteGroup(Struct):
    """Entries and letters that are committed together."""

    entries: list[QueuedEntry] = []
    notes: list[LetterNote] = []
    entry_bytes: int = 0
    note_bytes: int = 0
    missing: int = 0
    """Letters before these notes that could not be kept."""
    is_awaited: bool = False
    """True if the writer is to take it at once."""


class WriteQueue:
    """Entries and letters on their way to the disk. After a failure it takes nothing until it is resumed."""

    def __init__(self, name: str, settings: Settings, renew_s: float | None = None) -> None:
        self.keeps_letters = settings.transcript != "off"
        self._notes_matches_only = settings.transcript == "matches"
        self._name = name
        self._renew_s = renew_s
        self._settings = settings
        self._lock = Lock()
        self._changed = Condition(self._lock)
        """Of the lock. Adding takes the lock itself, which is cheaper."""
        self._waiting = WriteGroup()
        self._under_way = WriteGroup()
        self._is_failed = False
        self._is_closed = False
        self._is_idle = True
        """True after a while without anything queued: the first letter must then wake the writer, to begin to wait."""

    def add_entry(self, entry: Entry) -> None:
        """Queue an entry behind all earlier ones, until the writer is woken; after a failure it is dropped."""
        events = []
        size = 0
        for event in entry.events:
            body = encode(event)
            size += len(body)
            events.append((event.at, type(event).__name__, body))
        secrets = list(entry.secrets.items())
        for name, value in secrets:
            size += len(f"{name}{value}".encode())
        # Encoded above, outside the lock: the writer thread must not wait for it.
        with self._lock:
            if self._is_closed:
                raise JournalError(f"{self._name} is closed")
            if self._is_failed:
                return
            self._waiting.entries.append(QueuedEntry(events, secrets))
            self._waiting.entry_bytes += size

    def wake_writer(self) -> None:
        """Let the writer thread take everything that is queued, as one group."""
        with self._lock:
            # Letters alone do not wake the writer: they wait for events, or for their time.
            if self._waiting.entries and not self._waiting.is_awaited:
                self._waiting.is_awaited = True
                self._changed.notify()

    def add_note(self, letter: LetterNote) -> None:
        """Queue a letter for the transcript if there is room; otherwise count it as missing. Nothing waits for it, and
        it may be lost."""
        if not self.keeps_letters or (self._notes_matches_only and letter.match_id is None):
            return
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
            entries = len(self._waiting.entries) + len(self._under_way.entries)
            size = self._waiting.entry_bytes + self._under_way.entry_bytes
            return entries >= self._settings.queue_entries or size >= self._settings.queue_bytes

    # --- for the writer thread ----------------------------------------------------------------------------------------

    def take(self) -> WriteGroup | None:
        """Wait for a group that is awaited, and take it. Return an empty one if the writer must come by, and None when
        the queue is closed and empty."""
        with self._lock:
            while not self._waiting.is_awaited and not self._is_closed:
                in_time = self._changed.wait(self._renew_s if self._is_idle else self._settings.notes_wait_s)
                # Entries that nobody awaits stay: the letter about them may be noted in this very moment.
                if not in_time and self._waiting.notes and not self._waiting.entries:
                    break
                if not in_time and self._is_idle and not self._waiting.is_awaited:
                    return WriteGroup()
                self._is_idle = not in_time
            if not self._waiting.entries and not self._waiting.notes:
                return None
            group = self._waiting
            self._waiting = WriteGroup()
            if not group.notes:
                # The remark that letters are missing needs a later letter to stand before.
                self._waiting.missing = group.missing
                group.missing = 0
            self._under_way = group
            return group

    def stored(self) -> None:
        """The group that was taken is on disk."""
        with self._lock:
            self._under_way = WriteGroup()

    def failed(self, group: WriteGroup) -> None:
        """The group could not be stored: it is dropped, and so is everything queued behind it."""
        with self._lock:
            # The letters of both groups are lost; the next that is stored is preceded by a remark.
            missing = group.missing + len(group.notes) + self._waiting.missing + len(self._waiting.notes)
            self._waiting = WriteGroup(missing=missing)
            self._under_way = WriteGroup()
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
