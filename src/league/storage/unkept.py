"""A journal for agents that keep none: everything is durable at once and gone with the process."""

from __future__ import annotations

from collections.abc import Callable

from league.events import Event
from league.storage.journal import Entry, MemoryJournal, decode
from league.storage.notices import Durable, Failed, Notify
from league.storage.reading import Follower
from league.storage.transcript import LetterNote


class UnkeptJournal(MemoryJournal):
    """Like the journal on disk, without the disk."""

    is_full = False
    keeps_letters = False

    def __init__(self, notify: Notify) -> None:
        super().__init__()
        self._notify = notify
        self._lines: list[bytes] = []
        self._followers: tuple[Follower, ...] = ()

    def append(self, entry: Entry) -> None:
        super().append(entry)
        entries = self.sync()
        self._lines += self._durable[-1][0]
        self._notify(Durable(0, entries))
        for follower in self._followers:
            follower.wake()

    def note(self, letter: LetterNote) -> None:
        """Nobody reads the transcript of a journal that is not kept."""

    def try_again(self, failed: Failed) -> bool:
        return True

    def follow(self, after: int, wake: Callable[[], None]) -> Follower:
        """Follow the events after that number, from any thread; `wake` is called by whoever appends."""
        follower = Follower(after, wake, self._read, self._leave)
        self._followers = (*self._followers, follower)
        return follower

    def close(self) -> None:
        """There is nothing to close."""

    def _read(self, after: int, limit: int) -> list[tuple[int, Event]]:
        # The list only grows, so that a slice of it is safe to take while another thread appends.
        lines = self._lines[after : after + limit]
        return [(seq, decode(line)) for seq, line in enumerate(lines, start=after + 1)]

    def _leave(self, follower: Follower) -> None:
        self._followers = tuple(one for one in self._followers if one is not follower)
