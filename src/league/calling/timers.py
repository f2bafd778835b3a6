"""Named timers: the next one is found at once, however many there are."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from typing import NamedTuple

Action = Callable[[float], None]


class _Entry(NamedTuple):
    """A timer in the heap: sorted by time, then by the order in which they were set."""

    at: float
    number: int


class _Timer(NamedTuple):
    """A timer that is set: its name, and what to do when it expires."""

    name: Hashable
    action: Action


class Timers:
    """A timer set under a name that is in use replaces the earlier one."""

    def __init__(self) -> None:
        self.next: float | None = None
        """When the next timer expires."""
        # A timer that was cleared stays in the heap until it is the first.
        self._heap: list[_Entry] = []
        self._entries: dict[Hashable, _Entry] = {}
        self._actions: dict[int, _Timer] = {}
        self._count = 0

    def set(self, name: Hashable, at: float, action: Action) -> None:
        earlier = self._entries.get(name)
        if earlier is not None:
            if earlier.at == at:
                # Often a timer is set anew to the same time: its place in the heap stays.
                self._actions[earlier.number] = _Timer(name, action)
                return
            self.clear(name)
        self._count += 1
        entry = _Entry(at, self._count)
        self._entries[name] = entry
        self._actions[self._count] = _Timer(name, action)
        heapq.heappush(self._heap, entry)
        if self.next is None or at < self.next:
            self.next = at

    def clear(self, name: Hashable) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            del self._actions[entry.number]
            if entry is self._heap[0]:
                self._find_next()

    def is_set(self, name: Hashable) -> bool:
        return name in self._entries

    def run(self, now: float) -> None:
        """Act on every timer that has expired, also on those that are set meanwhile."""
        while self.next is not None and self.next <= now:
            expired = self._actions[self._heap[0].number]
            self.clear(expired.name)
            expired.action(now)

    def _find_next(self) -> None:
        while self._heap and self._heap[0].number not in self._actions:
            heapq.heappop(self._heap)
        self.next = None
        if self._heap:
            self.next = self._heap[0].at
