"""What only Unix has is used behind two seams, each with another way for other systems."""

from __future__ import annotations

import ast
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
SEAMS = {"league/storage/file_lock.py", "league/hosting/system.py"}
MODULES = {"fcntl", "grp", "pwd", "pty", "resource", "syslog", "termios", "tty"}
NAMES = {"O_CLOEXEC", "SIGKILL", "SIGHUP", "SIGUSR1", "add_signal_handler", "fork", "getppid", "getuid", "killpg"}
NAMES |= {"add_reader", "fchmod", "preexec_fn", "setsid", "statvfs", "AF_UNIX", "create_unix_server"}


def unix_only(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            yield node.module
        elif isinstance(node, ast.Attribute) and node.attr in NAMES:
            yield node.attr
        elif isinstance(node, ast.keyword) and node.arg in NAMES:
            yield node.arg


def used_in(source: Path) -> dict[str, list[str]]:
    """What only Unix has, by the file that uses it."""
    found = {path.relative_to(source).as_posix(): sorted(unix_only(path)) for path in source.rglob("*.py")}
    return {path: used for path, used in found.items() if used}


def test_only_the_seams_use_what_only_unix_has() -> None:
    found = used_in(SOURCE)
    assert {path: used for path, used in found.items() if path not in SEAMS} == {}
    assert set(found) >= SEAMS, "a seam that is none any more"


@pytest.mark.parametrize("package", sorted(path.name for path in SOURCE.glob("league*")))
def test_a_planted_use_is_found_in_every_package(package: str, tmp_path: Path) -> None:
    shutil.copytree(SOURCE / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / package / "__init__.py").open("a", encoding="utf-8") as file:
        file.write("\nimport fcntl\n")
    assert used_in(tmp_path)[f"{package}/__init__.py"] == ["fcntl"]
