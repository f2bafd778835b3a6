"""The journal as the shell uses it, and what it remembers to go on after a fault: how far the journal is, and how long
to rest after a bug."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

from league.storage.journal import Entry, Journal
from league.storage.notices import WriteFailed
from league.storage.transcript import LetterNote

TRY_DISK_S = 1.0
LONGEST_REST_S = 60.0
"""After a bug that came back again and again."""


class LiveJournal(Journal, Protocol):
    """A journal that says by itself what became durable, unless it is volatile: then everything is at once."""

    @property
    def is_volatile(self) -> bool: ...

    @property
    def is_full(self) -> bool: ...

    @property
    def keeps_letters(self) -> bool: ...

    def enqueue(self, entry: Entry) -> None: ...

    def wake_writer(self) -> None: ...

    def note(self, letter: LetterNote) -> None: ...

    def try_again(self, failed: WriteFailed) -> bool: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class JournalPosition:
    """How far the journal is: entries appended and durable since the pump was built (`base`) in this `epoch`, and the
    number of the newest event the machine knows."""

    epoch: int = 0
    appended: int = 0
    durable: int = 0
    base: int = 0
    seq: int = 0
    lost: str = ""
    """Why nothing can be stored any more: its files were removed or replaced."""

    def restart(self) -> None:
        """Nothing is appended to the journal that was opened anew."""
        self.appended = self.durable = self.base = 0


@dataclass(slots=True)
class BugBackoff:
    """After a bug of ours the machine is built anew; one that comes back at once must fill neither the log nor the
    processor."""

    is_broken: bool = False
    delay_s: float = TRY_DISK_S
    last_at: float = -math.inf

    def hit(self, now: float) -> None:
        calm = now - self.last_at > LONGEST_REST_S
        self.delay_s = TRY_DISK_S if calm else min(2 * self.delay_s, LONGEST_REST_S)
        self.last_at, self.is_broken = now, True
