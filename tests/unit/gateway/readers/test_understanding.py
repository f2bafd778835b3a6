"""Errors without a number that a document prints, and errors quoted as they are."""

from __future__ import annotations

import json

import pytest

from league import letters
from league.gateway.readers import understanding
from league.machine import Refusal
from league.protocol.message.envelope import Reading
from league.protocol.message.messages import LeagueRegisterRequest, Message
from league.protocol.message.parts import PlayerMeta

REGISTRATION = LeagueRegisterRequest(
    protocol="league.v2",
    sender="player:a",
    timestamp="2025-01-15T12:00:00Z",
    conversation_id="c",
    player_meta=PlayerMeta(
        display_name="a",
        version="1.0.0",
        game_types=["even_odd"],
        contact_endpoint="http://127.0.0.1:8101/mcp",
    ),
)


def refusal(sent: Message, error: object) -> Refusal:
    raw = json.dumps({"jsonrpc": "2.0", "id": 1, "error": error}).encode()
    content = letters.read_answer(raw, sent, Reading("compat"))
    assert isinstance(content, Refusal)
    return content


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32601, "message": "Method not found"},
        {"code": -32602, "message": "Invalid params"},
        {"code": -32000, "message": "Server error"},
        {"code": 4002, "message": "Invalid method, expected league.handle"},
        {"code": 7777, "message": "what?"},
    ],
)
def test_any_other_error_may_be_about_the_call_itself(error: object) -> None:
    assert not refusal(REGISTRATION, error).understood


@pytest.mark.requirement("DIALECT.own_words")
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            {"code": -32602, "message": "Invalid params", "data": "seat is taken"},
            "-32602 Invalid params: seat is taken",
        ),
        ({"code": -32000, "message": "seat is taken", "data": {"seat": 1}}, "-32000 seat is taken"),
        (
            {"code": 1, "message": "no", "data": {"error_code": "E004", "error_description": "Sender not registered"}},
            "E004 Sender not registered",
        ),
        (
            {"code": 1, "message": "no", "data": {"error_code": "E004", "error_name": "X", "error_detail": "because"}},
            "E004 X: because",
        ),
    ],
)
def test_an_error_is_quoted_as_it_is(error: object, words: str) -> None:
    assert refusal(REGISTRATION, error).words == words


def test_a_false_error_beside_a_status_is_no_trouble() -> None:
    assert not understanding.is_trouble({"status": "acknowledged", "error": ""})
    assert not understanding.is_trouble({"status": "acknowledged", "error": None})
    assert understanding.is_trouble({"status": "acknowledged", "error": "no"})
