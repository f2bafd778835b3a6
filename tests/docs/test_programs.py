"""The programs in the pages, as a reader uses them: saved as a file, and run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages import ROOT, Block, blocks

PAGES = sorted((ROOT / "docs").rglob("*.md"))


def is_program(block: Block) -> bool:
    """True for a block that works by itself. The tests of a page run its files, together with its commands."""
    kind = block.note.partition(": ")[0]
    return block.language == "python" and kind not in ("file", "not run")


PROGRAMS = [
    pytest.param(block, id=f"{page.relative_to(ROOT).as_posix()}-{number}")
    for page in PAGES
    for number, block in enumerate(blocks(page.read_text("utf-8")))
    if is_program(block)
]


@pytest.mark.slow
@pytest.mark.parametrize("block", PROGRAMS)
def test_every_program_of_a_page_runs_as_printed(block: Block, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(block.text, "utf-8")
    command = [sys.executable, "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
