"""A journal for agents that keep none: everything is durable at once and gone with the process."""

from __future__ import annotations

from league.storage.journal import Entry, MemoryJournal
from league.storage.notices import Durable, Failed, Notify
from league.storage.transcript import LetterNote


class UnkeptJournal(MemoryJournal):
    """Like the journal on disk, without the disk."""

    is_full = False
    keeps_letters = False

    def __init__(self, notify: Notify) -> None:
        super().__init__()
        self._notify = notify

    def append(self, entry: Entry) -> None:
        super().append(entry)
        self._notify(Durable(0, self.sync()))

    def note(self, letter: LetterNote) -> None:
        """Nobody reads the transcript of a journal that is not kept."""

    def try_again(self, failed: Failed) -> bool:
        return True

    def close(self) -> None:
        """There is nothing to close."""
