"""Ends a process of tests that hangs where the signal of `pytest-timeout` can't reach it.

The signal waits for code in C to return, forever if that code hangs. A thread of the interpreter itself needs no such
help: it prints the stack of every thread and ends the process. Under xdist the run goes on with another worker, and
names the test.
"""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Generator

import pytest

PATIENCE = 1.2
"""How much longer than its limit a test may take: first pytest-timeout tries to end it."""
TERMINAL = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep stderr as it is before tests are captured."""
    config.stash[TERMINAL] = os.dup(2)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Watch one test, with what is set up for it."""
    marker = item.get_closest_marker("timeout")
    limit_s = float(marker.args[0] if marker else item.config.getini("timeout"))
    faulthandler.dump_traceback_later(PATIENCE * limit_s, exit=True, file=item.config.stash[TERMINAL])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
