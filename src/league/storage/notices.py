"""What a journal reports to the shell while it writes, and the errors of one that cannot be opened or read."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class JournalError(Exception):
    """This journal cannot be used; the text is a sentence for people."""


class StorageError(Exception):
    """The journal could not be written; nothing of the failed group was stored."""


UNFIT = (LookupError, AssertionError, AttributeError, TypeError, ValueError)
"""The errors a machine raises when an event is applied that cannot have happened."""


class UnfitEventError(JournalError):
    """This event, though it can be read, cannot have happened after those before it."""

    def __init__(self, seq: int, error: Exception) -> None:
        super().__init__(f"event {seq} does not fit those before it ({error!r})")
        self.seq = seq


class JournalInUseError(JournalError):
    """Another process writes this journal."""


class JournalLostError(StorageError):
    """Nothing more can be stored in this journal: its files were removed or replaced, or it has another writer now."""


class Durable(Struct, frozen=True):
    """The first `entries` entries appended in this epoch are stored for good (`Pump.durable` takes that number)."""

    epoch: int
    entries: int


class WriteFailed(Struct, frozen=True):
    """A group could not be stored, and the epoch is over.

    Neither that group nor anything appended after it is stored, until the caller has gone back to what is durable and
    passes this very notice to `try_again`.
    """

    epoch: int
    error: str
    is_final: bool = False
    """The journal is lost: trying again is in vain."""
    can_read: bool = True
    """False if the journal cannot be read either, until `try_again` returns True."""


Notice = Durable | WriteFailed
Notify = Callable[[Notice], None]
"""Called from the journal's own thread, in order; it must not raise and should only hand the notice over."""
