"""Every package says what it is for, who may use it and what it may touch."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.vectors import check_all

CORE = Path(__file__).parents[2] / "src" / "league"
SENTENCES = 3


def _too_short(code: str) -> list[str]:
    """How much the docstring of a package says, if that is too little."""
    docstring = ast.get_docstring(ast.parse(code)) or ""
    sentences = len(re.findall(r"[.?](?=\s|$)", docstring))
    return [f"{sentences} sentences"] if sentences < SENTENCES else []


def test_a_package_says_what_it_is_for() -> None:
    rooms = {
        path.parent.relative_to(CORE).as_posix(): path.read_text(encoding="utf-8")
        for path in CORE.rglob("__init__.py")
        if "starters" not in path.parts
    }
    assert len(rooms) > 40
    check_all(rooms, _too_short)


def test_a_package_that_says_too_little_is_found() -> None:
    assert _too_short('"""It is for this.\n\nThose use it. It touches nothing.\n"""') == []
    assert _too_short('"""It is for this. `spar.py` uses it."""') == ["2 sentences"]
    assert _too_short("") == ["0 sentences"]
