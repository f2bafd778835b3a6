"""What a journal reports to the shell while it writes, and the error of a journal that cannot be opened or read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class JournalError(Exception):
    """This journal cannot be used; the text is a sentence for people."""


@dataclass(frozen=True, slots=True)
class Durable:
    """The first `entries` entries appended in this epoch are stored for good (`Pump.durable` takes that number)."""

    epoch: int
    entries: int


@dataclass(frozen=True, slots=True)
class WriteFailed:
    """A group could not be stored, and the epoch is over.

    Neither that group nor anything appended after it is stored, until whoever appends has gone back to what is durable
    and shows this very notice to `try_again`.
    """

    epoch: int
    error: str


Notice = Durable | WriteFailed
Notify = Callable[[Notice], None]
"""Called from the journal's own thread, in order; it must not raise and should only hand the notice over."""
