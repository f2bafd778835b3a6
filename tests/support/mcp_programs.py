"""Programs that speak MCP with packages of others, each in an environment of its own (`make .venv/.mcp-servers`)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tests.support.processes import Process

PROGRAMS = Path(__file__).parents[1] / "mcp_servers"
PACKAGES = Path(sys.prefix) / "mcp-servers"


def started(packages: str, folder: Path, program: str = "players.py", *arguments: str) -> Process:
    """A program in the environment of these packages; without arguments it is told which they are."""
    assert PACKAGES.is_dir(), "`make .venv/.mcp-servers` installs the packages of others"
    path = os.pathsep.join(str(PACKAGES / name) for name in (packages, "shared"))
    command = ("env", f"PYTHONPATH={path}", sys.executable, str(PROGRAMS / program))
    return Process(packages, [*(arguments or (packages,))], folder, command)
