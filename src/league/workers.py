"""Processes that share the work of one command and end with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing.context import BaseContext
from multiprocessing.queues import SimpleQueue
from threading import Thread
from typing import Any


@contextmanager
def worker_pool(jobs: int, context: BaseContext | None = None) -> Iterator[ProcessPoolExecutor]:
    """A pool of this many processes. They end with this process, no matter how it ends."""
    context = context or multiprocessing.get_context()
    groups = context.SimpleQueue()
    pool = ProcessPoolExecutor(jobs, context, initializer=_end_with_parent, initargs=(groups,))
    try:
        yield pool
    except BaseException:
        _terminate(pool)
        raise
    finally:
        pool.shutdown()
        # Code that a worker ran may have started processes, and they may have outlived it.
        while not groups.empty():
            end_group(groups.get())
        groups.close()


def _terminate(pool: ProcessPoolExecutor) -> None:
    """End all workers in the middle of their work.

    A worker may be writing a result. The thread of the pool reads half of it and waits for the rest as long as anybody
    can write to that pipe, and this process can: the interpreter would not end before that thread.
    """
    results: Any = pool._result_queue
    pool.shutdown(wait=False, cancel_futures=True)
    for child in multiprocessing.active_children():
        child.terminate()
    if results is not None:
        results._writer.close()


def end_group(group: int) -> None:
    """End all processes of a group, where there are groups of processes."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


def _end_with_parent(groups: SimpleQueue[int]) -> None:
    """Watch the parent from a thread: a worker would wait for work forever, even if its parent was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    if hasattr(os, "setsid"):
        os.setsid()
        groups.put(os.getpid())
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"

    def watch() -> None:
        parent.join()
        if hasattr(os, "getsid") and os.getsid(0) == os.getpid():
            end_group(os.getpid())
        os._exit(1)

    Thread(target=watch, name="parent", daemon=True).start()
