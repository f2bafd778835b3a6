"""An announcement exactly as the documents have it: where the players live is looked up."""

from __future__ import annotations

import json

import pytest

from league import events as e
from league.gateway.guest import SEARCH_S, SEARCH_SLOWLY_S
from league.gateway.readers.foreign_assignments import GetAssignedMatches
from league.machine import Failure, Information, Pong, Refusal
from league.protocol.message.messages import GameInvitation, LeagueQuery, RoundAnnouncementAck
from league.referee.referee_context import RefereeSettings
from tests.support.referee_rig import ENDPOINTS, HERE, Object, Rig, Sent, announced

A, B = ENDPOINTS["P01"], ENDPOINTS["P02"]
HOMES = {"players": [{"player_id": "P01", "contact_endpoint": A}, {"player_id": "P02", "endpoint": B}]}
NOT_KNOWN = Refusal("E036", "Method not found", understood=False)
QUESTIONS = ("GET_REGISTRATIONS", "GET_PLAYER_DIRECTORY", "GET_ASSIGNED_MATCHES")
PORTS = ("http://10.0.0.1:8101/mcp", "http://10.0.0.1:8102/mcp")


def documented(match_id: str = "R1M1", a: str = "P01", b: str = "P02") -> Object:
    """A match as every document prints it."""
    ids = {"match_id": match_id, "game_type": "even_odd", "player_A_id": a, "player_B_id": b}
    return {**ids, "referee_endpoint": HERE}


def told(*matches: Object, derived: bool = False, settings: RefereeSettings | None = None) -> Rig:
    rig = Rig(settings=settings).enrolled(derived=derived)
    answer = rig.announce(*(matches or (documented(),)))
    assert isinstance(answer, RoundAnnouncementAck)
    return rig


def asked(rig: Rig) -> Sent:
    """The question for addresses that is open."""
    (one,) = [one for one in rig.under_way.values() if one.key.startswith("addresses/")]
    return one


def answer(rig: Rig, result: object) -> Rig:
    rig.answer(asked(rig), json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode())
    return rig


def question(rig: Rig) -> str:
    message = asked(rig).message
    return message.query_type if isinstance(message, LeagueQuery) else message.type


def in_vain(rig: Rig, said: Refusal = NOT_KNOWN) -> Rig:
    """The manager answers none of the questions."""
    for name in QUESTIONS:
        assert question(rig) == name
        rig.answer(asked(rig), said)
    return rig


def pings(rig: Rig) -> list[Sent]:
    return [one for one in rig.under_way.values() if one.kind == "ping"]


def nobody_there(rig: Rig) -> Rig:
    for one in pings(rig):
        rig.fail(one)
    return rig


def sources(rig: Rig) -> list[str]:
    return [one.source for one in rig.of(e.AssignmentCompleted) if one.endpoints]


def homes(rig: Rig) -> list[tuple[str, str]]:
    return [one.endpoints for one in rig.of(e.AssignmentCompleted) if one.endpoints]


@pytest.mark.requirement("MATCH.addresses_looked_up")
@pytest.mark.parametrize("derived", [True, False])
def test_an_announcement_without_addresses_is_acknowledged_and_played_when_they_are_known(derived: bool) -> None:
    rig = told(derived=derived)
    assert rig.said(GameInvitation) == []
    (query,) = [one for one in rig.said(LeagueQuery) if one.query_type == "GET_REGISTRATIONS"]
    assert query.sender == "referee:REF01"
    answer(rig, HOMES)
    assert homes(rig) == [(A, B)]
    assert [one.to.endpoint for one in rig.sent if one.kind == "GAME_INVITATION"] == [A, B]
    rig.plays()
    assert rig.decided.status in ("WIN", "DRAW")
    assert rig.of(e.DeviationRecorded) == []
    assert rig.replayed().snapshot() == rig.desk.snapshot()


@pytest.mark.requirement("MATCH.addresses_looked_up")
@pytest.mark.parametrize("how", ["not known", "an error", "silence", "nobody", "one of them", "nonsense", "no address"])
def test_what_registrations_do_not_tell_is_asked_of_the_list_of_matches(how: str) -> None:
    rig = told()
    if how == "silence":
        rig.fail(asked(rig), Failure.TIMEOUT)
    elif how in ("not known", "an error"):
        rig.answer(asked(rig), NOT_KNOWN if how == "not known" else Refusal("E029", "no such query"))
    else:
        one = HOMES["players"][:1]
        wrong = [{"player_id": name, "endpoint": "somewhere"} for name in ("P01", "P02")]
        said = {"nobody": {"players": []}, "one of them": {"players": one}, "no address": {"players": wrong}}
        answer(rig, said.get(how, "nonsense"))
    assert question(rig) == "GET_PLAYER_DIRECTORY"
    answer(rig, {"data": {"players": {}}})
    assert isinstance(asked(rig).message, GetAssignedMatches)
    assert rig.desk.trouble == ""
    listed = {"match_id": "R1M1", "player1_id": "P01", "player2_id": "P02"}
    answer(rig, {"matches": [{**listed, "player1_endpoint": A, "player2_endpoint": B}]})
    assert homes(rig) == [(A, B)]
    assert rig.said(GameInvitation)


@pytest.mark.requirement("MATCH.addresses_looked_up")
def test_when_nobody_tells_it_is_reported_and_asked_again() -> None:
    rig = nobody_there(in_vain(told(), Refusal("E029", "ask something else")))
    assert "player_A_endpoint of R1M1 is missing" in rig.desk.trouble
    assert "set it with --player P01=URL" in rig.desk.trouble
    assert "E029 ask something else" in rig.desk.trouble
    (recorded,) = rig.of(e.DeviationRecorded)
    assert (recorded.code, recorded.requirement) == ("E003", "ROUND_ANNOUNCEMENT.matches[].player_A_endpoint")
    for pause in (SEARCH_S, SEARCH_S, SEARCH_SLOWLY_S):
        rig.wait(pause - 0.1)
        assert not [one for one in rig.under_way if one[0].startswith("addresses/")]
        rig.wait(0.1)
        nobody_there(in_vain(rig))
    assert len(rig.of(e.DeviationRecorded)) == 1
    answer(rig.wait(SEARCH_SLOWLY_S), HOMES)
    assert (homes(rig), rig.desk.trouble) == ([(A, B)], "")
    assert rig.said(GameInvitation)


DIRECTORIES: dict[str, object] = {
    "a list": {"success": True, "data": HOMES},
    "by id": {"data": {"players": {"P01": A, "P02": {"endpoint": B}}}},
    "a directory": {"directory": {"P01": {"contact_endpoint": A}, "P02": {"url": B}}},
    "agents": {"agents": [{"agent_id": "P01", "endpoint": A}, {"agent_id": "P02", "endpoint": B}]},
    "meta": {"players": [{"player_id": "P01", "player_meta": {"contact_endpoint": A}}, HOMES["players"][1]]},
    "hosts and ports": {"players": [{"id": one, "host": f"10.0.1.{one[-1]}", "port": 8101} for one in ("P01", "P02")]},
}


@pytest.mark.requirement("MATCH.addresses_looked_up")
@pytest.mark.parametrize("how", DIRECTORIES)
def test_a_directory_of_players_tells_it_in_any_shape(how: str) -> None:
    rig = told()
    rig.answer(asked(rig), NOT_KNOWN)
    assert question(rig) == "GET_PLAYER_DIRECTORY"
    answer(rig, DIRECTORIES[how])
    assert (homes(rig), sources(rig)) == ([(A, B)], ["GET_PLAYER_DIRECTORY"])


@pytest.mark.requirement("MATCH.addresses_configured")
def test_what_the_operator_says_counts_when_the_manager_says_nothing() -> None:
    rig = in_vain(told(settings=RefereeSettings(players={"P01": A, "P02": B})))
    assert (homes(rig), sources(rig)) == ([(A, B)], ["--player"])
    assert rig.plays().decided.status in ("WIN", "DRAW")


@pytest.mark.requirement("MATCH.addresses_configured")
def test_what_the_manager_says_goes_before_what_the_operator_says() -> None:
    rig = answer(told(settings=RefereeSettings(players={"P01": PORTS[0], "P02": PORTS[1]})), HOMES)
    assert homes(rig) == [(A, B)]


@pytest.mark.requirement("MATCH.addresses_configured")
def test_the_file_of_agents_is_read_anew_with_each_search() -> None:
    said: list[Information | Refusal] = [Refusal("", "agents_config.json is not JSON"), Information(HOMES)]
    rig = told(settings=RefereeSettings(players={"P01": A}, agents_config=lambda: said.pop(0)))
    nobody_there(in_vain(rig))
    assert "player_B_endpoint of R1M1 is missing" in rig.desk.trouble
    assert "agents_config.json is not JSON" in rig.desk.trouble
    in_vain(rig.wait(SEARCH_S))
    assert (homes(rig), sources(rig), rig.desk.trouble) == ([(A, B)], ["agents_config.json"], "")


@pytest.mark.requirement("MATCH.addresses_by_port")
@pytest.mark.parametrize("how", ["a pong", "an error", "not understood"])
def test_the_documents_ports_are_the_last_resort_where_somebody_answers(how: str) -> None:
    rig = in_vain(told())
    assert [one.to.endpoint for one in pings(rig)] == list(PORTS)
    assert rig.said(GameInvitation) == []
    for one in pings(rig):
        if how == "a pong":
            rig.answer(one)
        else:
            rig.fail(one, Failure.ERROR if how == "an error" else Failure.NOT_UNDERSTOOD)
    assert (homes(rig), sources(rig)) == ([PORTS], ["the documents' ports"])
    (recorded,) = rig.of(e.DeviationRecorded)
    assert (recorded.code, recorded.requirement) == ("E003", "ROUND_ANNOUNCEMENT.matches[].player_A_endpoint")
    assert rig.plays().decided.status in ("WIN", "DRAW")
    assert rig.replayed().snapshot() == rig.desk.snapshot()


@pytest.mark.requirement("MATCH.addresses_by_port")
def test_nobody_loses_a_match_because_nobody_is_at_the_documents_port() -> None:
    rig = in_vain(told())
    first, second = pings(rig)
    rig.answer(first)
    rig.fail(second)
    assert (homes(rig), rig.said(GameInvitation)) == ([], [])
    assert "player_B_endpoint of R1M1 is missing" in rig.desk.trouble
    answer(rig.wait(SEARCH_S), HOMES)
    assert homes(rig) == [(A, B)]


@pytest.mark.requirement("MATCH.addresses_by_port")
def test_players_that_say_who_they_are_are_found_at_each_others_ports() -> None:
    """Managers that count give ids in the order in which players register, which is not that of their ports."""
    rig = in_vain(told())
    first, second = pings(rig)
    rig.answer(first, Pong(player_id="P02"))
    rig.answer(second, Pong(player_id="P01"))
    assert homes(rig) == [PORTS[::-1]]


@pytest.mark.requirement("MATCH.addresses_by_port")
def test_somebody_else_at_the_documents_port_is_not_invited() -> None:
    rig = in_vain(told())
    first, second = pings(rig)
    rig.answer(first, Pong(player_id="P07"))
    rig.answer(second)
    assert (homes(rig), rig.said(GameInvitation)) == ([], [])
    assert "player_A_endpoint of R1M1 is missing" in rig.desk.trouble


@pytest.mark.requirement("MATCH.addresses_by_port")
def test_a_player_whose_id_holds_no_number_lives_at_no_documented_port() -> None:
    rig = in_vain(told(documented(a="alice", b="player_c8d1")))
    assert (pings(rig), homes(rig)) == ([], [])
    assert "set it with --player alice=URL" in rig.desk.trouble


@pytest.mark.requirement("MATCH.addresses_by_port")
def test_a_strict_referee_guesses_nothing() -> None:
    rig = in_vain(told(derived=True, settings=RefereeSettings(profile="strict")))
    assert pings(rig) == []
    assert rig.desk.trouble


def test_what_waits_for_addresses_survives_a_restart_and_stops_nothing_else() -> None:
    rig = told(documented(), announced("R1M2", "P03", "P04"))
    assert [one.to.agent_id for one in rig.sent if one.kind == "GAME_INVITATION"] == ["P03", "P04"]
    rig.restart()
    answer(rig, HOMES)
    assert homes(rig) == [(A, B)]


def test_an_assignment_that_says_it_after_all_needs_no_answer() -> None:
    rig = told()
    rig.announce(announced(player_A_token=None, player_B_token=None))
    assert homes(rig) == [(A, B)]
    assert len(rig.said(GameInvitation)) == 2
    answer(rig, {"players": []})
    assert rig.desk.trouble == ""


def test_they_are_asked_for_once_a_search_for_all_matches_that_came_meanwhile() -> None:
    rig = told()
    rig.announce(documented("R1M2", "P02", "P01"))
    assert len([one for one in rig.said(LeagueQuery) if one.query_type == "GET_REGISTRATIONS"]) == 1
    answer(rig, HOMES)
    assert homes(rig) == [(A, B), (B, A)]


def test_after_the_end_of_the_league_nobody_is_asked() -> None:
    rig = in_vain(told())
    assert pings(rig)
    over = {"league_id": "spring", "total_rounds": 1, "total_matches": 1, "auth_token": "tok_x"}
    champion = {"player_id": "P01", "display_name": "One", "points": 0}
    rig.request({**rig.envelope("LEAGUE_COMPLETED"), **over, "champion": champion, "final_standings": [
        {"rank": 1, "player_id": "P01", "points": 0}]})  # fmt: skip
    assert rig.desk.state == "SHUTDOWN"
    assert pings(rig) == []
    rig.wait(60)
    assert not [one for one in rig.under_way if one[0].startswith("addresses/")]
