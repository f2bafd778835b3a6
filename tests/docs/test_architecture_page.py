"""The page on the architecture knows every part there is, and the page on two messages each function on their way."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from scripts.doors import packages
from tests.support.pages import ROOT

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
WALKS = (ROOT / "docs" / "explanation" / "two-messages.md").read_text(encoding="utf-8")
CORE = ROOT / "src" / "league"


def test_it_can_be_read_in_ten_minutes() -> None:
    assert len(PAGE.split()) <= 10 * 240


def test_every_part_has_its_layer() -> None:
    parts = {package.removeprefix("league.").replace(".", "/") + "/" for package in packages()}
    parts |= {one.name for one in CORE.glob("[!_]*.py")}
    layers = PAGE[PAGE.index("## Layers") : PAGE.index("## What it costs")]
    named = re.findall(r"`((?:features/)?[a-z_]+(?:/|\.py))`", layers)
    assert sorted(named) == sorted(parts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "heading"), [("play", "## The walk of a choice"), ("score", "## The walk of a report")]
)
def test_each_walk_is_the_one_on_the_page(name: str, heading: str) -> None:
    """Each runs in a process of its own: functions whose results are remembered would be missing in a later walk."""
    traced = subprocess.run(
        [sys.executable, "-m", "tests.docs.walk", name], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    table = WALKS[WALKS.index("| file | functions |", WALKS.index(heading)) :].partition("\n\n")[0]
    assert table.strip().split("\n") == traced.split("\n")
