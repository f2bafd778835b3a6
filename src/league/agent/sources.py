"""Time and chance in life: the only place that asks the operating system for them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial

chance: Callable[[int], bytes] = os.urandom

steady: Callable[[], float] = time.monotonic
"""Seconds that never jump, and go on while the computer is suspended: otherwise a closed lid would stop the clock of
one agent and not that of another."""
if sys.platform == "linux":
    steady = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
elif sys.platform == "darwin":
    steady = partial(time.clock_gettime, time.CLOCK_MONOTONIC)


class Clock:
    """Wall clock at the start plus steady time since: it never jumps. `scale` above 1 makes all limits shorter."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self._origin = time.time() - steady() * scale  # the time when steady time began

    def now(self) -> float:
        """Seconds since the epoch, as the machines see them."""
        return self._origin + steady() * self.scale

    def seconds_until(self, moment: float) -> float:
        """Seconds of real time until that moment."""
        return max(0.0, (moment - self.now()) / self.scale)
