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
        self._actions: dict[int, tuple[Hashable, Action]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._count = 0

    def set(self, name: Hashable, at: float, action: Action) -> None:
        if name in self._numbers:
            self.clear(name)
        self._count += 1
        self._numbers[name] = self._count
        self._actions[self._count] = (name, action)
        heapq.heappush(self._heap, (at, self._count))
        if self.next is None or at < self.next:
            self.next = at

    def clear(self, name: Hashable) -> None:
        number = self._numbers.pop(name, None)
        if number is not None:
            del self._actions[number]
            if self._heap[0][1] == number:
                self._find_next()

    def is_set(self, name: Hashable) -> bool:
        return name in self._numbers

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
