"""The page "Add a game" shows the example as it is, and its code runs as printed."""

import re
from pathlib import Path

import pytest

from examples.games.nim import league_nim
from league.games import registry

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "add-a-game.md").read_text(encoding="utf-8")
NIM = ROOT / "examples" / "games" / "nim"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_the_page_shows_the_example_as_it_is() -> None:
    assert blocks("python")[0] == (NIM / "league_nim.py").read_text(encoding="utf-8")
    assert blocks("toml")[0] == (NIM / "pyproject.toml").read_text(encoding="utf-8")


def test_the_loop_on_the_page_plays_a_game_to_its_end(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "BUILT_IN", {"nim": league_nim.GAME})
    (loop,) = [block for block in blocks("python") if 'find("nim")' in block]
    exec(loop, {})
    reason, verdict = capsys.readouterr().out.splitlines()
    assert reason == "P01 took the last stick"
    assert verdict.startswith("Verdict(kind='confirmed', winner=0")


@pytest.mark.parametrize("word", ["start", "to_move", "legal_moves", "play", "draw", "outcome", "view"])
def test_the_page_names_every_function_of_the_rules(word: str) -> None:
    assert f"| `{word}(" in PAGE
    assert hasattr(league_nim.RULES, word)
