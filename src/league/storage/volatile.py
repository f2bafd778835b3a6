"""A journal for agents that keep none: entries count as durable at once, and are gone with the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from league.events import Event
from league.machine import Entry, JournalHead
from league.storage.journal import decode, encode
from league.storage.notices import WriteFailed
from league.storage.reading import Follower, Followers
from league.storage.transcripts.transcript import LetterNote


class VolatileJournal:
    """Has the interface of the journal on disk, but is kept in memory only: there is nothing to wait for."""

    is_volatile = True
    is_full = False
    keeps_letters = False
    head: JournalHead | None = None
    """There is no chain."""
    has_lease = False
    is_confirmed = True

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._secrets: dict[str, str] = {}
        self._followers = Followers()

    def append(self, entry: Entry) -> None:
        self._lines += list(map(encode, entry.events))
        self._secrets.update(entry.secrets)
        self._followers.wake()

    enqueue = append

    def events(self) -> Iterator[Event]:
        return map(decode, self._lines)

    def secrets(self) -> Mapping[str, str]:
        return dict(self._secrets)

    def wake_writer(self) -> None:
        """Nothing is queued."""

    def note(self, letter: LetterNote) -> None:
        """Nobody reads the transcript of a journal that is not kept."""

    def is_ours(self) -> bool:
        return True

    def try_again(self, failed: WriteFailed) -> bool:
        return True

    def follow(self, after: int, wake: Callable[[], None]) -> Follower:
        """Follow the events after that number, from any thread; `append` calls `wake`."""
        return self._followers.add(after, wake, self._read)

    def close(self) -> None:
        """There is nothing to close."""

    def _read(self, after: int, limit: int) -> list[tuple[int, Event]]:
        # The list only grows, so that a slice of it is safe to take while another thread appends.
        lines = self._lines[after : after + limit]
        return [(seq, decode(line)) for seq, line in enumerate(lines, start=after + 1)]
