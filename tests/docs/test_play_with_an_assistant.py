"""What "Play with an assistant" says, done: its files are read as an assistant reads them, its programs play."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from league.features.mcp.offers.offered_turns import OfferedTurns, TurnTools
from tests.support.mcp_clients import connected, with_local_server
from tests.support.mcp_programs import python_program
from tests.support.pages import ROOT, Block, Reader, blocks, sections
from tests.support.processes import WATCHDOG_S, Process, Processes

PAGE = (ROOT / "docs" / "how-to" / "play-with-an-assistant.md").read_text(encoding="utf-8")
PARTS = sections(PAGE)
BIN = Path(sys.prefix) / "bin"
KEY = "THE-KEY-YOU-CHOSE"
YOURS = "http://127.0.0.1:8200"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with Processes(tmp_path) as processes:
        one = Reader(processes)
        yield one
        one.leave()
    assert processes.bugs == []


def section(number: int) -> list[Block]:
    return next(blocks(text) for title, text in PARTS.items() if title.startswith(f"{number}. "))


def servers(block: Block) -> dict[str, dict[str, Any]]:
    """The servers in a file of an assistant (Any: JSON)."""
    found: dict[str, dict[str, Any]] = json.loads(block.text)["mcpServers"]
    return found


@asynccontextmanager
async def opened(server: dict[str, Any], folder: Path) -> AsyncIterator[Client]:
    """A server of an assistant's file, used as an assistant uses it (Any: JSON)."""
    if "url" in server:
        async with connected(server["url"], "auto", server.get("headers")) as client:
            yield client
        return
    environment = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **server.get("env", {})}
    async with with_local_server([server["command"], *server["args"]], "auto", folder, environment) as client:
        yield client


def tools_of(server: dict[str, Any], folder: Path) -> set[str]:
    async def look() -> set[str]:
        async with asyncio.timeout(WATCHDOG_S), opened(server, folder) as client:
            return {one.name for one in (await client.list_tools()).tools}

    return asyncio.run(look())


def program(reader: Reader, block: Block) -> Path:
    """Save a program of the page, with the addresses as they are."""
    path = reader.processes.folder / block.note.removeprefix("file: ")
    path.write_text("".join(reader.moved(line) for line in block.text.splitlines(keepends=True)), encoding="utf-8")
    return path


def test_whoever_follows_the_page_connects_an_assistant_and_plays_the_league(reader: Reader) -> None:
    folder = reader.processes.folder
    reader.follow(section(1))
    for block in section(2):
        found = servers(Block(block.language, reader.moved(block.text), block.note))
        assert "next_turn" in tools_of(found["my-player"], folder)
        assert "explain_match" in tools_of(found["league"], folder)
    assistant, look = (program(reader, block) for block in section(4))
    for looking in [
        python_program(str(look), packages, [], folder) for packages in ("fastmcp2", "fastmcp3", "fastmcp4")
    ]:
        assert looking.wait() == 0, looking.output
        assert "My assistant" in looking.output
    playing = Process("assistant", [str(assistant)], folder, (sys.executable,))
    reader.processes.started.append(playing)
    (start,) = section(3)
    reader.follow([start])
    playing.said("Your turn in R1M1")
    playing.said("The league is over")
    assert playing.wait() == 0
    assert [reader.terminals[name].wait() for name in ("yours", "opponent", "referee")] == [0, 0, 0]
    assert "you lost by" not in reader.terminals["yours"].output


def test_a_key_is_shown_as_the_page_says(reader: Reader) -> None:
    command = ("env", f"LEAGUE_PLAYER_KEY={KEY}", sys.executable, "-m", "league")
    options = ["player", "--strategy", "mcp", "--port", "0", "--manager", "http://127.0.0.1:9/mcp"]
    player = Process("player", options, reader.processes.folder, command)
    reader.processes.started.append(player)
    there = player.endpoint.removesuffix("/mcp")
    (block,) = (one for one in section(5) if one.language == "json")
    assert KEY in block.text
    for server in servers(Block("json", block.text.replace(YOURS, there))).values():
        assert "next_turn" in tools_of(server, reader.processes.folder)
        without = {name: value for name, value in server.items() if name not in ("headers", "env")}
        assert "next_turn" not in tools_of(without, reader.processes.folder)


def test_the_page_names_every_tool() -> None:
    assert [one.name for one in TurnTools(OfferedTurns(), None).offered().rows if f"| `{one.name}` |" not in PAGE] == []
