"""`league player --strategy mcp`: assistants and people play through MCP clients, beside a person at a terminal and a
language model."""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple
from urllib.error import URLError

import mcp_types as types
import pytest
from mcp import Client
from mcp.client.session import ClientRequestContext

from league.events import AgentRegistered, PlayerFaulted, ResultAccepted
from league.features.kit.driver.kit import Options
from league.features.mcp.offers.offered_turns import OVER as TOO_LATE
from tests.kit.defects import failed, told
from tests.support.kit_runs import check_player
from tests.support.language_models import StandIn, stand_in
from tests.support.mcp_clients import ERAS, call, connected
from tests.support.processes import WATCHDOG_S, Process, Processes, assert_kept

SUPPORT = Path(__file__).parents[1] / "support"
LEAGUE = (sys.executable, "-m", "league")
KEY = "a-key-of-many-letters"
OVER = "The league is over"
NOWHERE = "http://127.0.0.1:9/mcp"


# --- who plays --------------------------------------------------------------------------------------------------------


class Seat(NamedTuple):
    """A player at this address, and a client that plays for it."""

    url: str
    era: str
    is_person: bool = False
    key: str = ""


async def play(seat: Seat) -> None:
    """Play until the league is over."""
    headers = {"Authorization": f"Bearer {seat.key}"} if seat.key else None
    async with connected(seat.url, seat.era, headers, choose_first if seat.is_person else None) as client:
        await (play_as_person if seat.is_person else play_as_assistant)(client)


async def play_as_assistant(client: Client) -> None:
    while True:
        found = (await call(client, "next_turn")).data
        if found["turn"] is not None:
            await call(client, "answer_turn", turn_id=found["turn"]["turn_id"], choice=found["turn"]["options"][-1])
        elif found["message"].startswith(OVER):
            return


async def play_as_person(client: Client) -> None:
    """Somebody else may be first: that is told as an error, and nothing to worry about."""
    while not (await call(client, "play_turn")).data.get("message", "").startswith(OVER):
        pass


async def choose_first(context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
    assert isinstance(params, types.ElicitRequestFormParams)
    options = params.requested_schema["properties"]["choice"]["enum"]
    return types.ElicitResult(action="accept", content={"choice": options[0]})


@contextmanager
def playing(*seats: Seat) -> Iterator[None]:
    """Clients that play until this ends. One that comes too late to hear of the end of the league finds nobody: what
    counts is what the journals say."""
    stop, loop = asyncio.Event(), asyncio.new_event_loop()

    async def run() -> None:
        work = asyncio.gather(*map(play, seats), return_exceptions=True)
        await stop.wait()
        work.cancel()
        await asyncio.wait((work,))

    thread = Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    try:
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(WATCHDOG_S)
        loop.close()


def typist(processes: Processes, manager: str) -> Process:
    """A person at a terminal."""
    options = ("player", "--strategy", "human", "--name", "Terminal", "--port", "0", "--manager", manager)
    command = (sys.executable, str(SUPPORT / "typist.py"))
    process = Process("typist", ["even", *LEAGUE, *options], processes.folder, command)
    processes.started.append(process)
    process.said("ready: ")
    return process


def model(processes: Processes, manager: Process | str, provider: StandIn) -> Process:
    """A language model."""
    return processes.players(manager, "Model", strategy="llm", base_url=provider.base_url, model="right")


@pytest.fixture
def provider() -> Iterator[StandIn]:
    with stand_in() as server:
        yield server


def without_the_extra(processes: Processes, manager: Process, name: str) -> Process:
    """A player where the official package is not installed."""
    options = ["player", "--strategy", "mcp", "--game", "rock_paper_scissors", "--name", name, "--port", "0"]
    command = ("env", f"PYTHONPATH={SUPPORT / 'without_mcp'}", *LEAGUE)
    process = Process(name, [*options, "--manager", manager.endpoint], processes.folder, command)
    processes.started.append(process)
    process.said("ready: ")
    return process


# --- leagues ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("PLAYER.turns_over_mcp")
def test_assistants_people_and_a_model_play_a_league_without_a_technical_loss(
    processes: Processes, provider: StandIn
) -> None:
    manager = processes.manager(players=5)
    assistant, person = (processes.players(manager, name, strategy="mcp") for name in ("Assistant", "Person"))
    both = processes.players(manager, "Both", strategy="mcp")
    others = [typist(processes, manager.endpoint), model(processes, manager, provider)]
    seats = [Seat(assistant.endpoint, ERAS[1]), Seat(person.endpoint, ERAS[0], is_person=True)]
    seats += [Seat(both.endpoint, ERAS[0]), Seat(both.endpoint, ERAS[1], is_person=True)]
    with playing(*seats):
        referee = processes.referee(manager, max_concurrent_matches=2)
        assert [one.wait() for one in (assistant, person, both, *others, referee)] == [0] * 6
    assert manager.stop() == 0
    names = {one.agent_id: one.display_name for one in processes.events("manager", AgentRegistered)}
    faults = [(names[one.player_id], one.code, one.detail) for one in processes.events("referee", PlayerFaulted)]
    assert faults == []
    results = processes.events("manager", ResultAccepted)
    assert (len(results), {one.status for one in results} <= {"WIN", "DRAW"}) == (10, True)
    assert_kept(processes)


@pytest.mark.requirement("PLAYER.turns_over_mcp")
def test_without_the_extra_turns_are_played_with_the_tools_of_the_older_era(processes: Processes) -> None:
    manager = processes.manager(players=2, game="rock_paper_scissors")
    player = without_the_extra(processes, manager, "Plain")
    other = processes.players(manager, "Other", game="rock_paper_scissors")
    hello = ask(player.endpoint, "initialize", {"protocolVersion": "2025-11-25"})
    assert hello["result"]["serverInfo"]["name"] == "agent-league player"
    listed = {one["name"] for one in ask(player.endpoint, "tools/list", {})["result"]["tools"]}
    assert listed == {"next_turn", "answer_turn", "play_turn"}
    needs = tool(player.endpoint, "play_turn")
    assert (needs["isError"], "pip install 'agent-league[mcp]'" in needs["content"][0]["text"]) == (True, True)
    referee = processes.referee(manager, game="rock_paper_scissors")
    turn = wait_for_turn(player.endpoint)
    assert (turn["game_type"], turn["options"]) == ("rock_paper_scissors", ["rock", "paper", "scissors"])
    wrong = tool(player.endpoint, "answer_turn", turn_id=turn["turn_id"], choice="even")
    assert (wrong["isError"], wrong["content"][0]["text"][:4]) == (True, "E024")
    plainly = ask(player.endpoint, "answer_turn", {"turn_id": turn["turn_id"], "choice": "stone"}, version="")
    assert plainly["error"]["data"]["error_code"] == "E024"
    right = ask(player.endpoint, "answer_turn", {"turn_id": turn["turn_id"], "choice": "rock"}, version="")
    assert right["result"]["choice"] == "rock"
    play_on(player.endpoint)
    assert [one.wait() for one in (player, other, referee)] == [0, 0, 0]
    assert processes.events("referee", PlayerFaulted) == []


def ask(url: str, method: str, params: object, version: str = "2025-11-25") -> Any:
    """A request of the older era, or (without a version) of nobody who speaks MCP (Any: JSON)."""
    headers = {"Content-Type": "application/json", **({"MCP-Protocol-Version": version} if version else {})}
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    with urllib.request.urlopen(
        urllib.request.Request(url, json.dumps(call).encode(), headers), None, WATCHDOG_S
    ) as it:
        return json.load(it)


def tool(url: str, name: str, **arguments: object) -> Any:
    """The result of a tool (Any: JSON)."""
    return ask(url, "tools/call", {"name": name, "arguments": arguments})["result"]


@pytest.mark.requirement("PLAYER.turns_over_mcp")
def test_a_turn_that_nobody_answers_is_lost_by_a_timeout_and_then_it_is_too_late(processes: Processes) -> None:
    settings = processes.folder / "league.toml"
    settings.write_text("retry_delays_s = [0.0, 0.0, 0.0]\nmove_seconds = 2.0\n")
    manager = processes.manager(players=3, config=settings)
    silent = processes.players(manager, "Silent", strategy="mcp")
    processes.players(manager, "Other", count=2)
    processes.referee(manager)
    turn = wait_for_turn(silent.endpoint)
    silent.said(f"{turn['match_id']}: you lost")
    late = tool(silent.endpoint, "answer_turn", turn_id=turn["turn_id"], choice=turn["options"][0])
    assert (late["isError"], late["content"][0]["text"]) == (True, f"E023 INVALID_STATE: {TOO_LATE}")
    faults = {(one.player_id, one.code) for one in processes.events("referee", PlayerFaulted)}
    assert faults == {(processes.members()["Silent"], "E001")}


@pytest.mark.requirement("PLAYER.turns_over_mcp")
def test_with_a_key_nobody_else_sees_or_answers_a_turn(processes: Processes) -> None:
    command = ("env", f"LEAGUE_PLAYER_KEY={KEY}", *LEAGUE)
    options = ["player", "--strategy", "mcp", "--port", "0", "--manager", NOWHERE]
    player = Process("player", options, processes.folder, command)
    processes.started.append(player)
    player.said("ready: ")
    refused = tool(player.endpoint, "next_turn")
    assert (refused["isError"], refused["content"][0]["text"][:4]) == (True, "E011")

    async def listed(era: str, key: str) -> set[str]:
        async with connected(player.endpoint, era, {"Authorization": f"Bearer {key}"}) as client:
            assert era != ERAS[0] or "next_turn" in (client.instructions or "")  # the newer era is not greeted here
            return {one.name for one in (await client.list_tools()).tools}

    for era in ERAS:
        assert "next_turn" not in asyncio.run(listed(era, "another-key-of-many"))
        assert asyncio.run(listed(era, KEY)) == {"next_turn", "answer_turn", "play_turn"}
    assert KEY not in player.output


@pytest.mark.requirement("PLAYER.turns_over_mcp")
def test_before_the_start_it_says_what_the_league_waits_for_and_then_the_rules(processes: Processes) -> None:
    manager = processes.manager(players=2, game="tic_tac_toe")
    player = processes.players(manager, "Assistant", strategy="mcp", game="tic_tac_toe")
    player.said("registered as")
    waiting = tool(player.endpoint, "next_turn", wait_seconds=0)["structuredContent"]["message"]
    registered = "1 of 2 players and 0 of 1 referees have registered"
    assert waiting == f"No turn yet: the league has not begun: {registered}. Call next_turn again."
    processes.referee(manager, game="tic_tac_toe")
    processes.players(manager, "Other", game="tic_tac_toe")
    turn = wait_for_turn(player.endpoint)
    assert 'The cells are numbered "0" to "8"' in turn["rules"]
    play_on(player.endpoint)
    assert player.wait() == 0


def wait_for_turn(url: str) -> Any:
    """The next turn (Any: JSON)."""
    while (turn := tool(url, "next_turn")["structuredContent"]["turn"]) is None:
        pass
    return turn


def play_on(url: str) -> None:
    """Answer every turn until the league is over, or nobody is there any more."""
    with suppress(URLError, ConnectionError):
        while not (found := tool(url, "next_turn")["structuredContent"])["message"].startswith(OVER):
            if (turn := found["turn"]) is not None:
                tool(url, "answer_turn", turn_id=turn["turn_id"], choice=turn["options"][0])


# --- the kit ----------------------------------------------------------------------------------------------------------


def test_the_kit_finds_nothing_wrong_with_an_assistant_a_person_or_a_model(
    processes: Processes, provider: StandIn
) -> None:
    assistant = processes.players(NOWHERE, "Assistant", strategy="mcp")
    person, thinker = typist(processes, NOWHERE), model(processes, NOWHERE, provider)
    with playing(Seat(assistant.endpoint, ERAS[1])), ThreadPoolExecutor() as pool:
        reports = pool.map(lambda one: check_player(Options(one.endpoint)), (assistant, person, thinker))
    for report in reports:
        assert failed(report) == set(), told(report)
