"""Calls under way and alarms: who waits for what. Nothing of it survives a crash."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Protocol

from league.machine import Letter, Outgoing, Undelivered


class Caller(Protocol):
    """Whoever makes calls. It has one alarm at most."""

    def answered(self, letter: Letter, now: float) -> None:
        """A call was answered."""

    def failed(self, failed: Undelivered, now: float) -> None:
        """A call got no answer."""

    def due(self, now: float) -> None:
        """The alarm rings."""


class Calls:
    """The next alarm is found at once, however many there are."""

    def __init__(self, send: Callable[[Outgoing], None]) -> None:
        self.send = send
        self._callers: dict[str, Caller] = {}
        self._alarms: list[tuple[float, int, Caller]] = []
        self._numbers: dict[Caller, int] = {}
        self._count = 0

    def call(self, outgoing: Outgoing, caller: Caller) -> None:
        """Send it; what becomes of it is told to the caller until it is forgotten."""
        self._callers[outgoing.key] = caller
        self.send(outgoing)

    def caller(self, key: str) -> Caller | None:
        return self._callers.get(key)

    def forget(self, keys: Iterable[str]) -> None:
        for key in keys:
            self._callers.pop(key, None)

    def wake(self, caller: Caller, at: float) -> None:
        """Set the caller's alarm; an earlier one is off."""
        self._count += 1
        self._numbers[caller] = self._count
        heapq.heappush(self._alarms, (at, self._count, caller))

    def let_sleep(self, caller: Caller) -> None:
        self._numbers.pop(caller, None)

    @property
    def next(self) -> float | None:
        while self._alarms and self._numbers.get(self._alarms[0][2]) != self._alarms[0][1]:
            heapq.heappop(self._alarms)
        return self._alarms[0][0] if self._alarms else None

    def ring(self, now: float) -> bool:
        """Ring one alarm that is due; False if none is."""
        at = self.next
        if at is None or at > now:
            return False
        caller = heapq.heappop(self._alarms)[2]
        del self._numbers[caller]
        caller.due(now)
        return True
