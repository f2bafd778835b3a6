"""The thread behind `--shared`: it writes seldom, gives up never, and nobody waits for it."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from threading import Event as Flag

import pytest

from league.events import Event
from league.features.records.shared import sharing
from league.features.records.shared.file_folds import TranscriptReader
from league.features.records.shared.shared_files import File, path_of
from league.features.records.shared.sharing import SharedFiles, Sharing
from league.machine import Entry
from league.storage.files.sqlite import Settings, SqliteJournal
from league.storage.volatile import VolatileJournal
from tests.support.journals import WATCHDOG_S, Notices, entry

NEVER = 3600.0
"""Seconds that no test waits for."""
AT_ONCE = 0.001


class Counting:
    """A fold with one file, which holds how many events there were; and how often it was asked for."""

    def __init__(self, place: PurePosixPath | None = None) -> None:
        self.events = 0
        self.asked: queue.Queue[int] = queue.Queue()
        self.goes_on = Flag()
        self.goes_on.set()
        self._place = place or path_of("count")

    def apply(self, _: Event) -> Iterable[str]:
        self.events += 1
        return ("count",)

    def file(self, _: str, __: TranscriptReader | None) -> File | None:
        self.asked.put(self.events)
        assert self.goes_on.wait(WATCHDOG_S)
        return self._place, str(self.events).encode()

    def was_asked(self) -> int:
        """Wait for the next time; how many events there were then."""
        return self.asked.get(timeout=WATCHDOG_S)


class Said:
    """The sentences for people."""

    def __init__(self) -> None:
        self._queue: queue.Queue[str] = queue.Queue()
        self.all: list[str] = []

    def __call__(self, sentence: str) -> None:
        self.all.append(sentence)
        self._queue.put(sentence)

    def next(self) -> str:
        return self._queue.get(timeout=WATCHDOG_S)


def volatile() -> VolatileJournal:
    journal = VolatileJournal()
    journal.append(entry(1))
    return journal


def end(one: Sharing) -> None:
    one.release_journal()
    asyncio.run(one.finish())


def test_a_busy_agent_is_written_once_and_once_more_at_its_end(tmp_path: Path) -> None:
    fold, journal, said = Counting(), volatile(), Said()
    one = Sharing(SharedFiles(tmp_path, said, pause_s=NEVER), fold, journal)
    assert fold.was_asked() == 1
    for number in range(2, 101):
        journal.append(entry(number))
    end(one)
    assert fold.was_asked() == 100
    assert fold.asked.empty()
    assert (tmp_path / "count").read_text(encoding="utf-8") == "100"
    assert said.all == []


@pytest.mark.parametrize("in_memory", [4 << 20, 0])
def test_what_is_on_disk_is_shared_to_the_last_event_when_its_journal_is_closed(tmp_path: Path, in_memory: int) -> None:
    fold, notices = Counting(), Notices()
    journal = SqliteJournal(tmp_path / "journal.db", notices, settings=Settings(recent_bytes=in_memory))
    journal.append(entry(1))
    notices.durable(1)
    one = Sharing(SharedFiles(tmp_path / "out", Said(), pause_s=NEVER), fold, journal)
    assert fold.was_asked() == 1
    one.release_journal()
    for number in range(2, 1201):
        journal.append(Entry(entry(number).events))
    journal.close()
    asyncio.run(one.finish())
    assert (tmp_path / "out" / "count").read_text(encoding="utf-8") == "1200"


def test_an_agent_that_came_back_is_shared_from_its_first_event_on(tmp_path: Path) -> None:
    fold, journal = Counting(), volatile()
    for number in range(2, 1501):
        journal.append(entry(number))
    end(Sharing(SharedFiles(tmp_path, Said()), fold, journal))
    assert (tmp_path / "count").read_text(encoding="utf-8") == "1500"


def test_several_agents_share_one_thread(tmp_path: Path) -> None:
    files = SharedFiles(tmp_path, Said(), pause_s=NEVER)
    folds = [Counting(path_of(f"count-{number}")) for number in range(20)]
    for one in [Sharing(files, fold, volatile()) for fold in folds]:
        end(one)
    assert {path.name for path in tmp_path.iterdir()} == {f"count-{number}" for number in range(20)}


def test_a_folder_that_cannot_be_written_is_told_once_and_tried_until_it_can(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("in the way", encoding="utf-8")
    fold, said = Counting(path_of("in", "count")), Said()
    one = Sharing(SharedFiles(tmp_path, said, pause_s=AT_ONCE), fold, volatile())
    assert "cannot be written" in said.next()
    for _ in range(5):
        fold.was_asked()
    assert len(said.all) == 1
    (tmp_path / "in").unlink()
    assert "written again" in said.next()
    end(one)
    assert (tmp_path / "in" / "count").read_text(encoding="utf-8") == "1"


def test_nobody_waits_for_a_disk_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "FINISH_S", AT_ONCE)
    fold, journal, said = Counting(), volatile(), Said()
    fold.goes_on.clear()
    one = Sharing(SharedFiles(tmp_path, said), fold, journal)
    fold.was_asked()
    for number in range(2, 101):
        journal.append(entry(number))
    end(one)
    assert said.all == ["the shared files are not up to date: they could not be written in time"]
    fold.goes_on.set()


@pytest.mark.parametrize("name", ["..", "../../evil", "/etc", "a/b", ".hidden", "", "a\0b", "x" * 200])
def test_an_id_that_is_no_name_is_left_out_and_told_once(tmp_path: Path, name: str) -> None:
    class Hostile(Counting):
        def file(self, topic: str, transcript: TranscriptReader | None) -> File | None:
            _, data = super().file(topic, transcript) or (None, b"")
            return path_of("players", name, "history.json"), data

    fold, said, folder = Hostile(), Said(), tmp_path / "deep" / "down"
    files = SharedFiles(folder, said)
    end(Sharing(files, fold, volatile()))
    end(Sharing(files, fold, volatile()))
    (told,) = said.all
    assert "no file or folder can be named" in told
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == []
