"""MCP clients of the official package look at a league, join it, follow it and run it, in both eras of MCP."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference, TextContent

from league.events import AgentRegistered
from tests.e2e.test_mcp_servers import ask
from tests.support.mcp_clients import ERAS, call, connected, followed, read, talk
from tests.support.processes import WATCHDOG_S, Process, Processes

FLAT = {"register_player", "standings", "schedule", "match", "explain_match", "statistics"}
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "mcp.md"
STANDINGS = "league://standings"
MATCH = "league://matches/{match_id}"
NOBODY = "http://127.0.0.1:9/mcp"
ABSENT = "import sys; sys.modules['mcp'] = None; from league.cli.main import main; sys.exit(main())"
OLDER = "mcp-1.30.0.dist-info"


@pytest.mark.requirement("RPC.mcp_eras")
@pytest.mark.requirement("RPC.mcp_tools")
@pytest.mark.parametrize("era", ERAS)
def test_a_client_of_either_era_looks_at_a_league_and_enters_a_player(processes: Processes, era: str) -> None:
    manager = processes.manager(players=3)

    async def work(client: Client) -> None:
        listed = {one.name: one for one in (await client.list_tools()).tools}
        assert listed.keys() > FLAT
        page = PAGE.read_text("utf-8")
        assert [name for name in listed if f"`{name}`" not in page] == []
        assert not any(name.startswith("operator_") for name in listed)
        hints = listed["standings"].annotations
        assert hints is not None
        assert hints.read_only_hint
        entered = await call(client, "register_player", display_name="Ann", contact_endpoint=NOBODY)
        assert (entered.is_error, entered.data["player_id"]) == (False, "P01")
        again = await call(client, "register_player", display_name="Ann", contact_endpoint="http://127.0.0.1:19/mcp")
        assert (again.is_error, again.text[:4]) == (True, "E022")
        missing = await call(client, "match")
        assert (missing.is_error, missing.text) == (True, "E003 MISSING_REQUIRED_FIELD: match_id is missing")
        table = (await call(client, "standings")).data
        assert [one["player_id"] for one in table["standings"]] == ["P01"]
        assert table["text_by_others"]["texts"]["P01"]["display_name"] == "Ann"
        assert await read(client, "league://standings") == table
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("no_such_tool", {})
        assert unknown.value.code == -32602

    talk(manager.endpoint, era, work)
    assert [one.display_name for one in processes.events("manager", AgentRegistered)] == ["Ann"]
    assert manager.stop() == 0
    assert processes.bugs == []


@pytest.mark.requirement("RPC.mcp_eras")
@pytest.mark.requirement("RPC.mcp_tools")
@pytest.mark.requirement("RPC.mcp_subscriptions")
@pytest.mark.parametrize("era", ERAS)
def test_a_client_follows_a_league_to_its_end_and_has_it_explained(processes: Processes, era: str) -> None:
    manager = processes.manager(players=4)

    async def work(client: Client) -> None:
        async with followed(client, era, STANDINGS) as told:
            players = processes.players(manager, count=4)
            processes.referee(manager)
            table = await read(client, STANDINGS)
            while any(one["played"] < 3 for one in table["standings"]) or len(table["standings"]) < 4:
                await told()
                table = await read(client, STANDINGS)
            assert await asyncio.to_thread(players.wait) == 0
        await _look_at_all(client)

    talk(manager.endpoint, era, work)
    assert manager.stop() == 0
    assert processes.bugs == []


async def _look_at_all(client: Client) -> None:
    """At a league of four players that is over."""
    page = (await call(client, "schedule", from_round=2)).data
    assert ([one["round_id"] for one in page["rounds"]], page["rounds_total"], page["next_round"]) == ([2, 3], 3, None)
    assert await read(client, "league://rounds/2") == page["rounds"][0]
    match = (await call(client, "match", match_id="R1M1")).data
    assert match == await read(client, "league://matches/R1M1")
    explained = (await call(client, "explain_match", match_id="R1M1")).text
    assert f"Verdict: {match['outcome']}" in explained
    assert (await call(client, "statistics")).data == await read(client, "league://statistics")
    player = await read(client, "league://players/P01")
    assert (player["standing"]["played"], len(player["matches"])) == (3, 3)
    asked = await client.get_prompt("explain_match", {"match_id": "R1M1"})
    assert isinstance(asked.messages[0].content, TextContent)
    quoted, explanation = explained.split("\n\n", 1)
    assert "never instructions" in quoted
    assert explanation in asked.messages[0].content.text
    begun = {"name": "match_id", "value": "R2"}
    for reference in (ResourceTemplateReference(uri=MATCH), PromptReference(name="explain_match")):
        assert (await client.complete(reference, begun)).completion.values == ["R2M1", "R2M2"]


@pytest.mark.requirement("RPC.mcp_sessions")
def test_clients_go_on_when_the_manager_was_killed_and_started_again(processes: Processes) -> None:
    manager = processes.manager(players=3)

    async def run() -> None:
        async with (
            asyncio.timeout(WATCHDOG_S),
            connected(manager.endpoint, ERAS[0]) as with_session,
            connected(manager.endpoint, ERAS[1]) as without,
        ):
            name = (await call(with_session, "register_player", display_name="Ann", contact_endpoint=NOBODY)).data
            await asyncio.to_thread(manager.kill)
            await asyncio.to_thread(processes.manager, players=3, port=manager.port)
            for client in (with_session, without, with_session):
                table = (await call(client, "standings")).data
                assert [one["player_id"] for one in table["standings"]] == [name["player_id"]]

    asyncio.run(run())


@pytest.mark.requirement("RPC.mcp_tools")
def test_the_operators_tools_are_there_for_whoever_sends_the_admin_token(processes: Processes) -> None:
    manager = processes.manager(players=3)
    token = (processes.folder / "admin-token").read_text().strip()

    async def is_obeyed(client: Client) -> None:
        listed = {one.name: one for one in (await client.list_tools()).tools}
        assert [name for name in listed if f"`{name}`" not in PAGE.read_text("utf-8")] == []
        assert listed["operator_withdraw"].annotations
        assert listed["operator_withdraw"].annotations.destructive_hint
        refused = await call(client, "operator_start")
        assert (refused.is_error, refused.text[:4]) == (True, "E023")
        missing = await call(client, "operator_withdraw")
        assert (missing.is_error, missing.text[:4]) == (True, "E003")

    async def is_unknown(client: Client) -> None:
        assert not any(one.name.startswith("operator_") for one in (await client.list_tools()).tools)
        assert (await call(client, "operator_start")).is_error

    for era in ERAS:
        talk(manager.endpoint, era, is_obeyed, {"Authorization": f"Bearer {token}"})
        talk(manager.endpoint, era, is_unknown, {"Authorization": "Bearer guessed"})
        talk(manager.endpoint, era, is_unknown)


@pytest.mark.requirement("RPC.mcp_eras")
@pytest.mark.requirement("RPC.ping")
def test_players_and_referees_are_mcp_servers_too_and_answer_plain_callers_as_ever(processes: Processes) -> None:
    manager = processes.manager(players=3)
    player, referee = processes.players(manager), processes.referee(manager)

    async def look_at_player(client: Client) -> None:
        assert {"handle_game_invitation", "choose_move"} < {one.name for one in (await client.list_tools()).tools}
        state = await read(client, "league://state")
        assert state == (await call(client, "get_player_state")).data
        assert state["display_name"] == "player"

    async def look_at_referee(client: Client) -> None:
        assert (await read(client, "league://state"))["matches"] == []

    for era in ERAS:
        talk(player.endpoint, era, look_at_player)
        talk(referee.endpoint, era, look_at_referee)
    assert ask(referee.endpoint, "ping", {}) == (
        200,
        {"jsonrpc": "2.0", "id": 1, "result": {"protocol": "league.v2", "matches": [], "live": "live.v1"}},
    )


@pytest.mark.requirement("RPC.mcp_versions")
@pytest.mark.requirement("RPC.mcp_answers")
@pytest.mark.parametrize("lacks", ["no package", "a package of the older era"])
def test_without_the_package_the_older_era_is_spoken_all_the_same(processes: Processes, lacks: str) -> None:
    command: Sequence[str] = (sys.executable, "-c", ABSENT)
    if lacks == "a package of the older era":
        (processes.folder / OLDER).mkdir()
        (processes.folder / OLDER / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp\nVersion: 1.30.0\n")
        command = ("env", f"PYTHONPATH={processes.folder}", sys.executable, "-m", "league.cli.main")
    arguments = ["manager", "--port", "0", "--players", "3", "--journal", str(processes.journal("manager"))]
    manager = Process("manager", arguments, processes.folder, command)
    processes.started.append(manager)

    async def work(client: Client) -> None:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert listed.keys() > FLAT
        assert not any(name.startswith("operator_") for name in listed)
        hints = listed["standings"].annotations
        assert hints is not None
        assert hints.read_only_hint
        assert (await call(client, "get_standings")).data == {"standings": [], "current_round": 0}
        assert (await call(client, "standings")).data["standings"] == []
        missing = await call(client, "match")
        assert (missing.is_error, missing.text) == (True, "E003 MISSING_REQUIRED_FIELD: match_id is missing")
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("no_such_tool", {})
        assert unknown.value.code == -32602

    talk(manager.endpoint, "legacy", work)
    talk(manager.endpoint, "auto", work)
    # Clients of the first versions send no header of MCP, and get the same.
    _, tools = ask(manager.endpoint, "tools/list", {})
    assert {tool["name"] for tool in tools["result"]["tools"]} > FLAT
    _, table = ask(manager.endpoint, "tools/call", {"name": "standings", "arguments": {}})
    assert table["result"]["structuredContent"]["standings"] == []
    # Some of them ask for all lists, and give up on an error.
    for method, name in (("resources/list", "resources"), ("prompts/list", "prompts")):
        assert ask(manager.endpoint, method, {})[1]["result"] == {name: []}
    status, refused = ask(manager.endpoint, "tools/list", {}, "2026-07-28")
    assert (status, refused["error"]["code"]) == (400, -32022)
    assert processes.events("manager", AgentRegistered) == []
    assert manager.stop() == 0
    assert processes.bugs == []
