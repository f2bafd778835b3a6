"""What a process asks of its system and of Python: signals that tell it to stop, a number of open files, and how often
garbage is collected."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

try:
    import resource  # Windows has none

    HAS_LIMITS = True
except ImportError:
    HAS_LIMITS = False

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
NEW_OBJECTS = 10_000
"""After so many the garbage collector looks for cycles; Python's own number is 700. A message makes many objects and
hardly a cycle: seldom looking saves 7 % of a match."""


@contextmanager
def stop_signals(stop: Callable[[], None]) -> Iterator[None]:
    """SIGINT and SIGTERM call `stop` in the running loop. Signals are for the main thread: in another one nothing is
    done, and whoever started it has its own way to stop it."""
    loop = asyncio.get_running_loop()
    with ExitStack() as taken:
        if threading.current_thread() is threading.main_thread():
            for one in STOP_SIGNALS:
                taken.callback(*_taken(loop, one, stop))
        yield


def _taken(
    loop: asyncio.AbstractEventLoop, one: signal.Signals, stop: Callable[[], None]
) -> tuple[Callable[..., object], object] | tuple[Callable[..., object], object, object]:
    """Take a signal; what gives it back."""
    try:
        loop.add_signal_handler(one, stop)
    except NotImplementedError:  # by the loops of Windows
        return signal.signal, one, signal.signal(one, lambda *_: loop.call_soon_threadsafe(stop))
    return loop.remove_signal_handler, one


def collect_garbage_seldom() -> None:
    """For a process that is an agent and nothing else: what was made so far stays, and is not looked through again."""
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)


def file_limits() -> tuple[float, float]:
    """How many files this process may open now, and how many it may ask for; infinite where the system has no such
    limit."""
    if not HAS_LIMITS:
        return float("inf"), float("inf")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _number(soft), _number(hard)


def _number(limit: int) -> float:
    return float("inf") if limit == resource.RLIM_INFINITY else limit


def allow_files(wanted: int) -> None:
    """Ask for so many open files, or as many as the system grants."""
    soft, hard = file_limits()
    granted = int(min(wanted, hard))
    if soft < granted:
        with suppress(ValueError, OSError):  # some systems grant less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (granted, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
