"""A file that a docstring, a comment or a page of ours points to is there.

A name with a folder is looked for below the repository, `src/league`, and the rooms around the one that points. A name
alone is a file in `src/league` itself or beside the one that points: in Python that is its folder, on a page that of
the last name with a folder in the paragraph. Pages for users also name files that the reader writes, so there only
names with a folder count. What pages of ours name as a folder (`agent/`) or a class (`LeagueManager`) is there, too.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.support.pages import ROOT
from tests.support.vectors import check_all

FILE = re.compile(r"(?<![\w/.{<*-])((?:[a-z]\w*/)*[a-z]\w*\.py|(?:[a-z]\w*/)+[a-z]\w*\.toml)\b(?!:\w)")
FOLDER = re.compile(r"`((?:[a-z_]+/)+)`")
CLASS = re.compile(r"`((?:[A-Z][a-z]+){2,})`")
CLASSES_OF_OTHERS = ("StrictUndefined",)
PAGES_OF_OURS = (
    "CONTRIBUTING.md",
    "docs/explanation/*.md",
    "docs/decisions/*.md",
    "docs/reference/*.md",
    "spec/**/*.md",
)
PAGES_FOR_USERS = ("README.md", "docs/how-to/*.md", "docs/tutorial/*.md")
FILES_OF_USERS = ("player.py",)
"""Files that users write under these names, in folders of theirs."""
SOURCES = ("src/**/*.py", "scripts/**/*.py", "benchmarks/*.py", "tests/**/test_*.py")


def _remarks(text: str) -> Iterator[str]:
    """The docstrings and comments of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


CORE = ROOT / "src" / "league"


def _place(name: str, folder: Path) -> Path | None:
    """The file that is meant by a name which is mentioned in this folder."""
    if name.rpartition("/")[2] in FILES_OF_USERS:
        return folder / name
    around = [parent for parent in (folder, *folder.parents) if CORE in parent.parents]
    places = (ROOT, ROOT / "src", CORE, *around) if "/" in name else (folder, CORE)
    return next((place / name for place in places if (place / name).exists()), None)


def _stale_in_source(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    if not FILE.search(text):
        return []
    return sorted({name for remark in _remarks(text) for name in FILE.findall(remark) if not _place(name, path.parent)})


def _stale_on_page(path: Path, *, bare_names: bool) -> Iterator[str]:
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=\|)", text):
        folder = CORE
        for name in FILE.findall(paragraph):
            if "/" not in name and not bare_names:
                continue
            place = _place(name, folder)
            if place is None:
                yield name
            else:
                folder = place.parent


def _stale_names(path: Path, classes: frozenset[str]) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    for name in FOLDER.findall(text):
        if not any((place / name).is_dir() for place in (ROOT, CORE)):
            yield name
    for name in CLASS.findall(text):
        if name not in classes and name not in CLASSES_OF_OTHERS:
            yield name


def _classes() -> frozenset[str]:
    """The names of all classes and aliases of ours."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob("src/**/*.py"))
    return frozenset(re.findall(r"^(?:class )?([A-Z]\w+)\b", text, re.MULTILINE))


def _files(patterns: tuple[str, ...]) -> dict[str, Path]:
    return {path.relative_to(ROOT).as_posix(): path for pattern in patterns for path in sorted(ROOT.glob(pattern))}


def test_a_docstring_or_comment_points_to_files_that_exist() -> None:
    check_all(_files(SOURCES), _stale_in_source)


def test_a_page_of_ours_points_to_files_that_exist() -> None:
    check_all(_files(PAGES_OF_OURS), lambda path: list(_stale_on_page(path, bare_names=True)))


def test_a_page_of_ours_names_folders_and_classes_that_exist() -> None:
    classes = _classes()
    check_all(_files(("CONTRIBUTING.md", *PAGES_OF_OURS[1:3])), lambda path: list(_stale_names(path, classes)))


def test_a_page_for_users_points_to_files_that_exist() -> None:
    check_all(_files(PAGES_FOR_USERS), lambda path: list(_stale_on_page(path, bare_names=False)))


def test_a_stale_pointer_is_found(tmp_path: Path) -> None:
    (tmp_path / "beside.py").touch()
    module = tmp_path / "module.py"
    module.write_text(
        '"""See `beside.py`, gone.py and agent/pump.py."""\n# lost.py\nNAME = "mine.py"\n', encoding="utf-8"
    )
    assert _stale_in_source(module) == ["gone.py", "lost.py"]
    page = tmp_path / "page.md"
    page.write_text("| `agent/pump.py`, `meter.py`, `faults.py` |\n```\nx.py\n```\n`agent/none.py`\n", encoding="utf-8")
    assert list(_stale_on_page(page, bare_names=True)) == ["faults.py", "agent/none.py"]
    assert list(_stale_on_page(page, bare_names=False)) == ["agent/none.py"]
    page.write_text("`agent/`, `simulation/`, `LeagueManager`, `Exchanges`, `LeagueMaster`\n", encoding="utf-8")
    assert list(_stale_names(page, frozenset({"LeagueManager"}))) == ["simulation/", "LeagueMaster"]
