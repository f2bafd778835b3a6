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


def test_the_types_of_public_classes_can_be_read() -> None:
    classes = [getattr(league, name) for name in league.__all__ if isinstance(getattr(league, name), type)]
    assert {Game, BaseRules, league.Player, league.Turn} <= set(classes)
    for cls in classes:
        get_type_hints(cls)
