"""A time limit for the code of strategies, which must not cost those that keep it.

Theory of operation. While a series is played, a timer of the operating system sends a signal twenty times per limit.
Asking a strategy sets the count of ticks to zero, and each signal adds one. At the first tick beyond the limit, the
handler of the signal raises `TooSlow` inside the strategy: in a loop, and in a call that blocks. So a choice costs two
assignments, and no look at a clock. A choice is stopped between one and 1.05 limits after it began.

Signals reach the main thread alone, and Windows does not have this timer: there, nothing is limited. Code that catches
even `BaseException`, and goes on, is interrupted again with each tick. Code in C that never returns to Python cannot be
interrupted.
"""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

TICKS: Final = 20
"""Ticks per limit."""
HAS_TIMER: Final = hasattr(signal, "setitimer")
OFF: Final = -math.inf
"""Counting on from here leads nowhere."""


class TooSlow(BaseException):
    """The time for a choice is over. It is not an Exception, so that a strategy's `except Exception` lets it pass."""


class Watchdog:
    """Interrupts code that takes too long. Set `ticks` to 0 when the code begins, and to OFF when it ends."""

    __slots__ = ("seconds", "ticks")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.ticks: float = OFF

    def tick(self, _signal: int, _frame: FrameType | None) -> None:
        """Count, and interrupt the code that takes too long."""
        self.ticks += 1
        # The first tick may come right after the beginning, so it takes one more.
        if self.ticks > TICKS:
            raise TooSlow


def needs_process() -> bool:
    """Return True if code can be interrupted in another process, but not here, in a thread."""
    return HAS_TIMER and threading.current_thread() is not threading.main_thread()


@contextmanager
def watching(seconds: float) -> Iterator[Watchdog]:
    """Yield a watch that works as long as the block lasts, where it is possible."""
    watch = Watchdog(seconds)
    if not HAS_TIMER or needs_process():
        yield watch
        return
    handler_before = signal.signal(signal.SIGALRM, watch.tick)
    interval = seconds / TICKS
    timer_before = signal.setitimer(signal.ITIMER_REAL, interval, interval)
    try:
        yield watch
    finally:
        # Somebody else's timer goes on with the time it had left.
        signal.setitimer(signal.ITIMER_REAL, *timer_before)
        signal.signal(signal.SIGALRM, handler_before)
