"""Which processes a process has started, and when they are gone."""

from __future__ import annotations

import os
import select
import subprocess
import threading
import time

from tests.support.processes import WATCHDOG_S


def children_of(pid: int) -> dict[int, str]:
    """The processes it has started, with their command lines."""
    listed = subprocess.run(["ps", "-axo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = (line.split(maxsplit=2) for line in listed.splitlines())
    return {int(row[0]): row[2] for row in rows if len(row) == 3 and int(row[1]) == pid}


def wait_until_gone(pids: list[int]) -> None:
    """Wait until none of these processes runs any more."""
    until = time.monotonic() + WATCHDOG_S
    for pid in pids:
        _wait(pid, until)


def _wait(pid: int, until: float) -> None:
    if hasattr(os, "pidfd_open"):
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            ended, _, _ = select.select([handle], [], [], max(0.0, until - time.monotonic()))
        finally:
            os.close(handle)
        assert ended, f"process {pid} is still there"
        return
    while _is_there(pid):  # where the system has no event for it
        assert time.monotonic() < until, f"process {pid} is still there"
        threading.Event().wait(0.05)


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
