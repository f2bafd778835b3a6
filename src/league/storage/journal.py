"""The contract of a journal, how events are encoded, and a journal in memory for simulations.

Entries are appended in order and become durable in groups; what was durable is never lost. One entry holds all events
and secrets of one step: they become durable together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from league.events import EVENTS, Event


class Entry(msgspec.Struct, frozen=True):
    """What one step made true."""

    events: tuple[Event, ...]
    secrets: Mapping[str, str] = {}


class Journal(Protocol):
    """What the shell needs of a journal."""

    def append(self, entry: Entry) -> None:
        """Queue an entry behind all earlier ones."""
        ...

    def events(self) -> Iterator[Event]:
        """All durable events, in order."""
        ...

    def secrets(self) -> Mapping[str, str]:
        """All durable secrets, the newest value of each name."""
        ...


class StorageError(Exception):
    """The journal could not be written; nothing of the failed group was stored."""


_ENCODER = msgspec.json.Encoder()


def encode(event: Event) -> bytes:
    """An event as it is stored."""
    return _ENCODER.encode(event)


def decode(raw: bytes) -> Event:
    """A stored event."""
    # The union of all events is known only at run time; each decodes to its own class by its tag.
    event: Event = _DECODER.decode(raw)
    return event


def _decoder() -> msgspec.json.Decoder[Event]:
    union = EVENTS[0]
    for one in EVENTS[1:]:
        union = union | one  # type: ignore[assignment]  # a union built from a tuple has no static type
    return msgspec.json.Decoder(union)


_DECODER = _decoder()


class MemoryJournal:
    """A journal in memory, with the failures a disk has: what is not synced is lost in a crash, and a sync may fail.

    Events are kept encoded: what a restart reads back went through the same codec as on a disk.
    """

    def __init__(self) -> None:
        self._durable: list[tuple[list[bytes], Mapping[str, str]]] = []
        self._queued: list[tuple[list[bytes], Mapping[str, str]]] = []

    def append(self, entry: Entry) -> None:
        self._queued.append((list(map(encode, entry.events)), dict(entry.secrets)))

    def sync(self) -> int:
        """Make everything queued durable; the number of durable entries."""
        self._durable += self._queued
        self._queued = []
        return len(self._durable)

    def crash(self) -> None:
        """The process died: what was queued is gone."""
        self._queued = []

    def fail(self) -> None:
        """A group could not be written: nothing of it was stored."""
        self._queued = []

    @property
    def entries(self) -> int:
        return len(self._durable)

    @property
    def dirty(self) -> bool:
        """Is anything waiting for a sync?"""
        return bool(self._queued)

    def events(self) -> Iterator[Event]:
        return (event for stored in self.stored() for event in stored)

    def stored(self) -> Iterator[tuple[Event, ...]]:
        """The durable events, entry by entry."""
        return (tuple(map(decode, stored)) for stored, _ in self._durable)

    def lines(self) -> Sequence[bytes]:
        """The durable events as stored: two equal runs have equal lines."""
        return [line for stored, _ in self._durable for line in stored]

    def secrets(self) -> Mapping[str, str]:
        return {name: value for _, secrets in self._durable for name, value in secrets.items()}
