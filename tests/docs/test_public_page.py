"""The page about what is public names what there is, and the package shows nothing else."""

from __future__ import annotations

import re
from typing import get_type_hints

import league
from league import BaseRules, Game
from tests.support.pages import ROOT

PAGE = (ROOT / "docs/reference/public.md").read_text("utf-8")


def test_the_package_has_the_names_of_the_page_and_no_others() -> None:
    section = PAGE.partition("## The package `league`")[2].partition("\n## ")[0]
    assert set(re.findall(r"`(\w+)`", section)) - {"league"} == set(dir(league)) == {*league.__all__, "__version__"}
    for name in dir(league):
        assert getattr(league, name) is not None


WHOLE = frozenset({"league.games.contract", "league.games.moves", "league.games.boards", "league.rows"})
"""Modules of which everything is public."""


def test_what_other_pages_import_is_public() -> None:
    imports = re.compile(r"^from (league(?:\.\w+)+) import (\([^)]*\)|.*)$", re.MULTILINE)
    found = 0
    for page in (ROOT / "docs").rglob("*.md"):
        for module, names in imports.findall(page.read_text("utf-8")):
            found += 1
            assert f"`{module}`" in PAGE, f"{page.name} imports {module}"
            for name in re.findall(r"\w+", names) if module not in WHOLE else ():
                assert f"`{name}`" in PAGE, f"{page.name} imports {name} of {module}"
    assert found > 5


def test_the_types_of_public_classes_can_be_read() -> None:
    classes = [getattr(league, name) for name in league.__all__ if isinstance(getattr(league, name), type)]
    assert {Game, BaseRules, league.Player, league.Turn} <= set(classes)
    for cls in classes:
        get_type_hints(cls)
