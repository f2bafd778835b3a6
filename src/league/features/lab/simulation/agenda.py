"""Virtual time: callbacks run in one fixed order."""

from __future__ import annotations

import heapq
from collections.abc import Callable

EPOCH = 1_800_000_000.0


class Agenda:
    """Callbacks in the order of their times; at equal times in the order in which they were added."""

    def __init__(self) -> None:
        self.now = EPOCH
        self.done = 0
        self._heap: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Run a callback so many seconds from now."""
        self.at(self.now + seconds, do)

    def at(self, moment: float, do: Callable[[], None]) -> None:
        """Run a callback at this moment, or now if it has passed."""
        # The count keeps the order at equal times, and callbacks cannot be compared.
        self._count += 1
        heapq.heappush(self._heap, (max(moment, self.now), self._count, do))

    def step(self, until: float) -> bool:
        """Run the next callback. Return False if there is none before `until`."""
        if not self._heap or self._heap[0][0] > until:
            return False
        self.now, _, do = heapq.heappop(self._heap)
        self.done += 1
        do()
        return True
