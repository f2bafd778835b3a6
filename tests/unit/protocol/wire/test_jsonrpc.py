"""The JSON-RPC codec: requests and answers are read strictly, and written so that others can read them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league.protocol.conventions import Convention
from league.protocol.errors import ERRORS, Family, PeerError
from league.protocol.message.envelope import STRICT, Profile, Reading, Unsealed
from league.protocol.message.exchanges import EXCHANGES, Role
from league.protocol.message.messages import GameJoinAck, LeagueErrorReply, RoundAnnouncementAck
from league.protocol.wire.jsonrpc import (
    MANAGER_LIMIT,
    MESSAGE_LIMIT,
    BadRequestError,
    RpcAnswer,
    RpcCall,
    decode_answer,
    decode_call,
    encode_body,
    encode_call,
    encode_error,
    encode_result,
    read_call,
)
from tests.support.vectors import message

COMPAT = Reading("compat")
INVITATION = message("game_invitation.full")


def request(**members: Any) -> bytes:
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "handle_game_invitation", "params": INVITATION} | members
    ).encode()


def without(name: str) -> bytes:
    document = json.loads(request())
    del document[name]
    return json.dumps(document).encode()


def refusal(raw: bytes) -> BadRequestError:
    with pytest.raises(BadRequestError) as caught:
        decode_call(raw)
    return caught.value


def read(raw: bytes, reading: Reading = STRICT, role: Role | None = None) -> Unsealed:
    return read_call(decode_call(raw), reading, role)


# --- requests ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [1, 0, -7, "req-007", "", 2**63 - 1])
def test_an_id_is_a_string_or_a_whole_number(given: int | str) -> None:
    assert decode_call(request(id=given)).id == given


@pytest.mark.requirement("RPC.bad_id")
@pytest.mark.parametrize("given", [None, True, False, 1.5, [], {}])
def test_a_bad_id_is_refused_and_answered_with_null(given: object) -> None:
    bad = refusal(request(id=given))
    assert (bad.error.code, bad.id) == ("E035", None)


@pytest.mark.requirement("RPC.id")
@pytest.mark.requirement("LEAGUE_ERROR.acknowledged")
@pytest.mark.parametrize("profile", ["compat", "strict"])
@pytest.mark.parametrize("method", ["LEAGUE_ERROR", "league_error", "notify_league_error"])
@pytest.mark.parametrize("role", [Role.PLAYER, Role.REFEREE])
def test_a_league_error_may_be_a_notification(method: str, role: Role, profile: Profile) -> None:
    wrong = {"message_type": "LEAGUE_ERROR", "error_code": "E012", "error_description": "AUTH_TOKEN_INVALID"}
    call = decode_call(json.dumps({"jsonrpc": "2.0", "method": method, "params": wrong}).encode())
    read = read_call(call, Reading(profile), role)
    assert isinstance(read.message, LeagueErrorReply)
    assert read.deviations == ()


@pytest.mark.requirement("RPC.id")
def test_a_request_without_id_is_recorded_in_compat_and_refused_in_strict() -> None:
    raw = without("id")
    assert decode_call(raw).without_id
    recorded = read(raw, COMPAT)
    assert recorded.message is not None
    assert [one.requirement for one in recorded.deviations] == ["RPC.id"]
    assert read(raw).violations[0].code == "E035"


@pytest.mark.requirement("RPC.object")
@pytest.mark.parametrize("version", [None, "1.0", "2", 2.0, 2, ["2.0"]])
def test_another_json_rpc_is_refused_under_the_id_of_the_request(version: object) -> None:
    bad = refusal(request(jsonrpc=version, id="req-1"))
    assert (bad.error.code, bad.id) == ("E035", "req-1")


@pytest.mark.requirement("RPC.batch")
@pytest.mark.parametrize("raw", [b"[]", b"[" + request() + b"]"])
def test_a_batch_is_refused(raw: bytes) -> None:
    bad = refusal(raw)
    assert (bad.error.code, bad.error.requirement) == ("E035", "RPC.batch")


@pytest.mark.requirement("RPC.object")
@pytest.mark.parametrize("raw", [b"null", b"1", b'"ping"', b"true"])
def test_a_request_is_an_object(raw: bytes) -> None:
    assert refusal(raw).error.code == "E035"


@pytest.mark.requirement("RPC.method")
@pytest.mark.parametrize("method", [None, 7, ["ping"], {}])
def test_a_method_is_a_string(method: object) -> None:
    assert refusal(request(method=method)).error.code == "E035"


@pytest.mark.requirement("SIZE.requests")
def test_a_request_of_10240_bytes_is_read_and_one_more_refused() -> None:
    raw = request() + b" " * (MESSAGE_LIMIT - len(request()))
    assert decode_call(raw).method == "handle_game_invitation"
    assert refusal(raw + b" ").error.code == "E037"


@pytest.mark.requirement("SIZE.from_the_manager")
def test_what_the_manager_says_may_have_one_mebibyte() -> None:
    raw = request() + b" " * (MANAGER_LIMIT - len(request()))
    assert decode_call(raw, MANAGER_LIMIT).method == "handle_game_invitation"
    with pytest.raises(BadRequestError) as caught:
        decode_call(raw + b" ", MANAGER_LIMIT)
    assert caught.value.error.requirement == "SIZE.from_the_manager"


def test_size_is_judged_before_json() -> None:
    assert refusal(b"\xff" * (MESSAGE_LIMIT + 1)).error.code == "E037"


def test_missing_params_read_as_an_empty_object() -> None:
    assert decode_call(without("params")) == RpcCall(1, "handle_game_invitation", {})


@pytest.mark.requirement("RPC.tools_call")
def test_a_tool_call_names_the_method_and_carries_the_message() -> None:
    tool = {"name": "handle_game_invitation", "arguments": INVITATION}
    call = decode_call(request(method="tools/call", params=tool))
    assert call == RpcCall(1, "handle_game_invitation", INVITATION, convention=Convention.TOOLS)


@pytest.mark.requirement("RPC.tools_call")
@pytest.mark.parametrize("params", [{}, {"name": 7, "arguments": INVITATION}, {"arguments": INVITATION}])
def test_a_tool_call_without_name_is_an_unknown_method(params: dict[str, Any]) -> None:
    assert read(request(method="tools/call", params=params)).violations[0].code == "E036"


def test_a_tool_call_with_an_array_is_an_unknown_method() -> None:
    assert read(request(method="tools/call", params=[])).violations[0].code == "E036"


# --- methods ----------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("RPC.methods")
@pytest.mark.parametrize("method", ["handle_game_invitation", "GAME_INVITATION", "game_invitation", "Game_Invitation"])
def test_verb_and_type_are_both_taken(method: str) -> None:
    assert read(request(method=method)).message is not None


@pytest.mark.requirement("RPC.method_contradicts_type")
@pytest.mark.parametrize("reading", [STRICT, COMPAT])
def test_a_method_that_contradicts_the_type_is_refused_in_both_profiles(reading: Reading) -> None:
    unsealed = read(request(method="league_query"), reading)
    assert unsealed.message is None
    assert (unsealed.violations[0].code, unsealed.violations[0].path) == ("E038", "message_type")


@pytest.mark.requirement("RPC.unknown_method")
def test_an_unknown_method_is_recorded_in_compat_if_the_type_is_known() -> None:
    raw = request(method="receive_game_invitation")
    assert read(raw).violations[0].code == "E036"
    recorded = read(raw, COMPAT)
    assert recorded.message is not None
    assert [one.code for one in recorded.deviations] == ["E036"]


@pytest.mark.requirement("RPC.unknown_method")
@pytest.mark.parametrize("content", [{}, {"message_type": "CHESS"}, {"message_type": 7}, [], None])
def test_an_unknown_method_without_known_type_is_refused_in_both_profiles(content: object) -> None:
    for reading in (STRICT, COMPAT):
        unsealed = read(request(method="play_chess", params=content), reading)
        assert [one.code for one in unsealed.violations] == ["E036"]


@pytest.mark.requirement("RPC.unknown_method")
@pytest.mark.parametrize("message_type", EXCHANGES)
@pytest.mark.parametrize("role", Role)
def test_a_role_knows_only_the_methods_of_the_messages_it_receives(role: Role, message_type: str) -> None:
    method = EXCHANGES[message_type].method
    content = message(f"{message_type.lower()}.full")
    unsealed = read(request(method=method, params=content), STRICT, role)
    if role in EXCHANGES[message_type].receivers:
        assert unsealed.message is not None
    else:
        assert unsealed.violations[0].code == "E036"


def test_replies_that_come_as_requests_are_known_to_referees_alone() -> None:
    raw = request(method="GAME_JOIN_ACK", params=message("game_join_ack.full"))
    assert read(raw, STRICT, Role.REFEREE).message is not None
    assert read(raw, STRICT, Role.MANAGER).violations[0].code == "E036"
    assert read(raw, STRICT, Role.PLAYER).violations[0].code == "E036"


# --- answers ----------------------------------------------------------------------------------------------------------


def answer(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1} | members).encode()


def test_a_result_is_read() -> None:
    assert decode_answer(answer(result={"status": "ok"})) == RpcAnswer({"status": "ok"})


def test_a_null_error_beside_a_result_is_a_success() -> None:
    assert decode_answer(answer(result={}, error=None)) == RpcAnswer({})


def test_an_error_beside_a_result_is_an_error() -> None:
    read_back = decode_answer(answer(result={}, error={"code": 4004, "message": "no", "data": {"a": 1}}))
    assert read_back == RpcAnswer({"a": 1}, 4004, is_error=True, message="no")


@pytest.mark.parametrize("given", [None, 2, "other"])
def test_the_id_of_an_answer_is_not_judged_here(given: object) -> None:
    assert decode_answer(answer(id=given, result=7)).content == 7


@pytest.mark.requirement("RPC.one_answer")
@pytest.mark.parametrize(
    "raw",
    [
        b"[]",
        b"null",
        b"{}",
        answer(),
        answer(error="no"),
        answer(error={}),
        answer(error={"code": True}),
        answer(error={"code": "1001"}),
        answer(error={"code": 1.5}),
        answer(jsonrpc="1.0", result={}),
    ],
)
def test_what_is_neither_result_nor_error_is_refused(raw: bytes) -> None:
    with pytest.raises(PeerError) as caught:
        decode_answer(raw)
    assert caught.value.code == "E035"


@pytest.mark.requirement("SIZE.replies")
def test_an_answer_that_is_too_large_is_refused() -> None:
    with pytest.raises(PeerError) as caught:
        decode_answer(answer(result="x" * MESSAGE_LIMIT))
    assert (caught.value.code, caught.value.requirement) == ("E037", "SIZE.replies")


# --- writing ----------------------------------------------------------------------------------------------------------

ACK = GameJoinAck(match_id="R1M1", player_id="P01", arrival_timestamp="2025-01-15T10:30:00Z", accept=True)


def test_a_written_call_is_read_back() -> None:
    call = decode_call(encode_call(7, "GAME_JOIN_ACK", encode_body(ACK)))
    assert (call.id, call.method) == (7, "GAME_JOIN_ACK")
    assert read_call(call, STRICT).message == ACK


@pytest.mark.requirement("RPC.echoes_id")
@pytest.mark.parametrize("given", [7, "req-7", None])
def test_a_written_answer_carries_version_id_and_result(given: int | str | None) -> None:
    document = json.loads(encode_result(given, ACK))
    assert (document["jsonrpc"], document["id"]) == ("2.0", given)
    assert document["result"]["message_type"] == "GAME_JOIN_ACK"
    assert "error" not in document


def test_what_is_not_said_is_not_written() -> None:
    ack = RoundAnnouncementAck(status="ACKNOWLEDGED", round_id=1)
    assert json.loads(encode_body(ack)) == {
        "message_type": "ROUND_ANNOUNCEMENT_ACK",
        "status": "ACKNOWLEDGED",
        "round_id": 1,
    }


@pytest.mark.requirement("RPC.error_shape")
@pytest.mark.parametrize("code", ERRORS)
def test_a_written_error_has_number_name_and_the_whole_message(code: str) -> None:
    row = ERRORS[code]
    data = LeagueErrorReply(error_code=code, error_description=row.name)
    document = json.loads(encode_error("req-1", code, Family.QUERY, data))
    assert document["id"] == "req-1"
    assert document["error"]["code"] == row.number(Family.QUERY)
    assert document["error"]["message"] == row.name
    assert document["error"]["data"] == {
        "message_type": "LEAGUE_ERROR",
        "error_code": code,
        "error_description": row.name,
    }


@pytest.mark.parametrize("method", ["ping", 'a "quoted" name', "back\\slash", "größe\n", ""])
def test_whatever_a_method_is_called_a_call_is_json(method: str) -> None:
    written = {"jsonrpc": "2.0", "id": 7, "method": method, "params": {"a": 1}}
    assert json.loads(encode_call(7, method, b'{"a":1}')) == written
