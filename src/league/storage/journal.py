"""The contract of a journal, how events are encoded, and a journal in memory for simulations.

Entries are appended in order and become durable in groups; what was durable is never lost. One entry holds all events
and secrets of one step: they become durable together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Protocol

import msgspec

from league.events import EVENTS, Event
from league.machine import Entry
from league.protocol.wire.strict_json import is_too_deep


class Journal(Protocol):
    """The part of a journal that the shell needs."""

    def append(self, entry: Entry) -> None:
        """Queue an entry behind all earlier ones."""
        ...

    def events(self) -> Iterator[Event]:
        """All durable events, in order."""
        ...

    def secrets(self) -> Mapping[str, str]:
        """All durable secrets, the newest value of each name."""
        ...


_ENCODER = msgspec.json.Encoder()


def encode(event: Event) -> bytes:
    """Encode an event as it is stored."""
    return _ENCODER.encode(event)


MAX_DEPTH = 32
"""An event holds at most a match record, and that holds messages (`strict_json.MAX_DEPTH`)."""
LATEST = 253402300799.0
"""The last second of the year 9999: no later time can be written."""


def decode(raw: bytes) -> Event:
    """Decode a stored event; ValueError or TypeError if it is not one."""
    if not isinstance(raw, bytes):
        raise TypeError(f"{type(raw).__name__} instead of bytes")  # a database gives what it holds
    if is_too_deep(raw, MAX_DEPTH):
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    try:
        # The union of all events is known only at run time; each decodes to its own class by its tag.
        event: Event = _decoder().decode(raw)
    except msgspec.ValidationError:
        event = _translated(raw)
    if not 0 <= event.at <= LATEST:
        raise ValueError(f"{event.at} is not a time")
    return event


def _translated(raw: bytes) -> Event:
    """Read an event that only earlier versions wrote; ValueError if it is none of those."""
    from league.storage.retired import translated  # imported here because few journals have such an event

    meaning = translated(msgspec.json.decode(raw))
    if isinstance(meaning, Event):
        return meaning
    return _decoder().decode(raw if meaning is None else msgspec.json.encode(meaning))


@cache
def _decoder() -> msgspec.json.Decoder[Event]:
    """Made when the first event is read: it takes milliseconds, and an agent without a journal never needs it."""
    union = EVENTS[0]
    for kind in EVENTS[1:]:
        union = union | kind  # type: ignore[assignment]  # a union built from a tuple has no static type
    return msgspec.json.Decoder(union)


class _StoredEntry(msgspec.Struct):
    lines: list[bytes]
    secrets: Mapping[str, str]


class MemoryJournal:
    """A journal in memory, with the failures a disk has: what is not synced is lost in a crash, and a sync may fail.

    Events are kept encoded: what a restart reads back went through the same codec as on a disk.
    """

    has_lease = False
    is_confirmed = True

    def __init__(self) -> None:
        self._durable: list[_StoredEntry] = []
        self._queued: list[_StoredEntry] = []

    def append(self, entry: Entry) -> None:
        self._queued.append(_StoredEntry(list(map(encode, entry.events)), dict(entry.secrets)))

    def is_ours(self) -> bool:
        """Nobody else could write it."""
        return True

    def sync(self) -> int:
        """Make everything queued durable; return the number of durable entries."""
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
        """True while something waits for a sync."""
        return bool(self._queued)

    def events(self) -> Iterator[Event]:
        return map(decode, self.lines())

    def stored(self) -> Iterator[tuple[Event, ...]]:
        """The durable events, entry by entry."""
        return (tuple(map(decode, entry.lines)) for entry in self._durable)

    def lines(self) -> Sequence[bytes]:
        """The durable events as stored: two equal runs have equal lines."""
        return [line for entry in self._durable for line in entry.lines]

    def secrets(self) -> Mapping[str, str]:
        secrets: dict[str, str] = {}
        for entry in self._durable:
            secrets.update(entry.secrets)
        return secrets
