"""Leagues where Unix is not: what only Unix has is taken away from the processes, and they play all the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import WATCHDOG_S

WITHOUT_UNIX = Path(__file__).parents[1] / "support" / "without_unix"
LEAGUE = [sys.executable, "-m", "league"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(WITHOUT_UNIX), "LEAGUE_TRACEBACK": "1"}


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LEAGUE, *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        check=False,
        encoding="utf-8",
        timeout=WATCHDOG_S,
    )


def test_a_whole_league_is_played_and_verified(tmp_path: Path) -> None:
    played = run(tmp_path, "demo", "--json", "--port", "0", "--journal", "played")
    assert (played.returncode, played.stderr) == (0, "")
    document = json.loads(played.stdout)
    assert (document["state"], document["matches"], document["technical_losses"]) == ("LEAGUE_COMPLETED", 6, 0)
    assert (tmp_path / "played" / "journal.db.lock").exists(), "there was an flock after all"
    verified = run(tmp_path, "verify", "played")
    assert verified.returncode == 0, verified.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("doctor",),
        ("simulate", "--leagues", "4"),
        ("tournament", "--strategy", "random,always_even", "--meetings", "20"),
        ("check", "player", "--list"),
    ],
    ids=lambda one: str(one[0]),
)
def test_other_commands_run(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = run(tmp_path, *arguments)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize("one", [signal.SIGINT, signal.SIGTERM])
def test_a_manager_holds_its_journal_and_ends_cleanly_when_told(tmp_path: Path, one: signal.Signals) -> None:
    command = [*LEAGUE, "manager", "--port", "0", "--journal", "kept.db"]
    with subprocess.Popen(
        command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as manager:
        assert manager.stdout is not None
        assert manager.stdout.readline().startswith(b"ready: ")
        second = run(tmp_path, "manager", "--port", "0", "--journal", "kept.db")
        assert (second.returncode, "is in use by another process" in second.stderr) == (1, True), second.stderr
        manager.send_signal(one)
        assert manager.wait(WATCHDOG_S) == 0


def test_a_killed_manager_leaves_no_lock_behind(tmp_path: Path) -> None:
    command = [*LEAGUE, "manager", "--port", "0", "--journal", "kept.db"]
    for number in range(2):
        with subprocess.Popen(
            command,
            cwd=tmp_path,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as manager:
            assert manager.stdout is not None
            assert manager.stdout.readline().startswith(b"ready: "), f"start {number + 1}"
            manager.kill()
