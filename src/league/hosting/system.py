"""Settings of the operating system and of Python for a process: stop signals, the limit on open files, and how often
garbage is collected."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial

try:
    import resource  # not on Windows

    HAS_LIMITS = True
except ImportError:
    HAS_LIMITS = False

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
NEW_OBJECTS = 10_000
"""New objects after which the garbage collector looks for cycles; Python's own number is 700. A message makes many
objects and hardly a cycle: looking rarely saves 7 % of a match."""

_stop_requested = threading.Event()
"""Set once a signal has asked this process to stop."""


@contextmanager
def stop_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` in the running loop on SIGINT and SIGTERM, and remember that this process should stop.

    Only the main thread gets signals. In another thread this does nothing: its starter has its own way to stop it.
    """
    loop = asyncio.get_running_loop()

    def on_signal() -> None:
        _stop_requested.set()
        stop()

    with ExitStack() as handlers:
        if threading.current_thread() is threading.main_thread():
            for number in STOP_SIGNALS:
                handlers.callback(_handle(loop, number, on_signal))
        yield


def is_stop_requested() -> bool:
    """Return True if a signal has asked this process to stop while it ran a loop of ours."""
    return _stop_requested.is_set()


def _handle(loop: asyncio.AbstractEventLoop, number: signal.Signals, stop: Callable[[], None]) -> Callable[[], object]:
    """Handle a signal, and return a function that undoes it."""
    try:
        loop.add_signal_handler(number, stop)
    except NotImplementedError:  # the loops of Windows cannot do it
        former = signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop))
        return partial(signal.signal, number, former)
    return partial(loop.remove_signal_handler, number)


def collect_garbage_seldom() -> None:
    """Tune the garbage collector for a process that only serves agents: existing objects stay, and are not searched."""
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)


def file_limits() -> tuple[float, float]:
    """How many files this process may open now, and how many it may ask for; infinite if the system has no limit."""
    if not HAS_LIMITS:
        return float("inf"), float("inf")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _number(soft), _number(hard)


def _number(limit: int) -> float:
    return float("inf") if limit == resource.RLIM_INFINITY else limit


def allow_files(count: int) -> None:
    """Ask the system for this many open files, or for as many as it grants."""
    soft, hard = file_limits()
    granted = int(min(count, hard))
    if soft >= granted:
        return
    _, stated_hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # some systems grant less than they state
        resource.setrlimit(resource.RLIMIT_NOFILE, (granted, stated_hard))
