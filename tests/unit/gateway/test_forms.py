"""Requests and answers in every convention (spec section 13): what we write so, we read so, and answer in kind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from league import letters
from league.gateway import forms
from league.gateway.readers import registrations
from league.letters import Speaker
from league.machine import Acknowledged, Address, Answering, Inquiry, Refusal
from league.protocol.conventions import Convention, convention_of
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Reading, Unsealed, seal
from league.protocol.message.exchanges import Role
from league.protocol.message.messages import GameInvitation, GameJoinAck, LeagueRegisterRequest
from league.protocol.message.parts import PlayerMeta
from league.protocol.wire import jsonrpc
from league.protocol.wire.jsonrpc import BadRequestError
from tests.support.questions import INVITATION
from tests.support.vectors import message as vector

COMPAT, STRICT = Reading("compat"), Reading("strict")
MANAGER = Speaker(Role.MANAGER, "league_manager", COMPAT)
PLAYER = Speaker(Role.PLAYER, "player:P01", COMPAT)
META = {"display_name": "Ann", "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": "http://h:1/mcp"}
JOIN = GameJoinAck(**seal("player:P01", 0.0, "conv-1"), match_id="R1M1", player_id="P01", accept=True)


def registration() -> LeagueRegisterRequest:
    meta = PlayerMeta(display_name="Ann", version="1.0.0", game_types=["even_odd"], contact_endpoint="http://h:1/mcp")
    return LeagueRegisterRequest(**seal("player:Ann", 0.0, "conv-1"), player_meta=meta)


def asked(raw: bytes | dict[str, Any], speaker: Speaker = MANAGER) -> letters.Asked:
    return letters.read_request(raw if isinstance(raw, bytes) else json.dumps(raw).encode(), speaker)


def message_in(one: letters.Asked) -> object:
    assert isinstance(one.content, Unsealed)
    assert one.content.message is not None, one.content.violations
    return one.content.message


def put(convention: Convention, token: str | None = None) -> bytes:
    to = Address("P01", "http://x", token, convention)
    return letters.write_call(7, INVITATION, jsonrpc.encode_body(INVITATION), to)


@pytest.mark.requirement("DIALECT.answers_in_kind")
@pytest.mark.parametrize("convention", Convention)
def test_a_call_and_its_answer_survive_every_convention(convention: Convention) -> None:
    call = asked(put(convention), PLAYER)
    assert (message_in(call), call.convention) == (INVITATION, convention)
    raw = letters.write_answer(call, Answering(1, JOIN), PLAYER, 0.0)
    read = letters.read_answer(raw, INVITATION, COMPAT)
    assert isinstance(read, Unsealed)
    assert read.message == JOIN


@pytest.mark.parametrize("convention", Convention)
def test_the_token_travels_in_the_message_whatever_the_frame(convention: Convention) -> None:
    message = message_in(asked(put(convention, "tok_x"), PLAYER))
    assert isinstance(message, GameInvitation)
    assert message.auth_token == "tok_x"


@pytest.mark.parametrize("convention", Convention)
def test_an_error_is_an_error_in_every_convention(convention: Convention) -> None:
    raw = letters.write_answer(asked(put(convention), PLAYER), Answering(1, PeerError("E023", "no")), PLAYER, 0.0)
    read = letters.read_answer(raw, INVITATION, COMPAT)
    assert isinstance(read, Refusal)
    assert (read.code, read.understood) == ("E023", True)


def test_a_tool_answers_as_mcp_has_it_and_plainly_too() -> None:
    raw = letters.write_answer(asked(put(Convention.TOOLS), PLAYER), Answering(1, JOIN), PLAYER, 0.0)
    result = json.loads(raw)["result"]
    assert result["isError"] is False
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert result["accept"] is result["structuredContent"]["accept"] is True


def test_without_json_rpc_the_answer_is_the_message_itself() -> None:
    raw = letters.write_answer(asked(put(Convention.BARE), PLAYER), Answering(1, JOIN), PLAYER, 0.0)
    assert json.loads(raw)["message_type"] == "GAME_JOIN_ACK"


@pytest.mark.requirement("PROFILE.strict_refuses")
def test_strict_takes_what_the_documents_have_and_nothing_else() -> None:
    strict = Speaker(Role.PLAYER, "player:P01", STRICT)
    for convention in (Convention.SPEC, Convention.TYPE, Convention.LOWER, Convention.TOOLS):
        assert message_in(asked(put(convention), strict)) == INVITATION
    nested = asked(put(Convention.NESTED), strict).content
    assert isinstance(nested, Unsealed)
    assert nested.violations[0].code == "E036"
    with pytest.raises(BadRequestError) as bare:
        asked(put(Convention.BARE), strict)
    assert bare.value.error.code == "E035"


@pytest.mark.requirement("PROFILE.compat_records")
@pytest.mark.parametrize(("convention", "code"), [(Convention.NESTED, "E036"), (Convention.BARE, "E035")])
def test_compat_records_a_way_of_calling_that_no_document_has(convention: Convention, code: str) -> None:
    content = asked(put(convention), PLAYER).content
    assert isinstance(content, Unsealed)
    assert [one.code for one in content.deviations] == [code]


@pytest.mark.parametrize("method", ["register_player", "LEAGUE_REGISTER_REQUEST", "league_register_request"])
@pytest.mark.parametrize("fields", [META, {"player_meta": META}, {**META, "sender": "player:Ann"}])
def test_a_registration_may_be_flat_and_without_an_envelope(method: str, fields: dict[str, Any]) -> None:
    message = message_in(asked({"jsonrpc": "2.0", "id": 1, "method": method, "params": fields}))
    assert isinstance(message, LeagueRegisterRequest)
    assert message.player_meta == registration().player_meta


def test_flat_fields_are_taken_for_the_meta_object_and_recorded() -> None:
    fields = {**META, "message_type": "LEAGUE_REGISTER_REQUEST"}
    call = asked({"jsonrpc": "2.0", "id": 1, "method": "register_player", "params": fields})
    message = message_in(call)
    assert isinstance(message, LeagueRegisterRequest)
    assert message.player_meta == registration().player_meta
    assert isinstance(call.content, Unsealed)
    assert "LEAGUE_REGISTER_REQUEST.player_meta" in {one.requirement for one in call.content.deviations}


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (META, "LEAGUE_REGISTER_REQUEST"),
        ({**META, "max_concurrent_matches": 2}, "REFEREE_REGISTER_REQUEST"),
        ({**META, "role": "referee"}, "REFEREE_REGISTER_REQUEST"),
    ],
)
def test_who_offers_to_run_matches_registers_as_a_referee(fields: dict[str, Any], kind: str) -> None:
    assert registrations.registration_of(fields)["message_type"] == kind


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32601, "message": "Method not found"},
        {"code": -32601, "message": "Method not found", "data": {"error_code": "E018"}},
        {"code": -32603, "message": "Unknown tool: get_assigned_matches"},
        {"code": -32600, "message": "Invalid Request", "data": {"error_code": "E035"}},
        {"code": -32602, "message": "bad params"},
    ],
)
def test_an_error_about_the_request_says_that_it_was_not_understood(error: dict[str, Any]) -> None:
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()
    read = letters.read_answer(raw, INVITATION, COMPAT)
    assert isinstance(read, Refusal)
    assert not read.understood


@pytest.mark.parametrize(("kind", "place"), registrations.META_FIELDS.items())
def test_who_sends_no_message_need_not_name_its_version_but_a_message_has_one(kind: str, place: str) -> None:
    content = vector(f"{kind.lower()}.full")
    del content[place]["version"]
    whole = asked({"jsonrpc": "2.0", "id": 1, "method": kind, "params": content}).content
    assert isinstance(whole, Unsealed)
    assert [one.requirement for one in whole.violations] == [f"{kind}.{place}.version"]
    tool = {"name": kind.lower(), "arguments": {place: content[place]}}
    bare = asked({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}).content
    assert isinstance(bare, Unsealed)
    assert bare.message is not None
    assert f"{kind}.{place}.version" in {one.requirement for one in bare.deviations}
    assert f"{kind}.{place}" not in {one.requirement for one in bare.deviations}


def test_an_error_is_told_in_its_own_words_not_in_those_of_our_catalogue() -> None:
    data = {"error_code": "E004", "message": "Sender not registered"}
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no", "data": data}}).encode()
    read = letters.read_answer(raw, INVITATION, COMPAT)
    assert isinstance(read, Refusal)
    assert read.detail == "Sender not registered"


@pytest.mark.parametrize("kind", ["GAME_ERROR", "LEAGUE_ERROR"])
def test_an_answer_that_repeats_a_type_is_an_error_only_if_it_says_what_is_wrong(kind: str) -> None:
    repeated = {"protocol": "league.v2", "message_type": kind, "sender": "player:P01"}
    assert not isinstance(read_result(repeated), Refusal)
    told = read_result({**repeated, "error_description": "I do not play"})
    assert isinstance(told, Refusal)
    assert told.detail == "I do not play"


def test_an_error_without_words_is_not_given_the_words_of_our_catalogue() -> None:
    read = read_result({"status": "ERROR"})
    assert isinstance(read, Refusal)
    assert "incident" not in read.detail


def read_result(result: dict[str, str]) -> object:
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()
    return letters.read_answer(raw, INVITATION, COMPAT)


@pytest.mark.parametrize("answer", [b'{"error": "unknown"}', b'{"jsonrpc":"2.0","id":1,"error":"unknown"}'])
def test_an_error_of_another_shape_is_no_acknowledgement(answer: bytes) -> None:
    assert isinstance(letters.read_answer(answer, INVITATION, COMPAT), Refusal)


@pytest.mark.parametrize("answer", [b'{"status":"ok"}', b'{"jsonrpc":"2.0","id":1,"result":"fine"}', b"{}"])
def test_anything_else_is_a_mere_acknowledgement(answer: bytes) -> None:
    assert letters.read_answer(answer, INVITATION, COMPAT) == Acknowledged()


def test_an_event_stream_gives_its_last_message() -> None:
    stream = b'event: message\r\ndata: {"a":\r\ndata: 1}\r\n\r\n: a comment\r\n\r\n'
    assert forms.event_data(stream) == b'{"a":\n1}'
    assert forms.event_data(b"data: 1\n\ndata: 2\n\n") == b"2"
    assert forms.event_data(b"") == b""


def test_a_question_without_a_message_reaches_the_role_that_answers_it() -> None:
    call = asked({"jsonrpc": "2.0", "id": 1, "method": "get_player_state", "params": {}}, PLAYER)
    assert call.content == Inquiry("get_player_state", {})


@pytest.mark.parametrize("name", [None, "", "KLINGON", "spec"])
def test_an_unknown_convention_is_where_everybody_begins(name: str | None) -> None:
    assert convention_of(name) is Convention.SPEC
