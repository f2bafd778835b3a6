"""Players that are MCP servers and nothing else, by packages of others: they play, and the kit is right about them."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from league.events import AgentRegistered, PlayerFaulted, ResultAccepted
from league.features.kit.checks.outcome import CheckVerdict
from league.features.kit.driver.kit import Options
from tests.kit.defects import failed, told
from tests.support.kit_runs import check_player
from tests.support.mcp_programs import node_program, python_program
from tests.support.processes import Processes, assert_kept

NODE = "TypeScript SDK 2, no handshake"
PLAYERS = {
    "fastmcp2": ("FastMCP 2", "SDK 1, one message", "SDK 1, text"),
    "fastmcp3": ("FastMCP 3",),
    "fastmcp4": ("FastMCP 4, bare results", "SDK 2, coroutines", "SDK 2, models"),
}
"""Which packages serve which players in Python."""
NOT_TOLD = {"BROADCAST.acknowledged", "GAME_ERROR.acknowledged"}
"""It has no tools for these."""
FEW_WORDS = NOT_TOLD | {"ENVELOPE.message_type", "CHOOSE_PARITY_RESPONSE.match_id", "GAME_JOIN_ACK.arrival_timestamp"}
FAILS = {
    "FastMCP 2": FEW_WORDS,
    "SDK 1, one message": {"GAME_JOIN_ACK.arrival_timestamp"},
    "SDK 1, text": {"GAME_JOIN_ACK.arrival_timestamp"},
    "FastMCP 3": FEW_WORDS,
    "FastMCP 4, bare results": FEW_WORDS
    | {"GAME_JOIN_ACK.match_id", "GAME_OVER.acknowledged", "GAME_MOVE_RESPONSE.match_id"},
    "SDK 2, coroutines": FEW_WORDS - {"ENVELOPE.message_type"} | {"GAME_JOIN_ACK.player_id", "GAME_OVER.acknowledged"},
    "SDK 2, models": FEW_WORDS | {"GAME_OVER.acknowledged"},
    NODE: FEW_WORDS,
}
"""What each author forgot: all that fails."""
DEVIATION = "a deviation: this player takes only MCP's tools/call"


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The endpoints of all these players, by name."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp("servers")
        started = [(python_program("players.py", one, [one], folder), len(names)) for one, names in PLAYERS.items()]
        started.append((node_program("player.cjs", [], folder), 1))
        for process, _ in started:
            stack.callback(process.kill)
        lines = [line for process, count in started for line in process.said("ready: ", count)]
        found = {name: endpoint for name, _, endpoint in (line.rpartition(" ") for line in lines)}
        assert found.keys() == FAILS.keys()
        yield found


def ask(url: str, method: str, params: object, version: str = "") -> tuple[int, dict[str, Any]]:
    """Make a call, as a caller that speaks this version of MCP if there is one; its status and answer."""
    headers = {"Content-Type": "application/json", **({"MCP-Protocol-Version": version} if version else {})}
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    request = urllib.request.Request(url, json.dumps(call).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def registration(name: str, endpoint: str, game: str = "even_odd") -> dict[str, Any]:
    """The message by which a player registers."""
    meta = {"display_name": name, "version": "1.0.0", "game_types": [game], "contact_endpoint": endpoint}
    return {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": f"player:{name}",
        "timestamp": "2025-01-15T10:00:00Z",
        "conversation_id": "conv-by-hand",
        "player_meta": meta,
    }


def register(manager: str, name: str, endpoint: str, game: str = "even_odd") -> None:
    """Register a player that only serves, as its author does by hand."""
    status, answer = ask(manager, "register_player", registration(name, endpoint, game))
    assert (status, answer["result"]["status"]) == (200, "ACCEPTED"), answer


@pytest.mark.requirement("DIALECT.tool_arguments")
@pytest.mark.requirement("DIALECT.tool_results")
@pytest.mark.requirement("DIALECT.mcp_eras")
def test_eight_mcp_servers_by_others_play_a_league_without_a_technical_loss(
    processes: Processes, servers: dict[str, str]
) -> None:
    manager = processes.manager(players=len(servers) + 2, rounds=3)
    for name, endpoint in servers.items():
        register(manager.endpoint, name, endpoint)
    good = processes.players(manager, count=2)
    referee = processes.referee(manager, max_concurrent_matches=8)
    assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    names = {one.agent_id: one.display_name for one in processes.events("manager", AgentRegistered)}
    faults = [(names[one.player_id], one.code, one.detail) for one in processes.events("referee", PlayerFaulted)]
    assert faults == []
    results = processes.events("manager", ResultAccepted)
    assert len(results) == 3 * (len(servers) + 2) // 2
    assert {one.status for one in results} <= {"WIN", "DRAW"}
    assert_kept(processes)
    assert processes.bugs == []


@pytest.mark.requirement("DIALECT.tool_arguments")
@pytest.mark.requirement("DIALECT.tool_results")
@pytest.mark.parametrize("game", ["tic_tac_toe", "rock_paper_scissors"])
def test_a_tool_that_returns_a_bare_move_plays_games_of_moves(
    processes: Processes, servers: dict[str, str], game: str
) -> None:
    manager = processes.manager(players=2, game=game)
    register(manager.endpoint, "bare", servers["FastMCP 4, bare results"], game)
    good = processes.players(manager, game=game)
    referee = processes.referee(manager, game=game)
    assert (good.wait(), referee.wait(), manager.stop()) == (0, 0, 0)
    assert processes.events("referee", PlayerFaulted) == []
    assert {one.status for one in processes.events("manager", ResultAccepted)} <= {"WIN", "DRAW"}
    assert_kept(processes)


def test_the_kit_finds_out_how_each_is_called_and_judges_what_it_says(servers: dict[str, str]) -> None:
    with ThreadPoolExecutor() as pool:
        reports = pool.map(lambda name: check_player(Options(servers[name])), FAILS)
    for (name, fails), report in zip(FAILS.items(), reports, strict=True):
        assert (report.dialect, failed(report)) == ("TOOLS", fails), f"{name}: {told(report)}"
        (called,) = (one for one in report.results if one.clause.id == "PLAYER.understands_calls")
        assert (called.verdict, called.outcome.detail) == (CheckVerdict.WARN, DEVIATION)


@pytest.mark.requirement("RPC.mcp_answers")
def test_mcp_clients_by_others_list_and_call_our_tools_and_are_told_why_not(processes: Processes) -> None:
    manager = processes.manager(players=2)
    with ExitStack() as stack:
        clients = [python_program("client.py", name, [manager.endpoint], processes.folder) for name in PLAYERS]
        for client in clients:
            stack.callback(client.wait)
        heard = [json.loads(client.said("told: ")[0]) for client in clients]
    for name, said in zip(PLAYERS, heard, strict=True):
        assert {"register_player", "league_query", "get_standings"} <= said["roots"].keys()
        roots = {word for words in said["roots"].values() for word in words}
        assert roots.isdisjoint({"allOf", "anyOf", "oneOf", "not", "if", "then", "else"})
        assert said["standings"] == {"standings": [], "current_round": 0}
        assert said["refusal"] == [True, "E003 MISSING_REQUIRED_FIELD: player_meta is missing"]
        # FastMCP 4 and we speak 2026-07-28 with each other, which has no ping.
        assert said["alive"] == ("Method not found" if name == "fastmcp4" else True)


@pytest.mark.requirement("RPC.mcp_versions")
@pytest.mark.requirement("RPC.mcp_answers")
def test_who_names_its_version_of_mcp_is_answered_in_it_or_refused_before_anything_is_done(
    processes: Processes,
) -> None:
    manager = processes.manager(players=2)
    meta = {
        "display_name": "Ann",
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": "http://127.0.0.1:9/mcp",
    }
    call = {"name": "register_player", "arguments": {"player_meta": meta}}
    status, refused = ask(manager.endpoint, "tools/call", call, "2099-12-31")
    assert (status, refused["id"], refused["error"]["code"]) == (400, 1, -32022)
    assert refused["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2099-12-31"}
    assert processes.members() == {}
    _, unknown = ask(manager.endpoint, "tools/call", {"name": "no_such_tool", "arguments": {}}, "2025-11-25")
    assert unknown["error"]["code"] == -32602
    referee = processes.referee(manager)
    assert ask(referee.endpoint, "ping", {}, "2025-11-25") == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert ask(referee.endpoint, "ping", {}) == (
        200,
        {"jsonrpc": "2.0", "id": 1, "result": {"protocol": "league.v2", "matches": [], "live": "live.v1"}},
    )


@pytest.mark.requirement("RPC.mcp_answers")
@pytest.mark.parametrize("profile", ["compat", "strict"])
def test_an_mcp_caller_may_have_its_own_name_for_a_message_where_others_may(processes: Processes, profile: str) -> None:
    manager = processes.manager(players=2, profile=profile)
    message = registration("Ann", "http://127.0.0.1:9/mcp")
    call = {"name": "receive_league_register_request", "arguments": message}
    _, answer = ask(manager.endpoint, "tools/call", call, "2025-11-25")
    if profile == "strict":
        assert answer["error"]["code"] == -32602
        assert processes.members() == {}
    else:
        assert answer["result"]["structuredContent"]["status"] == "ACCEPTED"
        assert processes.members().keys() == {"Ann"}
