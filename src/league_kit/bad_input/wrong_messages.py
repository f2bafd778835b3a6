"""Wrong texts, wrong JSON-RPC and wrong messages, field by field: the invalid vectors of the specification with the ids
of a live league, and the envelope of every message that a role takes."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from league.protocol.exchanges import EXCHANGES, REPLY_TYPES, Role
from league.protocol.messages import MESSAGES
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
from league_kit.wire import RawRequest

FILE: Final = "bad_input.json"
Fields = dict[str, Any]
"""JSON (Any: whatever stands there)."""

ENVELOPE: Final[Mapping[str, tuple[tuple[str, object, str], ...]]] = {
    "protocol": (
        *(("league.v1", "league.v1", "E018"), ("another-case", "LEAGUE.V2", "E018"), ("empty", "", "E018")),
        *(("a-number", 2, "E007"), ("true", True, "E007"), ("an-array", ["league.v2"], "E007")),
    ),
    "sender": (
        *(("a-number", 7, "E007"), ("an-object", {}, "E007"), ("empty", "", "E008")),
        *(("an-unknown-role", "coach:P01", "E008"), ("no-name", "player:", "E008")),
    ),
    "timestamp": (
        *(("a-number", 1735689600, "E007"), ("words", "yesterday", "E021"), ("empty", "", "E021")),
        *(
            ("another-zone", "2025-06-01T12:00:00+02:00", "E021"),
            ("a-zone-in-words", "2025-06-01T10:00:00 CET", "E021"),
        ),
        *(("a-blank", "2025-06-01 10:00:00Z", "E021"), ("no-such-day", "2025-02-30T10:00:00Z", "E021")),
    ),
    "conversation_id": (("a-number", 7, "E007"), ("an-object", {}, "E007"), ("empty", "", "E008")),
}
"""Wrong values of the envelope that no profile lets pass, each with its name and its error."""
_BY_REPLIES: Final = ("timestamp",)
"""Of a reply, `compat` lets any such value pass; LEAGUE_ERROR is one."""


@cache
def _data() -> Fields:
    data: Fields = json.loads(files("league_kit").joinpath(FILE).read_text(encoding="utf-8"))
    return data


def wrong_messages(role: str) -> Iterator[BadInput]:
    """Every wrong text and message, for an agent of this role."""
    for row in _data()["inputs"]:
        if role in row["roles"]:
            yield _of_vector(row)
    receiver = Role.MANAGER if role == "manager" else Role(role)
    taken = [kind for kind, row in EXCHANGES.items() if receiver in row.receivers]
    for kind in taken:
        yield from _envelopes(kind)
    for kind in (*EXCHANGES, *REPLY_TYPES):
        if kind not in taken and not (kind in REPLY_TYPES and role == "referee"):
            yield from _not_for(kind, role)


def bad_endpoints() -> list[Fields]:
    """Addresses that no policy takes, each with its error and why."""
    rows: list[Fields] = _data()["endpoints"]
    return rows


def right_message(kind: str, standing: Standing, base: int = 0) -> Fields:
    """A right message of this type with the ids of this league, from its right sender with its token."""
    message = standing.live(copy.deepcopy(_data()["bases"][kind][base]))
    assert isinstance(message, dict)
    token = standing.token_of(message)
    if token is not None and "auth_token" in message:
        message["auth_token"] = token
    return message


def text_of(row: Mapping[str, Any]) -> bytes:
    """The bytes of a vector that is a text."""
    if "raw_base64" in row:
        return base64.b64decode(row["raw_base64"])
    text = str(row["raw"])
    if "repeat" in row:
        text = text.replace(row["repeat"]["find"], row["repeat"]["text"] * row["repeat"]["times"])
    return text.encode()


def _of_vector(row: Fields) -> BadInput:
    kind = row.get("kind")
    what, error = str(row["description"]), str(row["error"])
    make = posted(text_of(row)) if kind is None else _changed(kind, row["base"], row["changes"])
    asks = kind is not None and EXCHANGES[kind].token
    # Without its type nobody can tell which numbers its errors have.
    untyped = kind is not None and any(steps == ["message_type"] for steps, *_ in row["changes"])
    expected = refused(error, None if untyped else kind)
    return BadInput(str(row["name"]), str(row["requirement"]), what, expected, make, as_member=asks)


def _changed(kind: str, base: int, changes: list[list[Any]]) -> Make:
    def make(standing: Standing) -> RawRequest:
        message = right_message(kind, standing, base)
        for steps, *value in changes:
            _change(message, standing.live(steps), [standing.live(one) for one in value])
        return RawRequest(standing.url, encoded(call_of(message, method_of(kind))))

    return make


def _change(message: Any, steps: Any, value: list[object]) -> None:
    """Any: the way through a JSON value."""
    *way, last = steps
    for step in way:
        message = message[step]
    if value:
        message[last] = value[0]
    else:
        del message[last]


def _envelopes(kind: str) -> Iterator[BadInput]:
    for name, rows in ENVELOPE.items():
        if name in _BY_REPLIES and MESSAGES[kind].is_reply:
            continue
        for word, value, error in rows:
            what = f"{name} of {kind} is {json.dumps(value)}"
            yield BadInput(
                f"{kind.lower()}.envelope.{name}.{word}",
                f"ENVELOPE.{name}",
                what,
                refused(error, kind),
                _changed(kind, 0, [[[name], value]]),
                as_member=EXCHANGES[kind].token,
            )


def _not_for(kind: str, role: str) -> Iterator[BadInput]:
    """A message that a role does not take, by its verb and by its type."""
    for method in dict.fromkeys((method_of(kind), kind)):
        body = encoded(call_of({"protocol": "league.v2", "message_type": kind, "sender": "player:P01"}, method))
        what = f"{method}, which no {role} takes"
        yield BadInput(f"rpc.not-here.{method}", "RPC.unknown_method", what, refused("E036", kind), posted(body))
