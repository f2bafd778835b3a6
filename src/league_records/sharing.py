"""The shared files (spec section 8.14) of all agents of a process, written while they work (`--shared DIR`).

One thread follows their journals and writes what changed. The agents never wait for it: a disk that is slow, full or
gone costs them nothing but a sentence on stderr.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import ExitStack, suppress
from functools import cached_property
from pathlib import Path
from threading import Event as Flag
from threading import Lock, Thread

from league.agent.recovery import LiveJournal
from league.agent.sources import Clock
from league.events import Event
from league.machine import Machine
from league.storage.notices import JournalError
from league.storage.reading import JournalReader, open_for_reading
from league.storage.replacing import replace_file
from league.storage.sqlite import SqliteJournal
from league.storage.transcript import LetterNote
from league.storage.volatile import VolatileJournal
from league.terminal import CommandError
from league_records.live_files import FileFold, TranscriptReader, fold_for
from league_records.shared_files import UnsafeNameError

PAUSE_S = 1.0
"""No file is written more often than this."""
PAUSE_FACTOR = 4
"""After writing for a while, pause so many times as long: writing never takes more than a fifth of a core."""
FINISH_S, FINISH_WAITS = 2.0, 5
"""An agent that ends waits so long for its last files, and again while files are written, at most so many times."""

Followed = SqliteJournal | VolatileJournal


class Sharing:
    """One agent's part: its fold, its place in the journal, and the topics whose files are out of date."""

    def __init__(self, files: SharedFiles, fold: FileFold, journal: Followed) -> None:
        self.fold = fold
        self.changed: dict[str, None] = {}
        self.is_ending = False
        """The journal is being closed: it can be read again when that is done."""
        self.finished: Future[None] | None = None
        """Set when the journal is closed: done when the last files are written, or cannot be."""
        self._files, self._journal = files, journal
        self._follower = journal.follow(0, self._wake)
        self._wake()

    def _wake(self) -> None:
        self._files.wake(self)

    def catch_up(self, opened: ExitStack, is_closed: bool) -> TranscriptReader | None:
        """Take in what has become durable; where the letters are, if they are kept."""
        if isinstance(self._journal, VolatileJournal) or not is_closed:
            self._take_all()
            return None if isinstance(self._journal, VolatileJournal) else self._journal
        again = _Reopened(self._journal.path, opened)
        try:
            self._take_all()
        except JournalError:  # what it still holds in memory was not enough
            self._take(event for _, event in again.reader.events_after(self._follower.position))
        return again

    def _take_all(self) -> None:
        while pairs := self._follower.take():
            self._take(event for _, event in pairs)

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            self.changed.update(dict.fromkeys(self.fold.apply(event)))

    def release_journal(self) -> None:
        """Leave the journal alone: it will be closed."""
        self.is_ending = True
        self._follower.close()

    async def finish(self) -> None:
        """Write the last files, now that the journal is closed."""
        self.finished = Future()
        self._wake()
        done = asyncio.wrap_future(self.finished)
        for _ in range(FINISH_WAITS):
            written = self._files.written
            await asyncio.wait((done,), timeout=FINISH_S)
            if done.done() or self._files.written == written:
                break
        if not done.done():
            self._files.warn_once("the shared files are not up to date: they could not be written in time")


class _Reopened:
    """A journal that was closed, for whoever still needs its letters."""

    def __init__(self, path: Path, opened: ExitStack) -> None:
        self._path, self._opened = path, opened

    @cached_property
    def reader(self) -> JournalReader:
        return self._opened.enter_context(open_for_reading(self._path))

    def letters(self, match_id: str | None = None) -> Iterator[LetterNote]:
        return self.reader.letters(match_id)

    def remarks(self) -> Iterator[LetterNote]:
        return self.reader.remarks()


class SharedFiles:
    """The folder and the thread that writes there. `clock` measures how long that takes."""

    def __init__(
        self, folder: Path, warn: Callable[[str], None], pause_s: float = PAUSE_S, clock: Clock | None = None
    ) -> None:
        self.folder = folder
        self._warn, self._pause_s, self._clock = warn, pause_s, clock or Clock()
        self.written = 0
        """How many times a file was written."""
        self._warned: set[str] = set()
        self._refused: set[str] = set()
        self._lock = Lock()
        self._woken: dict[Sharing, None] = {}
        self._has_work, self._is_urgent = Flag(), Flag()
        Thread(target=self._run, name="shared files", daemon=True).start()

    def follow(self, machine: Callable[[], Machine], journal: LiveJournal) -> Sharing:
        """Keep the files of one more agent."""
        assert isinstance(journal, Followed), "every journal of an agent can be followed"
        return Sharing(self, fold_for(machine, self.folder), journal)

    def wake(self, sharing: Sharing) -> None:
        """There may be something to write; from any thread, and never slow."""
        with self._lock:
            self._woken[sharing] = None
        self._has_work.set()
        if sharing.finished is not None:
            self._is_urgent.set()

    def warn_once(self, sentence: str) -> None:
        """Say it once, until all is well again."""
        if sentence not in self._warned:
            self._warned.add(sentence)
            self._warn(sentence)

    # --- the thread ---------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        behind: list[Sharing] = []
        while True:
            if not behind:
                self._has_work.wait()
            started = self._clock.now()
            late = [one for one in self._at_work(behind) if not self._is_written(one)]
            behind = [one for one in late if not one.is_ending]
            if self._warned and not late:
                self._warned.clear()
                self._warn(f"{self.folder}: the shared files are written again")
            took = self._clock.now() - started
            self._is_urgent.wait(max(self._pause_s, took * PAUSE_FACTOR))

    def _at_work(self, behind: Iterable[Sharing]) -> Iterable[Sharing]:
        # First the flags: whoever raises one from now on is looked at in the next round too.
        self._has_work.clear()
        self._is_urgent.clear()
        with self._lock:
            woken, self._woken = self._woken, {}
        return {**dict.fromkeys(behind), **woken}

    def _is_written(self, one: Sharing) -> bool:
        """Write what changed; False if some of it could not be."""
        finished = one.finished  # it may come while we write: then it is for the next round
        try:
            if finished is not None or not one.is_ending:
                with ExitStack() as opened:
                    self._write(one, one.catch_up(opened, finished is not None))
        except JournalError as error:
            # A journal that is closed while we read it is no trouble: `finish` comes next.
            if finished is not None or not one.is_ending:
                self.warn_once(f"the shared files are not up to date: {error}")
            return False
        finally:
            if finished is not None:
                _resolve(finished)
        return not one.changed

    def _write(self, one: Sharing, transcript: TranscriptReader | None) -> None:
        for topic in list(one.changed):
            try:
                file = one.fold.file(topic, transcript)
                if file is not None:
                    replace_file(self.folder / file[0], file[1], sync=False)
                    self.written += 1
            except UnsafeNameError as error:
                self._refuse(str(error))
            except OSError as error:
                self.warn_once(
                    f"{self.folder}: shared files cannot be written: {error.strerror or error}; trying again"
                )
                continue
            del one.changed[topic]

    def _refuse(self, sentence: str) -> None:
        """An id that is no name is told once, however many files it would have been."""
        if sentence not in self._refused:
            self._refused.add(sentence)
            self._warn(f"a shared file is left out: {sentence}")


def _resolve(finished: Future[None]) -> None:
    with suppress(InvalidStateError, RuntimeError):  # whoever waited is gone, or its loop is
        if not finished.done():
            finished.set_result(None)


def open_shared(folder: str | None, journal_folder: Path | None, warn: Callable[[str], None]) -> SharedFiles:
    """The files of this folder, which must be writable; or, if none is named, those beside the journal.

    Nobody asked for the files beside the journal, so that folder is not checked.
    """
    if folder is not None:
        check_folder(Path(folder))
        return SharedFiles(Path(folder), warn)
    assert journal_folder is not None, "a manager has a journal"
    return SharedFiles(journal_folder, warn)


def check_folder(folder: Path) -> None:
    """Say at the start what would fail later."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except FileExistsError as error:
        raise CommandError(f"{folder} is a file; --shared needs a folder") from error
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {error.strerror or error}") from error
