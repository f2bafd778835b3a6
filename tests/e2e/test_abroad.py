"""Players and referees of ours, as real processes, under managers that others wrote: whole leagues, to the end."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from league import events as e
from league.machine import NoConnection
from league.protocol.conventions import Convention
from tests.support.certificates import make_certificates
from tests.support.dialects import BY_VERB, CONVENTIONS, VERBS_ONLY, by_method, verb
from tests.support.foreign_managers import MANAGERS, Manager, rest_manager
from tests.support.foreign_referees import Referee, Trade, by_id
from tests.support.peer import VERBS, Peer, exchange
from tests.support.processes import Process, Processes
from tests.support.scripts import HONEST, NOT_UNDERSTOOD, Object, Reaction, always, on, refusal

PLAYERS = 3
ODD = (
    "TYPE, fine with the rest",
    "TYPE, ok to the rest",
    "TOOLS after a handshake",
    "TOOLS or 404",
    "NESTED or 500",
    "NESTED, or hangs up",
    "BARE or 400",
    "BARE, ok to the rest",
)
"""What these do with a call they do not understand is odd."""


def _assert_played(manager: Manager, table: Sequence[Object], processes: Processes, referee: str = "referee") -> None:
    """Every match was decided by play and reported."""
    assert (processes.bugs, manager.stumbles) == ([], [])
    assert [row["played"] for row in table] == [PLAYERS - 1] * PLAYERS
    decided = processes.events(referee, e.MatchDecided)
    settled = processes.events(referee, e.ReportSettled)
    assert {one.match_id for one in decided} == {one.match_id for one in settled} == set(manager.reports)
    assert {one.status for one in decided} <= {"WIN", "DRAW"}


def _league(manager: Manager, processes: Processes) -> Sequence[Object]:
    """The final table, when everybody has gone home by itself."""
    referee = processes.referee(manager.endpoint, time_scale=_haste(manager))
    players = processes.players(manager.endpoint, count=PLAYERS)
    table = manager.play(PLAYERS)
    assert (referee.wait(), players.wait()) == (0, 0)
    assert [line for one in (referee, players) for line in one.lines if "cannot register" in line] == []
    return table


def _haste(manager: Manager) -> float:
    """Who must ask for its matches waits some seconds before each."""
    return 10 if manager.office.is_polled else 1


def _spoken(processes: Processes) -> str:
    (enrolled,) = processes.events("referee", e.Registered)
    return enrolled.convention


@pytest.mark.requirement("DIALECT.run_match")
@pytest.mark.parametrize("name", MANAGERS)
def test_a_league_under_another_manager_is_played_to_its_end(name: str, tmp_path: Path) -> None:
    with MANAGERS[name]() as manager, Processes(tmp_path) as processes:
        _assert_played(manager, _league(manager, processes), processes)


@pytest.mark.parametrize("name", ODD)
def test_how_a_manager_is_spoken_to_is_found_out_at_once_whatever_it_makes_of_the_rest(
    name: str, tmp_path: Path
) -> None:
    with Manager(name, convention=CONVENTIONS[name]) as manager, Processes(tmp_path) as processes:
        _assert_played(manager, _league(manager, processes), processes)
        assert name.startswith(_spoken(processes))


def test_a_manager_that_registers_at_a_path_of_its_own_is_found_too(tmp_path: Path) -> None:
    with rest_manager() as manager, Processes(tmp_path) as processes:
        _assert_played(manager, _league(manager, processes), processes)
        assert _spoken(processes) == "SPEC"


@pytest.mark.parametrize("role", ["player", "referee"])
def test_a_referee_that_is_taken_for_a_manager_says_what_it_is(processes: Processes, role: str) -> None:
    referee = processes.referee(processes.manager(players=2))
    referee.said("registered as REF01")
    member = processes.start(role, manager=referee.endpoint)
    member.said(
        f"{member.endpoint} cannot register yet: {referee.endpoint}: this is referee REF01, not a manager; next"
    )


def test_an_address_with_the_wrong_scheme_or_certificate_is_told_in_a_sentence(
    processes: Processes, tmp_path: Path
) -> None:
    files = make_certificates(tmp_path)
    manager = processes.manager(players=2, tls_cert=files.certificate, tls_key=files.key)
    plain = manager.endpoint.replace("https://", "http://")
    for url, told in (
        (plain, NoConnection.TLS),
        (manager.endpoint, NoConnection.NOT_TRUSTED),
    ):
        done = processes.run("standings", "--manager", url)
        assert (done.returncode, told in done.stderr) == (1, True), done.stderr
        player = processes.start("player", manager=url)
        player.said(f"{player.endpoint} cannot register yet: {url}: {told}; next try in 2 s")


def test_who_answers_but_never_understands_is_complained_of_in_a_sentence(tmp_path: Path) -> None:
    with Peer("deaf", always(refusal(-32601, "no idea")), role="manager") as deaf, Processes(tmp_path) as processes:
        player = processes.start("player", manager=deaf.endpoint)
        (told,) = player.said(f"{player.endpoint} cannot register yet: ")
        assert told.startswith("the manager answers, but understands none of the ways to register that we know")
        assert re.search("; next try in [0-9]+ s$", told)
        assert player.stop() == 0
    assert len(deaf.received) > len(Convention)


def test_a_manager_that_takes_reports_in_another_way_than_registrations_gets_them(tmp_path: Path) -> None:
    names = {name: kind for name, kind in BY_VERB.items() if kind != "MATCH_RESULT_REPORT"}
    mixed = by_method({**names, "MATCH_RESULT_REPORT": "MATCH_RESULT_REPORT"}, verb)
    with Manager("mixed", convention=mixed) as manager, Processes(tmp_path) as processes:
        referee = processes.referee(manager.endpoint, time_scale=10)
        players = processes.players(manager.endpoint, count=PLAYERS)
        table = manager.play(PLAYERS)
        assert (referee.wait(), players.wait()) == (0, 0)
        _assert_played(manager, table, processes)


@pytest.mark.parametrize("name", ["TYPE", "NESTED", "BARE", "polled"])
def test_a_referee_that_was_killed_still_knows_how_its_manager_is_spoken_to(name: str, tmp_path: Path) -> None:
    manager = MANAGERS[name]()
    manager.script = on("MATCH_RESULT_REPORT", Reaction(until="go"), HONEST)
    with manager, Processes(tmp_path) as processes, ThreadPoolExecutor() as pool:
        referee = processes.referee(manager.endpoint, time_scale=_haste(manager))
        players = processes.players(manager.endpoint, count=PLAYERS)
        league = pool.submit(manager.play, PLAYERS)
        manager.saw("MATCH_RESULT_REPORT")
        referee.kill()
        misunderstood = len(manager.requests(NOT_UNDERSTOOD))
        again = processes.referee(manager.endpoint, port=referee.port, time_scale=_haste(manager))
        manager.saw("MATCH_RESULT_REPORT", 2)
        manager.release("go")
        table = league.result()
        assert (again.wait(), players.wait()) == (0, 0)
        _assert_played(manager, table, processes)
        assert len(manager.requests(NOT_UNDERSTOOD)) == misunderstood
    assert len(manager.requests("REFEREE_REGISTER_REQUEST")) == 1


def test_players_of_ours_play_for_managers_and_referees_of_others(tmp_path: Path) -> None:
    referee = Referee("Ref", convention=VERBS_ONLY, trade=Trade(filters=by_id))
    with MANAGERS["few words"]() as manager, referee, Processes(tmp_path) as processes:
        players = processes.players(manager.endpoint, count=PLAYERS)
        referee.register(manager.endpoint)
        table = manager.play(PLAYERS)
        assert players.wait() == 0
        assert processes.bugs == []
    assert [row["played"] for row in table] == [PLAYERS - 1] * PLAYERS
    assert [one.number is None for one in referee.outcomes] == [False] * 3


# --- every way to call a player ---------------------------------------------------------------------------------------


def _rpc(method: str, params: Object) -> Object:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


def _post(process: Process, body: Object) -> tuple[int, Any]:
    status, _, answer = asyncio.run(
        exchange(process.endpoint, json.dumps(body).encode(), [("Accept", "application/json")])
    )
    return status, json.loads(answer) if answer else None


def _ask(process: Process, body: Object) -> Any:
    status, answer = _post(process, body)
    assert status == 200, answer
    return answer


WAYS: dict[str, Callable[[Object], Object]] = {
    "SPEC": lambda one: _rpc(VERBS[one["message_type"]], one),
    "another verb": lambda one: _rpc({"CHOOSE_PARITY_CALL": "choose_parity"}.get(one["message_type"], "invite"), one),
    "TYPE": lambda one: _rpc(one["message_type"], one),
    "TYPE in small letters": lambda one: _rpc(one["message_type"].lower(), one),
    "TOOLS": lambda one: _rpc("tools/call", {"name": VERBS[one["message_type"]], "arguments": one}),
    "TOOLS, receive": lambda one: _rpc(
        "tools/call", {"name": f"receive_{one['message_type'].lower()}", "arguments": one}
    ),
    "TOOLS, in one parameter": lambda one: _rpc(
        "tools/call", {"name": VERBS[one["message_type"]], "arguments": {"request": one}}
    ),
    "NESTED": lambda one: _rpc("handle_message", {"message": one}),
    "NESTED, protocol/message": lambda one: _rpc("protocol/message", {"message": one}),
    "mcp_message": lambda one: _rpc("mcp_message", one),
    "BARE": lambda one: one,
}


def _heard(way: str, answer: Any) -> Any:
    if way == "BARE":
        return answer
    result = answer["result"]
    if way.startswith("TOOLS"):
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        return result["structuredContent"]
    return result


def test_a_player_is_invited_and_asked_in_every_way_there_is(tmp_path: Path) -> None:
    with MANAGERS["no token"]() as manager, Processes(tmp_path) as processes:
        player = processes.players(manager.endpoint, count=1)
        manager.saw("LEAGUE_REGISTER_REQUEST")
        for number, (way, wrap) in enumerate(WAYS.items()):
            message: Object = {
                "protocol": "league.v2",
                "message_type": "GAME_INVITATION",
                "sender": "referee:ref_e56ca731",
                "timestamp": "2025-06-01T10:00:00Z",
                "conversation_id": f"conv-{number}",
                "league_id": "any",
                "round_id": 1,
                "match_id": f"R1M{number}",
                "game_type": "even_odd",
                "role_in_match": "PLAYER_A",
                "opponent_id": "player_x",
            }
            assert _heard(way, _ask(player, wrap(message)))["accept"] is True, way
            call = {**message, "message_type": "CHOOSE_PARITY_CALL", "player_id": "P01"}
            chosen = _heard(way, _ask(player, wrap({**call, "deadline": "2099-01-01T00:00:00Z"})))
            assert chosen["parity_choice"] in ("even", "odd"), way
        state = _ask(player, _rpc("get_player_state", {}))["result"]
        assert (state["player_id"], state["lifecycle"], state["matches_played"]) == ("P01", "ACTIVE", 0)


# --- MCP --------------------------------------------------------------------------------------------------------------

HELLO = {"capabilities": {}, "clientInfo": {"name": "client", "version": "1"}}


@pytest.mark.parametrize(("asked", "given"), [("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-11-25")])
def test_an_mcp_client_is_greeted_and_told_our_tools(asked: str, given: str, tmp_path: Path) -> None:
    with MANAGERS["SPEC"]() as manager, Processes(tmp_path) as processes:
        player, referee = processes.players(manager.endpoint, count=1), processes.referee(manager.endpoint)
        for agent, tool in ((player, "parity_choose"), (referee, "notify_round")):
            said = _ask(agent, _rpc("initialize", {"protocolVersion": asked, **HELLO}))["result"]
            assert said["protocolVersion"] == given
            assert said["capabilities"].keys() >= {"tools", "resources"}
            assert said["serverInfo"]["name"]
            assert _post(agent, {"jsonrpc": "2.0", "method": "notifications/initialized"}) == (202, None)
            tools = {one["name"]: one for one in _ask(agent, _rpc("tools/list", {}))["result"]["tools"]}
            assert tools[tool]["inputSchema"]["type"] == "object"
            assert "register_player" not in tools
            assert _ask(agent, _rpc("ping", {}))["result"] is not None
            refused = _ask(agent, _rpc("tools/call", {"name": "no_such_tool", "arguments": {}}))
            assert refused["error"]["code"] == -32601
