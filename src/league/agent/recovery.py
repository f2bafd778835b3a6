"""The journal as the shell uses it, and the shell's memory for going on after a fault: how far the journal is, and how
long to rest after a bug."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct, field

from league.machine import Entry, JournalHead
from league.storage.journal import Journal
from league.storage.notices import WriteFailed
from league.storage.transcripts.transcript import LetterNote

TRY_DISK_S = 1.0
LONGEST_REST_S = 60.0
"""The longest rest after a bug that keeps coming back."""


class LiveJournal(Journal, Protocol):
    """A journal that reports what became durable, unless it is volatile: then everything is durable at once."""

    @property
    def is_volatile(self) -> bool: ...

    @property
    def is_full(self) -> bool: ...

    @property
    def has_lease(self) -> bool:
        """True if the journal is ours only as long as we keep confirming it."""

    @property
    def is_confirmed(self) -> bool:
        """True while nobody else can have written the journal."""

    def is_ours(self) -> bool:
        """Find out whether the journal is still ours after a standstill of this process."""

    @property
    def keeps_letters(self) -> bool: ...

    @property
    def head(self) -> JournalHead | None:
        """The end of its chain, as far as it is durable; None if it has none."""

    def enqueue(self, entry: Entry) -> None: ...

    def wake_writer(self) -> None: ...

    def note(self, letter: LetterNote) -> None: ...

    def try_again(self, failed: WriteFailed) -> bool: ...

    def close(self) -> None: ...


class JournalPosition(Struct):
    """How far the journal is: entries appended and durable since the pump was built (`base`) in this `epoch`, and the
    number of the newest event the machine knows."""

    epoch: int = 0
    appended: int = 0
    durable: int = 0
    base: int = 0
    seq: int = 0
    lost: str = ""
    """Why nothing can be stored any more: its files were removed or replaced, or it has another writer."""
    retry: asyncio.Task[None] | None = None
    """Tries to write again after a failure."""
    untold: deque[tuple[int, Callable[[], None]]] = field(default_factory=deque)
    """What people are told as soon as so many entries are durable."""

    def restart(self) -> None:
        """Begin to count anew: whatever was appended and not durable is dropped, and nobody is told of it."""
        self.untold.clear()
        self.appended = 0
        self.durable = 0
        self.base = 0


class BugBackoff(Struct):
    """After a bug of ours the machine is built anew; a bug that comes back at once must fill neither the log nor the
    processor."""

    is_broken: bool = False
    delay_s: float = TRY_DISK_S
    last_at: float = -math.inf

    def hit(self, now: float) -> None:
        self.is_broken = True
        # After a long calm it is another bug, or other bad luck: the rest begins small again.
        if now - self.last_at > LONGEST_REST_S:
            self.delay_s = TRY_DISK_S
        else:
            self.delay_s = min(2 * self.delay_s, LONGEST_REST_S)
        self.last_at = now
