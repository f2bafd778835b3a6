"""Misbehaving players: silent, slow, lying, declining, forging. Each changes the honest answer of a real player's
machine, or sends forged requests; it must harm nobody but itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from league.machine import Failure
from league.protocol.tokens import MANAGER

MATCH_CALLS = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
_CHOICE_CALLS = MATCH_CALLS[1:]

Misanswer = tuple[float, bytes, Failure | None]
"""Seconds to wait, the bytes that are sent, and the failure of HTTP that the caller sees, if any."""
Misbehaviour = Callable[[str, bytes, Random], Misanswer | None]
"""From the kind of call and the honest answer to what is sent; None: nothing."""


def honest(_kind: str, raw: bytes, _dice: Random) -> Misanswer | None:
    return 0.0, raw, None


_LIES: tuple[Mapping[str, object], ...] = (
    {"match_id": "R99M99"},
    {"player_id": "P01"},
    {"player_id": "P02"},
    {"player_id": None, "match_id": None},
    {"parity_choice": "Even", "accept": "true"},
    {"parity_choice": 0, "accept": 1},
    {"parity_choice": None, "accept": None},
    {"message_type": "GAME_OVER"},
    {"message_type": "LEAGUE_ERROR"},
    {"auth_token": "tok_P01_stolen"},
    {"timestamp": "yesterday", "arrival_timestamp": "soon"},
)


def _lying(kind: str, raw: bytes, dice: Random) -> Misanswer | None:
    lie = dice.choice(_LIES)
    return 0.0, _changed(raw, lie) if kind in MATCH_CALLS and dice.random() < 0.7 else raw, None


def _changed(raw: bytes, changes: Mapping[str, object]) -> bytes:
    """The honest answer with some of its fields changed."""
    answer: dict[str, Any] = json.loads(raw)
    result = answer.get("result", answer)  # without JSON-RPC the answer is the message itself
    if isinstance(result, dict):
        result.update({name: value for name, value in changes.items() if name in result})
    return json.dumps(answer).encode()


_BABBLE = (b"banana", b"", b"[]", b"null", b'{"jsonrpc":"2.0","id":1}', b"\xff\xfe")
_REFUSAL = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}'
_EXCUSE = b'{"jsonrpc":"2.0","id":1,"error":{"code":4014,"message":"PROVIDER_UNAVAILABLE"}}'
"""The service that thinks for it does not answer: its matches are played again, but not for ever."""

MISBEHAVIOURS: Mapping[str, Misbehaviour] = {
    "silent": lambda kind, raw, _: None if kind in MATCH_CALLS else (0.0, raw, None),
    "undecided": lambda kind, raw, _: None if kind in _CHOICE_CALLS else (0.0, raw, None),
    "slow": lambda kind, raw, dice: (dice.uniform(1, 9) if kind in MATCH_CALLS else dice.uniform(0, 20), raw, None),
    "babbling": lambda _, raw, dice: (0.0, dice.choice((*_BABBLE, raw + raw)), None),
    "crashing": lambda *_: (0.0, b"<html>Internal Server Error</html>", Failure.BROKEN),
    "overloaded": lambda _, raw, dice: (0.0, raw, Failure.BUSY if dice.random() < 0.7 else None),
    "declining": lambda kind, raw, _: (
        (0.0, _changed(raw, {"accept": False}), None) if kind == "GAME_INVITATION" else (0.0, raw, None)
    ),
    "lying": _lying,
    "refusing": lambda kind, raw, _: (0.0, _REFUSAL if kind in MATCH_CALLS else raw, None),
    "excusing": lambda kind, raw, _: (0.0, _EXCUSE if kind in _CHOICE_CALLS else raw, None),
    "flapping": lambda _, raw, dice: dice.choice(
        (None, (0.0, raw, None), (0.0, raw, Failure.BROKEN), (7.0, raw, None))
    ),
    "thieving": honest,
}


def forgeries(invitation: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What a thieving player makes of an invitation and the token in it: (receiver, forged message)."""
    shared = {
        "protocol": "league.v2",
        "timestamp": invitation["timestamp"],
        "conversation_id": invitation["conversation_id"],
        "auth_token": invitation.get("auth_token", "tok_none"),
        "match_id": invitation["match_id"],
    }
    mine, other = invitation["player_id"], invitation["opponent_id"]
    report = {
        **shared,
        "message_type": "MATCH_RESULT_REPORT",
        "sender": invitation["sender"],
        "league_id": invitation["league_id"],
        "round_id": invitation["round_id"],
        "game_type": invitation["game_type"],
        "attempt": invitation.get("attempt", 1),
        "result": {
            "winner": mine,
            "score": {mine: 3, other: 0},
            "details": {"drawn_number": None, "choices": {mine: None, other: None}, "status": "TECHNICAL_LOSS"},
        },
    }
    choice = {**shared, "message_type": "CHOOSE_PARITY_RESPONSE", "sender": f"player:{other}", "player_id": other,
              "parity_choice": "odd"}  # fmt: skip
    decline = {**shared, "message_type": "GAME_JOIN_ACK", "sender": f"player:{other}", "player_id": other,
               "arrival_timestamp": invitation["timestamp"], "accept": False}  # fmt: skip
    referee = str(invitation["sender"]).removeprefix("referee:")
    return [(MANAGER, report), (referee, choice), (referee, decline)]
