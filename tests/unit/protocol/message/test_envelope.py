"""Sealing and unsealing: which violation decides, what compat lets pass and records, what nothing lets pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import UNSET

from league.protocol.errors import PeerError, Stage
from league.protocol.message.envelope import STRICT, Reading, seal, unseal
from league.protocol.message.judge import KEPT, LONG, Remembered, shown
from league.protocol.message.messages import GameInvitation, LeagueQuery
from tests.support.vectors import message

COMPAT = Reading("compat")
GONE = object()


def changed(name: str, changes: Mapping[str, object]) -> dict[str, Any]:
    """A full valid message with other top-level fields, or fields of one object inside it."""
    content = message(f"{name}.full")
    for path, value in changes.items():
        *way, last = path.split(".")
        place = content
        for step in way:
            place = place[step]
        if value is GONE:
            del place[last]
        else:
            place[last] = value
    return content


# --- what is said about a violation -----------------------------------------------------------------------------------

FORMATS = [
    ("game_invitation", {"timestamp": "now"}, "YYYY-MM-DDTHH:MM:SSZ", "is not an ISO 8601 time in UTC"),
    ("game_invitation", {"protocol": "league.v1"}, "league.v2", "must be exactly"),
    ("game_invitation", {"sender": "a:b"}, "league_manager, referee:{id} or player:{id}", "is not a sender"),
    ("game_invitation", {"round_id": 0}, "from 1 to 2147483647", "must be at least 1, not 0"),
    ("game_invitation", {"round_id": 2**31}, "from 1 to 2147483647", "must be at most 2147483647, not 2147483648"),
    ("game_invitation", {"round_id": "1"}, "a whole number", "must be a whole number, not a string"),
    ("game_invitation", {"match_id": ""}, "a non-empty string", "must not be empty"),
    ("choose_parity_response", {"parity_choice": None}, "a string", "null is not a choice here"),
    ("choose_parity_response", {"parity_choice": True}, "a string", "true is not a choice here"),
    ("choose_parity_response", {"parity_choice": "Even"}, "even, odd", "'Even' is not a choice here"),
    ("league_query", {"query_type": "WHO"}, "GET_STANDINGS, ", "is not a query type"),
    ("league_register_request", {"player_meta.version": "one"}, "MAJOR.MINOR.PATCH", "is not a semantic version"),
    ("league_register_request", {"player_meta.display_name": ""}, "1 to 50 characters", "at least 1 character,"),
    ("league_register_request", {"player_meta.display_name": "x" * 51}, "1 to 50 characters", "at most 50 characters,"),
    ("league_register_request", {"player_meta.game_types": []}, "at least 1 element", "needs at least 1 element"),
    *(
        ("league_register_request", {"player_meta.contact_endpoint": url}, "http://{host}:{port}/{path}", told)
        for url, told in (
            ("somewhere", "is not an address"),
            ("http://127.0.0.1:70000/mcp", "a port must be at most 65535, not 70000"),
            ("http://127.0.0.1:0/mcp", "a port must be at least 1, not 0"),
            ("http://127.0.0.256/mcp", "up to 255"),
            ("http://a/" + "x" * 2040, "at most 2048 characters; this one has 2049"),
        )
    ),
    (
        "referee_register_request",
        {"referee_meta.max_concurrent_matches": 65},
        "from 1 to 64",
        "must be at most 64, not 65",
    ),
]


@pytest.mark.requirement("ERROR.expected_format")
@pytest.mark.parametrize(("name", "changes", "expected", "told"), FORMATS)
def test_a_violated_format_is_told_and_so_is_the_bound_that_was_broken(
    name: str, changes: Mapping[str, object], expected: str, told: str
) -> None:
    with pytest.raises(PeerError) as error:
        unseal(changed(name, changes), STRICT).open()
    assert str(error.value.context["expected_format"]).startswith(expected)
    assert told in error.value.detail


def test_values_are_shown_as_json_has_them() -> None:
    values: tuple[object, ...] = (None, True, 7, "x", [], {})
    assert [shown(one) for one in values] == ["null", "true", "7", "'x'", "an array", "an object"]


def test_a_missing_field_has_no_format() -> None:
    with pytest.raises(PeerError) as error:
        unseal(changed("game_invitation", {"match_id": GONE}), STRICT).open()
    assert error.value.context == {"field": "match_id"}


# --- which violation decides ------------------------------------------------------------------------------------------

IN_ORDER: list[tuple[str, str, str, object]] = [
    ("E038", "message_type", "message_type", "NO_SUCH_MESSAGE"),
    ("E018", "protocol", "protocol", "league.v1"),
    ("E008", "sender", "sender", "coach"),
    ("E021", "timestamp", "timestamp", "now"),
    ("E007", "conversation_id", "conversation_id", 7),
]


@pytest.mark.requirement("ERROR.first")
@pytest.mark.parametrize("second", range(1, len(IN_ORDER)))
@pytest.mark.parametrize("first", range(len(IN_ORDER)))
def test_of_two_violations_of_the_envelope_the_earlier_decides(first: int, second: int) -> None:
    if first >= second:
        first, second = second - 1, second
    code, path, *_ = IN_ORDER[first]
    content = changed("game_invitation", {field: value for _, _, field, value in (IN_ORDER[second], IN_ORDER[first])})
    decisive = unseal(content).violations[0]
    assert (decisive.code, decisive.path) == (code, path)


@pytest.mark.requirement("ERROR.first")
@pytest.mark.parametrize(
    ("changes", "code", "path"),
    [
        ({"protocol": "league.v1", "message_type": GONE}, "E018", "protocol"),
        ({"protocol": GONE, "message_type": GONE}, "E003", "protocol"),
        ({"message_type": 7, "sender": GONE}, "E007", "message_type"),
        ({"sender": GONE, "protocol": 7}, "E007", "protocol"),
        ({"conversation_id": GONE, "auth_token": ""}, "E003", "conversation_id"),
        ({"auth_token": "", "sender": "player:P01"}, "E011", "auth_token"),
        ({"auth_token": 7, "sender": "player:P01"}, "E007", "auth_token"),
        ({"sender": "player:P01", "league_id": GONE}, "E032", "sender"),
        ({"auth_token": "", "league_id": GONE}, "E011", "auth_token"),
        ({"opponent_id": GONE, "league_id": 7}, "E007", "league_id"),
        ({"attempt": 0, "round_id": "1", "match_id": ""}, "E007", "round_id"),
    ],
)
def test_of_several_violations_the_first_in_the_order_of_the_rulings_decides(
    changes: dict[str, object], code: str, path: str
) -> None:
    decisive = unseal(changed("game_invitation", changes)).violations[0]
    assert (decisive.code, decisive.path) == (code, path)


@pytest.mark.requirement("ERROR.first")
def test_an_unsupported_version_comes_after_all_fields() -> None:
    changes = {"player_meta.protocol_version": "1.0.0", "player_meta.contact_endpoint": "nowhere"}
    found = unseal(changed("league_register_request", changes)).violations
    assert [one.code for one in found] == ["E008", "E018"]


def test_all_violations_are_told_not_only_the_first() -> None:
    changes = {"sender": GONE, "timestamp": "now", "round_id": True, "role_in_match": "A", "opponent_id": None}
    found = unseal(changed("game_invitation", changes)).violations
    assert [(one.code, one.path) for one in found] == [
        ("E003", "sender"),
        ("E021", "timestamp"),
        ("E007", "round_id"),
        ("E008", "role_in_match"),
        ("E003", "opponent_id"),
    ]


def test_of_an_unknown_type_the_envelope_is_judged_all_the_same() -> None:
    found = unseal({"message_type": "CHESS", "protocol": "league.v2", "sender": "player:P01"}).violations
    assert [(one.code, one.path) for one in found] == [
        ("E038", "message_type"),
        ("E003", "timestamp"),
        ("E003", "conversation_id"),
    ]


@pytest.mark.parametrize("content", [None, 7, "text", [], True])
def test_a_message_is_an_object(content: object) -> None:
    unsealed = unseal(content)
    assert (unsealed.message, unsealed.message_type) == (None, None)
    assert unsealed.violations[0].code == "E007"


def test_a_message_that_was_not_expected_is_refused_and_still_judged() -> None:
    unsealed = unseal(changed("game_invitation", {"round_id": 0}), STRICT, ("GAME_OVER", "GAME_ERROR"))
    assert [one.code for one in unsealed.violations] == ["E038", "E008"]
    assert "GAME_OVER or GAME_ERROR" in unsealed.violations[0].detail
    assert unsealed.message_type == "GAME_INVITATION"


# --- what is read -----------------------------------------------------------------------------------------------------


def test_a_right_message_is_read_whole() -> None:
    read = unseal(message("game_invitation.full")).open()
    assert isinstance(read, GameInvitation)
    assert (read.type, read.match_id, read.attempt) == ("GAME_INVITATION", "R1M1", 1)


def test_opening_a_wrong_message_raises_its_decisive_violation() -> None:
    with pytest.raises(PeerError) as caught:
        unseal(changed("game_invitation", {"round_id": 0, "sender": "player:P01"})).open()
    assert (caught.value.code, caught.value.requirement) == ("E032", "ENVELOPE.sender")
    assert caught.value.context == {"field": "sender"}


def test_the_decisive_violation_until_a_stage_can_be_asked_for() -> None:
    unsealed = unseal(changed("game_invitation", {"round_id": 0, "sender": "player:P01"}))
    assert unsealed.until(Stage.ENVELOPE) is None
    decisive = unsealed.until(Stage.FIELDS)
    assert decisive is not None
    assert decisive.code == "E032"


@pytest.mark.requirement("READING.null_is_absent")
@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("game_invitation", "player_id"),
        ("game_invitation", "auth_token"),
        ("round_completed", "summary"),
        ("league_query", "query_params"),
        ("game_error", "retry_info"),
        ("game_error", "context"),
        ("league_query_response", "standings"),
    ],
)
def test_an_optional_field_that_is_null_reads_as_absent(name: str, field: str) -> None:
    assert unseal(changed(name, {field: None})).message == unseal(changed(name, {field: GONE})).message is not None


@pytest.mark.parametrize("field", ["player_A_suspended", "player_B_suspended", "attempt", "player_A_answers"])
def test_a_null_inside_an_assignment_reads_as_absent(field: str) -> None:
    content = message("round_announcement.full")
    content["matches"][0][field] = None
    assert unseal(content).message is not None


def test_what_is_sealed_can_be_unsealed() -> None:
    envelope = seal("player:P01", 1736937000.9, "conv-1", "tok_P01_x")
    assert envelope["timestamp"] == "2025-01-15T10:30:00Z"
    query = LeagueQuery(**envelope, league_id="spring", query_type="GET_STATUS")
    assert query.type == "LEAGUE_QUERY"
    content = {**envelope, "message_type": "LEAGUE_QUERY", "league_id": "spring", "query_type": "GET_STATUS"}
    assert unseal(content).message == query


@pytest.mark.requirement("JSON.no_coercion")
@pytest.mark.parametrize(
    ("name", "field", "value"),
    [
        ("game_invitation", "round_id", "1"),
        ("game_invitation", "round_id", 1.0),
        ("game_invitation", "round_id", True),
        ("game_invitation", "match_id", 11),
        ("game_join_ack", "accept", 1),
        ("game_join_ack", "accept", "true"),
        ("game_error", "time_remaining", "18.5"),
        ("game_error", "time_remaining", True),
        ("round_announcement", "matches", {}),
        ("game_over", "game_result", []),
    ],
)
def test_no_value_is_converted_to_another_type(name: str, field: str, value: object) -> None:
    for reading in (STRICT, COMPAT):
        assert [one.code for one in unseal(changed(name, {field: value}), reading).violations] == ["E007"]


@pytest.mark.requirement("READING.clock_not_compared")
@pytest.mark.parametrize("timestamp", ["0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_a_timestamp_is_not_compared_with_any_clock(timestamp: str) -> None:
    assert unseal(changed("game_invitation", {"timestamp": timestamp})).message is not None


# --- compat -----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("PROFILE.compat_records")
@pytest.mark.requirement("PROFILE.strict_refuses")
@pytest.mark.parametrize(
    ("name", "changes", "code", "requirement"),
    [
        ("league_register_request", {"protocol": GONE}, "E003", "ENVELOPE.protocol"),
        ("league_register_request", {"sender": GONE}, "E003", "ENVELOPE.sender"),
        ("referee_register_request", {"timestamp": GONE}, "E003", "ENVELOPE.timestamp"),
        ("referee_register_request", {"conversation_id": None}, "E003", "ENVELOPE.conversation_id"),
        ("game_error", {"conversation_id": GONE}, "E003", "ENVELOPE.conversation_id"),
        ("league_register_request", {"sender": "players:P01"}, "E008", "ENVELOPE.sender"),
        ("league_query", {"sender": "P01"}, "E008", "ENVELOPE.sender"),
        ("league_query", {"timestamp": "20250115T103000Z"}, "E021", "ENVELOPE.timestamp"),
        ("league_query", {"timestamp": "2025-01-15T10:30:00+00:00Z"}, "E021", "ENVELOPE.timestamp"),
        ("game_join_ack", {"timestamp": "yesterday"}, "E021", "ENVELOPE.timestamp"),
        ("game_join_ack", {"arrival_timestamp": GONE}, "E003", "GAME_JOIN_ACK.arrival_timestamp"),
        ("game_join_ack", {"arrival_timestamp": "10:30"}, "E021", "GAME_JOIN_ACK.arrival_timestamp"),
        ("game_join_ack", {"player_id": GONE}, "E003", "GAME_JOIN_ACK.player_id"),
        ("choose_parity_response", {"match_id": GONE}, "E003", "CHOOSE_PARITY_RESPONSE.match_id"),
        ("choose_parity_response", {"auth_token": ""}, "E011", "ENVELOPE.auth_token"),
        ("choose_parity_response", {"sender": "referee:REF01"}, "E032", "ENVELOPE.sender"),
        ("league_register_response", {"player_id": "alice"}, "E008", "LEAGUE_REGISTER_RESPONSE.player_id"),
        ("referee_register_response", {"referee_id": "ref_e56c"}, "E008", "REFEREE_REGISTER_RESPONSE.referee_id"),
        (
            "league_register_request",
            {"player_meta.protocol_version": "league.v2"},
            "E008",
            "LEAGUE_REGISTER_REQUEST.player_meta.protocol_version",
        ),
        ("round_announcement", {"sender": "manager:LM01"}, "E008", "ENVELOPE.sender"),
        ("round_announcement", {"sender": "league:league_manager"}, "E008", "ENVELOPE.sender"),
        ("game_join_ack", {"sender": "coach:P01"}, "E008", "ENVELOPE.sender"),
        ("match_result_report", {"result.details": GONE}, "E003", "MATCH_RESULT_REPORT.result.details"),
        ("match_result_report", {"result.details.choices": GONE}, "E003", "MATCH_RESULT_REPORT.result.details.choices"),
        (
            "match_result_report",
            {"result.details.drawn_number": GONE},
            "E003",
            "MATCH_RESULT_REPORT.result.details.drawn_number",
        ),
    ],
)
def test_a_deviation_is_recorded_in_compat_and_refused_in_strict(
    name: str, changes: dict[str, object], code: str, requirement: str
) -> None:
    content = changed(name, changes)
    recorded = unseal(content, COMPAT)
    assert recorded.message is not None
    assert [(one.code, one.requirement) for one in recorded.deviations] == [(code, requirement)]
    refused = unseal(content, STRICT)
    assert refused.message is None
    assert (refused.violations[0].code, refused.violations[0].requirement) == (code, requirement)


@pytest.mark.requirement("CHOICE.not_repaired")
@pytest.mark.parametrize("choice", ["Even", "EVEN", " even", "even ", "e", "", None, 0, True, ["even"]])
def test_a_choice_is_never_repaired(choice: object) -> None:
    for reading in (STRICT, COMPAT):
        unsealed = unseal(changed("choose_parity_response", {"parity_choice": choice}), reading)
        assert [one.code for one in unsealed.violations] == ["E004"]


@pytest.mark.parametrize(
    ("name", "changes", "code"),
    [
        ("league_query", {"protocol": GONE}, "E003"),
        ("league_query", {"timestamp": "2025-01-15T10:30:00+02:00"}, "E021"),
        ("league_query", {"sender": "coach:P01"}, "E008"),
        ("league_query", {"sender": "league_manager"}, "E032"),
        ("league_query", {"query_type": "get_status"}, "E029"),
        ("game_join_ack", {"accept": "true"}, "E007"),
        ("game_join_ack", {"player_id": 7}, "E007"),
        ("league_register_request", {"player_meta.display_name": "\u202e"}, "E008"),
        ("league_register_request", {"player_meta.protocol_version": "1.0.0"}, "E018"),
        ("league_register_request", {"timestamp": "soon"}, "E021"),
        ("match_result_report", {"result.winner": GONE}, "E003"),
    ],
)
def test_compat_refuses_what_is_no_known_habit(name: str, changes: dict[str, object], code: str) -> None:
    unsealed = unseal(changed(name, changes), COMPAT)
    assert unsealed.message is None
    assert unsealed.violations[0].code == code


def test_a_player_twice_in_a_round_is_recorded_in_compat_but_none_plays_against_itself() -> None:
    content = changed("round_announcement", {})
    again = dict(content["matches"][0], match_id="R1M9", player_B_id="P09")
    recorded = unseal({**content, "matches": [content["matches"][0], again]}, COMPAT)
    assert recorded.message is not None
    assert [one.requirement for one in recorded.deviations] == ["ROUND_ANNOUNCEMENT.matches"]
    alone = dict(again, player_A_id="P09")
    assert [one.code for one in unseal({**content, "matches": [alone]}, COMPAT).violations] == ["E008"]


@pytest.mark.parametrize("sender", ["league_manager", "league_manager:LM01", "league_manager:any thing"])
@pytest.mark.requirement("ENVELOPE.sender")
def test_the_manager_may_have_a_name(sender: str) -> None:
    assert unseal(changed("round_completed", {"sender": sender})).message is not None


@pytest.mark.parametrize(("matches", "is_taken"), [(10, True), (11, False)])
def test_a_referee_without_a_token_scheme_may_play_10_matches_at_a_time(matches: int, is_taken: bool) -> None:
    other = {"referee_meta.max_concurrent_matches": matches, "referee_meta.token_scheme": GONE}
    read = unseal(changed("referee_register_request", other))
    assert (read.message is not None) is is_taken
    assert [one.path for one in read.violations] == ([] if is_taken else ["referee_meta.max_concurrent_matches"])


@pytest.mark.parametrize(("matches", "is_taken"), [(64, True), (65, False)])
def test_a_referee_with_a_token_scheme_may_play_64_matches_at_a_time(matches: int, is_taken: bool) -> None:
    meta = {"referee_meta.max_concurrent_matches": matches, "referee_meta.token_scheme": "derived"}
    assert (unseal(changed("referee_register_request", meta)).message is not None) == is_taken


# --- what was judged before -------------------------------------------------------------------------------------------


def test_verdicts_are_remembered_but_not_of_long_texts_and_not_too_many() -> None:
    asked: list[str] = []

    def judged(text: str) -> bool:
        asked.append(text)
        return text != "wrong"

    is_right = Remembered(judged)
    for _ in range(2):
        assert (is_right["right"], is_right["wrong"], is_right["x" * (LONG + 1)]) == (True, False, True)
        assert (is_right[None], is_right[UNSET]) == (True, True)
    assert asked == ["right", "wrong", "x" * (LONG + 1), "x" * (LONG + 1)]
    for number in range(2 * KEPT):
        assert is_right[str(number)]
    assert len(is_right) <= KEPT
    assert not is_right["wrong"]
