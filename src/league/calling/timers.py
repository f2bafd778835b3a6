"""Named timers: the next one is found at once, however many there are."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable

Action = Callable[[float], None]


class Timers:
    """A timer set again under the same name replaces the earlier one."""

    def __init__(self) -> None:
        self.next: float | None = None
        """When the next timer expires."""
        self._heap: list[tuple[float, int]] = []
        """When each expires, and its number. One that was cleared stays until it is the first."""
        self._entries: dict[Hashable, tuple[float, int]] = {}
        self._actions: dict[int, tuple[Hashable, Action]] = {}
        self._count = 0

    def set(self, name: Hashable, at: float, action: Action) -> None:
        known = self._entries.get(name)
        if known is not None:
            if known[0] == at:
                self._actions[known[1]] = (name, action)
                return
            self.clear(name)
        self._count += 1
        entry = self._entries[name] = (at, self._count)
        self._actions[self._count] = (name, action)
        heapq.heappush(self._heap, entry)
        if self.next is None or at < self.next:
            self.next = at

    def clear(self, name: Hashable) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            del self._actions[entry[1]]
            if entry is self._heap[0]:
                self._find_next()

    def is_set(self, name: Hashable) -> bool:
        return name in self._entries

    def run(self, now: float) -> None:
        """Act on every timer that has expired, also on those set meanwhile."""
        while self.next is not None and self.next <= now:
            name, action = self._actions[self._heap[0][1]]
            self.clear(name)
            action(now)

    def _find_next(self) -> None:
        while self._heap and self._heap[0][1] not in self._actions:
            heapq.heappop(self._heap)
        self.next = self._heap[0][0] if self._heap else None
