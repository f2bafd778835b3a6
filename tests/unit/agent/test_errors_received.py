"""What is logged and shown of the errors that others send."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from league.agent.error_notes import error_answered, error_told
from league.agent.log import Log
from league.letters import Asked
from league.machine import Acknowledged, Content, Ping, Refusal
from league.protocol.errors import NO_CHOICE_BECAUSE
from league.protocol.message.envelope import Reading, seal, unseal
from league.protocol.message.messages import LeagueQuery, Message

QUERY = LeagueQuery(**seal("player:P01", 0.0, "conv-1"), league_id="spring", query_type="GET_STATUS")


def told(**fields: Any) -> str:
    error = error_told(Asked(1, unseal(fields, Reading("compat"))))
    return "" if error is None else str(error)


def answered(content: Content, sent: Message | Ping = QUERY) -> str:
    error = error_answered("league_manager", sent, content)
    return "" if error is None else str(error)


@pytest.mark.requirement("ERROR.shown")
def test_an_error_is_shown_with_who_says_it_what_it_is_about_its_code_and_its_words() -> None:
    game = {"message_type": "GAME_ERROR", "sender": "referee:REF01", "match_id": "R1M1", "error_code": "E004"}
    words = {"error_name": "INVALID_PARITY_CHOICE", "error_detail": "'Odd' is no choice"}
    shown = "referee:REF01 says GAME_ERROR about R1M1: E004 INVALID_PARITY_CHOICE: 'Odd' is no choice"
    assert told(**game, **words) == told(**game, **words, error_description="INVALID_PARITY_CHOICE") == shown
    league = {"message_type": "LEAGUE_ERROR", "error_code": "E012", "error_description": "AUTH_TOKEN_INVALID"}
    assert told(**league) == "somebody says LEAGUE_ERROR: E012 AUTH_TOKEN_INVALID"
    assert told(message_type="GAME_OVER") == ""


def test_an_error_that_quotes_ourselves_is_not_taken_for_one_of_the_network() -> None:
    quote = f'answered choose_parity with "E099 INTERNAL_ERROR: {NO_CHOICE_BECAUSE}its code raised ValueError"'
    words = {"error_code": "E009", "error_name": "CONNECTION_ERROR", "error_detail": quote}
    shown = told(message_type="GAME_ERROR", sender="referee:REF01", match_id="R1M1", **words)
    assert shown == "referee:REF01 says GAME_ERROR about R1M1: your player did not choose; what went wrong is above"


@pytest.mark.requirement("ERROR.shown")
def test_an_error_in_an_answer_is_shown_with_what_it_answers() -> None:
    shown = "league_manager answers LEAGUE_QUERY with 4001 nobody's token (E012)"
    assert answered(Refusal("E012", "nobody's token", words="4001 nobody's token")) == shown
    no = {"error_code": "E030", "error_name": "LEAGUE_NOT_STARTED", "error_description": "wait for it"}
    response = {"message_type": "LEAGUE_QUERY_RESPONSE", "query_type": "GET_SCHEDULE", "success": False, "error": no}
    shown = "league_manager answers LEAGUE_QUERY with E030 LEAGUE_NOT_STARTED: wait for it"
    assert answered(unseal(response, Reading("compat"))) == shown
    assert answered(Acknowledged()) == ""
    assert answered(Refusal("E099", "bug"), Ping()) == "league_manager answers ping with bug (E099)"


def test_what_only_says_that_a_call_was_not_understood_is_for_the_log_alone() -> None:
    error = error_answered("P01", QUERY, Refusal("E036", "no such method", understood=False))
    assert error is not None
    assert not error.is_shown


@pytest.mark.requirement("ERROR.shown")
@pytest.mark.requirement("TOKEN.never_shown")
def test_neither_tokens_nor_control_characters_come_through() -> None:
    words = "\x1b[2J tok_P01_secret\r\nE000 all is well\u202e"
    fields = {"message_type": "LEAGUE_ERROR", "error_code": "E012", "error_description": words, "sender": "player\x07"}
    shown = told(**{**fields, "sender": "league_manager:\x07"})
    assert "secret" not in shown
    assert shown.isprintable()
    assert r"\x1b[2J tok_" in shown
    assert r"\r\nE000 all is well\u202e" in shown
    assert "secret" not in answered(Refusal("E012", words))
    assert len(told(**{**fields, "error_description": "x" * 9999, "sender": "league_manager"})) < 1100


@pytest.mark.requirement("ERROR.shown")
def test_the_log_has_code_and_text(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    error = error_answered("league_manager", QUERY, Refusal("E012", "nobody's token", words="4001 nobody's token"))
    assert error is not None
    log.error(12.5, error)
    log.close()
    assert json.loads((tmp_path / "log.jsonl").read_bytes()) == {
        "time": "1970-01-01T00:00:12.500000Z",
        "level": "error",
        "event": "error_received",
        "code": "E012",
        "text": "4001 nobody's token",
        "message_type": "LEAGUE_QUERY",
        "peer": "league_manager",
    }
