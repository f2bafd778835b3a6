"""A process that keeps a journal, for tests that end it, fill its disk, or look on:
`python -m tests.support.journal_process append|limit|fill|die PATH`.

Entry n has 1 + n % 4 events, the secret token/n and a letter, so that a part of it would show.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from threading import Condition

from league.events import Event, PlayerJoined
from league.storage.files import backup
from league.storage.journal import Entry
from league.storage.notices import Durable, JournalError, Notice
from league.storage.reading import JournalReader, open_for_reading
from league.storage.sqlite import Settings, SqliteJournal
from league.storage.transcript import LetterNote
from tests.support.journals import WATCHDOG_S, Notices

IN_FLIGHT = 64


def make(number: int, padding: int = 0) -> Entry:
    """The entry of that number."""
    one = PlayerJoined(at=float(number), match_id=f"R1M{number}", attempt=1, player_id="P" * (1 + padding))
    return Entry((one,) * (1 + number % 4), {f"token/{number}": f"secret {number}"})


def numbers(journal: JournalReader) -> list[int]:
    """The numbers of the entries in a journal; an AssertionError if one is not whole or has lost its secret."""
    found = []
    for number, events in groupby(journal.events(), key=_number):
        assert len(list(events)) == 1 + number % 4, f"entry {number} is not whole"
        found.append(number)
    assert sorted(journal.secrets()) == sorted(f"token/{number}" for number in found)
    return found


def _number(event: Event) -> int:
    assert isinstance(event, PlayerJoined)
    return int(event.match_id.removeprefix("R1M"))


def _append_for_ever(path: Path) -> None:
    """Keep so many entries in flight; one line for each notice: the last durable entry."""
    changed, durable = Condition(), 0

    def tell(notice: Notice) -> None:
        nonlocal durable
        assert isinstance(notice, Durable), notice
        with changed:
            durable = notice.entries
            changed.notify()
        os.write(1, b"%d\n" % (first + durable))

    first = 0
    with SqliteJournal(path, tell) as journal:
        first = max(numbers(journal), default=0)
        os.write(1, b"open\n")
        for number in _without_end(first + 1):
            journal.append(make(number))
            journal.note(LetterNote(number, "in", "P01", "PING", f"R1M{number}", "request", "200", b"%d" % number))
            with changed:
                changed.wait_for(lambda: first + durable > number - IN_FLIGHT, WATCHDOG_S)  # noqa: B023


def _without_end(start: int) -> Iterator[int]:
    while True:
        yield start
        start += 1


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
    for number in _without_end(1):
        journal.append(make(number))
        if not isinstance(notices.next(), Durable):
            os.write(1, b"%d failed\n" % number)
            os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    {"append": _append_for_ever, "limit": _limit, "fill": _fill, "die": _die}[sys.argv[1]](Path(sys.argv[2]))
