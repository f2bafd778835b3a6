"""Programs that are asked: one JSON object per line in, one line of text out."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import league
from league.features.minds import conversations
from league.player.strategies import Considered, NoChoice, Turn
from league.terminal import CommandError
from tests.minds.test_conversations import asked
from tests.support.processes import Processes

FIRST = """
import json, sys
for line in sys.stdin:
    question = json.loads(line)
    assert set(question) == {"prompt", "options"}, question
    print(question["options"][0], flush=True)
"""
COUNTING = """
import json, sys
for number, line in enumerate(sys.stdin):
    print("hm" if number % 2 == 0 else json.loads(line)["options"][-1], flush=True)
"""
ENDING = "import sys; sys.stdin.readline(); sys.exit(3)"
SILENT = "import sys; [None for _ in sys.stdin]"
CHATTY = "import sys; sys.stdin.readline(); print('x' * 2_000_000, flush=True); sys.stdin.read()"
CUT = "import sys; sys.stdin.readline(); print('even', end='', flush=True)"
SECRET = "sk-secret-in-the-command-line"


def program(tmp_path: Path, code: str, name: str = "mind.py") -> str:
    file = tmp_path / name
    file.write_text(code, "utf-8")
    return f"exec:{sys.executable} '{file}' --key {SECRET}"


def turn(seconds: float = 20.0) -> Turn:
    return Turn("even_odd", "M1", "P02", ("even", "odd"), b"\x01" * 32, seconds=seconds)


def test_a_program_is_asked_by_lines(tmp_path: Path) -> None:
    value = asked(league.Ask(program(tmp_path, FIRST)))
    assert isinstance(value, Considered)
    assert value.choice == "even"
    assert value.provenance is not None
    assert (value.provenance.tokens, value.provenance.fallbacks) == (0, 0)
    conversation = conversations.read(value.conversation)
    (exchange,) = conversation.exchanges
    assert exchange.request["options"] == ["even", "odd"]
    assert "You may choose one of: even, odd." in exchange.request["prompt"]
    assert (exchange.reply, exchange.outcome) == ("even", "choice")


def test_a_correction_contains_the_whole_conversation(tmp_path: Path) -> None:
    value = asked(league.Ask(program(tmp_path, COUNTING)))
    assert isinstance(value, Considered)
    assert value.choice == "odd"
    first, second = conversations.read(value.conversation).exchanges
    assert second.request["prompt"].startswith(first.request["prompt"])
    assert "not clear which legal choice" in second.request["prompt"]


def test_its_arguments_are_nobodys_business(tmp_path: Path) -> None:
    player = league.Ask(program(tmp_path, FIRST))
    entrant = player.entrant()
    assert SECRET not in json.dumps(entrant.conditions)
    assert (entrant.conditions or {})["model"] == "mind.py"
    value = asked(player)
    assert SECRET not in value.conversation


@pytest.mark.parametrize(("code", "detail"), [
    (ENDING, "mind.py ended without an answer (status 3)"),
    (CHATTY, "mind.py cannot be asked"),
])  # fmt: skip
def test_a_program_that_fails_has_an_outage(tmp_path: Path, code: str, detail: str) -> None:
    value = asked(league.Ask(program(tmp_path, code)), turn(2.0))
    assert isinstance(value, NoChoice)
    assert value.is_outage
    assert detail in value.detail


def test_a_program_that_is_silent_is_late(tmp_path: Path) -> None:
    value = asked(league.Ask(program(tmp_path, SILENT)), turn(1.5))
    assert isinstance(value, Considered)
    assert value.provenance is not None
    assert value.provenance.fallback_reason == "late"


def test_an_answer_without_its_line_end_counts_if_the_program_ends(tmp_path: Path) -> None:
    value = asked(league.Ask(program(tmp_path, CUT)))
    assert isinstance(value, Considered)
    assert (value.choice, value.provenance and value.provenance.fallbacks) == ("even", 0)


def test_a_late_answer_is_never_taken_for_the_next_one(tmp_path: Path) -> None:
    slow = (
        "import sys, time\nfor number, line in enumerate(sys.stdin):\n    time.sleep(1.5)\n    print('odd', flush=True)"
    )
    player = league.Ask(program(tmp_path, slow), corrections=0)

    async def play() -> list[Considered | NoChoice]:
        entrant = player.entrant()
        assert entrant.session is not None
        async with entrant.session():
            late: Any = await entrant.strategy.choose(turn(1.0))  # type: ignore[misc]
            right: Any = await entrant.strategy.choose(turn(20.0))  # type: ignore[misc]
            return [late, right]

    late, right = asyncio.run(play())
    assert isinstance(late, Considered)
    assert late.provenance is not None
    assert late.provenance.fallback_reason == "late"
    assert isinstance(right, Considered)
    assert (right.choice, right.provenance and right.provenance.fallbacks) == ("odd", 0)


@pytest.mark.parametrize(("spec", "detail"), [
    ("exec:/nowhere/at/all", "cannot be started: No such file or directory; check the command"),
    ("exec:", "the command is empty"),
    ("exec:'", "is not a command"),
    ("gpt", "is not exec:COMMAND"),
    ("mcp+ftp://x", "is not exec:COMMAND"),
    ("mcp+http:///x", "is not the address of an MCP server"),
])  # fmt: skip
def test_what_cannot_be_asked_is_refused(spec: str, detail: str) -> None:
    with pytest.raises(CommandError, match=re.escape(detail)):
        asked(league.Ask(spec))


def test_a_program_plays_in_a_league_and_ends_with_it(processes: Processes, tmp_path: Path) -> None:
    manager = processes.manager(players=2, referees=1)
    processes.referee(manager)
    processes.players(manager, "other")
    program_player = processes.players(manager, "mind", ask=program(tmp_path, FIRST))
    assert program_player.wait() == 0
    manager.stop()
    rows = json.loads(processes.run("standings", "--journal", processes.journal("manager"), "--json").stdout)
    assert sum(row["played"] for row in rows) == 2
    conditions = json.loads(processes.run("statistics", "--journal", processes.journal("manager"), "--json").stdout)
    (model,) = conditions["models"]
    assert (model["choices"], model["fallbacks"]) == (1, 0)
    assert model["conditions"][0]["model"] == "mind.py"


def test_a_wrong_kind_is_refused_on_the_command_line(processes: Processes) -> None:
    done = processes.run("player", "--ask", "gpt-5", "--host", "127.0.0.1")
    assert done.returncode == 2
    assert "--ask: 'gpt-5' is not llm:MODEL, exec:COMMAND" in done.stderr
    done = processes.run("player", "--ask", "llm:gpt-5", "--host", "127.0.0.1")
    assert (done.returncode, "--ask llm needs --base-url" in done.stderr) == (2, True)
    done = processes.run("player", "--strategy", "random", "--ask", "llm:m", "--host", "127.0.0.1")
    assert (done.returncode, "--ask is for --strategy llm" in done.stderr) == (2, True)
