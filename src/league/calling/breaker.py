"""The circuit breaker: a peer that failed to answer five times in a row is not called for a minute (spec 6.4)."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

FAILURES_TO_OPEN: Final = 5
OPEN_S: Final = 60.0


class CircuitBreaker(Struct):
    """Closed: calls pass. Open: calls are refused until `open_until`; the next one decides."""

    failures: int = 0
    open_until: float = 0.0
    failing_since: float | None = None
    """When the first call failed since the last sign of life."""

    def is_open(self, now: float) -> bool:
        return now < self.open_until

    def failed(self, now: float) -> None:
        """Count a call that got no answer."""
        self.failures += 1
        if self.failing_since is None:
            self.failing_since = now
        if self.failures >= FAILURES_TO_OPEN:
            self.open_until = now + OPEN_S

    def succeeded(self) -> None:
        """Note a sign of life, of any kind."""
        # Nearly always nothing failed before, and nothing has to change.
        if self.failing_since is not None:
            self.close()
            self.failing_since = None

    def close(self) -> None:
        """Let calls pass, whatever happened before."""
        self.failures = 0
        self.open_until = 0.0
