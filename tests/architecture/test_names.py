"""A public class name means one thing, and a call says what its arguments are: readers can trust both in any file."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
STARTERS = "starters"
"""Files that authors of agents copy; they are no part of the package."""
SHARED_NAMES = {
    "LeagueError": "submissions catch it by this name in a sandbox, where `inside/stub.py` stands in for the package",
    "LeagueQueryError": "a report of grading quotes its name, and authors know it from a league",
    "Player": "submissions are subclasses of it, in a sandbox as in a league",
}
"""Names that two classes have, and why. Before you add one, look for a better name."""
MOST_SHARED_NAMES = 3
MOST_POSITIONAL_ARGUMENTS = 6


def source_files() -> dict[str, str]:
    paths = (path for path in SOURCE.rglob("*.py") if STARTERS not in path.parts)
    return {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def repeated_classes(files: Mapping[str, str]) -> dict[str, list[str]]:
    """The public class names that several files define, with these files."""
    places = defaultdict(list)
    for path, code in files.items():
        for node in ast.parse(code).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path)
    return {name: paths for name, paths in places.items() if len(paths) > 1}


def long_calls(files: Mapping[str, str]) -> Iterator[str]:
    """The calls with too many positional arguments, as "file:line"."""
    for path, code in files.items():
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Call) and len(node.args) > MOST_POSITIONAL_ARGUMENTS:
                yield f"{path}:{node.lineno}"


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def test_a_class_name_exists_once() -> None:
    files = source_files()
    assert len(files) > 1
    repeated = repeated_classes(files)
    new = {name: paths for name, paths in repeated.items() if name not in SHARED_NAMES}
    assert not new, f"give one of these classes another name: {new}"
    gone = SHARED_NAMES.keys() - repeated.keys()
    assert not gone, f"these names mean one thing now: {listed(gone)}"
    assert len(SHARED_NAMES) <= MOST_SHARED_NAMES


def test_a_class_name_that_exists_twice_is_found() -> None:
    files = {"a.py": "class Turn: ...\nclass _Own: ...\n", "b.py": "class Round: ...\nclass _Own: ...\n"}
    assert repeated_classes(files) == {}
    assert repeated_classes(files | {"c.py": "class Turn: ...\n"}) == {"Turn": ["a.py", "c.py"]}


def test_long_calls_name_their_arguments() -> None:
    calls = list(long_calls(source_files()))
    assert not calls, f"pass arguments by keyword from the fourth on: {calls}"


def test_a_long_call_is_found() -> None:
    assert list(long_calls({"a.py": "play(1, 2, 3, 4, 5, 6, seat=7)"})) == []
    assert list(long_calls({"a.py": "\nplay(1, 2, 3, 4, 5, 6, 7)"})) == ["a.py:2"]
