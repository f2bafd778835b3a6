"""Named timers: the next one is found at once, however many there are."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable

Action = Callable[[float], None]


class Timers:
    """A timer set again under the same name replaces the earlier one."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []
        self._actions: dict[int, tuple[Hashable, Action]] = {}
        self._numbers: dict[Hashable, int] = {}
        self._count = 0

    def set(self, name: Hashable, at: float, action: Action) -> None:
        self.clear(name)
        self._count += 1
        self._numbers[name] = self._count
        self._actions[self._count] = (name, action)
        heapq.heappush(self._heap, (at, self._count))

    def clear(self, name: Hashable) -> None:
        number = self._numbers.pop(name, None)
        if number is not None:
            del self._actions[number]

    def is_set(self, name: Hashable) -> bool:
        return name in self._numbers

    @property
    def next(self) -> float | None:
        """When the next timer expires."""
        while self._heap and self._heap[0][1] not in self._actions:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def run(self, now: float) -> None:
        """Act on every timer that has expired, also on those set meanwhile."""
        while (at := self.next) is not None and at <= now:
            name, action = self._actions[heapq.heappop(self._heap)[1]]
            self.clear(name)
            action(now)
