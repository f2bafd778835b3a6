"""LEAGUE_ERROR sent to a player and a referee that run: acknowledged, on the terminal and in the log."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import Processes

NOBODY = "http://127.0.0.1:1/mcp"
PRINTED = {
    "message_type": "LEAGUE_ERROR",
    "error_code": "E012",
    "error_description": "AUTH_TOKEN_INVALID",
    "original_message_type": "LEAGUE_QUERY",
    "context": {"provided_token": "tok_invalid_xxx", "expected_format": "tok_{agent_id}_{hash}"},
}
ENVELOPE = {
    "protocol": "league.v2",
    "sender": "league_manager",
    "timestamp": "2025-01-15T10:05:30Z",
    "conversation_id": "conv-error-001",
}


def post(endpoint: str, request: dict[str, Any]) -> dict[str, Any]:
    sent = urllib.request.Request(endpoint, json.dumps(request).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent, timeout=60) as answer:
        said: dict[str, Any] = json.load(answer)
        return said


def requests() -> dict[str, dict[str, Any]]:
    """In every way the documents leave open."""
    rpc = {"jsonrpc": "2.0", "method": "LEAGUE_ERROR", "params": PRINTED}
    return {
        "a request": {**rpc, "id": 7, "params": {**PRINTED, **ENVELOPE}},
        "a request without an envelope": {**rpc, "id": "req-1"},
        "by the verb": {**rpc, "id": 8, "method": "notify_league_error"},
        "a notification": rpc,
        "the message alone": PRINTED,
    }


@pytest.mark.requirement("LEAGUE_ERROR.acknowledged")
@pytest.mark.requirement("ERROR.shown")
@pytest.mark.parametrize("role", ["player", "referee"])
def test_a_league_error_is_acknowledged_logged_and_shown(processes: Processes, tmp_path: Path, role: str) -> None:
    log = tmp_path / "log.jsonl"
    agent = processes.start(role, manager=NOBODY, log=log)
    for how, request in requests().items():
        answer = post(agent.endpoint, request)
        said = answer.get("result", answer)
        assert (said["message_type"], said["status"]) == ("LEAGUE_ERROR_ACK", "ACKNOWLEDGED"), how
        assert answer.get("id") == request.get("id"), how
    evil = {**PRINTED, "error_detail": "\x1b[2J tok_P01_secret \r\n"}
    post(agent.endpoint, {"jsonrpc": "2.0", "id": 1, "method": "LEAGUE_ERROR", "params": evil})
    agent.said("league_manager says LEAGUE_ERROR: E012 AUTH_TOKEN_INVALID")
    agent.said("somebody says LEAGUE_ERROR: E012 AUTH_TOKEN_INVALID: ")
    assert agent.output.count("somebody says LEAGUE_ERROR: E012 AUTH_TOKEN_INVALID\n") == 1, "the same is said once"
    assert r"AUTH_TOKEN_INVALID: \x1b[2J tok_" in agent.output
    assert agent.stop() == 0
    assert "secret" not in agent.output
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    errors = [(line["code"], line["message_type"]) for line in lines if line["event"] == "error_received"]
    assert errors == [("E012", "LEAGUE_ERROR")] * 6
    assert "secret" not in log.read_text("utf-8")


def test_an_error_that_is_refused_is_not_shown_as_the_managers_words(processes: Processes) -> None:
    manager = processes.manager(players=2, referees=1)
    player = processes.players(manager)
    player.said("registered as P01")
    forged = {**PRINTED, **ENVELOPE, "error_detail": "stop playing now", "auth_token": "tok_league_manager_guessed"}
    answer = post(player.endpoint, {"jsonrpc": "2.0", "id": 1, "method": "LEAGUE_ERROR", "params": forged})
    assert answer["error"]["data"]["error_code"] == "E012"
    assert player.stop() == 0
    assert "stop playing now" not in player.output


@pytest.mark.requirement("PLAYER.unregistered")
def test_an_unregistered_player_that_is_told_of_a_round_answers_3002(processes: Processes) -> None:
    player = processes.start("player", manager=NOBODY)
    players = {"player_A_id": "P01", "player_B_id": "P02", "referee_endpoint": "http://localhost:8001/mcp"}
    match = {"match_id": "R1M1", "game_type": "even_odd", **players}
    announced = {**ENVELOPE, "message_type": "ROUND_ANNOUNCEMENT", "league_id": "l", "round_id": 1, "matches": [match]}
    answer = post(player.endpoint, {"jsonrpc": "2.0", "id": 3, "method": "notify_round", "params": announced})
    assert (answer["error"]["code"], answer["error"]["message"]) == (3002, "PLAYER_NOT_REGISTERED")
    assert answer["error"]["data"]["error_code"] == "E005"
