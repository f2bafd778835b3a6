"""Checks the doors between packages: which modules each package lets others import.

A package says in its `__init__.py` which of its modules others may import: `PUBLIC = ("messages", "errors")`. The
package itself is always a door, and so is a module that stands beside the packages, such as `league/machine.py`.
Features are packages like any other, and three rules hold for them besides: the core imports no feature; a feature
imports other features only where `USES` says so; and nobody imports the code of `starters`, which is copied.

Run it as `python -m scripts.doors`. It exits 1 and names every import that is not allowed, and every entry of a
`PUBLIC` that no other package uses. Which core package may import which is a contract in pyproject.toml.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src"
FEATURES = "league.features"
USES = {
    "audit": {"minds"},
    "dashboard": {"records"},
    "demo": {"dashboard", "grade"},
    "experiments": {"statistics", "workshop"},
    "grade": {"experiments", "records"},
    "lab": {"audit"},
    "mcp": {"records"},
    "workshop": {"records"},
}
"""The features that a feature may import. There must be no cycle. A new feature needs no entry: it may use none."""
FOR_TYPE_CHECKERS = "league.feature_names"
"""This generated module names features, and nothing imports it when a program runs."""
FOR_AUTHORS = {
    "league.features.games": {"checking"},
}
"""Public modules that only programs outside this repository import."""
COPIED = "starters"


class Import(NamedTuple):
    file: str
    line: int
    importer: str
    """The package that imports."""
    package: str
    """The package that is imported from."""
    module: str
    """The module within that package; empty for the package itself."""


def violations(source: Path = SOURCE) -> list[str]:
    """Return every import that is not allowed and every door that nobody uses."""
    doors = {package: public_modules(source, package) for package in packages(source)}
    found = []
    used: set[tuple[str, str]] = set()
    for imported in imports(source):
        used.add((imported.package, imported.module))
        if objection := _objection(imported, doors):
            found.append(f"{imported.file}:{imported.line}: {objection}")
    found += [
        f"{package} lists {module!r} in PUBLIC, but no other package imports it"
        for package, modules in doors.items()
        for module in modules
        if (package, module) not in used and module not in FOR_AUTHORS.get(package, ())
    ]
    return found


def _objection(imported: Import, doors: dict[str, tuple[str, ...]]) -> str:
    """Say why this import is not allowed; empty if it is."""
    feature = _feature(imported.package)
    importing_feature = _feature(imported.importer)
    if feature and not importing_feature:
        return f"the core imports the feature {feature}"
    if feature and importing_feature and feature not in USES.get(importing_feature, ()):
        return f"the feature {importing_feature} imports the feature {feature}: see USES in scripts/doors.py"
    if imported.module and imported.module not in doors.get(imported.package, ()):
        return f"{imported.package}.{imported.module} is not public: see PUBLIC in its package"
    return ""


def packages(source: Path = SOURCE) -> list[str]:
    """Return the names of all packages that have doors: those of the core, and the features."""
    folders = [*(source / "league").iterdir(), *(source / "league" / "features").iterdir()]
    names = {".".join(folder.relative_to(source).parts) for folder in folders if (folder / "__init__.py").is_file()}
    return sorted(names - {FEATURES})


def public_modules(source: Path, package: str) -> tuple[str, ...]:
    """Return the PUBLIC of a package, read from its code."""
    code = source.joinpath(*package.split("."), "__init__.py").read_text("utf-8")
    for node in ast.parse(code).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "PUBLIC" for t in node.targets):
            modules: tuple[str, ...] = ast.literal_eval(node.value)
            return modules
    return ()


def imports(source: Path = SOURCE) -> Iterator[Import]:
    """Return the imports of every package from other packages, wherever in a file they stand."""
    known = set(packages(source))
    for path in sorted((source / "league").rglob("*.py")):
        importer = _module_name(path, source)
        if COPIED in path.parts or importer == FOR_TYPE_CHECKERS:
            continue
        for line, name in _imported_names(path, source):
            package = _package(name, known)
            if package and package != _package(importer, known):
                module = name.removeprefix(package).removeprefix(".")
                yield Import(path.relative_to(source).as_posix(), line, importer, package, module)


def _imported_names(path: Path, source: Path) -> Iterator[tuple[int, str]]:
    """Return the line and the full name of every module that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield node.lineno, name if _is_module(name, source) else node.module


def _is_module(name: str, source: Path) -> bool:
    path = source.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def _module_name(path: Path, source: Path) -> str:
    return ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


def _package(name: str, known: set[str]) -> str:
    """Return the package with doors that a module belongs to; empty for one that belongs to none."""
    parts = name.split(".")
    return next((package for package in (".".join(parts[:3]), ".".join(parts[:2])) if package in known), "")


def _feature(name: str) -> str:
    """Return the feature that a module belongs to; empty for the core."""
    return name.removeprefix(f"{FEATURES}.").partition(".")[0] if name.startswith(f"{FEATURES}.") else ""


def main() -> int:
    found = violations()
    for violation in found:
        print(violation, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
