"""A bundle: one file with which strangers can check a league (`league export --format bundle`, `league verify FILE`).

Theory of operation. A bundle is JSON, line by line, packed with gzip. The first line says what it is. Then follow the
rows of the manager's events, byte for byte and with their digests, so that the chain can be followed. The last line
counts the others, so that a bundle that was cut off is noticed.

Everything that a check needs is in the events: the public keys of the players and of the manager, and what they signed.
No secret, letter or token is in a bundle. Bundles of 0.3.0 have keys of receipts, which are skipped.

What must never happen: a bundle makes its reader hang, or take more memory than the bounds below allow.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from league.events import Event, LeagueCreated
from league.features.audit.journal_evidence import LeagueJournals, ReadJournal
from league.features.audit.promises.grounds.event_log import EventLog
from league.features.audit.recorded_letters import Transcript
from league.manager.league_manager import LeagueManager
from league.reading.journals import Journals
from league.storage.chain import StoredRow, examine
from league.storage.journal import decode
from league.storage.notices import JournalError
from league.storage.reading import open_for_reading
from league.storage.urls import FilePlace
from league.version import __version__

VERSION: Final = 1
MAGIC: Final = b"\x1f\x8b"
LINE_BYTES: Final = 32 << 20
MOST_BYTES: Final = 512 << 20
"""Unpacked, all lines together."""
MOST_LINES: Final = 5_000_000


class BundleHead(msgspec.Struct, frozen=True, tag="bundle", tag_field="line"):
    """The first line."""

    version: int
    league_id: str
    program: str


class EventLine(msgspec.Struct, frozen=True, tag="event", tag_field="line"):
    """An event as it is stored."""

    seq: int
    entry: int
    at: float
    kind: str
    body: str
    digest: str


class KeyLine(msgspec.Struct, frozen=True, tag="key", tag_field="line"):
    """A key of 0.3.0, with which receipts were checked."""


class EndLine(msgspec.Struct, frozen=True, tag="end", tag_field="line"):
    """The last line: the number of the others."""

    lines: int


Line = BundleHead | EventLine | KeyLine | EndLine
_DECODER: Final = msgspec.json.Decoder(Line)
_ENCODER: Final = msgspec.json.Encoder()


def is_bundle(path: Path) -> bool:
    """Whether a file looks like a bundle."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


# --- writing ----------------------------------------------------------------------------------------------------------


def as_bundle(manager: LeagueManager, journals: Journals) -> Iterator[tuple[PurePosixPath, bytes]]:
    """Make the bundle of a league, as one file."""
    assert journals.place is not None, "an export needs the manager's journal"
    with open_for_reading(journals.place) as journal:
        rows = []
        for row in journal.stored_rows():
            if row is None:
                raise JournalError(f"{journals.place} is damaged: 'league verify' says where")
            rows.append(row)
    league_id = manager.ledger.settings.league_id
    lines: list[Line] = [BundleHead(VERSION, league_id, __version__)]
    lines += [EventLine(row.seq, row.entry, row.at, row.kind, row.body.decode(), row.digest.hex()) for row in rows]
    lines.append(EndLine(len(lines)))
    data = b"\n".join(map(_ENCODER.encode, lines))
    # Without a time: the same league gives the same bytes.
    yield PurePosixPath(f"{league_id}.bundle"), gzip.compress(data, mtime=0)


# --- reading ----------------------------------------------------------------------------------------------------------


def read_bundle(path: Path) -> LeagueJournals:
    """Read a bundle. JournalError says what is wrong with it."""
    rows: list[StoredRow] = []
    head: BundleHead | None = None
    is_ended = False
    for number, line in enumerate(_lines(path)):
        if (number == 0) != isinstance(line, BundleHead) or is_ended:
            raise JournalError(f"{path} is not a bundle: line {number + 1} is in the wrong place")
        if isinstance(line, BundleHead):
            head = line
        elif isinstance(line, EventLine):
            rows.append(_row(path, line))
        elif isinstance(line, EndLine):
            is_ended = line.lines == number
    if head is None or not is_ended:
        raise JournalError(f"{path} was cut off: its last line is missing")
    if head.version != VERSION:
        raise JournalError(f"{path} is a bundle of version {head.version}; this version reads {VERSION}")
    return _league(path, rows)


def _lines(path: Path) -> Iterator[Line]:
    unpacked = 0
    try:
        with gzip.open(path, "rb") as file:
            assert isinstance(file, BufferedIOBase)
            for _ in range(MOST_LINES):
                raw = file.readline(LINE_BYTES + 1)
                if not raw:
                    return
                unpacked += len(raw)
                if len(raw) > LINE_BYTES or unpacked > MOST_BYTES:
                    raise JournalError(f"{path} is not a bundle of ours: it is far too large when it is unpacked")
                yield _DECODER.decode(raw)
            raise JournalError(f"{path} is not a bundle of ours: it has more than {MOST_LINES} lines")
    except (OSError, EOFError, zlib.error) as error:
        raise JournalError(f"{path} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise JournalError(f"{path} is not a bundle, or it is damaged: {error}") from error


def _row(path: Path, line: EventLine) -> StoredRow:
    return StoredRow(
        line.seq,
        line.entry,
        line.at,
        line.kind,
        line.body.encode(),
        _bytes(path, line.digest),
    )


def _bytes(path: Path, digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError as error:
        raise JournalError(f"{path} is damaged: {error}") from error


def _league(path: Path, rows: list[StoredRow]) -> LeagueJournals:
    events: list[Event] = []
    readable: list[StoredRow | None] = []
    for row in rows:
        try:
            events.append(decode(row.body))
        except (ValueError, TypeError):
            readable.append(None)
            break
        readable.append(row)
    chain = examine(readable)
    journal = ReadJournal(
        place=FilePlace(path),
        chain=chain,
        stated_role="manager",
        events=EventLog(events if chain.is_whole else ()),
        transcript=Transcript(gap="a bundle holds no letters"),
    )
    league = LeagueJournals([journal])
    if journal.events:
        created = journal.events[0]
        if not isinstance(created, LeagueCreated):
            raise JournalError(f"{path} does not begin with a league")
        league.manager = journal
    return league
