"""Where time and chance come from in life: the only place that asks the machine for them."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

chance: Callable[[int], bytes] = os.urandom

_STEADY = getattr(time, "CLOCK_BOOTTIME", None) or (time.CLOCK_MONOTONIC if sys.platform == "darwin" else None)


steady: Callable[[], float] = time.monotonic if _STEADY is None else partial(time.clock_gettime, _STEADY)
"""Seconds that never jump, and go on while the machine is suspended: elsewhere a closed lid would stop the clock of one
agent and not that of another."""


@dataclass(slots=True)
class Clock:
    """Wall clock at the start plus steady time since: it never jumps. `scale` above 1 makes all limits shorter."""

    scale: float = 1.0
    _origin: float = field(init=False)
    """What time it was when steady time began."""

    def __post_init__(self) -> None:
        self._origin = time.time() - steady() * self.scale

    def now(self) -> float:
        """Seconds since the epoch, as the machines see them."""
        return self._origin + steady() * self.scale

    def seconds_until(self, moment: float) -> float:
        """How long to wait for real."""
        return max(0.0, (moment - self.now()) / self.scale)
