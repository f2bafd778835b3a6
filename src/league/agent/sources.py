"""Where time and chance come from in life: the only place that asks the machine for them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

chance: Callable[[int], bytes] = os.urandom


@dataclass(frozen=True, slots=True)
class Clock:
    """Wall clock at the start plus monotonic time since: it never jumps. `scale` above 1 makes all limits shorter."""

    scale: float = 1.0
    _wall: float = field(default_factory=time.time)
    _start: float = field(default_factory=time.monotonic)

    def now(self) -> float:
        """Seconds since the epoch, as the machines see them."""
        return self._wall + (time.monotonic() - self._start) * self.scale

    def seconds_until(self, moment: float) -> float:
        """How long to wait for real."""
        return max(0.0, (moment - self.now()) / self.scale)
