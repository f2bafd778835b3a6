"""The front page is true: its examples get what it says, and what it calls missing is missing."""

from __future__ import annotations

import argparse
import ast
import json
import re
from importlib.util import find_spec

from league.cli.main import command_parsers
from league.player import strategies
from league.protocol.envelope import STRICT, Reading, unseal
from tests.support.pages import ROOT, blocks

COMPAT = Reading("compat")
PAGE = (ROOT / "README.md").read_text(encoding="utf-8")


def choices(command: str, name: str) -> list[str]:
    parser: argparse.ArgumentParser = command_parsers()[command]
    return next(list(one.choices or ()) for one in parser._actions if one.dest == name)


def test_the_wrong_message_is_wrong_in_just_one_way_that_matters() -> None:
    [shown] = [one.text for one in blocks(PAGE) if "league validate" in one.text]
    found = re.search(r"echo '(.+)' \|", shown, re.DOTALL)
    assert found is not None
    violations = unseal(json.loads(found[1]), COMPAT).violations
    assert [one.code for one in violations if not one.lenient] == ["E004"]
    assert unseal(json.loads(found[1]), STRICT).violations


def test_the_answers_in_json_are_answers_that_a_referee_takes() -> None:
    for block in blocks(PAGE):
        if block.language == "json":
            assert all(one.lenient for one in unseal(json.loads(block.text), COMPAT).violations)


def test_the_player_is_the_example_of_the_same_name() -> None:
    [shown] = [one.text for one in blocks(PAGE) if one.language == "python" and "class Contrarian" in one.text]
    example = (ROOT / "examples" / "players" / "contrarian.py").read_text(encoding="utf-8")

    def body(source: str) -> list[str]:
        [player] = [one for one in ast.parse(source).body if isinstance(one, ast.ClassDef)]
        return [ast.unparse(line) for one in player.body if isinstance(one, ast.FunctionDef) for line in one.body]

    assert body(shown) == body(example)


def test_the_table_has_every_command() -> None:
    table = re.findall(r"^\| ([A-Z][^|]+) \| (`.+`) \|$", PAGE, re.MULTILINE)
    commands = [name for _, names in table for name in re.findall(r"`([a-z-]+)`", names)]
    assert sorted(commands) == sorted(command_parsers())


def test_what_is_not_there_yet_is_not_there() -> None:
    """Whoever builds one of these takes it out of the sentence."""
    [missing] = re.findall(r"^Not available yet: .+?\.\s", PAGE, re.DOTALL | re.MULTILINE)
    there = {
        "the dashboard": find_spec("league_dashboard") is not None,
        "the kit for referees and managers": choices("check", "role") != ["player"],
        "journals in PostgreSQL": find_spec("league.storage.postgres") is not None,
        "`mcp`": find_spec("league_mcp.offered_turns") is not None,
        "`llm`": "llm" in strategies.known() or find_spec("league_minds.asking") is not None,
    }
    assert {what: what in missing for what in there} == {what: not built for what, built in there.items()}
