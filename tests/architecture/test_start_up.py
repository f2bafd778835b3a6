"""A player starts quickly: it imports nothing that only other roles, other games or other commands need.

CPU time depends on the machine, so the benchmark measures it (`benchmarks/startup.py`). This budget does not.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import WATCHDOG_S

MODULES = 340
"""A player imports 327 modules, two thirds of them of Python and its packages."""
NOT_NEEDED = (
    "league.manager",
    "league.referee",
    "league.reports",
    "league.storage.sqlite",
    "league.storage.postgres",
    "league.storage.formats",
    "league.games.rock_paper_scissors",
    "league.games.tic_tac_toe",
    "asyncpg",
    "email",
    "importlib.metadata",
    "importlib.resources",
    "jinja2",
    "mcp",
    "pydantic",
    "sqlite3",
    "tomllib",
    "urllib.request",
)


def imported_by(folder: Path, *arguments: str) -> set[str]:
    """The modules that a command imports until it is ready."""
    # The interpreter writes a line for each import, by each thread at once: a file keeps them whole.
    with (folder / "imports").open("w+", encoding="utf-8") as imports:
        command = [sys.executable, "-X", "importtime", "-m", "league.cli.main", *arguments]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=imports, text=True)
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("ready: ")
        finally:
            process.kill()
            process.communicate(timeout=WATCHDOG_S)
        imports.seek(0)
        return set(re.findall(r"^import time: .*\| +(\S+)$", imports.read(), re.MULTILINE))


@pytest.mark.slow
def test_a_player_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    modules = imported_by(tmp_path, "player", "--manager", "http://127.0.0.1:9", "--port", "0")
    assert "league.player.competitor" in modules
    needless = {name for name in modules if name.startswith(tuple(f"{module}." for module in NOT_NEEDED))}
    needless |= modules.intersection(NOT_NEEDED)
    # A slice may bring its own strategies and pages; this player uses none of them.
    needless |= {name for name in modules if re.match(r"league_\w+", name)}
    assert sorted(needless) == []
    assert len(modules) <= MODULES
