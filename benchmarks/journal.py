"""The cost of a durable entry, with many in flight, beside a commit for each.

Time on the clock, not on the processor: most of it is waiting for the disk.
"""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Condition

from benchmarks import Row
from league.events import ResultAccepted
from league.machine import Entry
from league.storage.files.sqlite import SqliteJournal
from league.storage.journal import encode
from league.storage.notices import Durable, Notice

COMMITS = 150
"""Not more, since a slow disk makes fewer than 400 commits in a second."""
ROUNDS = 7
GOALS = {1: 1.6, 32: 0.15, 256: 0.08}
"""By entries in flight. A single entry pays for the way to the writer's thread and back."""

EVENT = ResultAccepted(
    at=1768471200.25,
    match_id="R1M1",
    attempt=1,
    referee_id="REF01",
    status="WIN",
    winner="P01",
    points={"P01": 3, "P02": 0},
    details={"drawn_number": 8, "choices": {"P01": "even", "P02": "odd"}, "draw_seed": "5a" * 32},
    verified=True,
    reported_at="2026-01-15T10:00:00Z",
)


class _Shell:
    """Keeps a number of entries in flight, as an agent's shell under load does."""

    def __init__(self, path: Path) -> None:
        self._changed = Condition()
        self._durable = 0
        self._appended = 0
        self._journal = SqliteJournal(path, self._take)
        self.close = self._journal.close

    def _take(self, notice: Notice) -> None:
        if not isinstance(notice, Durable):
            raise RuntimeError(notice.error)
        with self._changed:
            self._durable = notice.entries
            self._changed.notify()

    def run(self, in_flight: int) -> None:
        last = self._appended + _entries(in_flight)
        while self._appended < last:
            room = in_flight - (self._appended - self._durable)
            for _ in range(min(room, last - self._appended)):
                self._journal.append(Entry((EVENT,)))
                self._appended += 1
            # One durable entry makes room for the next one.
            oldest = self._appended - in_flight
            with self._changed:
                self._changed.wait_for(partial(self._is_durable, oldest + 1))
        with self._changed:
            self._changed.wait_for(partial(self._is_durable, last))

    def _is_durable(self, entries: int) -> bool:
        return self._durable >= entries


def _entries(in_flight: int) -> int:
    return max(COMMITS, 20 * in_flight)


def _commit_each(connection: sqlite3.Connection) -> None:
    for _ in range(COMMITS):
        with connection:
            connection.execute("INSERT INTO events(at, body) VALUES (?, ?)", (EVENT.at, encode(EVENT)))


def _plain(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE events(seq INTEGER PRIMARY KEY, at REAL, body BLOB)")
    return connection


def _best_seconds(calls: Sequence[Callable[[], None]]) -> list[float]:
    """Return the fewest seconds of each call. They take turns, so that a slow moment hits all alike."""
    best = [float("inf") for _ in calls]
    for _ in range(ROUNDS):
        for index, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[index] = min(best[index], time.perf_counter() - start)
    return best


def run() -> list[Row]:
    # Below the working directory, since the system's folder for temporary files is often in memory.
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".journal-") as folder,
        closing(_plain(Path(folder, "plain.db"))) as plain,
        closing(_Shell(Path(folder, "journal.db"))) as shell,
    ):
        calls = [partial(_commit_each, plain), *(partial(shell.run, in_flight) for in_flight in GOALS)]
        commits_s, *ours_s = _best_seconds(calls)
    commit_us = commits_s / COMMITS * 1e6
    rows = []
    for (in_flight, goal), seconds in zip(GOALS.items(), ours_s, strict=True):
        entry_us = seconds / _entries(in_flight) * 1e6
        rows.append(Row(f"a durable entry, {in_flight} in flight", entry_us, commit_us, "a commit each", "us", goal))
    return rows
