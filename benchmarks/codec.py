"""The cost of reading a request (gate, decode, validate) beside a bare json.loads of the same bytes."""

from __future__ import annotations

import json

from benchmarks import Row, median_cpu_seconds
from league.protocol.message.envelope import Reading
from league.protocol.message.messages import GameInvitation, LeagueStandingsUpdate, Message
from league.protocol.message.parts import StandingsRow
from league.protocol.wire.jsonrpc import MANAGER_LIMIT, decode_call, encode_body, encode_call, read_call

COMPAT = Reading("compat")


def run() -> list[Row]:
    return [
        _row("GAME_INVITATION", _request("handle_game_invitation", _invitation()), goal=4.0),
        _row("99 rows of standings", _request("update_standings", standings()), goal=3.0),
    ]


def _row(name: str, raw: bytes, goal: float) -> Row:
    # A message that is rejected early would look fast.
    if read_call(decode_call(raw, MANAGER_LIMIT), COMPAT).message is None:
        raise ValueError(f"{name} is not a valid message")
    ours, bare = median_cpu_seconds(
        (lambda: read_call(decode_call(raw, MANAGER_LIMIT), COMPAT), lambda: json.loads(raw))
    )
    return Row(f"{name}, {len(raw)} bytes", ours * 1e6, bare * 1e6, "json.loads", "us", goal)


def _request(method: str, message: Message) -> bytes:
    return encode_call(7, method, encode_body(message))


def _invitation() -> GameInvitation:
    return GameInvitation(
        protocol="league.v2",
        sender="referee:REF01",
        timestamp="2025-01-15T10:30:00Z",
        conversation_id="conv-league_2025_even_odd-R1M1-1",
        auth_token="tok_REF01_" + "x" * 43,
        league_id="league_2025_even_odd",
        round_id=1,
        match_id="R1M1",
        game_type="even_odd",
        role_in_match="PLAYER_A",
        opponent_id="P02",
        player_id="P01",
        draw_commitment="9f" * 32,
        attempt=1,
    )


def standings() -> LeagueStandingsUpdate:
    rows = [
        StandingsRow(
            rank=rank,
            player_id=f"P{rank:02}",
            display_name=f"Agent number {rank}",
            played=98,
            wins=99 - rank,
            draws=0,
            losses=rank - 1,
            points=3 * (99 - rank),
        )
        for rank in range(1, 100)
    ]
    return LeagueStandingsUpdate(
        protocol="league.v2",
        sender="league_manager",
        timestamp="2025-01-15T10:30:00Z",
        conversation_id="conv-round-98-standings",
        auth_token="tok_LM_" + "x" * 43,
        league_id="league_2025_even_odd",
        round_id=98,
        standings=rows,
        version=4851,
    )
