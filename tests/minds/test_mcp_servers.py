"""MCP servers that are asked for choices: written with several frameworks, of both eras, over HTTP, SSE and stdio."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import league
from league.features.minds import conversations
from league.player.strategies import Considered, NoChoice, Turn
from league.protocol.message.messages import ChooseParityCall, GameMoveCall
from league.protocol.message.parts import MoveRequest
from league.terminal import CommandError, console
from tests.minds.test_conversations import asked
from tests.support.mcp_programs import PROGRAMS, PYTHON_PACKAGES, node_program, python_program
from tests.support.processes import Process, Processes

CELLS = ("1", "2", "3", "4", "5", "6", "7", "8", "9")
ENVIRONMENTS = {"fastmcp2": "fastmcp", "fastmcp3": "fastmcp", "fastmcp4": "fastmcp", "sdk_1": "sdk_1", "sdk_2": "sdk_2"}
PACKAGES = {"sdk_1": "fastmcp2", "sdk_2": "fastmcp4"}
SERVERS = [
    ("fastmcp2", "asks", "http"),
    ("fastmcp3", "unknown_names", "http"),
    ("fastmcp4", "moves", "http"),
    ("sdk_1", "models", "http"),
    ("sdk_2", "unknown_names", "http"),
    ("sdk_2", "moves", "http"),
    ("fastmcp2", "moves", "sse"),
    ("sdk_1", "asks", "sse"),
    ("sdk_1", "moves", "stdio"),
    ("sdk_2", "asks", "stdio"),
    ("fastmcp3", "models", "stdio"),
]


def call_for_a_move() -> Turn:
    board = {"board": [""] * 9}
    request = MoveRequest(move_type="MARK", valid_options=list(CELLS), context=board)
    call = GameMoveCall(
        sender="referee:REF01",
        timestamp="2026-01-01T00:00:00Z",
        conversation_id="conv",
        match_id="R1M1",
        player_id="P01",
        game_type="tic_tac_toe",
        deadline="2026-01-01T00:00:30Z",
        move_request=request,
    )
    return Turn("tic_tac_toe", "R1M1", "P02", CELLS, b"\x01" * 32, view=board, call=call)


def call_for_a_parity() -> Turn:
    call = ChooseParityCall(
        sender="referee:REF01",
        timestamp="2026-01-01T00:00:00Z",
        conversation_id="conv",
        match_id="R1M1",
        player_id="P01",
        game_type="even_odd",
        deadline="2026-01-01T00:00:30Z",
    )
    return Turn("even_odd", "R1M1", "P02", ("even", "odd"), b"\x01" * 32, call=call)


def packages_of(framework: str) -> str:
    return PACKAGES.get(framework, framework)


def stdio_spec(framework: str, style: str) -> str:
    path = os.pathsep.join(str(PYTHON_PACKAGES / name) for name in (packages_of(framework), "shared"))
    program = PROGRAMS / "minds.py"
    return f"mcp:env PYTHONPATH={path} {sys.executable} {program} {ENVIRONMENTS[framework]} {style} stdio"


@contextmanager
def serving(folder: Path, framework: str, style: str, transport: str = "http") -> Iterator[str]:
    """What to ask, while the server runs."""
    if transport == "stdio":
        yield stdio_spec(framework, style)
        return
    arguments = [ENVIRONMENTS[framework], style, transport]
    process = python_program("minds.py", packages_of(framework), arguments, folder)
    try:
        yield f"mcp+{process.endpoint}"
    finally:
        process.kill()


@pytest.mark.slow
@pytest.mark.requirement("EXPERIMENT.conversation")
@pytest.mark.parametrize(("framework", "style", "transport"), SERVERS)
def test_a_server_is_asked_whatever_its_tools_are_called(
    tmp_path: Path, framework: str, style: str, transport: str
) -> None:
    with serving(tmp_path, framework, style, transport) as spec:
        for turn in (call_for_a_move(), call_for_a_parity()):
            value = asked(league.Ask(spec), turn)
            assert isinstance(value, Considered), value
            assert value.provenance is not None
            assert value.provenance.fallbacks == 0, value.conversation
            assert value.choice in ("1", "9", "even", "odd")
            (exchange,) = conversations.read(value.conversation).exchanges
            assert exchange.outcome == "choice"
            assert exchange.request["tool"]
            assert json.loads(exchange.reply)["content"]


@pytest.mark.slow
def test_a_server_of_the_newest_era_alone_is_asked(tmp_path: Path) -> None:
    process = node_program("player.cjs", [], tmp_path)
    try:
        value = asked(league.Ask(f"mcp+{url_of(process)}"), call_for_a_parity())
    finally:
        process.kill()
    assert isinstance(value, Considered)
    assert (value.choice, value.provenance and value.provenance.fallbacks) == ("even", 0)


def url_of(process: Process) -> str:
    """It says its name before its address."""
    return process.endpoint.rpartition(" ")[2]


@pytest.mark.slow
def test_the_tool_can_be_named_and_must_be_there(tmp_path: Path) -> None:
    with serving(tmp_path, "sdk_2", "unclear") as spec:
        with pytest.raises(CommandError, match="weather, traffic; name one of them with --tool"):
            asked(league.Ask(spec), call_for_a_move())
        with pytest.raises(CommandError, match="has no tool 'sun'; its tools: weather, traffic"):
            asked(league.Ask(spec, tool="sun"), call_for_a_move())
        value = asked(league.Ask(spec, tool="weather", corrections=0), call_for_a_move())
    assert isinstance(value, Considered)
    assert value.provenance is not None
    assert value.provenance.fallback_reason == "unreadable"


@pytest.mark.slow
def test_the_token_is_sent_and_shown_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complaints: list[str]
) -> None:
    monkeypatch.setenv("MIND_TOKEN", "tok-of-the-author")
    with serving(tmp_path, "sdk_1", "asks") as spec:
        monkeypatch.setenv("LEAGUE_MCP_TOKEN", "tok-of-the-author")
        value = asked(league.Ask(spec), call_for_a_move())
        monkeypatch.setenv("LEAGUE_MCP_TOKEN", "tok-of-another")
        with pytest.raises(CommandError, match=r"status 401.*bearer token into LEAGUE_MCP_TOKEN") as error:
            asked(league.Ask(spec), call_for_a_move())
        assert "tok-of" not in str(error.value)
    assert isinstance(value, Considered)
    assert value.provenance is not None
    assert value.provenance.fallbacks == 0
    assert "tok-of" not in value.conversation
    assert "tok-of" not in str(complaints)


@pytest.fixture
def complaints(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is said at the terminal."""
    said: list[str] = []
    monkeypatch.setattr(console, "complain", said.append)
    return said


@pytest.mark.slow
def test_a_tool_that_fails_is_an_outage_and_its_words_are_kept(tmp_path: Path) -> None:
    short = Turn("even_odd", "R1M1", "P02", ("even", "odd"), b"\x01" * 32, seconds=4.0)
    with serving(tmp_path, "fastmcp4", "failing") as spec:
        value = asked(league.Ask(spec), short)
    assert isinstance(value, NoChoice)
    assert value.is_outage
    assert "the engine has no fuel" in value.detail


@pytest.mark.slow
def test_a_server_that_ends_is_reached_again_when_it_is_back(tmp_path: Path, complaints: list[str]) -> None:
    spec = stdio_spec("sdk_2", "asks")

    async def play() -> list[Any]:
        entrant = league.Ask(spec).entrant()
        assert entrant.session is not None
        async with entrant.session():
            before = await entrant.strategy.choose(call_for_a_move())  # type: ignore[misc]
            connection: Any = entrant.strategy.transport._connection  # type: ignore[attr-defined]
            await connection.close()
            after = await entrant.strategy.choose(call_for_a_move())  # type: ignore[misc]
            return [before, after]

    before, after = asyncio.run(play())
    assert before.choice == after.choice == "1"
    assert after.provenance.fallbacks == 0


@pytest.mark.slow
def test_a_server_that_starts_slowly_is_asked_as_soon_as_its_tools_are_known(complaints: list[str]) -> None:
    async def play() -> Any:
        entrant = league.Ask(stdio_spec("sdk_2", "asks")).entrant()
        assert entrant.session is not None
        async with entrant.session():
            # As after a greeting that ended before the server was up.
            transport: Any = entrant.strategy.transport  # type: ignore[attr-defined]
            await transport._drop()
            transport._tools = ()
            return await entrant.strategy.choose(call_for_a_move())  # type: ignore[misc]

    value = asyncio.run(play())
    assert value.choice == "1"
    assert value.provenance.fallbacks == 0, value.conversation


def test_without_the_package_the_user_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(CommandError, match=r"needs the extra mcp: pip install 'agent-league\[mcp\]'"):
        league.Ask("mcp+http://127.0.0.1:1/mcp")


def test_nobody_there_is_an_outage(complaints: list[str]) -> None:
    short = Turn("even_odd", "R1M1", "P02", ("even", "odd"), b"\x01" * 32, seconds=4.0)
    value = asked(league.Ask("mcp+http://127.0.0.1:1/mcp"), short)
    assert isinstance(value, NoChoice)
    assert value.is_outage
    assert "cannot be reached" in complaints[0]


@pytest.mark.slow
def test_servers_play_in_a_league(processes: Processes, tmp_path: Path) -> None:
    with (
        serving(tmp_path, "fastmcp2", "asks", "sse") as old,
        serving(tmp_path, "fastmcp4", "moves") as new,
    ):
        manager = processes.manager(players=3, referees=1, game="tic_tac_toe")
        processes.referee(manager, game="tic_tac_toe")
        processes.players(manager, "old", ask=old, game="tic_tac_toe")
        processes.players(manager, "new", ask=new, game="tic_tac_toe", tool="choose_move")
        pipes = stdio_spec("sdk_1", "asks")
        assert processes.players(manager, "pipes", ask=pipes, game="tic_tac_toe").wait() == 0
        manager.stop()
    found = json.loads(processes.run("statistics", "--journal", processes.journal("manager"), "--json").stdout)
    assert {one["display_name"]: one["fallbacks"] for one in found["models"]} == {"old": 0, "new": 0, "pipes": 0}
    assert all(one["choices"] >= 4 for one in found["models"])
