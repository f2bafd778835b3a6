"""A test that hangs ends by itself, and the run says which one it was."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LEAVES_A_SERVER_OPEN = """
    @on_every_loop
    async def test_that_fails():
        server = await asyncio.start_server(print, "127.0.0.1", 0)
        raise ValueError("and leaves its server open")
"""
WAITS_WHERE_NO_SIGNAL_IS_HEARD = """
    def test_that_hangs():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
        threading.Event().wait()
"""


def run(folder: Path, code: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run these tests under our watchdog."""
    imports = "import asyncio, signal, threading\nfrom tests.support.http_wire import on_every_loop\n"
    file = folder / "test_it.py"
    file.write_text(imports + code.replace("\n    ", "\n"), encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "tests.support.watchdog",
        "-c",
        str(ROOT / "pyproject.toml"),
        *options,
        str(file),
    ]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_failing_test_that_leaves_a_server_open_fails_on_every_loop(tmp_path: Path) -> None:
    ended = run(tmp_path, LEAVES_A_SERVER_OPEN)
    assert ended.returncode == pytest.ExitCode.TESTS_FAILED
    assert "and leaves its server open" in ended.stdout


@pytest.mark.slow
def test_a_test_that_hears_no_signal_is_ended_and_named(tmp_path: Path) -> None:
    ended = run(tmp_path, WAITS_WHERE_NO_SIGNAL_IS_HEARD, "-o", "timeout=1")
    assert ended.returncode != 0
    assert "in test_that_hangs" in ended.stderr
