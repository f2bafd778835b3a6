"""What all tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import Phase, settings

from tests.support.postgres import PostgresServer, postgres_server
from tests.support.processes import Processes
from tests.support.watchdog import pytest_configure as pytest_configure
from tests.support.watchdog import pytest_runtest_protocol as pytest_runtest_protocol

SLOW_FOLDERS = {"browser", "e2e", "fuzz", "interaction", "mutations"}
"""Whole leagues, real sockets, hunts for planted bugs."""
SLOW_HELPERS = (
    "tests.kit.defects",
    "tests.kit.players",
    "tests.support.browsing",
    "tests.support.mcp_",
    "tests.support.processes",
)
"""They start processes, a browser, third-party programs, or players that the whole kit checks."""

# A shell that starts the tests in the background has them ignore Ctrl-C, and `nohup` the end of the terminal, and so
# would every process they start; some tests send these signals to one.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

# How long an example takes says something about the machine only: no test measures time.
settings.register_profile("random", deadline=None)
# For hunts in mutated code, where it only matters whether something is found, not how small it can be made.
settings.register_profile("hunt", phases=(Phase.explicit, Phase.generate), max_examples=2000, deadline=None)
# `make test` draws the same examples on every machine: whoever changes nothing sees nothing break. New ones are
# looked for by `make test-deep`, with `--hypothesis-profile random`.
settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
# `make test-quick` draws a few of these.
settings.register_profile("quick", settings.get_profile("repeatable"), max_examples=10)
settings.load_profile("repeatable")


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    """Real processes for whole leagues: they are gone when the test ends, and none of them met a bug of ours."""
    with Processes(tmp_path) as started:
        yield started
    assert started.bugs == []


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server that all tests share: each makes schemas of its own. It is started when the first asks."""
    with postgres_server() as server:
        yield server


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what lies in a slow folder or uses a slow helper, so that `make test-quick` leaves it out.

    Slow tests come first: at the end of a run, no worker waits for a long test of another one.
    """
    for item in items:
        if _is_slow(item):
            item.add_marker("slow")
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def _is_slow(item: pytest.Item) -> bool:
    if SLOW_FOLDERS.intersection(item.path.relative_to(Path(__file__).parents[1]).parts):
        return True
    module = item.getparent(pytest.Module)
    imported = [] if module is None else vars(module.obj).values()
    return any(str(getattr(thing, "__module__", "")).startswith(SLOW_HELPERS) for thing in imported)
