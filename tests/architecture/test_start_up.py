"""A player starts quickly: it imports nothing that only other roles, other games or other commands need.

CPU time depends on the machine, so the benchmark measures it (`benchmarks/startup.py`). These budgets do not.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.processes import WATCHDOG_S

MODULES = 378
"""A player imports 376 modules, two thirds of them of Python and its packages; 24 are for signing, 9 are rooms."""
CALLS = 166_500
"""A player calls 165,400 functions until it is ready. A dataclass that is made while its module is imported costs about
a thousand, a long regular expression as many."""
NOT_NEEDED = (
    "league.hosting.settings.manager_options",
    "league.hosting.settings.referee_options",
    "league.hosting.settings.settings_file",
    "league.manager",
    "league.referee",
    "league.reading",
    "league.storage.files.sqlite",
    "league.storage.database.postgres",
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
    "shutil",
    "sqlite3",
    "tomllib",
    "urllib.request",
)
FEATURES = (
    "league.features.mcp",
    "league.features.mcp.door",
    "league.features.minds",
    "league.features.minds.model_options",
)
"""The modules of features that a player needs: the door where MCP clients knock, and options of its command line."""
OBSERVED = """
import json, os, sys

calls = 0

def count(frame, event, argument):
    global calls
    calls += event in ("call", "c_call")

class Terminal:
    encoding = "utf-8"

    def write(self, text):
        if text.startswith("ready: "):
            sys.setprofile(None)
            os.write(1, json.dumps([calls, sorted(sys.modules)]).encode())
            os._exit(0)

    def flush(self):
        pass

    def isatty(self):
        return False

sys.stdout = Terminal()
sys.setprofile(count)
from league.cli.main import main
main(sys.argv[1:])
"""
"""Runs a command until it says that it is ready, then writes how many functions it called and which modules it has."""


class StartUp(NamedTuple):
    calls: int
    modules: set[str]


def start_up(folder: Path, *arguments: str) -> StartUp:
    """Start a command, and observe it until it is ready."""
    command = [sys.executable, "-c", OBSERVED, *arguments]
    process = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True, timeout=WATCHDOG_S)
    calls, modules = json.loads(process.stdout)
    return StartUp(calls, set(modules))


@pytest.mark.slow
def test_a_player_imports_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    calls, modules = start_up(tmp_path, "player", "--manager", "http://127.0.0.1:9", "--port", "0")
    assert "league.player.competitor" in modules
    needless = {name for name in modules if name.startswith(tuple(f"{module}." for module in NOT_NEEDED))}
    needless |= modules.intersection(NOT_NEEDED)
    # A feature may bring its own strategies and pages; this player uses none of them.
    needless |= {name for name in modules if name.startswith("league.features.") and name not in FEATURES}
    assert sorted(needless) == []
    assert len(modules) <= MODULES
    assert calls <= CALLS


@pytest.mark.slow
def test_who_never_signs_does_not_import_what_signs(tmp_path: Path) -> None:
    _, modules = start_up(tmp_path, "referee", "--manager", "http://127.0.0.1:9", "--port", "0")
    assert "league.referee.desk" in modules
    assert "nacl" not in modules
