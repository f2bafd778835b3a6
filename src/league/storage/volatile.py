"""A journal for agents that keep none: what is appended counts as durable at once, and is gone with the process."""

from __future__ import annotations

from collections.abc import Callable

from league.events import Event
from league.storage.journal import Entry, MemoryJournal, decode
from league.storage.notices import Durable, Notify, WriteFailed
from league.storage.reading import Follower, Followers
from league.storage.transcript import LetterNote


class VolatileJournal(MemoryJournal):
    """Has the interface of the journal on disk, but is kept in memory only."""

    is_full = False
    keeps_letters = False

    def __init__(self, notify: Notify) -> None:
        super().__init__()
        self._notify = notify
        self._lines: list[bytes] = []
        self._followers = Followers()

    def append(self, entry: Entry) -> None:
        super().append(entry)
        entries = self.sync()
        self._lines += self._durable[-1][0]
        self._notify(Durable(0, entries))
        self._followers.wake()

    def enqueue(self, entry: Entry) -> None:
        """There is no disk to wait for."""
        self.append(entry)

    def wake_writer(self) -> None:
        """Nothing is queued."""

    def note(self, letter: LetterNote) -> None:
        """Nobody reads the transcript of a journal that is not kept."""

    def try_again(self, failed: WriteFailed) -> bool:
        return True

    def follow(self, after: int, wake: Callable[[], None]) -> Follower:
        """Follow the events after that number, from any thread; `wake` is called by whoever appends."""
        return self._followers.add(after, wake, self._read)

    def close(self) -> None:
        """There is nothing to close."""

    def _read(self, after: int, limit: int) -> list[tuple[int, Event]]:
        # The list only grows, so that a slice of it is safe to take while another thread appends.
        lines = self._lines[after : after + limit]
        return [(seq, decode(line)) for seq, line in enumerate(lines, start=after + 1)]
