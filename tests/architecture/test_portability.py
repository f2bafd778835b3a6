"""What only Unix has is used behind a few seams, each with another way for other systems, or a refusal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.doors import SOURCE, packages

SEAMS = {
    "league/features/grade/inside/runner.py",
    "league/features/grade/sandboxed.py",
    "league/hosting/system.py",
    "league/storage/files/file_lock.py",
    "league/workers.py",
}
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


@pytest.mark.parametrize("package", packages())
def test_a_planted_use_is_found_in_every_package(package: str, tmp_path: Path) -> None:
    planted = tmp_path.joinpath(*package.split("."), "__init__.py")
    planted.parent.mkdir(parents=True)
    planted.write_text("import fcntl\n", "utf-8")
    assert used_in(tmp_path) == {planted.relative_to(tmp_path).as_posix(): ["fcntl"]}
