"""The stand-ins for third-party agents are what they are said to be: driven by raw HTTP, and among themselves."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace

import pytest

from tests.support.dialects import CONVENTIONS, PROTOCOL_VERSION, VERBS_ONLY
from tests.support.foreign_managers import MANAGERS, Manager
from tests.support.foreign_players import LOSERS, PLAYERS
from tests.support.foreign_referees import REFEREES, Referee, Trade, by_endpoint, by_id, by_port
from tests.support.peer import SPEC, UNSUSPECTING, VERBS, Peer, exchange
from tests.support.scripts import Object, Reaction, on

INVITATION: Object = {
    "protocol": "league.v2",
    "message_type": "GAME_INVITATION",
    "sender": "referee:REF01",
    "timestamp": "2025-06-01T10:00:00Z",
    "conversation_id": "spring-R1M1-1",
    "auth_token": "tok_REF01_x",
    "match_id": "R1M1",
    "round_id": 1,
    "player_id": "P01",
}
CALL = {**INVITATION, "message_type": "CHOOSE_PARITY_CALL"}


def _ask(peer: Peer, body: object, *headers: tuple[str, str]) -> tuple[int, Object]:
    status, _, answer = asyncio.run(exchange(peer.endpoint, json.dumps(body).encode(), headers))
    return status, json.loads(answer or b"{}")


def _rpc(method: str, params: object = None, given: object = 1) -> Object:
    call = {"jsonrpc": "2.0", "id": given, "method": method}
    return call if params is None else {**call, "params": params}


def _tool(name: str, message: Object) -> Object:
    return _rpc("tools/call", {"name": name, "arguments": message})


def _in_every_way(message: Object) -> dict[str, Object]:
    kind = str(message["message_type"])
    return {
        "SPEC": _rpc(VERBS[kind], message),
        "TYPE": _rpc(kind, message),
        "TYPE in small letters": _rpc(kind.lower(), message),
        "TOOLS": _tool(VERBS[kind], message),
        "TOOLS, receive": _tool(f"receive_{kind.lower()}", message),
        "NESTED": _rpc("handle_message", {"message": message}),
        "NESTED, protocol/message": _rpc("protocol/message", {"message": message}),
        "BARE": message,
    }


UNDERSTANDS = {
    "SPEC": {"SPEC"},
    "SPEC, choose_parity": {"SPEC"},
    "SPEC, by message type": {"SPEC", "TYPE", "TYPE in small letters"},
    "TYPE": {"TYPE"},
    "TYPE in small letters": {"TYPE in small letters"},
    "TYPE, fine with the rest": {"TYPE"},
    "TYPE, ok to the rest": {"TYPE"},
    "TOOLS": {"TOOLS"},
    "TOOLS, structured": {"TOOLS"},
    "TOOLS, receive": {"TOOLS, receive"},
    "TOOLS, names of its own": set(),
    "TOOLS after a handshake": set(),
    "TOOLS in a session": set(),
    "TOOLS as events": set(),
    "TOOLS or 404": {"TOOLS"},
    "NESTED": {"NESTED"},
    "NESTED, protocol/message": {"NESTED, protocol/message"},
    "NESTED or 500": {"NESTED"},
    "NESTED, or hangs up": {"NESTED"},
    "BARE": {"BARE"},
    "BARE or 400": {"BARE"},
    "BARE, ok to the rest": {"BARE"},
    "REST": {"SPEC"},
    "SPEC, choose_parity, says so in a result": {"SPEC"},
    "TYPE, unknown_message_type": {"TYPE"},
    "NESTED, status error": {"NESTED"},
    "CHOOSE_PARITY_REQUEST": {"SPEC", "TYPE", "TYPE in small letters"},
    "league.handle": set(),
    "REST, few words": {"SPEC"},
    "at /MCP": {"SPEC"},
    "an endpoint without a path": {"SPEC"},
    "no game_types": {"SPEC"},
    "no display_name": {"SPEC"},
    "endpoint": {"SPEC"},
    "url, no game_types": {"SPEC"},
    "flat meta": {"SPEC"},
    "PLAYER_REGISTER_REQUEST": {"SPEC"},
}


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_player_joins_only_when_called_in_its_own_way(name: str) -> None:
    joined = set()
    with PLAYERS[name]() as player:
        for way, call in _in_every_way(INVITATION).items():
            try:
                _, answer = _ask(player, call)
            except ConnectionResetError:
                continue
            if "GAME_JOIN_ACK" in json.dumps(answer):
                joined.add(way)
    assert joined == UNDERSTANDS[name]
    assert len(player.requests("GAME_INVITATION")) == len(joined)


ELSEWISE: Mapping[str, tuple[int, Object]] = {
    "TYPE": (200, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "Method not found"}}),
    "TYPE, fine with the rest": (200, {"jsonrpc": "2.0", "id": 1, "result": {"status": "ok"}}),
    "TYPE, ok to the rest": (200, {"status": "ok"}),
    "TOOLS or 404": (404, {"detail": "no"}),
    "NESTED or 500": (500, {"error": "KeyError: 'message'"}),
    "BARE or 400": (400, {"error": "unknown message"}),
    "BARE, ok to the rest": (200, {"status": "ok"}),
}


@pytest.mark.parametrize("name", ELSEWISE)
def test_what_it_does_not_know_is_answered_in_its_own_way(name: str) -> None:
    with PLAYERS[name]() as player:
        assert _ask(player, _rpc("handle_game_invitation", INVITATION)) == ELSEWISE[name]


def test_an_mcp_server_in_a_session_wants_the_whole_handshake() -> None:
    session = "Mcp-Session-Id"
    with PLAYERS["TOOLS in a session"]() as player:
        assert _ask(player, _rpc("tools/list"))[0] == 400
        hello = json.dumps(_rpc("initialize", {"protocolVersion": PROTOCOL_VERSION})).encode()
        _, head, answer = asyncio.run(exchange(player.endpoint, hello))
        assert json.loads(answer)["result"]["protocolVersion"] == PROTOCOL_VERSION
        given = next(line.split(": ")[1] for line in head.decode().split("\r\n") if line.startswith(session))
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert _ask(player, ready, (session, given)) == (202, {})
        _, listed = _ask(player, _rpc("tools/list"), (session, given))
        assert "parity_choose" in {one["name"] for one in listed["result"]["tools"]}
        assert _ask(player, _tool("parity_choose", CALL))[0] == 400
        _, chosen = _ask(player, _tool("parity_choose", CALL), (session, given))
        assert chosen["result"]["structuredContent"]["parity_choice"] == "even"


def test_some_mcp_servers_answer_with_an_event() -> None:
    with PLAYERS["TOOLS as events"]() as player:
        hello = json.dumps(_rpc("initialize", {"protocolVersion": PROTOCOL_VERSION})).encode()
        _, head, answer = asyncio.run(exchange(player.endpoint, hello))
    assert b"Content-Type: text/event-stream\r\n" in head
    event, data = answer.decode().strip().split("\r\n")
    assert event == "event: message"
    assert json.loads(data.removeprefix("data: "))["result"]["protocolVersion"] == PROTOCOL_VERSION


def test_an_mcp_server_without_a_session_refuses_to_work_before_the_handshake() -> None:
    with PLAYERS["TOOLS after a handshake"]() as player:
        assert _ask(player, _tool("receive_game_invitation", INVITATION))[1]["error"]["code"] == -32602
        _ask(player, _rpc("initialize", {}))
        joined = _ask(player, _tool("receive_game_invitation", INVITATION))[1]
        assert json.loads(joined["result"]["content"][0]["text"])["accept"] is True


def test_tools_of_their_own_names_are_told_by_the_list_only() -> None:
    with PLAYERS["TOOLS, names of its own"]() as player:
        _, wrong = _ask(player, _tool("handle_game_invitation", INVITATION))
        assert wrong["result"]["isError"] is True
        _, listed = _ask(player, _rpc("tools/list"))
        invited = next(one for one in listed["result"]["tools"] if "GAME_INVITATION" in one["description"])
        _, joined = _ask(player, _tool(invited["name"], INVITATION))
        assert json.loads(joined["result"]["content"][0]["text"])["message_type"] == "GAME_JOIN_ACK"


def test_a_player_of_verbs_looks_at_the_method_and_one_of_types_at_the_type() -> None:
    muddled = _rpc("parity_choose", INVITATION)
    with PLAYERS["SPEC"]() as verbs, PLAYERS["SPEC, by message type"]() as types:
        assert _ask(verbs, muddled)[1]["result"]["parity_choice"] == "even"
        assert _ask(types, muddled)[1]["result"]["accept"] is True
        assert _ask(verbs, _rpc("ping"))[1]["result"] == {}
        assert _ask(types, _rpc("ping"))[1]["error"]["code"] == -32600


def test_one_that_knows_choose_parity_does_not_know_parity_choose() -> None:
    with PLAYERS["SPEC, choose_parity"]() as player:
        assert _ask(player, _rpc("parity_choose", CALL))[1]["error"]["code"] == -32601
        assert _ask(player, _rpc("choose_parity", CALL))[1]["result"]["parity_choice"] == "even"


# --- habits -----------------------------------------------------------------------------------------------------------


def _habit(name: str, message: Object = INVITATION) -> Object:
    with PLAYERS[name]() as player:
        return _ask(player, _rpc(VERBS[message["message_type"]], message, 7))[1]


def test_joins_are_acknowledged_in_few_words() -> None:
    assert _habit("joins by ACK")["result"] == {"status": "ACK"}
    assert _habit("joins by accepted")["result"] == {"accepted": True}
    assert _habit("joins by status ACCEPTED")["result"] == {"status": "ACCEPTED", "match_id": "R1M1"}


def test_a_choice_may_be_called_choice_and_a_wrong_one_stays_wrong() -> None:
    chosen = _habit("chooses by choice", CALL)["result"]
    assert chosen["choice"] == "even"
    assert "parity_choice" not in chosen
    code, loser = LOSERS["chooses Even"]
    with loser() as player:
        assert (code, _ask(player, _rpc("parity_choose", CALL))[1]["result"]["parity_choice"]) == ("E004", "Even")


def test_the_json_rpc_object_around_an_answer_may_be_odd() -> None:
    assert set(_habit("answers like a request")) == {"jsonrpc", "id", "method", "params"}
    assert _habit("null beside the result")["error"] is None
    assert (_habit("another id")["id"], _habit("the id as a string")["id"]) == (99_999, "7")
    assert "id" not in _habit("no id")


def test_only_whole_numbers_are_ids_to_some() -> None:
    with PLAYERS["whole ids only"]() as player:
        refused = _ask(player, _rpc("handle_game_invitation", INVITATION, "seven"))[1]
        assert refused["error"]["code"] == -32600
        assert _ask(player, _rpc("handle_game_invitation", INVITATION, 7))[1]["result"]["accept"] is True


def test_some_show_the_token_they_were_shown_or_none() -> None:
    assert _habit("the referee's token")["result"]["auth_token"] == "tok_REF01_x"
    assert _habit("a stale token")["result"]["auth_token"] == "tok_P01_of_an_earlier_league"
    assert "auth_token" not in _habit("no token")["result"]


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("microseconds", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?\+00:00"),
        ("milliseconds", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"),
        ("+00:00Z", r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00Z"),
        ("compact times", r"\d{8}T\d{6}Z"),
    ],
)
def test_times_are_written_in_many_ways(name: str, form: str) -> None:
    said = _habit(name)["result"]
    assert re.fullmatch(form, said["timestamp"])
    assert re.fullmatch(form, said["arrival_timestamp"])


def test_every_fourth_request_finds_it_busy() -> None:
    with PLAYERS["busy now and then"]() as player:
        statuses = [_ask(player, _rpc("ping"))[0] for _ in range(8)]
    assert statuses == [200, 200, 200, 429] * 2


def test_the_process_is_gone_after_the_last_message() -> None:
    with PLAYERS["exits at the end"]() as player:
        last = {**INVITATION, "message_type": "LEAGUE_COMPLETED"}
        assert _ask(player, _rpc("notify_league_completed", last))[0] == 200
        player.join()
        with pytest.raises(ConnectionRefusedError):
            _ask(player, _rpc("ping"))


def test_broadcasts_may_be_answered_with_400() -> None:
    with PLAYERS["400 to broadcasts"]() as player:
        news = {**INVITATION, "message_type": "LEAGUE_STANDINGS_UPDATE"}
        assert _ask(player, _rpc("update_standings", news))[0] == 400
        assert _ask(player, _rpc("handle_game_invitation", INVITATION))[0] == 200


def test_a_habit_can_be_had_in_any_convention() -> None:
    habit = PLAYERS["joins by ACK"]().script
    with Peer("Ann", script=habit, convention=CONVENTIONS["TOOLS"]) as player:
        assert _ask(player, _rpc("handle_game_invitation", INVITATION))[1]["error"]["code"] == -32601
        said = _ask(player, _tool("handle_game_invitation", INVITATION))[1]
        assert json.loads(said["result"]["content"][0]["text"]) == {"status": "ACK"}


@pytest.mark.parametrize("table", [(*PLAYERS, *LOSERS), REFEREES], ids=["players", "referees"])
def test_all_of_a_table_can_be_in_one_league(table: Iterable[str]) -> None:
    names = [name.casefold() for name in table]
    assert len(set(names)) == len(names)
    assert all(1 <= len(name) <= 50 for name in names)


# --- leagues among themselves -----------------------------------------------------------------------------------------


def _player(name: str, manager: Manager, choice: str) -> Peer:
    """Asks as the manager wants it, and is asked as the documents say."""
    heard = replace(manager.convention, read=SPEC.read, answer=SPEC.answer, aside=SPEC.aside)
    return Peer(name, convention=heard, choice=choice)


def _league(manager: Manager, referees: Sequence[Referee], players: int = 3) -> Sequence[Object]:
    """The final table of a whole league."""
    with ExitStack() as stack:
        stack.enter_context(manager)
        for referee in referees:
            stack.enter_context(referee).register(manager.endpoint)
        asked = [stack.enter_context(_player(f"P{n}", manager, ("even", "odd")[n % 2])) for n in range(players)]
        for one in asked:
            one.register(manager.endpoint)
        table = manager.play(players, len(referees))
        assert [one.stumbles for one in (manager, *referees, *asked)] == [[]] * (1 + len(referees) + players)
    return table


def _assert_all_played(table: Sequence[Object], manager: Manager, referees: Sequence[Referee]) -> None:
    matches = len(table) * (len(table) - 1) // 2
    assert [row["played"] for row in table] == [len(table) - 1] * len(table)
    assert sum(row["wins"] for row in table) == sum(row["losses"] for row in table) > 0
    outcomes = [one for referee in referees for one in referee.outcomes]
    assert {one.match.match_id for one in outcomes} == set(manager.reports)
    assert len(outcomes) == matches
    assert all(one.number is not None for one in outcomes)


ASSIGNED = {
    "start_match": "start_match",
    "start_match, numbered": "start_match, one at a time",
    "assign_match": "assign_match",
    "START_MATCH": "START_MATCH, TYPE",
    "MATCH_ASSIGNMENT": "MATCH_ASSIGNMENT, TYPE",
    "start_match, TOOLS": "start_match, TOOLS",
    "MATCH_ASSIGNMENT, BARE": "MATCH_ASSIGNMENT, BARE",
    "polled": "polls",
    "polled, TOOLS": "polls, TOOLS",
    "POST /run_match": "start_match, POST /run_match",
    "counts flat fields": "flat",
    "counts a map of players": "a map of players",
    "rounds by name, start_match": "start_match",
}
FOR_OURS = (
    "announces as the documents",
    "announces as the documents, TYPE",
    "lists addresses",
    "has a directory",
    "start_match_command",
)
"""Their referees must look addresses up or know their own name. Ours do (tests/e2e/test_abroad.py), no stand-in."""


@pytest.mark.parametrize("name", [name for name in MANAGERS if name not in FOR_OURS])
def test_every_manager_runs_a_league_for_agents_that_speak_as_it_does(name: str) -> None:
    manager = MANAGERS[name]()
    if name in ASSIGNED:
        referee = REFEREES[ASSIGNED[name]]()
    elif manager.office.assigns:
        trade = Trade(assignments=frozenset(manager.office.assigns[:1]), spelling=manager.office.spelling)
        referee = Referee("Ref", convention=manager.convention, trade=trade)
    else:
        referee = Referee("Ref", convention=manager.convention, trade=Trade(filters=by_id))
    _assert_all_played(_league(manager, [referee]), manager, [referee])


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, row in REFEREES.items()
        # A map of players has no result in it that a plain manager could read.
        if row().trade.filters and row().convention is VERBS_ONLY and not row().trade.report.mapped
    ],
)
def test_every_report_of_a_match_is_a_result(name: str) -> None:
    manager, referee = MANAGERS["SPEC"](), REFEREES[name]()
    table = _league(manager, [referee], players=4)
    _assert_all_played(table, manager, [referee])
    assert sum(row["draws"] for row in table) == 4


def test_a_flat_report_has_no_result_in_it() -> None:
    manager, referee = MANAGERS["SPEC"](), REFEREES["flat"]()
    _league(manager, [referee])
    report = manager.reports["R1M1"]
    assert "result" not in report
    assert {"player_a_result", "player_b_result", "winner_id", "player_a_choice"} <= set(report)


def test_matches_are_told_apart_by_id_endpoint_and_port() -> None:
    manager = MANAGERS["SPEC"]()
    filters = {"A": by_id, "B": by_endpoint, "C": by_port}
    referees = [Referee(name, convention=VERBS_ONLY, trade=Trade(filters=one)) for name, one in filters.items()]
    _assert_all_played(_league(manager, referees, players=6), manager, referees)
    assert all(one.outcomes for one in referees)


def test_a_referee_of_one_match_refuses_the_second_until_the_first_is_over() -> None:
    manager, referee = MANAGERS["start_match, numbered"](), REFEREES["start_match, one at a time"]()
    with manager, referee, Peer("Ann") as ann, Peer("Ben", on("GAME_INVITATION", Reaction(until="told"))) as ben:
        referee.register(manager.endpoint)
        ids = {"player1_id": "P01", "player2_id": "P02"}
        homes = {"player1_endpoint": ann.endpoint, "player2_endpoint": ben.endpoint}
        first = {"match_id": "R1M1", "round_id": 1, **ids, **homes}
        assert _ask(referee, _rpc("start_match", first))[1]["result"]["status"] == "ACKNOWLEDGED"
        ben.saw("GAME_INVITATION")
        second = _rpc("start_match", {**first, "match_id": "R1M2"})
        assert _ask(referee, second)[1]["result"]["status"] == "REJECTED"
        ben.release("told")
        manager.saw("MATCH_RESULT_REPORT")
    assert [one.match.match_id for one in referee.outcomes] == ["R1M1"]


def test_some_referees_answer_when_the_match_is_over() -> None:
    manager, referee = MANAGERS["start_match"](), REFEREES["start_match, when over"]()
    with manager, referee, Peer("Ann") as ann, Peer("Ben", choice="odd") as ben:
        referee.register(manager.endpoint)
        who = {"player_a_id": "P01", "player_b_id": "P02"}
        homes = {"player_a_endpoint": ann.endpoint, "player_b_endpoint": ben.endpoint}
        _ask(referee, _rpc("start_match", {"match_id": "R1M1", "round_id": 1, **who, **homes}))
        assert (len(manager.requests("MATCH_RESULT_REPORT")), len(referee.outcomes)) == (1, 1)
    assert referee.outcomes[0].winner == "P02"


def test_registration_answers_are_as_different_as_managers_are() -> None:
    with MANAGERS["few words"]() as manager, Peer("Ann") as ann:
        given = ann.register(manager.endpoint)
    assert set(given) == {"status", "player_id"}
    assert given["status"] == "REGISTERED"
    assert re.fullmatch("player_[0-9a-f]{4}", given["player_id"])


def test_a_player_that_registers_by_rest_posts_its_meta_flat() -> None:
    with Peer("Post", convention=UNSUSPECTING) as office:
        with PLAYERS["REST"]() as player:
            player.apply(office.endpoint)
        (request,) = office.received
    assert request.head.startswith(b"POST /register ")
    assert set(request.call) == {"display_name", "version", "game_types", "contact_endpoint"}


def test_a_player_may_be_registered_before_anybody_can_reach_it() -> None:
    with MANAGERS["SPEC"]() as manager, PLAYERS["registers before it listens"]() as player:
        with pytest.raises(ConnectionRefusedError):
            _ask(player, _rpc("ping"))
        player.register(manager.endpoint)
        assert (player.agent_id, _ask(player, _rpc("ping"))[1]["result"]) == ("P01", {})


def test_a_player_may_register_again_at_will_and_keep_its_own_id() -> None:
    with MANAGERS["SPEC"]() as manager, PLAYERS["registers again"]() as again, PLAYERS["keeps an odd id"]() as own:
        again.register(manager.endpoint)
        _ask(again, _rpc("notify_match_result", {**INVITATION, "message_type": "GAME_OVER"}))
        manager.saw("LEAGUE_REGISTER_REQUEST", 2)
        own.register(manager.endpoint)
        assert own.agent_id == "alice_agent"
        assert manager.saw("LEAGUE_REGISTER_REQUEST", 3).message["sender"] == "player:alice_agent"
