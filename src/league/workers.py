"""Processes that share the work of one command, and do not outlive it."""

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
    """So many processes, which end with this one, however it ends."""
    pool = ProcessPoolExecutor(jobs, context, initializer=_end_with_parent)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for one in multiprocessing.active_children():
            one.terminate()
        raise
    finally:
        pool.shutdown()


def _end_with_parent() -> None:
    """A worker waits for work for ever, also from a parent that was killed: so it watches it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the parent, which ends its workers
    parent = multiprocessing.parent_process()
    assert parent is not None, "a worker has one"

    def watch() -> None:
        parent.join()
        os._exit(1)

    Thread(target=watch, name="parent", daemon=True).start()
