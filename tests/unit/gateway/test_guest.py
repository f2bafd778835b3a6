"""A referee of ours under a manager that gives no match by itself: when it asks, what it makes of the answer, and when
it stops asking."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league import events as e
from league import letters
from league.gateway import forms
from league.gateway.guest import NOTHING_GIVEN, POLL_AFTER_S, POLL_S, POLL_SLOWLY_S
from league.gateway.lead import LEAD_S, LOOK_S
from league.gateway.readers.foreign_assignments import FreeQuery, GetAssignedMatches
from league.gateway.readers.tools import Tool, pick
from league.machine import ADDRESS_QUERIES, Acknowledged, Address, Failure, Information, Inquiry, Ping, Refusal, Step
from league.protocol.conventions import Convention
from league.protocol.message.envelope import Reading, seal
from league.protocol.message.messages import GameInvitation, LeagueQuery
from league.protocol.wire import jsonrpc
from tests.support.referee_rig import ENDPOINTS, HERE, LEAGUE, ME, Object, Rig, Sent, announced

A, B = ENDPOINTS["P01"], ENDPOINTS["P02"]
POLL = "GET_ASSIGNED_MATCHES"
IDS = {"match_id": "R1M1", "round_id": 1, "player_A_id": "P01", "player_B_id": "P02"}
MATCH = {**IDS, "player_A_endpoint": A, "player_B_endpoint": B}
OTHER = {"match_id": "R1M2", "player1_id": "P03", "player2_id": "P04"} | {
    f"player{seat}_endpoint": ENDPOINTS[player] for seat, player in (("1", "P03"), ("2", "P04"))
}
HOMES = [{"player_id": "P01", "contact_endpoint": A}, {"player_id": "P02", "endpoint": B}]


NOT_KNOWN = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}'


class Abroad(Rig):
    """A referee under a third-party manager, which answers the question for the schedule at once."""

    schedule = NOT_KNOWN

    def take(self, step: Step) -> Step:
        taken = super().take(step)
        for call in list(self.under_way.values()):
            if isinstance(call.message, FreeQuery) and call.message.query_type not in ADDRESS_QUERIES:
                self.answer(call, self.schedule)
        return taken


def abroad(**changed: Any) -> Rig:
    return Abroad().enrolled(derived=False, **changed)


def asking(rig: Rig | None = None) -> Rig:
    """It has just asked for its matches."""
    rig = (rig or abroad()).wait(POLL_AFTER_S)
    poll(rig)
    return rig


def poll(rig: Rig) -> Sent:
    return rig.open("league_manager", POLL)


def polls(rig: Rig) -> list[float]:
    return rig.times(POLL, "league_manager")


def tell(rig: Rig, result: object, kind: str = POLL) -> Rig:
    """The manager answers the open question, whatever its shape."""
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    rig.answer(rig.open("league_manager", kind), raw)
    return rig


def registrations(rig: Rig) -> list[LeagueQuery]:
    return [one for one in rig.said(LeagueQuery) if one.query_type == "GET_REGISTRATIONS"]


def tell_homes(rig: Rig, result: object) -> Rig:
    asked = next(one for one in rig.under_way.values() if one.key.startswith("addresses/"))
    rig.answer(asked, json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode())
    return rig


def taken(rig: Rig) -> list[tuple[str, tuple[str, str]]]:
    """The matches that can be played, in the order in which that became known."""
    found = [one for one in rig.journal if isinstance(one, e.MatchTaken | e.AssignmentCompleted)]
    return [(one.match_id, one.endpoints) for one in found if one.endpoints is not None and all(one.endpoints)]


# --- when it asks -----------------------------------------------------------------------------------------------------


def test_it_asks_when_no_match_came_for_a_while_and_again_and_again() -> None:
    rig = asking()
    for _ in range(3):
        tell(rig, {"matches": []}).wait(POLL_SLOWLY_S)
    assert polls(rig) == [3.0, 13.0, 23.0, 33.0]


def test_it_says_who_asks() -> None:
    (asked,) = asking().said(GetAssignedMatches)
    assert (asked.referee_id, asked.league_id, asked.sender) == (ME, LEAGUE, f"referee:{ME}")


def test_only_one_call_is_under_way_however_long_it_takes() -> None:
    rig = asking().wait(9.0)
    assert len(polls(rig)) == 1
    rig.wait(1.0 + POLL_SLOWLY_S)
    assert polls(rig) == [3.0, 23.0]


def test_once_the_list_has_brought_a_match_it_asks_more_often() -> None:
    rig = asking()
    tell(rig, []).wait(POLL_SLOWLY_S)
    tell(rig, [MATCH])
    rig.plays().wait(POLL_S)
    tell(rig, []).wait(POLL_S)
    assert len(polls(rig)) == 4


@pytest.mark.parametrize(("retry_after", "pause"), [(None, POLL_SLOWLY_S), (1.0, POLL_SLOWLY_S), (20.0, 20.0)])
def test_a_busy_manager_is_asked_again_when_it_likes(retry_after: float | None, pause: float) -> None:
    rig = asking()
    rig.fail(poll(rig), Failure.BUSY, retry_after=retry_after)
    rig.wait(pause)
    assert polls(rig) == [3.0, 3.0 + pause]


def test_while_a_match_is_open_it_does_not_ask() -> None:
    rig = tell(asking(), {"matches": [MATCH]})
    rig.joins("P01", "P02").wait(20.0)
    assert len(polls(rig)) == 1
    rig.chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02").acknowledge()
    rig.wait(POLL_S)
    assert len(polls(rig)) == 2


# --- when it does not -------------------------------------------------------------------------------------------------


def test_under_our_manager_it_never_asks_for_matches() -> None:
    rig = Rig().enrolled()
    rig.wait(600.0)
    rig.announce(announced())
    rig.plays()
    assert polls(rig) == []


def test_in_strict_it_never_asks() -> None:
    rig = Rig(profile="strict").enrolled(derived=False)
    assert rig.desk.deadline is None


def test_before_it_is_a_member_it_does_not_ask() -> None:
    rig = Rig()
    rig.take(rig.desk.resume(rig.now))
    assert polls(rig.wait(60.0)) == []


@pytest.mark.parametrize("how", ["an error", "a status", "a tool"])
def test_a_manager_that_does_not_know_the_question_is_not_asked_again(how: str) -> None:
    rig = asking()
    if how == "a status":
        rig.fail(poll(rig), Failure.NOT_UNDERSTOOD)
    elif how == "a tool":
        tell(rig, {"content": [{"type": "text", "text": f"Unknown tool: {POLL}"}], "isError": True})
    else:
        rig.answer(poll(rig), NOT_KNOWN)
    assert rig.desk.deadline is None
    assert len(polls(rig.wait(600.0))) == 1


@pytest.mark.parametrize("how", ["ROUND_ANNOUNCEMENT", "start_match"])
def test_who_gives_matches_by_itself_is_not_asked_for_any(how: str) -> None:
    rig = abroad()
    if how == "start_match":
        rig.request(Inquiry("start_match", MATCH))
    else:
        rig.announce(announced(), auth_token=None)
    rig.plays().wait(600.0)
    assert polls(rig) == []


def test_an_announcement_calls_off_the_question_that_is_open() -> None:
    rig = asking()
    asked = poll(rig)
    rig.announce(announced(), auth_token=None)
    assert rig.cancelled == [asked.key]
    rig.answer(asked, {"matches": [OTHER]})
    assert [name for name, _ in taken(rig)] == ["R1M1"]


def test_an_announcement_that_could_not_be_played_is_no_reason_to_stop() -> None:
    rig = abroad()
    rig.announce(announced(game_type="chess"), auth_token=None)
    assert polls(rig.wait(POLL_AFTER_S)) == [POLL_AFTER_S]


def test_after_the_end_of_the_league_it_does_not_ask() -> None:
    rig = asking()
    champion = {"player_id": "P01", "display_name": "Ada", "points": 9}
    end = {"league_id": LEAGUE, "total_rounds": 1, "total_matches": 1, "champion": champion, "final_standings": []}
    rig.request({**rig.envelope("LEAGUE_COMPLETED"), **end})
    assert rig.desk.deadline is None
    assert rig.under_way == {}
    assert rig.restart().desk.deadline is None


def forget(rig: Rig) -> Rig:
    """The manager does not know us any more; we register again."""
    rig.answer(poll(rig), Refusal("E012", "who are you?"))
    rig.answer(rig.open("league_manager", "REFEREE_REGISTER_REQUEST"), rig.accepted(derived=False))
    return rig.wait(POLL_AFTER_S)


def test_a_manager_that_forgot_us_is_registered_with_again_and_asked_again_as_often_as_it_forgets() -> None:
    rig = asking()
    for _ in range(3):
        tell(forget(rig), {"matches": []}).wait(POLL_SLOWLY_S)
    tell(rig, {"matches": [MATCH]})
    assert len(taken(rig)) == 1


def test_a_manager_by_d1_that_answers_players_only_is_not_registered_with_again() -> None:
    """It would take us for another referee, in the middle of a match."""
    rig = asking()
    rig.answer(poll(rig), Refusal("E012", "the token is unknown", words="6001 Invalid auth token"))
    assert ("league_manager", "REFEREE_REGISTER_REQUEST") not in rig.under_way
    assert len(polls(rig.wait(POLL_SLOWLY_S))) == 2


def test_a_new_registration_gives_the_question_another_chance() -> None:
    rig = asking()
    rig.answer(poll(rig), NOT_KNOWN)
    rig.request(Inquiry("start_match", MATCH))
    rig.joins("P01", "P02").chooses("P01", "even").chooses("P02", "odd").hears_game_over("P01", "P02")
    rig.answer(rig.open("league_manager", "MATCH_RESULT_REPORT"), Refusal("E012", "who are you?"))
    rig.answer(rig.open("league_manager", "REFEREE_REGISTER_REQUEST"), rig.accepted(derived=False))
    rig.wait(2.0)
    rig.acknowledge()
    assert len(polls(rig.wait(POLL_AFTER_S))) == 2


# --- the schedule -----------------------------------------------------------------------------------------------------

SCHEDULE = {
    "rounds": [
        {"round_id": 1, "matches": [{**MATCH, "round_id": 1}, {**OTHER, "status": "COMPLETED"}]},
        {"round_id": 2, "matches": [{**MATCH, "match_id": "R2M1", "round_id": 2}]},
    ]
}


def _scheduled(*matches: Object, **fields: Any) -> bytes:
    """An answer to GET_SCHEDULE, as the documents have answers to queries."""
    answer = {"message_type": "LEAGUE_QUERY_RESPONSE", "query_type": "GET_SCHEDULE", "success": True}
    data = fields or {"schedule": list(matches)}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": {**answer, "data": data}}).encode()


def _shown(schedule: bytes) -> Rig:
    rig = Abroad()
    rig.schedule = schedule
    return rig.enrolled(derived=False).wait(POLL_AFTER_S)


@pytest.mark.requirement("REFEREE.asks_for_schedule")
@pytest.mark.parametrize("named", [{}, {"referee_endpoint": HERE}, {"referee_id": ME}])
def test_matches_of_the_schedule_that_are_ours_are_taken_round_by_round(named: Object) -> None:
    rig = _shown(_scheduled({**MATCH, **named}, {**MATCH, **named, "match_id": "R2M1", "round_id": 2}))
    assert [name for name, _ in taken(rig)] == ["R1M1"]
    begin(rig).plays().wait(POLL_SLOWLY_S)
    assert [name for name, _ in taken(rig)] == ["R1M1", "R2M1"]


@pytest.mark.requirement("REFEREE.asks_for_schedule")
def test_a_schedule_in_rounds_is_read_too() -> None:
    rig = _shown(_scheduled(**SCHEDULE))
    assert [(match.match_id, match.round_id) for match in rig.of(e.MatchTaken)] == [("R1M1", 1)]


@pytest.mark.requirement("REFEREE.asks_for_schedule")
@pytest.mark.parametrize("other", [{"referee_id": "REF09"}, {"referee_endpoint": "http://10.0.0.2:8009/mcp"}])
def test_a_match_without_a_referee_is_left_if_there_are_others(other: Object) -> None:
    rig = _shown(_scheduled(MATCH, {**OTHER, "round_id": 1, **other}))
    assert taken(rig) == []


def begin(rig: Rig) -> Rig:
    """Everybody is there, and the manager says nothing, until a match may begin."""
    while not rig.said(GameInvitation):
        rig.wait(LOOK_S)
        for ping in [sent for sent in rig.under_way.values() if isinstance(sent.message, Ping)]:
            rig.answer(ping)
    return rig


FULL = ({**MATCH, "round_id": 1}, {**MATCH, "match_id": "R2M1", "round_id": 2})


@pytest.mark.requirement("REFEREE.never_ahead")
def test_matches_of_a_whole_schedule_wait_for_their_players_and_a_minute_of_silence() -> None:
    rig = _shown(_scheduled(*FULL)).wait(300.0)
    assert rig.said(GameInvitation) == []
    seen_at = rig.t
    begin(rig)
    assert LEAD_S <= rig.t - seen_at <= LEAD_S + 4 * LOOK_S


@pytest.mark.requirement("REFEREE.never_ahead")
def test_a_message_of_the_manager_ends_its_silence() -> None:
    rig = _shown(_scheduled(*FULL))
    for _ in range(10):
        rig.wait(LEAD_S / 2)
        for ping in [sent for sent in rig.under_way.values() if isinstance(sent.message, Ping)]:
            rig.answer(ping)
        done = {"league_id": LEAGUE, "round_id": 1, "matches_completed": 1, "next_round_id": 2, "summary": None}
        rig.request({**rig.envelope("ROUND_COMPLETED"), **done})
    assert rig.said(GameInvitation) == []
    begin(rig)


@pytest.mark.requirement("REFEREE.never_ahead")
@pytest.mark.parametrize("how", ["current_round", "status", "announced", "start_match"])
def test_matches_begin_when_the_manager_says_so(how: str) -> None:
    rig = Abroad()
    rig.schedule = _scheduled(*FULL)
    rig.enrolled(derived=False).wait(POLL_AFTER_S)
    assert rig.said(GameInvitation) == []
    if how == "announced":
        rig.announce(announced(), auth_token=None)
    elif how == "start_match":
        rig.request(Inquiry("start_match", MATCH))
    elif how == "status":
        rig.schedule = _scheduled({**FULL[0], "status": "IN_PROGRESS"}, FULL[1])
    else:
        rig.schedule = _scheduled(schedule=list(FULL), current_round=1)
    rig.wait(POLL_SLOWLY_S)
    assert len(rig.said(GameInvitation)) >= 2


@pytest.mark.requirement("REFEREE.never_ahead")
def test_the_newest_round_of_a_schedule_that_grows_begins_at_once() -> None:
    rig = _shown(_scheduled({**MATCH, "round_id": 1}, {**OTHER, "round_id": 1}))
    assert len(rig.said(GameInvitation)) == 4


@pytest.mark.requirement("REFEREE.never_ahead")
def test_a_player_that_was_never_seen_loses_nothing_for_a_minute_by_refusing_connections() -> None:
    rig = abroad()
    rig.announce(announced(), auth_token=None)
    rig.joins("P01")
    while rig.t < LEAD_S - 15.0:
        if rig.asked("P02"):
            rig.breaks("P02")
        rig.wait(1.0)
    assert rig.of(e.PlayerFaulted) == []
    assert len(rig.of(e.PlayerAwaited)) == 1
    while rig.t < LEAD_S + 15.0:
        if rig.asked("P02"):
            rig.breaks("P02")
        rig.wait(1.0)
    (fault,) = rig.of(e.PlayerFaulted)
    assert (fault.player_id, fault.code) == ("P02", "E009")


@pytest.mark.requirement("REFEREE.asks_for_schedule")
def test_it_says_once_that_nobody_has_given_it_a_match() -> None:
    rig = asking()
    assert rig.desk.trouble == ""
    tell(rig, [])
    assert rig.desk.trouble == NOTHING_GIVEN
    tell(rig.wait(POLL_SLOWLY_S), [])
    assert rig.desk.trouble == ""


# --- matches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape",
    [
        {"matches": [MATCH]},
        {"assigned_matches": [MATCH]},
        [MATCH],
        {"data": {"matches": [MATCH]}},
        {"data": [MATCH]},
        {"message_type": "ASSIGNED_MATCHES", "status": "OK", "matches": [{**MATCH, "status": "PENDING"}]},
        {"content": [{"type": "text", "text": json.dumps({"matches": [MATCH]})}]},
        {"content": [{"type": "text", "text": json.dumps([MATCH])}]},
        {"content": [], "structuredContent": {"result": [MATCH]}},
        {"matches": ["R1M1", None, {"match": MATCH, "referee_id": ME}]},
    ],
)
def test_matches_are_found_in_every_shape_of_list_and_begin_at_once(shape: object) -> None:
    rig = tell(asking(), shape)
    assert taken(rig) == [("R1M1", (A, B))]
    assert {one.player_id for one in rig.said(GameInvitation)} == {"P01", "P02"}
    assert registrations(rig) == []


def test_all_that_are_listed_are_taken_and_played_as_many_at_once_as_we_can() -> None:
    rig = tell(asking(), {"matches": [MATCH, OTHER]})
    assert [name for name, _ in taken(rig)] == ["R1M1", "R1M2"]
    assert len(rig.of(e.MatchBegun)) == 2
    (odd,) = rig.of(e.DeviationRecorded)
    assert (odd.code, odd.requirement) == ("E036", "RPC.method")
    assert rig.replayed().snapshot() == rig.desk.snapshot()


@pytest.mark.parametrize(
    "other",
    [
        {"status": "COMPLETED"},
        {"status": "finished"},
        {"referee_id": "REF02"},
        {"player_A_id": None},
        {"player_B_id": 7},
        {"player_A_id": "P02"},
        {"player_A_endpoint": "elsewhere"},
        {"game_type": "chess"},
        {"round_id": "one"},
        {"match_id": 5},
    ],
)
def test_what_is_done_or_not_ours_or_cannot_be_played_is_left_and_the_rest_taken(other: Object) -> None:
    rig = tell(asking(), {"matches": [{**MATCH, "match_id": "R0M1", **other}, OTHER]})
    assert [name for name, _ in taken(rig)] == ["R1M2"]
    assert registrations(rig) == []


def test_a_match_that_was_played_here_is_not_played_again_also_after_a_restart() -> None:
    rig = tell(asking(), {"matches": [MATCH]})
    rig.plays().wait(POLL_S)
    tell(rig, {"matches": [MATCH]})
    rig.restart()
    tell(asking(rig), {"matches": [MATCH]}).wait(POLL_SLOWLY_S)
    assert len(rig.of(e.MatchTaken)) == 1
    assert len(polls(rig)) == 4


def test_a_match_that_was_played_here_needs_no_addresses() -> None:
    rig = tell_homes(tell(asking(), [IDS]), {"players": HOMES})
    tell(rig.plays().wait(POLL_S), [IDS])
    assert len(registrations(rig)) == 1


def test_a_new_attempt_is_played() -> None:
    rig = tell(asking(), {"matches": [MATCH]})
    rig.plays().wait(POLL_S)
    tell(rig, {"matches": [{**MATCH, "attempt": 2}]})
    assert [one.attempt for one in rig.of(e.MatchTaken)] == [1, 2]


def test_killed_while_it_plays_it_plays_on_and_does_not_ask() -> None:
    rig = tell(asking(), {"matches": [MATCH]}).restart().wait(POLL_AFTER_S)
    assert len(polls(rig)) == 1
    assert rig.asked("P01")


# --- addresses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        {"message_type": "LEAGUE_QUERY_RESPONSE", "success": True, "data": {"players": HOMES}},
        {"data": {"registrations": HOMES}},
        {"players": HOMES},
        {"registrations": {"players": HOMES}},
        {"data": HOMES},
        {"players": [{"player_id": "P01", "player_meta": {"contact_endpoint": A}}, {"agent_id": "P02", "url": B}]},
    ],
)
def test_addresses_that_are_not_listed_are_asked_for(answer: object) -> None:
    rig = tell(asking(), {"matches": [IDS]})
    assert taken(rig) == []
    assert [one.league_id for one in registrations(rig)] == [LEAGUE]
    tell_homes(rig, answer)
    assert taken(rig) == [("R1M1", (A, B))]


def test_they_are_asked_for_once_for_all_matches_and_those_with_addresses_do_not_wait() -> None:
    more = {"match_id": "R1M3", "player_A_id": "P02", "player_B_id": "P01", "player_endpoints": {"P02": "http://x:1/"}}
    rig = tell(asking(), [IDS, OTHER, more])
    assert [name for name, _ in taken(rig)] == ["R1M2"]
    tell_homes(rig, {"players": HOMES})
    assert taken(rig)[1:] == [("R1M1", (A, B)), ("R1M3", ("http://x:1/", A))]
    assert len(registrations(rig)) == 1


@pytest.mark.parametrize("how", ["nobody", "an error", "not known", "a timeout", "a status", "nonsense"])
def test_a_match_whose_players_cannot_be_found_is_looked_at_again_next_time(how: str) -> None:
    rig = tell(asking(), [IDS])
    asked = next(one for one in rig.under_way.values() if one.key.startswith("addresses/"))
    if how in ("a timeout", "a status"):
        rig.fail(asked, Failure.TIMEOUT if how == "a timeout" else Failure.NOT_UNDERSTOOD)
    else:
        answers: dict[str, Any] = {"nobody": {"players": []}, "an error": Refusal("E029", "no"), "not known": NOT_KNOWN}
        rig.answer(asked, answers.get(how, b"nonsense"))
    assert taken(rig) == []
    tell(rig.wait(POLL_S), [MATCH])
    assert taken(rig) == [("R1M1", (A, B))]


@pytest.mark.parametrize(
    ("match", "code", "detail"), [({**MATCH, "game_type": "chess"}, "E027", "'chess' is not played here")]
)
def test_what_cannot_be_played_is_recorded_of_the_manager_once(match: Object, code: str, detail: str) -> None:
    rig = asking()
    for _ in range(2):
        tell(rig, [match])
        rig.wait(POLL_SLOWLY_S)
    (odd,) = rig.of(e.DeviationRecorded)
    assert (odd.agent_id, odd.code, odd.detail) == ("league_manager", code, detail)


def test_under_a_manager_that_named_no_league_none_is_named_but_where_one_must_be() -> None:
    rig = tell(asking(abroad(league_id=None)), [IDS])
    (asked,) = rig.said(GetAssignedMatches)
    assert asked.league_id is None
    assert [one.league_id for one in registrations(rig)] == ["league"]


# --- on the wire ------------------------------------------------------------------------------------------------------

ASKED = GetAssignedMatches(**seal(f"referee:{ME}", 0.0, "conv-1"), referee_id=ME, league_id=LEAGUE)


@pytest.mark.parametrize("convention", Convention)
def test_the_question_is_put_in_the_managers_way_with_our_token(convention: Convention) -> None:
    to = Address("league_manager", HERE, "tok_x", convention)
    call = json.loads(letters.write_call(1, ASKED, jsonrpc.encode_body(ASKED), to))
    params = call.get("params", call)
    inner = params.get("arguments", params.get("message", params))
    assert (inner["message_type"], inner["referee_id"], inner["auth_token"]) == (POLL, ME, "tok_x")


def test_who_goes_by_message_types_may_know_it_by_its_verb_all_the_same() -> None:
    assert forms.spellings(Convention.TYPE, POLL) == (POLL, "get_assigned_matches")
    assert forms.spellings(Convention.LOWER, POLL) == ("get_assigned_matches",)


def test_a_tool_for_it_is_found_by_what_it_speaks_of() -> None:
    offered = [Tool(name) for name in ("report", "list_assigned", "assign_match")]
    assert pick(POLL, offered) == Tool("list_assigned")


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (b'{"jsonrpc":"2.0","id":1,"result":[]}', Information({"matches": []})),
        (b"[]", Information({"matches": []})),
        (b'{"matches":[]}', Information({"matches": []})),
        (b'{"jsonrpc":"2.0","id":1,"result":"none"}', Acknowledged()),
    ],
)
def test_an_answer_of_any_shape_is_read(raw: bytes, read: object) -> None:
    assert letters.read_answer(raw, ASKED, Reading()) == read


@pytest.mark.parametrize(
    ("raw", "understood"),
    [
        (NOT_KNOWN, False),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"oops"}}', True),
        (b'{"jsonrpc":"2.0","id":1,"result":{"success":false}}', True),
        (b'{"jsonrpc":"2.0","id":1,"result":{"message_type":"LEAGUE_ERROR","error_code":"E012"}}', True),
    ],
)
def test_an_error_is_an_error_and_says_whether_to_ask_again(raw: bytes, understood: bool) -> None:
    read = letters.read_answer(raw, ASKED, Reading())
    assert isinstance(read, Refusal)
    assert read.understood is understood
