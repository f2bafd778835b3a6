"""Functions and files stay short enough to read at one go; the habit is 25 and 400 lines, this the limit."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
FUNCTION_LINES = 50
FILE_LINES = 450


def long_functions(code: str) -> list[str]:
    """The functions of this code with too many lines, as "name: lines"."""
    lengths = [
        (node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [f"{name}: {length}" for name, length in lengths if length > FUNCTION_LINES]


def _files() -> list[str]:
    return sorted(path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))


@pytest.mark.parametrize("file", _files())
def test_a_file_and_its_functions_are_short(file: str) -> None:
    code = (SOURCE / file).read_text(encoding="utf-8")
    assert long_functions(code) == []
    assert len(code.splitlines()) <= FILE_LINES


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_a_function_of_one_line_too_many_is_found(keyword: str) -> None:
    fits = f"class Match:\n    {keyword} play(self):\n" + "        pass\n" * (FUNCTION_LINES - 1)
    assert long_functions(fits) == []
    assert long_functions(fits + "        pass\n") == [f"play: {FUNCTION_LINES + 1}"]
