"""The tutorial of a board game: its program is whole, keeps the contract, and its own test passes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from league.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "board-game.md"


def programs() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def test_the_game_of_the_tutorial_passes_its_tests(tmp_path: Path) -> None:
    *parts, test = programs()
    folder = tmp_path / "domineering"
    assert main(["new", "game", str(folder)]) == 0
    (folder / "league_domineering.py").write_text("\n\n".join(parts), encoding="utf-8")
    (folder / "test_domineering.py").write_text(test, encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "unittest"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Ran 2 tests" in done.stderr


def test_the_check_of_the_tutorial_finds_a_broken_game(tmp_path: Path) -> None:
    *parts, test = programs()
    folder = tmp_path / "domineering"
    assert main(["new", "game", str(folder)]) == 0
    broken = "\n\n".join(parts).replace("turns=SIZE * SIZE // 2", "turns=1")
    (folder / "league_domineering.py").write_text(broken, encoding="utf-8")
    (folder / "test_domineering.py").write_text(test, encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "unittest"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the match has more than 1 turns" in done.stderr
