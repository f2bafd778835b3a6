"""The shapes of vectors, and how a message is taken apart to make one."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping

from scripts.vectors.tables import BASES, ENVELOPE, FIELDS, KEPT_IN_THE_SMALLEST, REQUESTS, Fields, Json

ABSENT = object()
MESSAGE_LIMIT, MANAGER_LIMIT = 10_240, 1024 * 1024
"""R-24."""
TABLES = (
    ("LEAGUE_STANDINGS_UPDATE", "standings"),
    ("LEAGUE_COMPLETED", "final_standings"),
    ("LEAGUE_QUERY_RESPONSE", "standings"),
)

Vector = dict[str, Json]
Changes = Mapping[str, Json]


def steps(path: str) -> list[str | int]:
    return [int(step) if step.isdigit() else step for step in re.findall(r"[^.\[\]]+", path)]


def changed(message: Fields, changes: Changes) -> Fields:
    """A copy of the message with other values at these paths; ABSENT takes a field away."""
    result = copy.deepcopy(message)
    for path, value in changes.items():
        *way, last = steps(path)
        place: Json = result
        for step in way:
            place = place[step]
        if value is ABSENT:
            del place[last]
        else:
            place[last] = value
    return result


def has(message: Fields, path: str) -> bool:
    place: Json = message
    try:
        for step in steps(path):
            place = place[step]
    except LookupError:
        return False
    return True


def base_with(message_type: str, path: str) -> Fields:
    """The first whole message of this type that has a value at this path."""
    for base in BASES[message_type]:
        if has(base, path):
            return base
    raise SystemExit(
        f"scripts/vectors/tables.py: FIELDS has a row for {path} of {message_type}, but no message in "
        f"BASES[{message_type!r}] has this field. Add it to one of them, with a right value."
    )


def check_tables() -> None:
    """Exit with a sentence if FIELDS and BASES do not list the same messages."""
    described = {line for line in FIELDS.split("\n") if line and not line.startswith(" ")}
    for message_type in sorted(described - set(BASES)):
        raise SystemExit(
            f"scripts/vectors/tables.py: FIELDS describes {message_type}, but BASES has no message of this type. "
            "Add a whole, right message with all its fields."
        )
    for message_type in sorted(set(BASES) - described):
        raise SystemExit(
            f"scripts/vectors/tables.py: BASES has messages of type {message_type}, but FIELDS does not describe it. "
            "Add its name and a row for each of its fields."
        )


def rows(message_type: str) -> Iterator[tuple[str, str, str]]:
    """The path, kind and presence of each field of a message."""
    current = ""
    for line in FIELDS.strip().splitlines():
        words = line.split()
        if len(words) == 1:
            current = words[0]
        elif current == message_type:
            yield words[0], words[1], words[2]


def smallest(message_type: str) -> Fields:
    """The message with nothing that it may lack."""
    base = BASES[message_type][0]
    optional = [path for path, _, presence in rows(message_type) if presence == "o"]
    kept = KEPT_IN_THE_SMALLEST.get(message_type, ())
    envelope = ["auth_token"]
    if message_type not in REQUESTS:
        envelope += ["protocol", "sender", "timestamp", "conversation_id"]
    gone: list[str] = []
    for path in (*envelope, *optional):
        inside_what_is_gone = any(path.startswith(f"{other}.") for other in gone)
        if has(base, path) and path not in kept and not inside_what_is_gone:
            gone.append(path)
    message = changed(base, dict.fromkeys(gone, ABSENT))
    if message_type == "ROUND_ANNOUNCEMENT":
        del message["matches"][1:]
    return message


def clause(message_type: str, path: str) -> str:
    """The requirement a field answers to."""
    head = str(steps(path)[0])
    place = re.sub(r"\[[0-9]+\]", "[]", path)
    return f"ENVELOPE.{path}" if head in ENVELOPE else f"{message_type}.{place}"


def compact(document: Json) -> str:
    return json.dumps(document, separators=(",", ":"))


def bad(name: str, description: str, content: Vector, error: str, path: str, requirement: str, beyond: str) -> Vector:
    vector = {"name": name, "description": description, **content, "error": error, "path": path}
    vector["requirement"] = requirement
    return {**vector, "beyond_schema": beyond} if beyond else vector


def good(name: str, description: str, message_type: str | None, content: Vector) -> Vector:
    return {"name": name, "description": description, "message_type": message_type, **content}


def bad_message(
    name: str, what: str, base: Fields, changes: Changes, error: str, path: str, beyond: str | None = None
) -> Vector:
    message = changed(base, changes)
    kind = base["message_type"]
    # 1.0 would not survive every JSON library, so such a message is given as text.
    as_text = any(isinstance(value, float) and value.is_integer() for value in changes.values())
    content: Vector = {"raw": compact(message)} if as_text else {"message": message}
    return bad(f"{kind.lower()}.{name}", what, content, error, path, clause(kind, path), beyond or "")


def call(message: Json, method: str = "handle_game_invitation", **members: Json) -> Fields:
    """A JSON-RPC request."""
    document = {"jsonrpc": "2.0", "id": 1, "method": method, "params": message, **members}
    return {name: value for name, value in document.items() if value is not ABSENT}


def with_extra(text: str) -> str:
    """A right GAME_INVITATION with an unknown field whose value is this text."""
    return compact({**smallest("GAME_INVITATION"), "extra": "@"}).replace('"@"', text)


def nested(depth: int) -> str:
    """The message is the first level."""
    return with_extra("[" * (depth - 1) + "]" * (depth - 1))


def table_of(message_type: str, field: str, rows: int) -> Vector:
    """A table of so many equal rows."""
    message = base_with(message_type, field)
    row = compact(message[field][0])
    raw = compact({**message, field: ["@@"]}).replace('"@@"', f"{row}@@")
    return {"raw": raw, "repeat": {"find": "@@", "text": f",{row}", "times": rows - 1}}


def padded(message: Fields, size: int) -> Vector:
    """A text of exactly this many bytes, most of them in an unknown field."""
    raw = compact({**message, "extra": "@@"})
    return {"raw": raw, "repeat": {"find": "@@", "text": "x", "times": size - len(raw) + len("@@")}}
