"""The shared files (spec section 13.10) of all agents of a process, written while they work (`--shared DIR`).

Theory of operation. One thread writes for all agents of a process. Each agent has a `Sharing`: its fold (what its files
are), a follower of its journal (what has become durable), and the topics whose files are out of date.

- A journal that grows wakes the thread, which takes in the new events and writes the files they changed. It does so
  at most once a second, and pauses longer after it wrote for long.
- An agent that ends releases its journal, closes it and then waits in `finish` for its last files: the thread is woken
  at once and reads what it has not seen from the closed file.
- If a file cannot be written, its topic stays out of date and is tried again in the next round.

The agents never wait for this thread, except at their end and then not for long: a slow, full or missing disk costs
them nothing but a sentence on stderr. Only the thread touches folds and topics; `wake`, the flags and `finished` are
all that other threads use.
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
from league.features.records.shared.file_folds import FileFold, TranscriptReader, fold_for
from league.features.records.shared.shared_files import UnsafeNameError
from league.machine import Machine
from league.storage.files.replacing import replace_file
from league.storage.group_commit import KeptJournal
from league.storage.notices import JournalError
from league.storage.reading import JournalReader, open_for_reading
from league.storage.transcripts.transcript import LetterNote
from league.storage.urls import Place
from league.storage.volatile import VolatileJournal
from league.terminal import CommandError

PAUSE_S = 1.0
"""No file is written more often than this."""
PAUSE_FACTOR = 4
"""The pause after writing, as a multiple of the time it took: writing never takes more than a fifth of a core."""
FINISH_S = 2.0
"""How long an agent that ends waits for its last files."""
FINISH_WAITS = 5
"""How often it waits that long, as long as files are being written."""

Followed = KeptJournal | VolatileJournal


class Sharing:
    """One agent's part: its fold, its place in the journal, and the topics whose files are out of date."""

    def __init__(self, files: SharedFiles, fold: FileFold, journal: Followed) -> None:
        self.fold = fold
        self.changed: dict[str, None] = {}
        self.is_ending = False
        """The journal is being closed: it can be read again when that is done."""
        self.finished: Future[None] | None = None
        """Set when the journal is closed: done when the last files are written, or cannot be."""
        self._files = files
        self._journal = journal
        self._follower = journal.follow(0, self._wake)
        self._wake()

    def _wake(self) -> None:
        self._files.wake(self)

    def catch_up(self, opened: ExitStack, is_closed: bool) -> TranscriptReader | None:
        """Take in what has become durable; return where the letters are, if they are kept."""
        if isinstance(self._journal, VolatileJournal):
            self._take_all()
            return None
        if not is_closed:
            self._take_all()
            return self._journal
        reopened = _Reopened(self._journal.place, opened)
        try:
            self._take_all()
        except JournalError:  # what it still holds in memory was not enough
            self._take(event for _, event in reopened.reader.events_after(self._follower.position))
        return reopened

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
        """Wait for the last files, now that the journal is closed."""
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
    """A journal that was closed, opened again only if somebody still needs it."""

    def __init__(self, place: Place, opened: ExitStack) -> None:
        self._place = place
        self._opened = opened

    @cached_property
    def reader(self) -> JournalReader:
        return self._opened.enter_context(open_for_reading(self._place))

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
        self.written = 0
        """How many times a file was written."""
        self._warn = warn
        self._pause_s = pause_s
        self._clock = clock or Clock()
        self._warned: set[str] = set()
        self._refused: set[str] = set()
        self._lock = Lock()
        self._woken: dict[Sharing, None] = {}
        self._has_work = Flag()
        self._is_urgent = Flag()
        Thread(target=self._run, name="shared files", daemon=True).start()

    def follow(self, machine: Callable[[], Machine], journal: LiveJournal) -> Sharing:
        """Keep the files of one more agent."""
        assert isinstance(journal, Followed), "every journal of an agent can be followed"
        return Sharing(self, fold_for(machine, self.folder), journal)

    def wake(self, sharing: Sharing) -> None:
        """There may be something to write. May be called from any thread, and never takes long."""
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
            late = [sharing for sharing in self._at_work(behind) if not self._is_written(sharing)]
            # An agent that is ending wakes the thread by itself, when its journal is closed.
            behind = [sharing for sharing in late if not sharing.is_ending]
            if self._warned and not late:
                self._warned.clear()
                self._warn(f"{self.folder}: the shared files are written again")
            duration = self._clock.now() - started
            self._is_urgent.wait(max(self._pause_s, duration * PAUSE_FACTOR))

    def _at_work(self, behind: Iterable[Sharing]) -> Iterable[Sharing]:
        """The agents to look at in this round."""
        # First the flags: whoever raises one from now on is looked at in the next round too.
        self._has_work.clear()
        self._is_urgent.clear()
        with self._lock:
            woken = self._woken
            self._woken = {}
        return {**dict.fromkeys(behind), **woken}

    def _is_written(self, sharing: Sharing) -> bool:
        """Write what changed; False if some of it could not be."""
        finished = sharing.finished  # it may come while we write: then it is for the next round
        is_readable = finished is not None or not sharing.is_ending
        try:
            if is_readable:
                with ExitStack() as opened:
                    self._write(sharing, sharing.catch_up(opened, finished is not None))
        except JournalError as error:
            # A journal may be closed while we read it. That does no harm: `finish` comes next.
            if finished is not None or not sharing.is_ending:
                self.warn_once(f"the shared files are not up to date: {error}")
            return False
        finally:
            if finished is not None:
                _resolve(finished)
        return not sharing.changed

    def _write(self, sharing: Sharing, transcript: TranscriptReader | None) -> None:
        for topic in list(sharing.changed):
            try:
                self._write_topic(topic, sharing.fold, transcript)
            except UnsafeNameError as error:
                self._refuse(str(error))
            except OSError as error:
                reason = error.strerror or error
                self.warn_once(f"{self.folder}: shared files cannot be written: {reason}; trying again")
                continue
            del sharing.changed[topic]

    def _write_topic(self, topic: str, fold: FileFold, transcript: TranscriptReader | None) -> None:
        file = fold.file(topic, transcript)
        if file is not None:
            place, content = file
            replace_file(self.folder / place, content, sync=False)
            self.written += 1

    def _refuse(self, sentence: str) -> None:
        """Warn about an id that cannot be a file name: once, however many files it would have been."""
        if sentence not in self._refused:
            self._refused.add(sentence)
            self._warn(f"a shared file is left out: {sentence}")


def _resolve(finished: Future[None]) -> None:
    # The agent that waited may be gone, or its loop.
    with suppress(InvalidStateError, RuntimeError):
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
    """Report at the start what would fail later."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except FileExistsError as error:
        raise CommandError(f"{folder} is a file; --shared needs a folder") from error
    except OSError as error:
        raise CommandError(f"{folder} cannot be written: {error.strerror or error}") from error
