"""A process that may open too few files says so when it starts, and `league doctor` before."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tests.support.processes import WATCHDOG_S

FEW = 128
LEAGUE = [sys.executable, "-m", "league"]


def _limited(soft: int, hard: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _manager(folder: Path, players: int, limit: Callable[[], None]) -> str:
    """What a manager of so many players says on stderr, from its start to its end."""
    command = [*LEAGUE, "manager", "--port", "0", "--players", str(players)]
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "LEAGUE_UNTIL_STDIN_CLOSES": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=limit,
    ) as manager:
        assert manager.stdout is not None
        assert manager.stdout.readline().startswith(b"ready: ")
        _, said = manager.communicate(timeout=WATCHDOG_S)
    assert manager.returncode == 0
    return said.decode()


def test_a_manager_of_many_players_says_that_it_may_open_too_few_files(tmp_path: Path) -> None:
    assert f"may open only {FEW} files" in _manager(tmp_path, 99, _limited(FEW, FEW))


def test_a_limit_that_may_be_raised_is_raised(tmp_path: Path) -> None:
    assert "files" not in _manager(tmp_path, 99, _limited(FEW, 1024))


def test_doctor_says_how_large_a_league_may_be(tmp_path: Path) -> None:
    found = {}
    for limit in (80, FEW, 1024):
        done = subprocess.run(
            [*LEAGUE, "doctor", "--json"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
            preexec_fn=_limited(limit, limit),
            timeout=WATCHDOG_S,
        )
        checks = {one["check"]: one for one in json.loads(done.stdout)["checks"]}
        found[limit] = checks["open files"]["verdict"]
        assert f"at most {limit} for a process" in checks["open files"]["detail"]
    assert found == {80: "problem", FEW: "note", 1024: "ok"}
