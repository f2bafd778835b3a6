"""Processes that share work end with it, in the middle of whatever they do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTED = """
from multiprocessing import get_context

from league.workers import worker_pool

def large_result():
    return bytes(100_000_000)

if __name__ == "__main__":
    with worker_pool(1, get_context("spawn")) as pool:
        pool.submit(large_result)
        while not pool._result_queue._reader.poll():
            pass
        raise KeyboardInterrupt
"""


@pytest.mark.slow
def test_a_worker_that_is_ended_while_it_writes_a_result_holds_nobody_up(tmp_path: Path) -> None:
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED, "utf-8")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert "KeyboardInterrupt" in done.stderr.splitlines()[-1], done.stderr
