"""Pure packages import only what is listed here; a list of what is forbidden would forget uuid or urllib."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"

PURE = (
    "league/protocol",
    "league/games",
    "league/machine.py",
    "league/events",
    "league/settings.py",
    "league/lifecycle.py",
    "league/calling",
    "league/gateway",
    "league/membership.py",
    "league/status_poll.py",
    "league/manager",
    "league/referee",
    "league/player",
    "league/features/audit/promises",
    "league/agent/pump.py",
    "league/letters.py",
)

ALLOWED = frozenset(
    {
        "__future__",
        "abc",
        "base64",
        "binascii",
        "bisect",
        "calendar",
        "codecs",
        "collections",
        "collections.abc",
        "contextlib",
        "dataclasses",
        "decimal",
        "enum",
        "functools",
        "hashlib",
        "heapq",
        "hmac",
        "itertools",
        "json",
        "json.encoder",
        "math",
        "msgspec",
        "operator",
        "re",
        "string",
        "types",
        "typing",
        "unicodedata",
    }
)

ALLOWED_IN_ONE_FILE = {
    # Entry points and rows: other packages, and features of ours, bring games.
    "league/games/registry.py": ("importlib.metadata", "league.rows"),
    "league/manager/members/names.py": ("importlib.resources",),  # to read a table that comes with the package
    "league/player/strategies.py": ("random",),  # a generator whose seed is an argument, never a fresh one
    "league/protocol/endpoints.py": ("ipaddress",),  # to read addresses, never to call one
    "league/protocol/signing/keys.py": ("nacl.bindings", "nacl.exceptions"),  # signs and checks, draws no key
    "league/protocol/timestamps.py": ("datetime",),  # to read and write times, never to ask for one
}

# What a pure package may see of the league: the pure packages, or its purity would end one import further on.
PURE_MODULES = frozenset(path.removesuffix(".py").replace("/", ".") for path in PURE)


def _module(node: ast.ImportFrom, file: str) -> str:
    """The full name of the module that this import reads from; a relative one is made absolute."""
    package = file.split("/")[: -node.level] if node.level else []
    return ".".join([*package, *([node.module] if node.module else [])])


def _imports(code: str, file: str) -> Iterator[tuple[int, str, str]]:
    """The line, the module and the full name of everything this code imports."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, alias.name
        elif isinstance(node, ast.ImportFrom):
            module = _module(node, file)
            for alias in node.names:
                yield node.lineno, module, f"{module}.{alias.name}"


def _is_pure_module(module: str) -> bool:
    return any(module == pure or module.startswith(f"{pure}.") for pure in PURE_MODULES)


def _is_allowed(module: str, file: str) -> bool:
    return module in ALLOWED or module in ALLOWED_IN_ONE_FILE.get(file, ()) or _is_pure_module(module)


def forbidden_imports(code: str, file: str) -> list[str]:
    """What the code of this file of src imports though a pure package may not, as "line: name"."""
    return [
        f"{line}: {name}"
        for line, module, name in _imports(code, file)
        if not _is_allowed(module, file) and not _is_allowed(name, file)
    ]


def files_of(names: Iterable[str]) -> list[str]:
    """The files of these packages and modules; one that does not exist is an error."""
    found: list[Path] = []
    for path in (SOURCE / name for name in names):
        assert path.exists(), f"{path} does not exist: name what became of it"
        found += path.rglob("*.py") if path.is_dir() else [path]
    return sorted(path.relative_to(SOURCE).as_posix() for path in found)


def test_pure_files_import_only_what_is_allowed() -> None:
    files = files_of(PURE)
    assert {name for name in files if name.startswith("league/events/")}
    found = {file: forbidden_imports((SOURCE / file).read_text(encoding="utf-8"), file) for file in files}
    assert {file: wrong for file, wrong in found.items() if wrong} == {}


def test_a_pure_package_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(AssertionError, match="does not exist"):
        files_of(["league/protocol", "league/events.py"])


@pytest.mark.parametrize(
    "code",
    [
        "import uuid",
        "import os.path",
        "import json, threading",
        "from time import monotonic",
        "from importlib import metadata",
        "import datetime",
        "from collections import abc\nimport asyncio as abc",
        "def later() -> None:\n    import random",
        "from league.storage import journal",
        "from league.agent import sources",
        "from league import Player",
        "import league.protocols",
        "from ..storage import journal",
        "from .. import storage",
    ],
)
def test_a_planted_import_is_found(code: str) -> None:
    assert len(forbidden_imports(code, "league/manager/league_manager.py")) == 1


@pytest.mark.parametrize(
    "code",
    [
        "from __future__ import annotations",
        "import json, hashlib",
        "from collections.abc import Mapping",
        "from collections import abc",
        "import msgspec",
        "from msgspec import Struct",
        "from league.protocol import errors",
        "from league.protocol.errors import ERRORS",
        "from league import machine",
        "from . import roster",
        "from .roster import Roster",
        "from ..protocol.errors import ERRORS",
    ],
)
def test_an_allowed_import_passes(code: str) -> None:
    assert forbidden_imports(code, "league/manager/league_manager.py") == []


EXCEPTIONS = [(file, module) for file, modules in ALLOWED_IN_ONE_FILE.items() for module in modules]


@pytest.mark.parametrize(("file", "module"), EXCEPTIONS)
def test_an_exception_holds_for_its_own_file_only(file: str, module: str) -> None:
    assert forbidden_imports(f"import {module}", file) == []
    assert forbidden_imports(f"import {module}", "league/machine.py") == [f"1: {module}"]


def test_the_pump_sees_nothing_else_of_the_shell() -> None:
    assert forbidden_imports("from . import sources", "league/agent/pump.py") == ["1: league.agent.sources"]
    assert forbidden_imports("from .sources import now", "league/agent/pump.py") == ["1: league.agent.sources.now"]
