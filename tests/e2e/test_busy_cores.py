"""Leagues on a machine that has no time: everybody is slow, and nobody loses by it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from league.events import LeagueFinished, PlayerFaulted, ResultAccepted
from tests.support.processes import Processes, assert_kept

LEAGUES = 4
PLAYERS = 3
BUSY = (sys.executable, "-c", "while True: pass")


@contextmanager
def busy_cores() -> Iterator[None]:
    """Two programs for each core that do nothing, as fast as they can."""
    loops = [subprocess.Popen(BUSY) for _ in range(2 * (os.cpu_count() or 1))]
    try:
        yield
    finally:
        for one in loops:
            one.kill()
        for one in loops:
            one.wait()


@pytest.mark.requirement("MATCH.answers_in_time")
def test_leagues_on_busy_cores_have_no_technical_loss(tmp_path: Path) -> None:
    with busy_cores():
        for number in range(LEAGUES):
            folder = tmp_path / str(number)
            folder.mkdir()
            with Processes(folder) as processes:
                play(processes)
            assert processes.bugs == []


def play(processes: Processes) -> None:
    """A short league with the time limits of the documents."""
    manager = processes.manager(players=PLAYERS)
    players, referee = processes.players(manager, count=PLAYERS), processes.referee(manager)
    assert (players.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    results = processes.events("manager", ResultAccepted)
    assert [one.status for one in results if one.status == "TECHNICAL_LOSS"] == []
    assert len(results) == PLAYERS * (PLAYERS - 1) // 2
    assert processes.events("referee", PlayerFaulted) == []
    assert len(processes.events("manager", LeagueFinished)) == 1
    assert_kept(processes)
