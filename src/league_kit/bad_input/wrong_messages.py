"""Wrong texts, wrong JSON-RPC and wrong messages, field by field: the invalid vectors of the specification with the ids
of a live league, and the envelope of every message that a role takes.

The vectors come from bad_input.json, which scripts/bad_input.py writes.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from league.protocol.exchanges import EXCHANGES, REPLY_TYPES, Role
from league.protocol.messages import AMONG_OURS, MESSAGES
from league_kit.bad_input.cases import (
    BadInput,
    Make,
    Standing,
    call_of,
    encoded,
    method_of,
    posted,
    refused,
)
from league_kit.kit_wire import RawRequest

FILE: Final = "bad_input.json"
Fields = dict[str, Any]
"""A JSON object (Any: any JSON)."""

# Each row: the name of the case, the wrong value, and its error.
ENVELOPE: Final[Mapping[str, tuple[tuple[str, object, str], ...]]] = {
    "protocol": (
        ("league.v1", "league.v1", "E018"),
        ("another-case", "LEAGUE.V2", "E018"),
        ("empty", "", "E018"),
        ("a-number", 2, "E007"),
        ("true", True, "E007"),
        ("an-array", ["league.v2"], "E007"),
    ),
    "sender": (
        ("a-number", 7, "E007"),
        ("an-object", {}, "E007"),
        ("empty", "", "E008"),
        ("an-unknown-role", "coach:P01", "E008"),
        ("no-name", "player:", "E008"),
    ),
    "timestamp": (
        ("a-number", 1735689600, "E007"),
        ("words", "yesterday", "E021"),
        ("empty", "", "E021"),
        ("another-zone", "2025-06-01T12:00:00+02:00", "E021"),
        ("a-zone-in-words", "2025-06-01T10:00:00 CET", "E021"),
        ("a-blank", "2025-06-01 10:00:00Z", "E021"),
        ("no-such-day", "2025-02-30T10:00:00Z", "E021"),
    ),
    "conversation_id": (
        ("a-number", 7, "E007"),
        ("an-object", {}, "E007"),
        ("empty", "", "E008"),
    ),
}
"""Wrong values of the envelope that no profile accepts."""
_LENIENT_IN_REPLIES: Final = ("timestamp",)
"""Fields in which `compat` accepts any value of a reply; LEAGUE_ERROR is one."""


@cache
def _data() -> Fields:
    data: Fields = json.loads(files("league_kit").joinpath(FILE).read_text(encoding="utf-8"))
    return data


def wrong_messages(role: str) -> Iterator[BadInput]:
    """Return every wrong text and message for an agent of this role."""
    for row in _data()["inputs"]:
        if role in row["roles"]:
            yield _of_vector(row)
    receiver = Role.MANAGER if role == "manager" else Role(role)
    # What passes only between agents that both declared it is not asked of anybody.
    exchanges = [row for row in EXCHANGES.values() if row.message_type not in AMONG_OURS]
    kinds = [row.message_type for row in exchanges if receiver in row.receivers]
    for kind in kinds:
        yield from _envelopes(kind)
    for kind in (*(row.message_type for row in exchanges), *REPLY_TYPES):
        # A referee takes answers that players post as requests of their own.
        is_posted_answer = kind in REPLY_TYPES and role == "referee"
        if kind not in kinds and not is_posted_answer:
            yield from _not_for(kind, role)


def bad_endpoints() -> list[Fields]:
    """Return addresses that no policy accepts, each with its error and the reason."""
    rows: list[Fields] = _data()["endpoints"]
    return rows


def right_message(kind: str, standing: Standing, base: int = 0) -> Fields:
    """Return a right message of this type with the ids of this league, from its right sender with its token."""
    message = standing.live(copy.deepcopy(_data()["bases"][kind][base]))
    assert isinstance(message, dict)
    token = standing.token_of(message)
    if token is not None and "auth_token" in message:
        message["auth_token"] = token
    return message


def text_of(row: Mapping[str, Any]) -> bytes:
    """Return the bytes of a vector that is a text."""
    if "raw_base64" in row:
        return base64.b64decode(row["raw_base64"])
    text = str(row["raw"])
    if "repeat" in row:
        text = text.replace(row["repeat"]["find"], row["repeat"]["text"] * row["repeat"]["times"])
    return text.encode()


def _of_vector(row: Fields) -> BadInput:
    kind = row.get("kind")
    error = str(row["error"])
    if kind is None:
        make = posted(text_of(row))
        expected = refused(error)
    else:
        make = _changed(kind, row["base"], row["changes"])
        # Without its type nobody can tell which numbers its errors have.
        is_untyped = any(steps == ["message_type"] for steps, *_ in row["changes"])
        expected = refused(error, None if is_untyped else kind)
    return BadInput(
        id=str(row["name"]),
        clause=str(row["requirement"]),
        what=str(row["description"]),
        expected=expected,
        make=make,
        as_member=kind is not None and EXCHANGES[kind].token,
    )


def _changed(kind: str, base: int, changes: list[list[Any]]) -> Make:
    def make(standing: Standing) -> RawRequest:
        message = right_message(kind, standing, base)
        for steps, *value in changes:
            _change(message, standing.live(steps), [standing.live(item) for item in value])
        return RawRequest(standing.url, encoded(call_of(message, method_of(kind))))

    return make


def _change(message: Any, steps: Any, value: list[object]) -> None:
    """Set the value at a place in a message, or delete it if there is none. Any: the way through a JSON value."""
    *path, last = steps
    for step in path:
        message = message[step]
    if value:
        message[last] = value[0]
    else:
        del message[last]


def _envelopes(kind: str) -> Iterator[BadInput]:
    for name, rows in ENVELOPE.items():
        if name in _LENIENT_IN_REPLIES and MESSAGES[kind].is_reply:
            continue
        for case, value, error in rows:
            yield BadInput(
                id=f"{kind.lower()}.envelope.{name}.{case}",
                clause=f"ENVELOPE.{name}",
                what=f"{name} of {kind} is {json.dumps(value)}",
                expected=refused(error, kind),
                make=_changed(kind, 0, [[[name], value]]),
                as_member=EXCHANGES[kind].token,
            )


def _not_for(kind: str, role: str) -> Iterator[BadInput]:
    """Send a message that a role does not take, by its verb and by its type."""
    message = {"protocol": "league.v2", "message_type": kind, "sender": "player:P01"}
    for method in dict.fromkeys((method_of(kind), kind)):
        yield BadInput(
            id=f"rpc.not-here.{method}",
            clause="RPC.unknown_method",
            what=f"{method}, which no {role} takes",
            expected=refused("E036", kind),
            make=posted(encoded(call_of(message, method))),
        )
