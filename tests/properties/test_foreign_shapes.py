"""Whatever others send, in whatever shape: it is read, or refused, and never a bug of ours."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from league import letters
from league.gateway.guest import POLL_AFTER_S
from league.gateway.readers.foreign_assignments import GetAssignedMatches
from league.letters import Speaker
from league.machine import Inquiry, Letter
from league.protocol.message.envelope import Reading
from league.protocol.message.exchanges import EXCHANGES, Role
from league.protocol.message.messages import MESSAGES, GameInvitation, LeagueRegisterRequest, Message
from league.protocol.message.parts import PlayerMeta
from league.protocol.wire.jsonrpc import BadRequestError
from tests.support.referee_rig import Rig

WORDS = ("ACK", "ACCEPTED", "REGISTERED", "REJECTED", "ERROR", "P01", "R1M1", "http://127.0.0.1:8101/mcp", "even", "")
FIELDS = (
    *("message_type", "status", "accept", "accepted", "choice", "parity_choice", "error", "error_code", "success"),
    *("player_id", "referee_id", "agent_id", "auth_token", "token", "data", "content", "structuredContent", "result"),
    *("match_id", "round_id", "match", "players", "player_a", "player_A_id", "player1_id", "player_a_endpoint"),
    *("player_endpoints", "sender", "contact_endpoint", "player_meta", "winner", "winner_id", "score", "details"),
    *("matches", "registrations", "attempt", "game_type", "player_B_id", "player_A_endpoint", "player_B_endpoint"),
)
EMPTY: st.SearchStrategy[Any] = st.builds(list) | st.builds(dict)
"""Where a word should be: neither is hashable."""
VALUES = st.sampled_from([*WORDS, *MESSAGES, "START_MATCH"]) | EMPTY | st.none() | st.booleans() | st.integers(-2, 11)
JSON = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6)
)
OBJECTS = st.dictionaries(st.sampled_from(FIELDS), VALUES | JSON, min_size=1, max_size=4)
METHODS = st.sampled_from(
    ["handle_message", "tools/call", "start_match", "get_match_state", "initialize", "tools/list", "notifications/x"]
    + [row.method for row in EXCHANGES.values()]
    + list(EXCHANGES)
)
READINGS = st.sampled_from([Reading("compat"), Reading("strict")])


def _calls(about: Any, method: str) -> list[Any]:
    return [
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": about},
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": about, "name": "start_match"}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": method, "arguments": about}},
        about,
    ]


def _answers(about: Any) -> list[Any]:
    text = {"content": [{"type": "text", "text": json.dumps(about)}]}
    inner = [{"result": about}, {"result": text}, {"error": about}, {"params": about}]
    return [about, *inner, *({"jsonrpc": "2.0", "id": 1, **one} for one in inner)]


def sent_messages() -> list[Message]:
    """What is asked of others: their answers are read in different ways."""
    meta = PlayerMeta(display_name="A", version="1.0.0", game_types=["even_odd"], contact_endpoint="http://x/mcp")
    envelope: dict[str, Any] = {"protocol": "league.v2", "sender": "x", "timestamp": "t", "conversation_id": "c"}
    about: dict[str, Any] = {"league_id": "l", "round_id": 1, "match_id": "m", "game_type": "even_odd"}
    invitation = GameInvitation(**envelope, **about, role_in_match="PLAYER_A", opponent_id="P02")
    question = GetAssignedMatches(**envelope, referee_id="REF01")
    return [LeagueRegisterRequest(**envelope, player_meta=meta), invitation, question]


@given(OBJECTS | JSON, READINGS)
def test_an_answer_of_any_shape_is_read(about: Any, reading: Reading) -> None:
    for sent in sent_messages():
        for answer in _answers(about):
            letters.read_answer(json.dumps(answer).encode(), sent, reading)


@given(OBJECTS | JSON, METHODS, READINGS)
def test_a_request_of_any_shape_is_read_or_refused(about: Any, method: str, reading: Reading) -> None:
    for role in Role:
        for call in _calls(about, method):
            raw = json.dumps(call).encode()
            try:
                letters.read_request(raw, Speaker(role, f"{role.value}:X", reading))
            except BadRequestError:
                continue


@given(OBJECTS, st.booleans())
def test_a_match_given_in_any_words_is_taken_or_refused(given_match: dict[str, Any], derived: bool) -> None:
    rig = Rig().enrolled(derived=derived)
    step = rig.desk.handle(Letter(1, Inquiry("start_match", given_match)), rig.now)
    assert len(step.replies) == 1


@given(st.lists(OBJECTS | JSON, max_size=3), JSON)
def test_a_list_of_any_matches_and_any_addresses_leave_a_referee_that_goes_on(listed: list[Any], homes: Any) -> None:
    known = {"match_id": "M", "player_A_id": "P01", "player_B_id": "P02"}
    matches = [*listed, *({**known, **one} for one in listed if isinstance(one, dict))]
    rig = Rig().enrolled(derived=False).wait(POLL_AFTER_S)
    for answer in ({"matches": matches}, {"data": homes, "players": homes}):
        for asked in [one for one in rig.under_way.values() if one.key.startswith(("assigned/", "addresses/"))]:
            rig.answer(asked, answer)
    assert rig.desk.deadline is not None or rig.under_way
    assert rig.replayed().snapshot() == rig.desk.snapshot()
