"""Matches given to our referee in the words of other managers, and what others ask agents of ours beside messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league import events as e
from league import letters
from league.gateway.readers.foreign_reports import ReportInAllWords
from league.letters import Speaker
from league.machine import Failure, Information, Inquiry, Letter
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Reading, unseal
from league.protocol.message.exchanges import Role
from league.protocol.message.messages import GameInvitation, LeagueQuery, MatchResultReport
from league.referee import assigned_matches
from tests.support.player_rig import ME as PLAYER
from tests.support.player_rig import Rig as PlayerRig
from tests.support.referee_rig import ENDPOINTS, HERE, LEAGUE, ME, UNKNOWN, Object, Rig, announced, code_of, of_manager

A, B = ENDPOINTS["P01"], ENDPOINTS["P02"]
BODY: Object = {"match_id": "R2M1", "round_id": 2, "league_id": "autumn", "game_type": "even_odd"}
CAPITALS = {"player_A_id": "P01", "player_B_id": "P02", "player_A_endpoint": A, "player_B_endpoint": B}
SPELLINGS: dict[str, Object] = {
    "capitals": CAPITALS,
    "small": {"player_a_id": "P01", "player_b_id": "P02", "player_a_endpoint": A, "player_b_endpoint": B},
    "short": {"player_a": "P01", "player_b": "P02", "player_a_endpoint": A, "player_b_endpoint": B},
    "numbered": {"player1_id": "P01", "player2_id": "P02", "player1_endpoint": A, "player2_endpoint": B},
    "addresses called url": {"player_a_id": "P01", "player_b_id": "P02", "player_a_url": A, "player_b_url": B},
    "all of them": {
        **{f"player_{one}_id": "P01" for one in ("A", "a")} | {"player_a": "P01", "player1_id": "P01"},
        **{f"player_{one}_id": "P02" for one in ("B", "b")} | {"player_b": "P02", "player2_id": "P02"},
        **{f"{one}_endpoint": A for one in ("player_A", "player_a", "player1")},
        **{f"{one}_endpoint": B for one in ("player_B", "player_b", "player2")},
    },
    "objects": {"player_a": {"player_id": "P01", "endpoint": A}, "player_b": {"id": "P02", "contact_endpoint": B}},
    "a list": {"players": [{"player_id": "P01", "endpoint": A}, {"player_id": "P02", "endpoint": B}]},
    "a list of ids": {"players": ["P01", "P02"], "player_endpoints": {"P01": A, "P02": B}},
    "one level deeper": {"match": {**CAPITALS}},
}
METHODS = ("start_match", "START_MATCH", "assign_match", "MATCH_ASSIGNMENT", "ASSIGN_MATCH")


def abroad(**changed: Any) -> Rig:
    """A referee under another's manager."""
    return Rig().enrolled(derived=False, **changed)


def offer(rig: Rig, method: str = "start_match", **fields: Any) -> Any:
    return rig.request(Inquiry(method, fields))


def read(raw: Object, role: Role = Role.REFEREE, profile: Any = "compat") -> Any:
    return letters.read_request(json.dumps(raw).encode(), Speaker(role, f"{role.value}:X", Reading(profile))).content


def rpc(method: str, params: Object) -> Object:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


# --- ways -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", METHODS)
def test_an_assignment_is_heard_in_every_convention(kind: str) -> None:
    message = {"message_type": kind.upper(), **BODY}
    ways = [
        rpc(kind, BODY),
        rpc(kind, message),
        rpc("tools/call", {"name": kind, "arguments": BODY}),
        rpc("tools/call", {"name": kind, "arguments": {"request": BODY}}),
        rpc("handle_message", {"message": message}),
        rpc("protocol/message", {"message": message}),
        rpc("mcp_message", message),
        message,
    ]
    for way in ways:
        content = read(way)
        assert isinstance(content, Inquiry)
        assert content.method == kind.lower()
        assert content.params["match_id"] == "R2M1"


@pytest.mark.parametrize("name", ["R3", "3", "round_3", "Round 03"])
def test_a_round_that_goes_by_a_name_has_the_number_in_it(name: str) -> None:
    rig = abroad()
    offer(rig, **{**BODY, "round_id": name}, **CAPITALS)
    (taken,) = rig.of(e.MatchTaken)
    assert taken.round_id == 3


def test_only_referees_are_given_matches() -> None:
    for role in (Role.PLAYER, Role.MANAGER):
        content = read(rpc("start_match", BODY), role)
        assert content.violations[0].code == "E036"


def test_a_message_of_the_protocol_is_one_whatever_its_method() -> None:
    content = read(rpc("start_match", {"message_type": "LEAGUE_COMPLETED"}))
    assert not isinstance(content, Inquiry)


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_match_is_understood_in_every_spelling_and_begins_at_once(spelling: str) -> None:
    rig = abroad()
    answer = offer(rig, **BODY, **SPELLINGS[spelling])
    assert answer == Information({"status": "ACKNOWLEDGED", "match_id": "R2M1"})
    (taken,) = rig.of(e.MatchTaken)
    assert (taken.match_id, taken.round_id, taken.league_id) == ("R2M1", 2, "autumn")
    assert (taken.players, taken.endpoints) == (("P01", "P02"), (A, B))
    assert {one.player_id for one in rig.said(GameInvitation)} == {"P01", "P02"}


def test_it_is_played_and_reported_like_any_other() -> None:
    rig = abroad()
    offer(rig, **BODY, **CAPITALS)
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    (report,) = rig.said(ReportInAllWords)
    assert (report.match_id, report.round_id, report.league_id) == ("R2M1", 2, "autumn")


@pytest.mark.requirement("REPORT.in_all_words")
@pytest.mark.parametrize(("name", "reported"), [("R3", "R3"), ("Round 03", "Round 03"), ("3", 3), (3, 3)])
def test_a_report_calls_the_round_what_its_manager_calls_it_also_after_a_restart(
    name: object, reported: object
) -> None:
    rig = abroad()
    offer(rig, **{**BODY, "round_id": name}, **CAPITALS)
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    rig.restart().refuse_tables()
    assert [one.round_id for one in rig.said(ReportInAllWords)] == [reported, reported]


def test_in_strict_a_report_says_what_the_documents_say() -> None:
    rig = Rig(profile="strict").enrolled(derived=False)
    rig.announce(announced(player_A_token=None, player_B_token=None))
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    assert len(rig.said(MatchResultReport)) == 1


def test_what_goes_without_saying_need_not_be_said() -> None:
    rig = abroad(league_id="winter")
    offer(rig, match_id="X", **CAPITALS)
    (taken,) = rig.of(e.MatchTaken)
    assert (taken.game_type, taken.round_id, taken.league_id) == ("even_odd", 1, "winter")


def test_under_a_manager_that_named_no_league_any_will_do() -> None:
    rig = Rig()
    rig.take(rig.desk.resume(rig.now))
    accepted = {"status": "REGISTERED", "referee_id": "ref_e56ca731"}
    rig.answer(rig.open("league_manager", "REFEREE_REGISTER_REQUEST"), accepted)
    assert code_of(offer(rig, match_id="X", **CAPITALS)) == ""
    mine = announced("Y", "P03", "P04", referee_id="ref_e56ca731")
    assert code_of(rig.announce(mine, auth_token=None, league_id="whatever")) == ""
    assert [one.league_id for one in rig.of(e.MatchTaken)] == ["league", "whatever"]


def test_a_league_of_another_name_is_no_reason_to_refuse_where_nothing_can_be_checked() -> None:
    rig = abroad()
    assert code_of(rig.announce(announced(), auth_token=None, league_id="autumn")) == ""
    assert len(rig.of(e.MatchTaken)) == 1


def test_the_same_match_again_changes_nothing() -> None:
    rig = abroad()
    first = offer(rig, **BODY, **CAPITALS)
    sent, journal = len(rig.sent), list(rig.journal)
    assert offer(rig, "assign_match", **BODY, **SPELLINGS["numbered"]) == first
    assert len(rig.sent) == sent
    assert [one for one in rig.journal if one not in journal] == []


def test_the_way_of_assigning_is_recorded_of_the_manager_once() -> None:
    rig = abroad()
    for number, pair in enumerate((("P01", "P02"), ("P03", "P04"))):
        a, b = pair
        homes = {"player_a_endpoint": ENDPOINTS[a], "player_b_endpoint": ENDPOINTS[b]}
        offer(rig, match_id=f"R1M{number}", player_a=a, player_b=b, **homes)
    (recorded,) = rig.of(e.DeviationRecorded)
    assert (recorded.agent_id, recorded.code, recorded.requirement) == ("league_manager", "E036", "RPC.method")
    assert rig.replayed().snapshot() == rig.desk.snapshot()


@pytest.mark.parametrize(
    ("changed", "code", "field"),
    [
        ({"player_B_endpoint": "elsewhere"}, "E008", "player_B_endpoint"),
        ({"player_B_id": None}, "E003", "player_B_id"),
        ({"player_A_id": 7}, "E007", "player_A_id"),
        ({"player_A_id": "P02"}, "E008", "matches"),
        ({"match_id": None}, "E003", "match_id"),
        ({"round_id": "one"}, "E007", "round_id"),
        ({"game_type": "chess"}, "E027", ""),
        ({"sender": "player:P01"}, "E032", "sender"),
        ({"auth_token": 7}, "E007", "auth_token"),
    ],
)
def test_a_match_that_nobody_could_play_is_refused_with_a_reason(changed: Object, code: str, field: str) -> None:
    rig = abroad()
    fields = {**BODY, **CAPITALS, **changed}
    refused = offer(rig, **{name: value for name, value in fields.items() if value is not None})
    assert isinstance(refused, PeerError)
    assert refused.code == code
    assert field in f"{refused.context} {refused.detail}"
    assert rig.of(e.MatchTaken) == []


# --- who may --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("TOKEN.assignment_checked")
@pytest.mark.parametrize(("token", "code"), [(None, "E011"), ("", "E011"), ("tok_league_manager_x", "E012")])
def test_under_our_manager_only_its_token_gives_a_match(token: str | None, code: str) -> None:
    rig = Rig().enrolled()
    body = {**BODY, **CAPITALS, "league_id": LEAGUE}
    assert code_of(offer(rig, **body, auth_token=token)) == code
    assert rig.of(e.MatchTaken) == []
    assert code_of(offer(rig, **body, auth_token=of_manager())) == ""
    assert len(rig.of(e.MatchTaken)) == 1


def test_in_strict_there_is_no_such_method() -> None:
    rig = Rig(profile="strict").enrolled()
    fields = {**BODY, **CAPITALS, "league_id": LEAGUE, "auth_token": of_manager()}
    assert code_of(offer(rig, **fields)) == "E036"
    assert rig.of(e.MatchTaken) == []


def test_after_the_end_nothing_is_taken() -> None:
    rig = abroad()
    champion = {"player_id": "P01", "display_name": "Ada", "points": 9}
    end = {"league_id": LEAGUE, "total_rounds": 1, "total_matches": 1, "champion": champion, "final_standings": []}
    rig.request({**rig.envelope("LEAGUE_COMPLETED"), **end})
    assert code_of(offer(rig, **BODY, **CAPITALS)) == "E031"


# --- before the registration is answered ------------------------------------------------------------------------------


def _early(rig: Rig, content: Any) -> int:
    letter = Letter(900 + len(rig.replies), content, origin="10.0.0.1")
    rig.take(rig.desk.handle(letter, rig.now))
    return letter.id


def _announcement(rig: Rig, **changed: Any) -> Any:
    fields = {"league_id": LEAGUE, "round_id": 1, "matches": [announced()], **changed}
    return unseal({**rig.envelope("ROUND_ANNOUNCEMENT"), **fields}, Reading())


@pytest.mark.parametrize("derived", [True, False])
def test_an_assignment_that_overtakes_the_registrations_answer_waits_for_it(derived: bool) -> None:
    rig = Rig()
    rig.take(rig.desk.resume(rig.now))
    letter = _early(rig, _announcement(rig))
    assert letter not in rig.replies
    rig.answer(rig.open("league_manager", "REFEREE_REGISTER_REQUEST"), rig.accepted(derived=derived))
    assert code_of(rig.replies[letter]) == ("E011" if derived else "")
    assert len(rig.of(e.MatchTaken)) == (0 if derived else 1)


def test_it_waits_while_we_find_out_how_to_register() -> None:
    rig = Rig()
    rig.take(rig.desk.resume(rig.now))
    letter = _early(rig, Inquiry("start_match", {**BODY, **CAPITALS}))
    rig.fail(rig.open("league_manager", "REFEREE_REGISTER_REQUEST"), Failure.NOT_UNDERSTOOD)
    assert letter not in rig.replies
    rig.answer(rig.open("league_manager", "REFEREE_REGISTER_REQUEST"), rig.accepted(None, derived=False))
    assert code_of(rig.replies[letter]) == ""
    assert len(rig.of(e.MatchTaken)) == 1


def test_when_the_registration_comes_to_nothing_those_who_wait_are_told() -> None:
    rig = Rig()
    rig.take(rig.desk.resume(rig.now))
    letter = _early(rig, _announcement(rig))
    rig.wait(10)
    assert code_of(rig.replies[letter]) == "E023"


def test_not_everybody_can_wait() -> None:
    rig = Rig()
    rig.take(rig.desk.resume(rig.now))
    answered = 0
    for number in range(100):
        rig.take(rig.desk.handle(Letter(number, Inquiry("start_match", {})), rig.now))
        answered = len(rig.replies)
    assert answered == 100 - 16
    assert {code_of(one) for one in rig.replies.values()} == {"E003"}


# --- announcements ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("here", "is_mine"),
    [
        (HERE, True),
        (HERE.replace("/mcp", "/"), True),
        (HERE.replace("8001", "8002"), False),
        (HERE.replace("10.0.0.2", "10.0.0.3"), False),
        ("http://localhost:8001/mcp", False),
        ("https://10.0.0.2:8001/mcp", False),
    ],
)
def test_abroad_a_match_without_referee_id_is_ours_by_host_and_port(here: str, is_mine: bool) -> None:
    match = announced(referee_id=None, referee_endpoint=here)
    rig = abroad()
    rig.announce(match, auth_token=None)
    assert len(rig.of(e.MatchTaken)) == is_mine


@pytest.mark.parametrize(
    ("told", "here"),
    [
        ("http://localhost:8001/mcp", "http://127.0.0.1:8001/mcp"),
        ("http://0.0.0.0:8001", "http://127.0.0.1:8001/mcp"),
        ("http://[::1]:8001/mcp", "http://localhost:8001/mcp"),
        ("HTTP://Ref.Example/mcp", "http://ref.example:80/mcp"),
    ],
)
def test_this_machine_has_many_names(told: str, here: str) -> None:
    assert assigned_matches.is_same(told, here)
    assert not assigned_matches.is_same(told, here.replace(":8", ":9"))


def test_under_our_manager_the_address_must_be_ours_to_the_letter() -> None:
    rig = Rig().enrolled()
    rig.announce(announced(referee_id=None, referee_endpoint=HERE.replace("/mcp", "/")))
    assert rig.of(e.MatchTaken) == []


# --- reports ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["refused", "status"])
def test_a_report_that_is_not_understood_is_put_otherwise(how: str) -> None:
    rig = abroad()
    offer(rig, **BODY, **CAPITALS)
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    report = rig.open("league_manager", "MATCH_RESULT_REPORT")
    if how == "refused":
        rig.answer(report, UNKNOWN)
    else:
        rig.fail(report, Failure.NOT_UNDERSTOOD)
    again = rig.open("league_manager", "MATCH_RESULT_REPORT")
    # Whoever answers without JSON-RPC probably speaks without it.
    assert (report.to.convention.value, again.to.convention.value) == ("SPEC", "TYPE" if how == "refused" else "BARE")
    assert again.message == report.message


def test_a_query_that_is_not_understood_changes_nothing_for_reports() -> None:
    rig = abroad()
    offer(rig, **BODY, **CAPITALS)
    query = rig.open("league_manager", "LEAGUE_QUERY")
    assert isinstance(query.message, LeagueQuery)
    rig.answer(query, UNKNOWN)
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    assert rig.open("league_manager", "MATCH_RESULT_REPORT").to.convention.value == "SPEC"


# --- inquiries --------------------------------------------------------------------------------------------------------


def test_the_state_of_a_match_is_told_and_shows_no_choice() -> None:
    rig = Rig().given()
    states = [offer(rig, "get_match_state", match_id="R1M1")]
    rig.joins("P01", "P02")
    states.append(offer(rig, "get_match_state", match_id="R1M1"))
    rig.chooses("P01", "even")
    states.append(offer(rig, "get_match_state", match_id="R1M1"))
    rig.chooses("P02", "odd")
    states.append(offer(rig, "get_match_state", match_id="R1M1"))
    assert [one.data["state"] for one in states] == [
        "WAITING_FOR_PLAYERS",
        "COLLECTING_CHOICES",
        "COLLECTING_CHOICES",
        "FINISHED",
    ]
    assert all(set(one.data) == {"match_id", "attempt", "state"} for one in states)


@pytest.mark.parametrize(("params", "code"), [({}, "E003"), ({"match_id": "R9M9"}, "E014"), ({"match_id": []}, "E014")])
def test_of_an_unknown_match_nothing_is_told(params: Object, code: str) -> None:
    assert code_of(offer(Rig().given(), "get_match_state", **params)) == code


def test_a_player_says_where_it_is() -> None:
    rig = PlayerRig().enrolled()
    letter, _ = rig.hand(Inquiry("get_player_state", {}))
    answer = rig.answer_to(letter)
    assert isinstance(answer, Information)
    assert (answer.data["player_id"], answer.data["lifecycle"], answer.data["matches_played"]) == (
        PLAYER,
        "REGISTERED",
        0,
    )
    assert answer.data["state"] == rig.player.phase
    other, _ = rig.hand(Inquiry("get_player_state", {"player_id": "P99"}))
    assert rig.answer_to(other).code == "E005"


def test_before_it_is_a_member_a_player_has_no_id_to_tell() -> None:
    rig = PlayerRig()
    letter, _ = rig.hand(Inquiry("get_player_state", {}))
    assert rig.answer_to(letter).data["player_id"] is None
    assert ME not in str(rig.answer_to(letter).data)
