"""The browser, the processes of a league, and a league that was played as a folder of pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from league.cli.main import main
from tests.dashboard.browser.showcase import played
from tests.support.browsing import chromium
from tests.support.processes import Processes


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as started:
        yield started
    assert started.bugs == []


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league that was played, as a folder of pages."""
    folder = tmp_path_factory.mktemp("league")
    with Processes(folder) as processes:
        manager = processes.manager(players=4)
        players = processes.players(manager, count=4, time_scale=10)
        processes.referee(manager, time_scale=10)
        assert players.wait() == 0
        manager.stop()
    assert main(["export", str(folder), "--to", str(folder / "site"), "--format", "site"]) == 0
    return folder / "site"


@pytest.fixture(scope="session")
def showcase(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A league of eight in its sixth round, the same at every run."""
    return played(tmp_path_factory.mktemp("showcase"))
