"""The page on the architecture knows every part there is, and names none that is not there."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.walk import Visit, walked
from tests.support.pages import ROOT

PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "league"


def test_every_part_has_its_layer() -> None:
    parts = {f"{one.name}/" for one in SOURCE.iterdir() if one.is_dir() and (one / "__init__.py").exists()}
    parts |= {one.name for one in SOURCE.glob("[!_]*.py")}
    layers = PAGE[PAGE.index("## Layers") : PAGE.index("## What it costs")]
    named = re.findall(r"`([a-z_]+(?:/|\.py))`", layers)
    assert sorted(named) == sorted(parts)


def test_the_walk_of_one_message_is_the_one_on_the_page(tmp_path: Path) -> None:
    """`python -m tests.docs.walk` prints the table as it is now."""
    rows = re.findall(r"^\| `([a-z_/]+\.py)` \| ((?:`\w+`(?:, )?)+) \|$", PAGE, re.MULTILINE)
    on_the_page = [Visit(file, name) for file, names in rows for name in re.findall(r"`(\w+)`", names)]
    assert [str(one) for one in on_the_page] == [str(one) for one in walked(tmp_path)]


def test_every_file_it_names_is_there() -> None:
    named = re.findall(r"`([a-z_]+/[a-z_]+\.py)`", PAGE)
    assert named
    assert [name for name in named if not (SOURCE / name).exists()] == []
