"""The page on the architecture knows every part there is, and names none that is not there."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.support.pages import ROOT

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src"
CORE = SOURCE / "league"


def test_every_part_has_its_layer() -> None:
    parts = {f"{one.name}/" for one in CORE.iterdir() if one.is_dir() and (one / "__init__.py").exists()}
    parts |= {one.name for one in CORE.glob("[!_]*.py")}
    parts |= {f"{one.name}/" for one in SOURCE.glob("league_*")}
    layers = PAGE[PAGE.index("## Layers") : PAGE.index("## What it costs")]
    named = re.findall(r"`([a-z_]+(?:/|\.py))`", layers)
    assert sorted(named) == sorted(parts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "heading"), [("play", "## The walk of one message"), ("score", "### The walk of a report")]
)
def test_each_walk_is_the_one_on_the_page(name: str, heading: str) -> None:
    """Each runs in a process of its own: functions whose results are remembered would be missing in a later walk."""
    traced = subprocess.run(
        [sys.executable, "-m", "tests.docs.walk", name], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    start = PAGE.index("| file | functions |", PAGE.index(heading))
    assert PAGE[start : PAGE.index("\n\n", start)].split("\n") == traced.split("\n")


def test_every_file_it_names_is_there() -> None:
    named = re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", PAGE)
    assert named
    assert [name for name in named if not (CORE / name).exists() and not (SOURCE / name).exists()] == []
