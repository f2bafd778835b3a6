"""Processes that share the work of one command and end with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.context import BaseContext
from threading import Thread


@contextmanager
def worker_pool(jobs: int, context: BaseContext | None = None) -> Iterator[ProcessPoolExecutor]:
    """A pool of this many processes. They end with this process, no matter how it ends."""
    pool = ProcessPoolExecutor(jobs, context, initializer=_end_with_parent)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()
        raise
    finally:
        pool.shutdown()


def _end_with_parent() -> None:
    """Watch the parent from a thread: a worker would wait for work forever, even if its parent was killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has a parent"

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, name="parent", daemon=True).start()
