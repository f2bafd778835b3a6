"""Series that were played, as lines of a file which only grows while they are played.

Theory of operation. A line is a JSON object with the key of its series, everything that came of it, and at its end a
digest of the line. `add` writes a line with one system call, so a killed process leaves whole lines, and at most one
that is torn at the very end. A torn last line is cut off by the next process that writes, and ignored by those that
only read. A bad line anywhere else was not left by a kill: that is an error, and nothing is changed.

Lines are in the order in which series ended, which depends on the machine. When all planned series are there,
`arrange_in` puts them in the order of their keys: the same series then give the same bytes, whoever played them.

A tournament without a folder keeps its lines in memory, and in a temporary file as soon as there are many.

What must never happen: two processes write to one file, a line is changed, or a good line is lost.
"""

from __future__ import annotations

import hashlib
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, NamedTuple, Self

import msgspec

from league.features.experiments.playing.plan import FORMAT, PlanFacts, Series, Shard
from league.features.experiments.playing.series import MindReport, SeriesResult
from league.storage.files.file_lock import FileLock
from league.storage.notices import JournalError, JournalInUseError
from league.terminal import CommandError

PLAN: Final = "plan.json"
LINES: Final = "series.jsonl"
IN_MEMORY: Final = 16 * 2**20
"""Bytes of lines that a tournament without a folder keeps in memory."""
SYNC_S: Final = 0.5
"""How often lines are forced to the disk, where they survive a power cut. They survive a killed process at once."""
DIGEST_FIELD: Final = b',"digest":"'
DIGEST_DIGITS: Final = 16
TAIL: Final = len(DIGEST_FIELD) + DIGEST_DIGITS + len(b'"}\n')


class SeriesRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line: a series and its results. The first strategy is the one whose digest comes first."""

    key: str
    seed: str
    first: str
    second: str
    start: int
    ends: str
    """A digit for each match, a MatchEnd."""
    moves: list[str]
    """The moves of each match, separated by spaces."""
    chance: list[str] = []
    """The numbers that chance drew in each match; empty if it drew none in all of them."""
    scores: list[tuple[int, int]] = []
    failures: dict[str, int] = {}
    minds: dict[int, MindReport] = {}


def encode(facts: PlanFacts, series: Series, result: SeriesResult) -> bytes:
    """Return the line of a series."""
    record = SeriesRecord(
        key=series.key,
        seed=series.seed,
        first=facts.strategies[series.first].digest,
        second=facts.strategies[series.second].digest,
        start=series.start,
        ends="".join(map(str, result.ends)),
        moves=result.moves,
        chance=result.chance if any(result.chance) else [],
        scores=result.scores,
        # In the order of their texts: a failure that came first in one run may come second in another.
        failures=dict(sorted(result.failures.items())),
        minds=result.minds,
    )
    body = msgspec.json.encode(record)[:-1]
    return body + DIGEST_FIELD + _digest(body) + b'"}\n'


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:DIGEST_DIGITS].encode()


def decode(line: bytes) -> SeriesRecord:
    """Read a line. ValueError if it is not whole."""
    body = line[:-TAIL]
    if not body or line[-TAIL:] != DIGEST_FIELD + _digest(body) + b'"}\n':
        raise ValueError("the line does not have its digest")
    return _DECODER.decode(body + b"}")


_DECODER: Final = msgspec.json.Decoder(SeriesRecord)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an error of the disk into a sentence."""
    try:
        yield
    except OSError as error:
        raise CommandError(
            f"{path} cannot be written: {error.strerror}. What was played is kept; --resume goes on from there"
        ) from error


class _Line(NamedTuple):
    """Where a line is in its file."""

    offset: int
    length: int


class Scanned(NamedTuple):
    """The lines of a file: where each series is, and how long the file is without a torn last line."""

    lines: dict[str, _Line]
    length: int


def scan(stream: IO[bytes], name: str) -> Scanned:
    """Look through a file of lines. CommandError if a line other than the last one is bad."""
    lines: dict[str, _Line] = {}
    offset = 0
    torn = 0
    for number, line in enumerate(stream, start=1):
        if torn:
            raise CommandError(
                f"line {torn} of {name} is damaged, and other lines follow: restore the file, or delete that line to "
                "have its series played again"
            )
        try:
            record = decode(line)
        except (ValueError, msgspec.MsgspecError):
            torn = number
            continue
        lines[record.key] = _Line(offset, len(line))
        offset += len(line)
    return Scanned(lines, offset)


class SeriesStore:
    """Lines that can be found by the keys of their series."""

    def __init__(
        self,
        stream: IO[bytes],
        lines: dict[str, _Line] | None = None,
        lock: FileLock | None = None,
    ) -> None:
        self._stream = stream
        self._lines = lines or {}
        self._lock = lock
        self._synced_at = time.monotonic()
        self._last: SeriesRecord | None = None
        self._ended = weakref.finalize(self, stream.close)

    @classmethod
    def temporary(cls) -> SeriesStore:
        """Return an empty store that goes with this process."""
        return cls(SpooledTemporaryFile(IN_MEMORY))

    def __contains__(self, key: str) -> bool:
        return key in self._lines

    def keys(self) -> Iterator[str]:
        return iter(self._lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, key: str, line: bytes) -> None:
        """Append a line."""
        self._stream.seek(0, os.SEEK_END)
        offset = self._stream.tell()
        # A full disk may take a part of a line before it refuses the rest.
        rest = memoryview(line)
        while rest:
            rest = rest[self._stream.write(rest) :]
        self._lines[key] = _Line(offset, len(line))
        now = time.monotonic()
        if now - self._synced_at > SYNC_S:
            self.sync()
            self._synced_at = now

    def line(self, key: str) -> bytes:
        """Return the line of a series."""
        place = self._lines[key]
        self._stream.seek(place.offset)
        return self._stream.read(place.length)

    def record(self, key: str) -> SeriesRecord:
        """Return a series. The last one is remembered: its matches are asked for one after the other."""
        if self._last is None or self._last.key != key:
            self._last = decode(self.line(key))
        return self._last

    def sync(self) -> None:
        """Force all lines to the disk."""
        self._stream.flush()
        # A temporary file need not survive anything.
        if self._lock is not None:
            os.fsync(self._stream.fileno())

    def close(self) -> None:
        """End writing to a folder: others may write there from now on. The series can still be read."""
        if self._lock is None:
            return
        self.sync()
        self._lock.release()
        self._lock = None

    def copy_to(self, path: Path) -> dict[str, _Line]:
        """Write all lines to a file in the order of their keys. It appears under its name when it is whole."""
        beside = path.with_name(f"{path.name}.new")
        lines: dict[str, _Line] = {}
        offset = 0
        with beside.open("wb") as stream:
            for key in sorted(self._lines):
                line = self.line(key)
                stream.write(line)
                lines[key] = _Line(offset, len(line))
                offset += len(line)
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
        return lines

    def arrange_in(self, folder: Path) -> None:
        """Put the lines of a folder in the order of their keys. Nothing is added from now on."""
        path = folder / LINES
        lines = self.copy_to(path)
        self.close()
        self._ended()
        self._stream = path.open("rb")
        self._ended = weakref.finalize(self, self._stream.close)
        self._lines = lines


# --- folders ----------------------------------------------------------------------------------------------------------


class FolderPlan(msgspec.Struct, frozen=True):
    """The file `plan.json` of a folder."""

    plan: PlanFacts
    plan_digest: str
    shard: str | None = None
    not_repeatable: tuple[str, ...] = ()
    """Names of strategies that played differently when a series was played again."""


def read_plan(folder: Path) -> FolderPlan | None:
    """Return the plan of a folder; None if it holds no tournament. CommandError if it cannot be read."""
    path = folder / PLAN
    _require_file(path)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
    try:
        # The format first: a newer one may have other fields.
        number = msgspec.json.decode(data)["plan"]["format"]
        if isinstance(number, int) and number > FORMAT:
            raise CommandError(f"{path} was written by a newer version of agent-league (format {number})")
        folder_plan = msgspec.json.decode(data, type=FolderPlan)
    except (msgspec.MsgspecError, LookupError, TypeError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} is not the plan of a tournament: {error}") from error
    if folder_plan.plan.digest != folder_plan.plan_digest:
        raise CommandError(f"{path} was changed: the plan does not have its digest")
    return folder_plan


def _require_file(path: Path) -> None:
    """CommandError if there is something that is no file: reading from a pipe would never end."""
    if path.exists() and not path.is_file():
        raise CommandError(f"{path} cannot be read: it is not a file")


def write_plan(folder: Path, plan: FolderPlan) -> None:
    """Write the plan of a folder. The file is always whole."""
    content = msgspec.json.encode(plan)
    data = msgspec.json.format(content, indent=2) + b"\n"
    path = folder / PLAN
    beside = path.with_name(f"{path.name}.new")
    with beside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    # A kill before this line leaves the old plan.
    beside.replace(path)


def open_folder(folder: Path, facts: PlanFacts, shard: Shard | None, resume: bool) -> SeriesStore:
    """Open the store of a folder to add series. CommandError if the folder holds another tournament."""
    before = read_plan(folder)
    if before is not None:
        if not resume:
            raise CommandError(
                f"{folder} holds the series of a tournament: add --resume to go on, or name another folder"
            )
        _require_same(folder, before, facts, shard)
    path = folder / LINES
    try:
        lock = FileLock(path)
    except JournalInUseError as error:
        raise CommandError(f"{error}: give every process a folder of its own") from error
    except JournalError as error:
        raise CommandError(str(error)) from error
    try:
        if before is None and path.stat().st_size:
            raise CommandError(f"{folder} has series but no {PLAN}: restore it, or name another folder")
        with path.open("rb") as reading:
            scanned = scan(reading, str(path))
        stream = path.open("r+b", buffering=0)
        stream.truncate(scanned.length)
        not_repeatable: tuple[str, ...] = ()
        # Strategies that were caught before stay caught.
        if before is not None:
            not_repeatable = before.not_repeatable
        shard_name = str(shard) if shard else None
        write_plan(folder, FolderPlan(facts, facts.digest, shard_name, not_repeatable))
        return SeriesStore(stream, scanned.lines, lock)
    except BaseException:
        lock.release()
        raise


def _require_same(folder: Path, before: FolderPlan, facts: PlanFacts, shard: Shard | None) -> None:
    """Raise CommandError if the series of a folder do not belong to a plan."""
    difference = first_difference(before.plan.settings, facts.settings, str(folder), "this tournament")
    if difference is not None:
        raise CommandError(f"{folder} holds another tournament: {difference}. Name another folder")
    ours = str(shard) if shard else None
    if before.shard != ours:
        name = "a whole tournament"
        if before.shard:
            name = f"shard {before.shard}"
        raise CommandError(f"{folder} holds {name}: give every shard a folder of its own")


def first_difference(before: dict[str, Any], now: dict[str, Any], where: str, here: str) -> str | None:
    """Describe the first setting that differs between two places; None if all are the same."""
    for name, value in before.items():
        if now[name] != value:
            return f"{name} is {value} in {where} and {now[name]} in {here}"
    return None


def open_to_read(folder: Path) -> SeriesStore:
    """Open the store of a folder to read its series. CommandError if that is not possible."""
    path = folder / LINES
    _require_file(path)
    try:
        stream = path.open("rb")
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error
    try:
        return SeriesStore(stream, scan(stream, str(path)).lines)
    except BaseException:
        stream.close()
        raise
