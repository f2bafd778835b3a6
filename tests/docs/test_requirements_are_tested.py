"""Every requirement has at least one test, and no test names one that does not exist."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.support.vectors import vectors

ROOT = Path(__file__).parents[2]


def required() -> set[str]:
    document = tomllib.loads((ROOT / "spec" / "requirements.toml").read_text("utf-8"))
    return {one["id"] for one in document["requirement"]}


def marked() -> Iterator[str]:
    """The ids in `pytest.mark.requirement("…")` anywhere in the tests."""
    for file in (ROOT / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "requirement":
                yield from (str(one.value) for one in node.args if isinstance(one, ast.Constant))


def named_by_vectors() -> set[str]:
    """Return the requirements that invalid vectors name: each vector is a test of its own (tests/vectors)."""
    return {str(vector["requirement"]) for vector in vectors("invalid")}


def test_every_requirement_has_a_test_and_no_test_names_another() -> None:
    tested = {*marked(), *named_by_vectors()}
    assert required() - tested == set(), "requirements without a test"
    assert tested - required() == set(), "requirements that do not exist"
