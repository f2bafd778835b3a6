"""`POST /register`: the meta data alone, without JSON-RPC and without an envelope."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from league.events import AgentRegistered, DeviationRecorded
from league.protocol.message.envelope import STRICT, unseal
from tests.support.peer import post
from tests.support.processes import Process, Processes

META = {
    "display_name": "Somebody",
    "version": "1.0.0",
    "game_types": ["even_odd"],
    "contact_endpoint": "http://127.0.0.1:9/mcp",
}
SOMEBODY = json.dumps(META).encode()


def register(manager: Process, body: bytes) -> tuple[int, dict[str, Any]]:
    status, answer = asyncio.run(post(manager.endpoint.replace("/mcp", "/register"), body))
    said: dict[str, Any] = json.loads(answer)
    return status, said


def test_agents_register_with_their_meta_data_alone_and_are_spoken_to_as_usual(processes: Processes) -> None:
    manager = processes.manager()
    status, player = register(manager, SOMEBODY)
    assert (status, player["message_type"], player["status"]) == (200, "LEAGUE_REGISTER_RESPONSE", "ACCEPTED")
    assert (player["player_id"], player["auth_token"][:8]) == ("P01", "tok_P01_")
    offer = {
        **META,
        "display_name": "A referee",
        "max_concurrent_matches": 2,
        "contact_endpoint": "http://127.0.0.1:19/",
    }
    assert register(manager, json.dumps(offer).encode())[1]["referee_id"] == "REF01"
    assert register(manager, SOMEBODY)[1]["player_id"] == "P01", "who comes back is the same"
    manager.stop()
    assert {one.convention for one in processes.events("manager", AgentRegistered)} == {"SPEC"}
    recorded = {one.requirement for one in processes.events("manager", DeviationRecorded) if one.agent_id == "P01"}
    assert {"LEAGUE_REGISTER_REQUEST.player_meta", "ENVELOPE.sender"} <= recorded


def test_what_is_refused_is_told_without_a_frame_too(processes: Processes) -> None:
    manager = processes.manager()
    for body, status, code in (
        (b'{"display_name"', 400, "E034"),
        (b"[]", 400, "E035"),
        (b"{}", 400, "E003"),
        (json.dumps({**META, "version": "one"}).encode(), 400, "E008"),
        (json.dumps({**META, "contact_endpoint": "http://192.0.2.1/mcp"}).encode(), 409, "E026"),
    ):
        found, said = register(manager, body)
        assert (found, said["error_code"]) == (status, code)
        assert "jsonrpc" not in said
        assert status == 409 or said["original_message_type"]
    assert manager.stop() == 0


@pytest.mark.requirement("ERROR.whole_refusals")
@pytest.mark.parametrize("page", ["/mcp", "/register"])
def test_what_http_itself_refuses_is_a_whole_error_too(processes: Processes, page: str) -> None:
    manager = processes.manager()
    status, raw = asyncio.run(post(manager.endpoint.replace("/mcp", page), b'"' + b"x" * 10_240 + b'"'))
    answer = json.loads(raw)
    assert (status, answer["id"], answer["error"]["code"]) == (413, None, -32600)
    read = unseal(answer["error"]["data"], STRICT)
    assert (read.message_type, read.violations, read.field("error_code")) == ("LEAGUE_ERROR", (), "E037")
    assert read.field("original_message_type") == "UNKNOWN"
    assert manager.stop() == 0


@pytest.mark.requirement("PROFILE.strict_refuses")
def test_strict_has_no_such_page(processes: Processes) -> None:
    manager = processes.manager(profile="strict")
    assert register(manager, SOMEBODY)[0] == 404
    manager.stop()
    assert processes.events("manager", AgentRegistered) == []
