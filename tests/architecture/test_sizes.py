"""Functions stay short enough to read in one go. There is no limit for files: a file ends where its idea ends."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
FUNCTION_LINES = 70


def long_functions(code: str) -> list[str]:
    """The functions of this code with too many lines, as "name: lines"."""
    lengths = [
        (node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [f"{name}: {length}" for name, length in lengths if length > FUNCTION_LINES]


def test_functions_are_short() -> None:
    files = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert len(files) > 1
    too_long = {name: functions for name, code in files.items() if (functions := long_functions(code))}
    assert not too_long, f"split these functions, each has more than {FUNCTION_LINES} lines: {too_long}"


@pytest.mark.parametrize("keyword", ["def", "async def"])
def test_a_function_of_one_line_too_many_is_found(keyword: str) -> None:
    fits = f"class Match:\n    {keyword} play(self):\n" + "        pass\n" * (FUNCTION_LINES - 1)
    assert long_functions(fits) == []
    assert long_functions(fits + "        pass\n") == [f"play: {FUNCTION_LINES + 1}"]
