"""Journals for tests: what they notify, entries to put into them, disks that refuse, and a process that keeps one, for
tests that end it, fill its disk, or look on: `python -m tests.support.journals append|limit|fill|die PATH`.
"""

from __future__ import annotations

import os
import queue
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import count, groupby
from pathlib import Path
from threading import Condition
from typing import TypeVar

from league.events import Event, LeagueEnded, MatchDecided, PlayerJoined, Registered
from league.machine import Entry
from league.storage import urls
from league.storage.files.journal_files import backup
from league.storage.files.sqlite import Settings, SqliteJournal
from league.storage.notices import Durable, JournalError, Notice, WriteFailed
from league.storage.opening import open_for_writing
from league.storage.reading import JournalReader, open_for_reading
from league.storage.transcripts.transcript import LetterNote

WATCHDOG_S = 120.0
"""No test measures time with it."""
IN_FLIGHT = 64

N = TypeVar("N", Durable, WriteFailed)


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

    def failed(self) -> WriteFailed:
        """Wait for the failure."""
        while not isinstance(notice := self.next(), WriteFailed):
            pass
        return notice

    @property
    def is_empty(self) -> bool:
        return self._queue.empty()


def event(number: int, padding: int = 0) -> Event:
    """An event that is known again by its number."""
    return PlayerJoined(at=float(number), match_id=f"R1M{number}", attempt=1, player_id="P01" + "P" * padding)


def entry(number: int, events: int = 1, padding: int = 0) -> Entry:
    """An entry of so many events and a secret, all known again by the number."""
    return Entry((event(number, padding),) * events, {f"token/{number}": f"secret {number}"})


def make(number: int, padding: int = 0) -> Entry:
    """An entry of 1 + n % 4 events, so that a part of it would show."""
    return entry(number, 1 + number % 4, padding)


def all_shapes() -> tuple[Event, ...]:
    """Events with everything that could suffer from being stored."""
    details = {"drawn_number": 8, "choices": {"P01": "even", "P02": None}, "list": [1, 2.5, True], "text": "π \0 \n 🎲"}
    return (
        Registered(at=0.1 + 0.2, agent_id="P01", league_id="Liga ñ", serial=2**40, derived_tokens=True),
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


# --- a process that keeps a journal -----------------------------------------------------------------------------------


def numbers(journal: JournalReader) -> list[int]:
    """The numbers of the entries in a journal; an AssertionError if one is not whole or has lost its secret."""
    found = []
    for number, events in groupby(journal.events(), key=_number):
        assert len(list(events)) == 1 + number % 4, f"entry {number} is not whole"
        found.append(number)
    assert sorted(journal.secrets(), key=str) == sorted(f"token/{number}" for number in found)
    return found


def _number(event: Event) -> int:
    assert isinstance(event, PlayerJoined)
    return int(event.match_id.removeprefix("R1M"))


def _append_for_ever(location: str) -> None:
    """Keep so many entries in flight; one line for each notice: the last durable entry."""
    changed, durable = Condition(), 0

    def tell(notice: Notice) -> None:
        nonlocal durable
        if isinstance(notice, WriteFailed):
            print(notice.error, file=sys.stderr, flush=True)
            os._exit(1)
        with changed:
            durable = notice.entries
            changed.notify()
        os.write(1, b"%d\n" % (first + durable))

    first = 0
    with open_for_writing(urls.parse(location), tell) as journal:
        first = max(numbers(journal), default=0)
        os.write(1, b"open\n")
        for number in count(first + 1):
            journal.append(make(number))
            journal.note(LetterNote(number, "in", "P01", "PING", f"R1M{number}", "request", "200", b"%d" % number))
            with changed:
                changed.wait_for(lambda: first + durable > number - IN_FLIGHT, WATCHDOG_S)  # noqa: B023


def _overflow(path: Path, fill_up: Callable[[], None], make_room: Callable[[], None], limits: Iterable[str]) -> None:
    """Append until the disk is full for real; then nothing more is taken; then there is room again."""
    notices = Notices()
    with SqliteJournal(path, notices, settings=Settings(transcript="off")) as journal:
        for number in range(1, 11):
            journal.append(make(number))
        durable = notices.durable(10).entries
        fill_up()
        journal.append(make(11, padding=5000))
        while isinstance(failed := notices.next(), Durable):
            durable = failed.entries
            journal.append(make(durable + 1, padding=5000))
        assert any(limit in failed.error for limit in limits), failed
        assert numbers(journal) == list(range(1, durable + 1))
        journal.append(make(1001))
        assert not journal.try_again(failed)
        make_room()
        journal.append(make(1002))
        assert journal.try_again(failed)
        journal.append(make(2000))
        assert notices.durable(1) == Durable(1, 1)
        assert numbers(journal) == [*range(1, durable + 1), 2000]
    with open_for_reading(path) as reader:
        assert numbers(reader) == [*range(1, durable + 1), 2000]


def _limit(path: Path) -> None:
    """No file of this process may grow any more."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_up() -> None:
        size = path.with_name(f"{path.name}-wal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 40_000, hard))

    def make_room() -> None:
        copy = path.with_name("copy.db")
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
        try:
            backup(path, copy)
        except JournalError as error:
            assert "copy.db cannot be written" in str(error)  # noqa: PT017
        assert not list(path.parent.glob("copy.db*")), "half a copy was left"
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

    _overflow(path, fill_up, make_room, ["disk I/O error", "full"])


def _fill(path: Path) -> None:
    """On a small disk that is mounted for this process alone; afterwards it becomes read-only."""
    folder = path.parent
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=True)
    ballast = folder / "ballast"
    ballast.write_bytes(bytes(500_000))
    _overflow(path, lambda: None, ballast.unlink, ["database or disk is full"])
    # Without its companions, for which there will be no room.
    for companion in folder.glob(f"{path.name}-*"):
        companion.unlink()
    subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
    with open_for_reading(path) as reader:
        assert numbers(reader)[-1] == 2000
    try:
        SqliteJournal(path, Notices()).close()
    except JournalError as error:
        assert "cannot be" in str(error)  # noqa: PT017
    else:
        raise AssertionError("a journal on a read-only disk was opened for writing")


def _die(path: Path) -> None:
    """Append one entry at a time until one fails, and die on the spot."""
    notices = Notices()
    journal = SqliteJournal(path, notices)
    for number in count(1):
        journal.append(make(number))
        if not isinstance(notices.next(), Durable):
            os.write(1, b"%d failed\n" % number)
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if sys.argv[1] == "append":
        _append_for_ever(sys.argv[2])
    else:
        {"limit": _limit, "fill": _fill, "die": _die}[sys.argv[1]](Path(sys.argv[2]))
