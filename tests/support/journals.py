"""Journals for tests: what they notify, entries to put into them, and a disk that can be made to refuse."""

from __future__ import annotations

import os
import queue
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from league.events import Enrolled, Event, LeagueEnded, MatchDecided, PlayerJoined
from league.storage.journal import Entry
from league.storage.notices import Durable, Failed, Notice

WATCHDOG_S = 120.0
"""No test measures time with it."""

N = TypeVar("N", Durable, Failed)


class Notices:
    """What a journal notified, to be waited for."""

    def __init__(self) -> None:
        self._queue: queue.Queue[Notice] = queue.Queue()
        self.seen: list[Notice] = []

    def __call__(self, notice: Notice) -> None:
        self._queue.put(notice)

    def next(self) -> Notice:
        """Wait for the next one."""
        self.seen.append(self._queue.get(timeout=WATCHDOG_S))
        return self.seen[-1]

    def durable(self, entries: int) -> Durable:
        """Wait until so many entries of the epoch are durable."""
        while True:
            notice = self.next()
            assert isinstance(notice, Durable), notice
            if notice.entries >= entries:
                return notice

    def failed(self) -> Failed:
        """Wait for the failure."""
        while not isinstance(notice := self.next(), Failed):
            pass
        return notice

    @property
    def is_empty(self) -> bool:
        return self._queue.empty()


def event(number: int) -> Event:
    """An event that is known again by its number."""
    return PlayerJoined(at=float(number), match_id=f"R1M{number}", attempt=1, player_id="P01")


def entry(number: int, events: int = 1) -> Entry:
    """An entry of so many events and a secret, all known again by the number."""
    return Entry(tuple(event(number) for _ in range(events)), {f"token/{number}": f"secret {number}"})


def all_shapes() -> tuple[Event, ...]:
    """Events with everything that could suffer from being stored."""
    details = {"drawn_number": 8, "choices": {"P01": "even", "P02": None}, "list": [1, 2.5, True], "text": "π \0 \n 🎲"}
    return (
        Enrolled(at=0.1 + 0.2, agent_id="P01", league_id="Liga ñ", serial=2**40, derived_tokens=True),
        MatchDecided(
            at=1e9 + 1 / 3,
            match_id="R1M1",
            attempt=1,
            status="WIN",
            winner=None,
            points={"P01": 3, "P02": 0},
            reason="",
            game_result=details,
            details={},
        ),
        LeagueEnded(at=0.0, champion="P01"),
    )


@contextmanager
def fast_folder() -> Iterator[Path]:
    """A folder in memory where the system has one: most tests need a file, but no disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        yield Path(folder)


@contextmanager
def locked_by_another(path: Path) -> Iterator[None]:
    """Another program holds the database: commits fail for real, and work again afterwards."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
