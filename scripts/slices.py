"""Checks what the core and its slices import of each other.

The core imports no slice. A slice imports the core, and of other slices only those that `USES` names. A new slice needs
no entry here: it may then use none. Run it as `python -m scripts.slices`; it exits 1 and names every import that is
not allowed. The contracts within the core are in pyproject.toml.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
CORE = "league"
USES = {
    "league_dashboard": {"league_records"},
    "league_demo": {"league_dashboard"},
    "league_experiments": {"league_statistics", "league_workshop"},
    "league_lab": {"league_audit"},
    "league_mcp": {"league_records"},
    "league_workshop": {"league_records"},
}
"""The slices that a slice may import. There must be no cycle."""
FOR_TYPE_CHECKERS = "league/feature_names.py"
"""This generated file names slices of the core, and nothing imports it when a program runs."""
PROGRAMS = "starters"
"""A folder of programs that are copied, not imported."""


def violations(source: Path = SOURCE) -> list[str]:
    """Every import that is not allowed, as "file:line: imports package"."""
    packages = {path.name for path in source.glob(f"{CORE}*") if path.is_dir()}
    found = []
    for package in sorted(packages):
        allowed = {package, *USES.get(package, ())}
        if package != CORE:
            allowed.add(CORE)
        for path in sorted((source / package).rglob("*.py")):
            name = path.relative_to(source).as_posix()
            if name == FOR_TYPE_CHECKERS or PROGRAMS in path.parts:
                continue
            for line, imported in _imports(path):
                if imported in packages and imported not in allowed:
                    found.append(f"{name}:{line}: imports {imported}")
    return found


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """The line and the top-level package of every import, wherever it stands in the file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module.partition(".")[0]


def main() -> int:
    found = violations()
    for violation in found:
        print(f"{violation}, which it may not: see scripts/slices.py", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
