"""The part that all kept journals share: one writer thread, everything queued committed as one group.

The journal is writing, failed or closed. Epochs keep the order whole when a commit fails. An epoch begins when the
journal is opened and ends with the first group that cannot be stored. That group, what is queued behind it and what is
appended from then on is dropped: it was computed from a state that never became durable. `notify` gets one
`WriteFailed`. Only `try_again` with that very notice begins the next epoch, so nobody who has not seen the failure can
end it: the shell first goes back to what is durable (`Pump.storage_failed`), then tries again until it works, then goes
on (`Pump.storage_back`). `Durable` counts from 0 in each epoch, as the pump does.

A kind of journal brings a `GroupWriter`, which stores a group as a whole or not at all, and the tables that readers
read. A writer that holds its journal by a lease is called at least every `renew_s` seconds, with an empty group if
there is nothing to store.

What must never happen: that `Durable` is reported for an entry that a restart would not find, or that an entry is
stored behind one that was dropped.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, NamedTuple

from league.events import Event
from league.machine import Entry, JournalHead
from league.storage.chain import digest_after
from league.storage.files.journal_files import Upgrade
from league.storage.leases import lease_time
from league.storage.notices import Durable, JournalError, JournalLostError, Notify, WriteFailed
from league.storage.reading import (
    CHUNK,
    Follower,
    Followers,
    JournalReader,
    JournalRows,
    Raw,
    Recent,
)
from league.storage.transcripts.transcript import (
    SIZE,
    STOPPED,
    STRANGERS_KEY,
    TranscriptEnd,
    TranscriptRows,
    TranscriptWriter,
)
from league.storage.urls import Place
from league.storage.write_queue import Settings, WriteGroup, WriteQueue

if TYPE_CHECKING:
    from league.storage.transcripts.pruning import Pruning, Statement

PROBE_BYTES = 64 << 10
PROBE_LIMIT = 1 << 20
"""As much as failed, within these bounds, must fit on the disk before the journal goes on, or it would fail again."""

Row = tuple[int, int, float, str, bytes]
"""An event as its digest covers it: number, number of its entry, time, kind, body."""


class EventsEnd(NamedTuple):
    """The end of the events: number of the last one, number of its entry, and the digest of all."""

    seq: int = 0
    entry: int = 0
    digest: bytes = b""


class GroupRows(NamedTuple):
    """A group, ready to be stored."""

    events: list[Row]
    secrets: list[tuple[str, str]]
    transcript: TranscriptRows
    head: EventsEnd
    """The head of the journal once the group is stored."""

    @property
    def raw_events(self) -> list[Raw]:
        return [(seq, body) for seq, _, _, _, body in self.events]


class GroupWriter(ABC):
    """Writes groups into the tables of a journal. Only one thread may use it at a time."""

    renew_s: float | None = None
    """How often it must be called at least, if it holds its journal by a lease."""
    lease_until = math.inf
    """The time (`lease_time`) until which nobody else can have written the journal."""
    can_read_after: bool = True
    """False after a failure that makes the journal unreadable too: its server cannot be reached."""

    def __init__(self, transcript_bytes: int) -> None:
        self._head = EventsEnd()
        self._transcript = TranscriptWriter(transcript_bytes)

    @property
    def head(self) -> JournalHead | None:
        """The end of the chain, as far as it is durable; None for an empty journal."""
        head = self._head  # one reading, because another thread writes it
        if not head.digest:
            return None
        return JournalHead(head.seq, bytes(head.digest).hex())

    @property
    def takes_letters(self) -> bool:
        return not self._transcript.is_stopped

    def find_end(self) -> None:
        """Read where events and transcript end."""
        last = self._select("SELECT seq, entry, digest FROM events ORDER BY seq DESC LIMIT 1")
        self._head = EventsEnd(*last[0]) if last else EventsEnd()
        keys = ", ".join(f"'{key}'" for key in (SIZE, STOPPED, STRANGERS_KEY))
        meta = dict(self._select(f"SELECT key, value FROM meta WHERE key IN ({keys})"))
        last_id = self._select("SELECT coalesce(max(id), 0) FROM letters")[0][0]
        self._transcript.go_on_from(TranscriptEnd.of(meta, last_id))

    def rows_of(self, group: WriteGroup) -> GroupRows:
        """Number the events of a group behind the head, and compute the digest."""
        seq, entry, digest = self._head
        events: list[Row] = []
        secrets: list[tuple[str, str]] = []
        for queued in group.entries:
            entry += 1
            for at, kind, body in queued.events:
                seq += 1
                events.append((seq, entry, at, kind, body))
            secrets += queued.secrets
        head = self._head
        if events:
            head = EventsEnd(seq, entry, digest_after(digest, events))
        return GroupRows(events, secrets, self._transcript.rows(group.notes, group.missing), head)

    def store(self, group: WriteGroup) -> list[Raw]:
        """Store a group as a whole; return its events with their numbers."""
        rows = self.rows_of(group)
        self._store(rows)
        self._head = rows.head
        return rows.raw_events

    @abstractmethod
    def _store(self, rows: GroupRows) -> None:
        """Store these rows in one transaction."""

    @abstractmethod
    def change_letters(self, statements: Sequence[Statement]) -> None:
        """Execute these statements about letters in one transaction; then give the space that is free back."""

    @abstractmethod
    def _select(self, query: str) -> list[Any]: ...

    @abstractmethod
    def give_up(self, error: Exception) -> str:
        """After an error: let nothing of the group become stored any more. Return the reason, for people."""

    @abstractmethod
    def probe(self, size: int) -> None:
        """Write this many bytes for real, and clear them away."""

    @abstractmethod
    def close(self) -> None: ...


@dataclass
class _Epoch:
    """The time from one failure to the next."""

    number: int = 0
    stored: int = 0
    """The number of entries that were stored in it."""
    failed: WriteFailed | None = None
    """What ended it."""


class KeptJournal(JournalReader):
    """A journal that is written. Its methods may be called from any thread."""

    is_volatile = False
    upgrade: Upgrade | None = None
    """Set if the journal was brought up to date when it was opened."""

    def __init__(
        self,
        place: Place,
        tables: JournalRows,
        writer: GroupWriter,
        write_errors: tuple[type[Exception], ...],
        notify: Notify,
        settings: Settings,
    ) -> None:
        super().__init__(place, tables)
        self._writer = writer
        self._write_errors = write_errors
        self._notify = notify
        self._one_writes = Lock()
        self._queue = WriteQueue(str(place), settings, writer.renew_s)
        self._queue.keeps_letters &= writer.takes_letters
        # Every step of the shell calls these: they are the queue's own methods.
        self.enqueue = self._queue.add_entry
        self.wake_writer = self._queue.wake_writer
        self.note = self._queue.add_note
        self.has_lease = writer.renew_s is not None
        """True if the journal is ours only as long as we keep confirming it: see `is_ours`."""
        self._probe_bytes = PROBE_BYTES
        self._epoch = _Epoch()
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
    def head(self) -> JournalHead | None:
        return self._writer.head

    @property
    def keeps_letters(self) -> bool:
        """True while there is any point in noting letters."""
        return self._queue.keeps_letters

    @property
    def is_full(self) -> bool:
        """True if so much waits for the disk that no new request should be taken (E042). An append is queued even
        then: what follows from requests already taken must not be lost."""
        return self._queue.is_full

    @property
    def is_confirmed(self) -> bool:
        """True while nobody else can have written the journal."""
        return lease_time() < self._writer.lease_until

    def is_ours(self) -> bool:
        """True if nobody else can have written the journal. After a standstill of this process the answer has to be
        asked for, which takes as long as the server takes; if it is no, a `WriteFailed` is on its way."""
        if not self.is_confirmed:
            self._store(WriteGroup())
        return self.is_confirmed

    def try_again(self, failed: WriteFailed) -> bool:
        """Try to write and commit for real, which may take as long as a disk takes; True begins the next epoch. The
        caller has gone back to what was durable when `failed` came, or does so when it may read again.

        JournalLostError if the journal has another writer now."""
        with self._one_writes:
            if self._epoch.failed != failed:
                raise ValueError("this is not the failure that the journal is in")
            if failed.is_final:
                return False
            try:
                self._writer.probe(self._probe_bytes)
                self._writer.find_end()
            except JournalLostError:
                raise
            except self._write_errors as error:
                self._writer.give_up(error)
                return False
            self._epoch = _Epoch(self._epoch.number + 1)
            self._queue.resume()
            return True

    def prune(self, pruning: Pruning, at: float, remark: str) -> None:
        """Remove letters, and leave a remark. JournalError if that cannot be stored: then nothing is changed."""
        with self._one_writes:
            try:
                self._writer.change_letters(list(pruning.statements(at, remark)))
                self._writer.find_end()
            except self._write_errors as error:
                raise JournalError(self._writer.give_up(error)) from error

    def follow(self, after: int, wake: Callable[[], None]) -> Follower:
        """Follow the events after that number. `wake` is called from the journal's thread after each commit: it must
        not raise, and should only let somebody know that there is something to `take`."""
        return self._followers.add(after, wake, self._read_recent)

    def close(self) -> None:
        """Store what is queued, then let the journal go."""
        self._queue.close()
        self._thread.join()
        super().close()
        # In a file, the last to close takes the write-ahead log over, which a reader could not.
        with self._one_writes:
            self._writer.close()

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
        if not self._store(group):
            return
        # The transcript may have reached its limit with this group.
        self._queue.keeps_letters &= self._writer.takes_letters
        self._queue.stored()
        if group.entries:
            self._followers.wake()

    def _store(self, group: WriteGroup) -> bool:
        """Store a group and notify the shell; False if the journal has failed."""
        # Notices are given under the lock: they come in the order of what they tell.
        with self._one_writes:
            if self._epoch.failed is not None:
                return False  # the group is empty: a failed queue gives nothing else
            try:
                stored = self._writer.store(group)
            except self._write_errors as error:
                self._notify(self._fail(group, error))
                return False
            self._recent.add(stored)
            if group.entries:
                self._epoch.stored += len(group.entries)
                self._notify(Durable(self._epoch.number, self._epoch.stored))
            return True

    def _fail(self, group: WriteGroup, error: Exception) -> WriteFailed:
        """End the epoch: nothing of the group is stored, and what was queued behind it is dropped too."""
        self._probe_bytes = max(PROBE_BYTES, min(group.entry_bytes, PROBE_LIMIT))
        reason = self._writer.give_up(error)
        failed = WriteFailed(
            self._epoch.number,
            reason,
            is_final=isinstance(error, JournalLostError),
            can_read=self._writer.can_read_after,
        )
        self._epoch.failed = failed
        self._queue.failed(group)
        return failed
