"""The front page is true: its examples are the examples, and what it calls missing is missing."""

from __future__ import annotations

import argparse
import ast
import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from league.cli.main import command_parsers, main
from league.player import strategies
from tests.support.pages import ROOT, blocks

PAGE = (ROOT / "README.md").read_text(encoding="utf-8")


def choices(command: str, name: str) -> list[str]:
    parser: argparse.ArgumentParser = command_parsers()[command]
    return next(list(one.choices or ()) for one in parser._actions if one.dest == name)


def test_the_player_is_the_example_of_the_same_name() -> None:
    [shown] = [one.text for one in blocks(PAGE) if one.language == "python" and "class Contrarian" in one.text]
    example = (ROOT / "examples" / "players" / "contrarian.py").read_text(encoding="utf-8")

    def body(source: str) -> list[str]:
        [player] = [one for one in ast.parse(source).body if isinstance(one, ast.ClassDef)]
        return [ast.unparse(line) for one in player.body if isinstance(one, ast.FunctionDef) for line in one.body]

    assert body(shown) == body(example)


def test_the_first_player_meets_the_one_that_looks_ahead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [source] = [one.text for one in blocks(PAGE) if one.language == "python" and "class Center" in one.text]
    file = tmp_path / "center.py"
    file.write_text(source, encoding="utf-8")
    [options] = re.findall(r"league tournament --strategy (\S+) --game (\S+)`", PAGE)
    command = ["tournament", "--strategy", options[0].replace("./center.py", str(file)), "--game", options[1]]
    # The better one does not win every match.
    assert main([*command, "--meetings", "1", "--seed", "7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["standings"][-1]["strategy"] == f"{file}:Center"


def test_it_fits_on_a_screen() -> None:
    assert len(PAGE.splitlines()) <= 85
    assert PAGE.index("class Center") < PAGE.index("class Contrarian")


def test_what_is_not_there_yet_is_not_there() -> None:
    """Whoever builds one of these takes it out of the sentence."""
    missing = "".join(re.findall(r"^Not available yet: .+?\.\s", PAGE, re.DOTALL | re.MULTILINE))
    there = {
        "the dashboard": find_spec("league.features.dashboard") is not None,
        "the kit for referees and managers": choices("check", "role") != ["player"],
        "journals in PostgreSQL": find_spec("league.storage.database.postgres") is not None,
        "`mcp`": find_spec("league.features.mcp.offers.offered_turns") is not None,
        "`llm`": "llm" in strategies.known() or find_spec("league.features.minds.asking") is not None,
    }
    assert {what: what in missing for what in there} == {what: not built for what, built in there.items()}
