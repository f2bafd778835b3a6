"""Misbehaving players: silent, slow, lying, declining, forging. Each changes the honest answer of a real player's
machine, or sends forged requests; it must harm nobody but itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, NamedTuple

from league.machine import Failure
from league.protocol.signing.tokens import MANAGER

MATCH_CALLS = (
    "GAME_INVITATION",
    "CHOOSE_PARITY_CALL",
    "GAME_MOVE_CALL",
)
_CHOICE_CALLS = MATCH_CALLS[1:]


class Misanswer(NamedTuple):
    """The bytes that are sent, how long the caller waits for them, and the HTTP failure it sees, if any."""

    raw: bytes
    seconds: float = 0.0
    failure: Failure | None = None


Misbehaviour = Callable[[str, bytes, Random], Misanswer | None]
"""Turns an honest answer to a call of this type into what is sent; None sends nothing."""


def honest(_kind: str, raw: bytes, _dice: Random) -> Misanswer | None:
    """Send the honest answer."""
    return Misanswer(raw)


def _instead(kinds: tuple[str, ...], answer: Misanswer | None) -> Misbehaviour:
    """Answer calls of these types in one way only, and all others honestly."""

    def misbehave(kind: str, raw: bytes, _dice: Random) -> Misanswer | None:
        if kind in kinds:
            return answer
        return Misanswer(raw)

    return misbehave


def _slow(kind: str, raw: bytes, dice: Random) -> Misanswer | None:
    if kind in MATCH_CALLS:
        return Misanswer(raw, dice.uniform(1, 9))
    return Misanswer(raw, dice.uniform(0, 20))


_BABBLE = (
    b"banana",
    b"",
    b"[]",
    b"null",
    b'{"jsonrpc":"2.0","id":1}',
    b"\xff\xfe",
)


def _babbling(_kind: str, raw: bytes, dice: Random) -> Misanswer | None:
    return Misanswer(dice.choice((*_BABBLE, raw + raw)))


def _overloaded(_kind: str, raw: bytes, dice: Random) -> Misanswer | None:
    failure = Failure.BUSY if dice.random() < 0.7 else None
    return Misanswer(raw, failure=failure)


def _declining(kind: str, raw: bytes, _dice: Random) -> Misanswer | None:
    if kind == "GAME_INVITATION":
        return Misanswer(_changed(raw, {"accept": False}))
    return Misanswer(raw)


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
    # Sometimes it tells the truth, so that its matches get beyond the first call.
    if kind in MATCH_CALLS and dice.random() < 0.7:
        return Misanswer(_changed(raw, lie))
    return Misanswer(raw)


_CRASH = Misanswer(b"<html>Internal Server Error</html>", failure=Failure.SERVER_ERROR)
_REFUSAL = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}'
_EXCUSE = b'{"jsonrpc":"2.0","id":1,"error":{"code":4014,"message":"PROVIDER_UNAVAILABLE"}}'


def _flapping(_kind: str, raw: bytes, dice: Random) -> Misanswer | None:
    answers = (
        None,
        Misanswer(raw),
        Misanswer(raw, failure=Failure.BROKEN),
        Misanswer(raw, 7.0),
    )
    return dice.choice(answers)


def _changed(raw: bytes, changes: Mapping[str, object]) -> bytes:
    """Return the honest answer with some of its fields changed."""
    answer: dict[str, Any] = json.loads(raw)
    result = answer.get("result", answer)  # without JSON-RPC the answer is the message itself
    if isinstance(result, dict):
        for name, value in changes.items():
            if name in result:
                result[name] = value
    return json.dumps(answer).encode()


MISBEHAVIOURS: Mapping[str, Misbehaviour] = {
    "silent": _instead(MATCH_CALLS, None),
    "undecided": _instead(_CHOICE_CALLS, None),
    "slow": _slow,
    "babbling": _babbling,
    "crashing": lambda *_: _CRASH,
    "overloaded": _overloaded,
    "declining": _declining,
    "lying": _lying,
    "refusing": _instead(MATCH_CALLS, Misanswer(_REFUSAL)),
    # The service it thinks with does not answer: its matches wait for it if it declared one, but not forever.
    "excusing": _instead(_CHOICE_CALLS, Misanswer(_EXCUSE)),
    "flapping": _flapping,
    "fading": honest,  # it answers honestly, but cannot be reached when it is behind
    # These answer honestly, and send forgeries besides: with a token that is not theirs, or with none at all.
    "thieving": honest,
    "forging": honest,
}


class Forgery(NamedTuple):
    """A forged message, and the agent it is sent to."""

    receiver: str
    message: dict[str, Any]


def bare_reports(invitation: Mapping[str, Any], dice: Random) -> list[Forgery]:
    """Return reports without envelope and token: of one's own victory and, in half of the matches, of the other's too.
    The first alone counts unless its address gives it away; both together are a dispute."""
    forger = invitation["player_id"]
    victim = invitation["opponent_id"]
    reports = []
    for winner, loser in ((forger, victim), (victim, forger)):
        report = {
            "message_type": "MATCH_RESULT_REPORT",
            "match_id": invitation["match_id"],
            "league_id": invitation["league_id"],
            "round_id": invitation["round_id"],
            "game_type": invitation["game_type"],
            "result": {"winner": winner, "score": {winner: 3, loser: 0}},
        }
        reports.append(Forgery(MANAGER, report))
    if dice.random() < 0.5:
        return reports[:1]
    return reports


def forgeries(invitation: Mapping[str, Any]) -> list[Forgery]:
    """Return what a thieving player makes of an invitation and the token in it: a report, a choice and a decline."""
    shared = {
        "protocol": "league.v2",
        "timestamp": invitation["timestamp"],
        "conversation_id": invitation["conversation_id"],
        "auth_token": invitation.get("auth_token", "tok_none"),
        "match_id": invitation["match_id"],
    }
    thief = invitation["player_id"]
    victim = invitation["opponent_id"]
    report = {
        **shared,
        "message_type": "MATCH_RESULT_REPORT",
        "sender": invitation["sender"],
        "league_id": invitation["league_id"],
        "round_id": invitation["round_id"],
        "game_type": invitation["game_type"],
        "attempt": invitation.get("attempt", 1),
        "result": {
            "winner": thief,
            "score": {thief: 3, victim: 0},
            "details": {
                "drawn_number": None,
                "choices": {thief: None, victim: None},
                "status": "TECHNICAL_LOSS",
            },
        },
    }
    choice = {
        **shared,
        "message_type": "CHOOSE_PARITY_RESPONSE",
        "sender": f"player:{victim}",
        "player_id": victim,
        "parity_choice": "odd",
    }
    decline = {
        **shared,
        "message_type": "GAME_JOIN_ACK",
        "sender": f"player:{victim}",
        "player_id": victim,
        "arrival_timestamp": invitation["timestamp"],
        "accept": False,
    }
    referee = str(invitation["sender"]).removeprefix("referee:")
    return [
        Forgery(MANAGER, report),
        Forgery(referee, choice),
        Forgery(referee, decline),
    ]
