"""The page on the architecture knows every part there is, and names none that is not there."""

from __future__ import annotations

import re
import subprocess
import sys

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


def test_the_walk_of_one_message_is_the_one_on_the_page() -> None:
    """In a process of its own: what is remembered from earlier walks would be missing in this one."""
    traced = subprocess.run(
        [sys.executable, "-m", "tests.docs.walk"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    start = PAGE.index("| file | functions |")
    assert PAGE[start : PAGE.index("\n\n", start)].split("\n") == traced.split("\n")


def test_every_file_it_names_is_there() -> None:
    named = re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", PAGE)
    assert named
    assert [name for name in named if not (CORE / name).exists() and not (SOURCE / name).exists()] == []
