"""Third-party players: each speaks one convention, or has one habit, and is a good player otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Final

from tests.support.dialects import CONVENTIONS, VERBS_ONLY, only_whole_ids
from tests.support.peer import Peer
from tests.support.scripts import (
    ABSENT,
    BROADCASTS,
    HONEST,
    MATCH_CALLS,
    POSTED,
    POSTED_LATER,
    Object,
    Reaction,
    always,
    in_turn,
    on,
)


def joins(**fields: object) -> Object:
    """Nothing but these fields acknowledges an invitation."""
    return {"script": on("GAME_INVITATION", Reaction(fields=fields, alone=True))}


def answers(**fields: object) -> Object:
    """These fields are different in its answers in matches."""
    return {"script": on(MATCH_CALLS, Reaction(fields=fields))}


def chooses(**fields: object) -> Object:
    """These fields are different where it chooses."""
    return {"script": on("CHOOSE_PARITY_CALL", Reaction(fields=fields))}


def wraps(**rpc: object) -> Object:
    """The JSON-RPC object around its answers is different."""
    return {"script": always(Reaction(rpc=rpc))}


def _answered_like_a_request(call: Object, message: Object) -> Object:
    method = message.get("message_type", call.get("method"))
    return {"jsonrpc": "2.0", "id": call.get("id"), "method": method, "params": message}


def _milliseconds(now: datetime) -> str:
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")


BUSY_A_SECOND: Final = Reaction(
    status=429, reason="Too Many Requests", headers=(("Retry-After", "1"),), body=b'{"detail": "Rate limit exceeded"}'
)
NOTHING: Final = Reaction(body=b"")
BAD_REQUEST: Final = Reaction(status=400, reason="Bad Request", body=b'{"error": "unknown message type"}')

HABITS: Final[Mapping[str, Object]] = {
    "joins by ACK": joins(status="ACK"),
    "joins by accepted": joins(accepted=True),
    "joins by status ACCEPTED": joins(status="ACCEPTED", match_id=lambda asked: asked["match_id"]),
    "chooses by choice": chooses(parity_choice=ABSENT, choice="even"),
    "answers like a request": {"convention": replace(VERBS_ONLY, answer=_answered_like_a_request)},
    "null beside the result": wraps(error=None),
    "another id": wraps(id=99_999),
    "the id as a string": wraps(id=lambda call: str(call.get("id"))),
    "no id": wraps(id=ABSENT),
    "posts its answers": {"script": on(MATCH_CALLS, POSTED)},
    "posts its answers later": {"script": on(MATCH_CALLS, POSTED_LATER)},
    "an empty 200 to all": {"script": (*on(MATCH_CALLS, replace(POSTED_LATER, status=200)), *always(NOTHING))},
    "no player_id": answers(player_id=ABSENT),
    "a player_id of its own": answers(player_id="agent-alice"),
    "microseconds": {"clock": datetime.isoformat},
    "milliseconds": {"clock": _milliseconds},
    "+00:00Z": {"clock": lambda now: now.isoformat(timespec="seconds") + "Z"},
    "compact times": {"clock": lambda now: now.strftime("%Y%m%dT%H%M%SZ")},
    "no times": {"script": always(Reaction(fields={"timestamp": ABSENT, "arrival_timestamp": ABSENT}))},
    "sender players:": {"sender": "players:{id}"},
    "sender by name": {"sender": "player:{name}"},
    "sender UNREGISTERED": {"sender": "player:{member}"},
    "sender of no role": {"sender": "{id}"},
    "whole ids only": {"convention": only_whole_ids(VERBS_ONLY)},
    "registers before it listens": {"listens_late": True},
    "registers again": {"script": on(("ROUND_COMPLETED", "GAME_OVER"), Reaction(registers=True))},
    "keeps a good id": {"agent_id": "P88", "adopts": frozenset({"token"})},
    "keeps an odd id": {"agent_id": "alice_agent", "adopts": frozenset({"token"})},
    "busy now and then": {"script": in_turn(HONEST, HONEST, HONEST, BUSY_A_SECOND)},
    "exits at the end": {"script": on("LEAGUE_COMPLETED", Reaction(ending="exit"))},
    "exits without a word": {"script": on("LEAGUE_COMPLETED", Reaction(cut=0, ending="exit"))},
    "400 to broadcasts": {"script": on(BROADCASTS, BAD_REQUEST)},
    "404 to broadcasts": {"script": on(BROADCASTS, replace(BAD_REQUEST, status=404))},
    "a constant token": answers(auth_token="secret"),
    "a stale token": {"token": "tok_P01_of_an_earlier_league", "adopts": frozenset({"id"})},
    "no token": {"script": always(Reaction(fields={"auth_token": ABSENT}))},
    "the referee's token": answers(auth_token=lambda asked: asked.get("auth_token", ABSENT)),
    "extra fields": {"script": always(Reaction(fields={"strategy": "random", "debug": {"took_ms": 3}}))},
    "a conversation of its own": answers(conversation_id="conv-of-its-own"),
}
"""What is different from a good player that knows the verbs. None of it may cost a match."""

FAULTS: Final[Mapping[str, tuple[str, Object]]] = {
    "chooses Even": ("E004", chooses(parity_choice="Even")),
    "chooses EVEN by choice": ("E004", chooses(parity_choice=ABSENT, choice="EVEN")),
    "chooses 2": ("E004", chooses(parity_choice=2)),
}
"""What no dialect excuses, with the code it is on record under: a value is never repaired."""


def _player(name: str, how: Mapping[str, Any]) -> Callable[[], Peer]:
    return partial(Peer, name, **{"convention": VERBS_ONLY, **how})


PLAYERS: Final[Mapping[str, Callable[[], Peer]]] = {
    **{name: _player(name, {"convention": one}) for name, one in CONVENTIONS.items()},
    **{name: _player(name, how) for name, how in HABITS.items()},
}
"""Players that must get through a league without a technical loss."""

LOSERS: Final[Mapping[str, tuple[str, Callable[[], Peer]]]] = {
    name: (code, _player(name, how)) for name, (code, how) in FAULTS.items()
}
