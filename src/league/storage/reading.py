"""Reading a journal of any kind, at rest or while it is written: events, secrets, letters, and following it.

Nothing here holds a read transaction open between two calls: no reader keeps the write-ahead log from being
checkpointed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import msgspec

from league.events import EVENTS, Event, MatchRecordKept
from league.machine import JournalHead
from league.protocol.wire.strict_json import INT64_MAX
from league.storage import damage, urls
from league.storage.chain import StoredRow, digest_after
from league.storage.journal import decode
from league.storage.notices import JournalError
from league.storage.transcripts import transcript
from league.storage.transcripts.transcript import LetterNote
from league.storage.urls import FilePlace, Place

if TYPE_CHECKING:
    from league.storage.transcripts.pruning import Pruning

CHUNK = 500
"""Number of rows that are read at a time."""

Raw = tuple[int, bytes]
"""The number of an event and its body as stored."""
E = TypeVar("E", bound=Event)


class JournalRows(Protocol):
    """The tables of a journal, for reading. Any thread may use it. Errors are JournalErrors."""

    @property
    def body_holds(self) -> str:
        """The condition that the body of an event holds some bytes, in the words of the database."""

    def rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """The rows that a query returns; `?` stands for each of the values (Any: columns of the query)."""

    def damaged(self, why: object) -> str:
        """The sentence about a journal in which something is wrong."""

    def close(self) -> None: ...


class JournalReader:
    """A journal, for reading. Its methods may be called from any thread."""

    def __init__(self, place: Place, tables: JournalRows) -> None:
        self.place = place
        self._tables = tables
        self._rows = tables.rows

    def events(self, until: int | None = None) -> Iterator[Event]:
        """All durable events in order, up to the newest at the time of the call, or until an earlier one.

        A group is read when its digest fits: nobody is shown what was changed after it was written. If `until` cuts a
        group, its first events cannot be checked; what follows may be damaged, and is not read.
        """
        last = self.last_seq if until is None else min(until, self.last_seq)
        digest = b""
        sound = 0
        group: list[StoredRow] = []
        decoded: list[Event] = []
        for row in self.stored_rows(decoded.append, last):
            seq = sound + len(group) + 1
            if row is None or row.seq != seq:
                self.read_chunk(seq - 1, 1)  # says what is wrong
                raise JournalError(self._tables.damaged(f"event {seq} is missing"))
            group.append(row)
            if not row.digest:
                continue
            digest = digest_after(digest, [stored[:-1] for stored in group])
            if digest != row.digest:
                break
            yield from decoded
            sound = row.seq
            group = []
            decoded.clear()
        if until is not None and sound + len(group) == last:
            yield from decoded
        elif group:
            raise JournalError(self._tables.damaged(f"what follows event {sound} is not as it was written"))

    def events_after(self, seq: int, until: int | None = None) -> Iterator[tuple[int, Event]]:
        """The durable events after that number, whether or not their digests fit, with their numbers: up to the newest
        at the time of the call, or until an earlier one."""
        last = self.last_seq
        if until is not None:
            last = min(last, until)
        while seq < last:
            chunk = self.read_chunk(seq, min(CHUNK, last - seq))
            if not chunk:
                raise JournalError(self._tables.damaged(f"event {seq + 1} is missing"))
            yield from chunk
            seq = chunk[-1][0]

    def stored_rows(
        self,
        read: Callable[[Event], object] = lambda _: None,
        until: int = INT64_MAX,
    ) -> Iterator[StoredRow | None]:
        """All events as stored, for a check of their chain; None where one cannot be read, and nothing follows it.
        `read` gets each event as it was read."""
        query = f"SELECT {_COLUMNS} FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
        after = 0
        while rows := self._rows(query, (after, until, CHUNK)):
            for row in map(StoredRow._make, rows):
                try:
                    read(decode(row.body))
                except (ValueError, TypeError) as error:
                    if damage.is_later(self.meta.get("written_by", "")):
                        raise JournalError(self._tables.damaged(f"event {row.seq} is unknown")) from error
                    yield None
                    return
                yield row
            after = row.seq

    def read_chunk(self, after: int, limit: int) -> list[tuple[int, Event]]:
        """Up to `limit` durable events after that number."""
        query = "SELECT seq, body FROM events WHERE seq > ? ORDER BY seq LIMIT ?"
        return self._decoded(after, self._rows(query, (after, limit)))

    def of_kind(self, kind: type[E], naming: bytes = b"", after: int = 0) -> list[tuple[int, E]]:
        """The durable events of one kind after a number, with their numbers: those whose bodies hold these bytes. No
        other is decoded."""
        query = f"SELECT seq, body FROM events WHERE seq > ? AND kind = ? AND {self._tables.body_holds} ORDER BY seq"
        rows = self._rows(query, (after, kind.__name__, naming))
        decoded = [(seq, self._decode(seq, body)) for seq, body in rows]
        return [(seq, event) for seq, event in decoded if isinstance(event, kind)]

    def events_of(self, match_id: str) -> list[Event]:
        """A manager's events about one match, its records aside; no other is decoded."""
        condition = f"kind <> 'MatchRecordKept' AND {self._tables.body_holds}"
        query = f"SELECT seq, body FROM events WHERE {condition} ORDER BY seq"
        # Bytes may name the match elsewhere too, in a detail; the decoded event decides.
        rows = self._rows(query, (named("match_id", match_id),))
        events = [self._decode(seq, body) for seq, body in rows]
        return [event for event in events if getattr(event, "match_id", None) == match_id]

    def events_about(self, match_id: str) -> list[Event]:
        """All events except those of other matches, who was told of them, and ends of rounds. Of these only what tells
        of players that deviate, the first, which shows whose journal it is, and the ends if the match was voided.

        Each group that one of them is in is checked, except of rounds that were opened: nobody is shown what was
        changed about the match, its league or its members.
        """
        holds = self._tables.body_holds
        is_voided = f"EXISTS (SELECT 1 FROM events WHERE kind = 'ResultVoided' AND {holds})"
        query = (
            f"SELECT seq, kind, body FROM events WHERE kind NOT IN ({_OF_MATCHES}, {_OF_ROUNDS}) "
            f"OR (kind IN ({_OF_MATCHES}) AND {holds}) "
            f"OR (kind IN ('PlayerDeviated', 'MatchRecordKept') AND {holds}) "
            f"OR kind = 'RoundOpened' OR (kind = 'RoundFinished' AND {is_voided}) "
            f"OR seq = (SELECT min(seq) FROM events WHERE kind IN ({_OF_MATCHES})) ORDER BY seq"
        )
        match = named("match_id", match_id)
        rows = self._rows(query, (match, b'"PlayerDeviated"', match))
        checked = 0
        for seq, kind, _ in rows:
            if seq > checked and kind != "RoundOpened":
                checked = self._check_group(seq)
        return [self._decode(seq, body) for seq, _, body in rows]

    def _check_group(self, seq: int) -> int:
        """Check the digest of the group that an event is in, and return the number of the group's last event."""
        head = self.head_at(seq - 1) or JournalHead(0, "")
        end = "SELECT min(seq) FROM events WHERE seq >= ? AND length(digest) > 0"
        query = f"SELECT {_COLUMNS} FROM events WHERE seq > ? AND seq <= ({end}) ORDER BY seq"
        group = [StoredRow._make(row) for row in self._rows(query, (head.seq, seq))]
        if not group or digest_after(bytes.fromhex(head.digest), [row[:-1] for row in group]) != group[-1].digest:
            raise JournalError(self._tables.damaged(f"what follows event {head.seq} is not as it was written"))
        return group[-1].seq

    def records_of(self, match_id: str) -> list[MatchRecordKept]:
        """The match records of one match in a manager's journal."""
        kept = self.of_kind(MatchRecordKept, named("match_id", match_id))
        return [record for _, record in kept if record.match_id == match_id]

    def secrets(self) -> Mapping[str, str]:
        """All durable secrets, the newest value of each name."""
        return dict(self._rows("SELECT name, value FROM secrets"))

    @property
    def meta(self) -> Mapping[str, str]:
        """The journal's own facts: role, league_id, created, and those that formats.py writes."""
        return dict(self._rows("SELECT key, value FROM meta WHERE key <> 'probe'"))

    @property
    def last_seq(self) -> int:
        """The number of the newest durable event; 0 before the first."""
        last: int = self._rows("SELECT coalesce(max(seq), 0) FROM events")[0][0]
        return last

    def head_at(self, seq: int) -> JournalHead | None:
        """The head of the chain at an event: the end of the last group up to it."""
        query = "SELECT seq, digest FROM events WHERE seq <= ? AND length(digest) > 0 ORDER BY seq DESC LIMIT 1"
        for number, digest in self._rows(query, (seq,)):
            return JournalHead(number, bytes(digest).hex())
        return None

    def letters(self, match_id: str | None = None) -> Iterator[LetterNote]:
        """The transcript, or its part of one match, in order."""
        choice: transcript.Choice = "all" if match_id is None else "match"
        return (note for _, note in self._letters(choice, match_id))

    def numbered_letters(self) -> Iterator[tuple[int, LetterNote]]:
        """The transcript, with the numbers of its letters."""
        return self._letters("all", None)

    def remarks(self) -> Iterator[LetterNote]:
        """The remarks of the transcript on itself: where letters are missing, and where it ends."""
        return (note for _, note in self._letters("remarks", None))

    def plan_pruning(self, before: float, kept: Collection[str]) -> Pruning:
        """Find out which letters from before a time may go, if those of some matches are kept."""
        from league.storage.transcripts.pruning import plan_pruning  # imported here because hardly anybody prunes

        return plan_pruning(self._tables, before, kept)

    def close(self) -> None:
        self._tables.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _letters(self, choice: transcript.Choice, match_id: str | None) -> Iterator[tuple[int, LetterNote]]:
        after = 0
        while True:
            values: list[object] = [after, CHUNK]
            if match_id is not None:
                values.insert(1, match_id)
            rows = self._rows(transcript.CHOICES[choice], values)
            for row in rows:
                number = row[0]
                note = LetterNote(*row[1:])
                # In a crafted file numbers may lead in circles.
                if number <= after or not note.is_well_formed:
                    raise JournalError(self._tables.damaged(f"letter {after + 1} cannot be read"))
                yield number, note
                after = number
            if len(rows) < CHUNK:
                return

    def _decoded(self, after: int, rows: Sequence[Raw]) -> list[tuple[int, Event]]:
        pairs = []
        for expected, (seq, body) in enumerate(rows, start=after + 1):
            if seq != expected:
                raise JournalError(self._tables.damaged(f"event {expected} is missing"))
            pairs.append((seq, self._decode(seq, body)))
        return pairs

    def _decode(self, seq: int, body: bytes) -> Event:
        try:
            return decode(body)
        except (ValueError, TypeError) as error:
            raise JournalError(self._tables.damaged(f"event {seq} cannot be read: {error}")) from error


def _kinds_with(*names: str) -> str:
    """The kinds of events that have one of these fields, in SQL."""
    return ", ".join(f"'{kind.__name__}'" for kind in EVENTS if not {*names}.isdisjoint(kind.__struct_fields__))


_COLUMNS = "seq, entry, at, kind, body, digest"
_OF_MATCHES = _kinds_with("match_id", "bulletins")
_OF_ROUNDS = _kinds_with("round_id")


def named(field: str, value: object) -> bytes:
    """The bytes by which an event names something."""
    return b'"%b":%b' % (field.encode(), msgspec.json.encode(value))


def open_for_reading(journal: str | Path | Place) -> JournalReader:
    """Open a journal, named by a path, a URL or its place, for reading, also while another process writes it."""
    place = urls.parse(journal)
    if isinstance(place, FilePlace):
        # Imported here because an agent without a journal needs no database.
        from league.storage.files.journal_files import SqliteRows, open_readable

        return JournalReader(place, SqliteRows(place.path, open_readable(place.path)))
    from league.storage.database.postgres_tables import (
        open_tables,  # imported here because few journals are in a database
    )

    return JournalReader(place, open_tables(place))


class Recent:
    """The newest events as stored, as many as fit: a follower that keeps up need not read the disk."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held: deque[Raw] = deque()
        self._bytes = 0
        self._lock = Lock()

    def add(self, events: Sequence[Raw]) -> None:
        """Take in events that have just become durable."""
        with self._lock:
            self._held.extend(events)
            self._bytes += sum(len(body) for _, body in events)
            while self._bytes > self._limit:
                self._bytes -= len(self._held.popleft()[1])

    def after(self, seq: int, limit: int) -> list[Raw] | None:
        """Up to `limit` events after that number; None if they are no longer all here."""
        with self._lock:
            if not self._held or seq + 1 < self._held[0][0]:
                return None
            skip = seq + 1 - self._held[0][0]
            return list(islice(self._held, skip, skip + limit))


ReadEvents = Callable[[int, int], list[tuple[int, Event]]]
"""Reads the events after a number, up to a limit."""


class Follower:
    """One reader's position in a journal that is being written. However far it falls behind, it costs no memory."""

    def __init__(
        self,
        after: int,
        wake: Callable[[], None],
        read: ReadEvents,
        leave: Callable[[Follower], None],
    ) -> None:
        self.position = after
        self.wake = wake
        self._read = read
        self._leave = leave

    def take(self, limit: int = CHUNK) -> list[tuple[int, Event]]:
        """The next durable events with their numbers; none when it has caught up. May read the disk."""
        pairs = self._read(self.position, limit)
        if pairs:
            self.position = pairs[-1][0]
        return pairs

    def close(self) -> None:
        """Be woken no more."""
        self._leave(self)


class Followers:
    """Everybody who follows one journal."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._all: tuple[Follower, ...] = ()

    def add(self, after: int, wake: Callable[[], None], read: ReadEvents) -> Follower:
        follower = Follower(after, wake, read, self._leave)
        # The tuple is replaced, never changed: `wake` walks through it in another thread without the lock.
        with self._lock:
            self._all = (*self._all, follower)
        return follower

    def wake(self) -> None:
        """Let all of them know that there are new events."""
        for follower in self._all:
            follower.wake()

    def _leave(self, leaving: Follower) -> None:
        with self._lock:
            self._all = tuple(follower for follower in self._all if follower is not leaving)
