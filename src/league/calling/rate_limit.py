"""Rate limits: a token bucket for each caller."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

CALLERS: Final = 4096
"""The maximum number of callers that are remembered; the oldest ones are forgotten first, and may begin anew."""


class Rate(Struct, frozen=True):
    """The rate in the long run, and the number of requests that may come at once."""

    per_s: float
    burst: int


class RateLimiter:
    """Counts the requests of each caller."""

    def __init__(self, rate: Rate) -> None:
        self._cost_s = 1 / rate.per_s
        self._most_s = (rate.burst - 1) / rate.per_s
        # A bucket is kept as one number: the time at which it will be full again.
        self._full_at: dict[str, float] = {}

    def __len__(self) -> int:
        return len(self._full_at)

    def allows(self, caller: str, now: float) -> bool:
        """May this caller make another request now? If so, it is counted."""
        full_at = self._full_at.get(caller)
        if full_at is None:
            # Only a caller that is new can make the table grow.
            self._make_room(now)
            full_at = now
        elif full_at < now:
            full_at = now
        elif full_at - now > self._most_s:
            return False
        self._full_at[caller] = full_at + self._cost_s
        return True

    def _make_room(self, now: float) -> None:
        if len(self._full_at) < CALLERS:
            return
        self._full_at = {caller: full_at for caller, full_at in self._full_at.items() if full_at > now}
        if len(self._full_at) >= CALLERS:
            del self._full_at[next(iter(self._full_at))]
