"""What the installed kit needs of spec/vectors/invalid to send it to a running agent (`league check --hostile`).

A wrong message becomes a right one and what is changed in it, so that the kit can put in the ids and tokens of a live
league. Left out is what `compat` lets pass, for nobody can tell from outside which profile an agent has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from league.features.kit.bad_input.wrong_messages import text_of
from league.features.mcp.plain_server import LIST
from league.letters import Speaker, read_request
from league.protocol.message.envelope import Reading, Unsealed
from league.protocol.message.exchanges import EXCHANGES, Role
from league.protocol.message.messages import AMONG_OURS
from league.protocol.wire.jsonrpc import MANAGER_LIMIT, MESSAGE_LIMIT, BadRequestError
from scripts.vectors.shapes import Vector
from scripts.vectors.tables import BASES, Fields
from scripts.vectors.wrong import invalid

LIMITS = {Role.MANAGER: MESSAGE_LIMIT, Role.REFEREE: MANAGER_LIMIT, Role.PLAYER: MANAGER_LIMIT}
NAMES = {Role.MANAGER: "manager", Role.REFEREE: "referee", Role.PLAYER: "player"}
AS_THEY_STAND = ("json", "rpc", "size")
"""Vectors that are whole texts; of the others only messages that begin an exchange are sent."""
ENDPOINTS = Path(__file__).parent.parent / "spec/vectors/endpoints.json"
EVERYWHERE = ", even where it speaks from"
ABSENT = "{absent}"
"""Stands for the value of a field that is left out."""
IDS = ("P01", "P02", "REF01", "REF02", "R1M1", "league_2025_even_odd")
"""Ids of the right messages, for which the kit puts in those of a live league: they stand in braces."""


def text() -> str:
    """The whole file: the right messages, then one line for each wrong input."""
    rows = [row for vector in invalid() if (row := _row(vector)) is not None]
    bases = {kind: _braced(BASES[kind]) for kind in sorted({row["kind"] for row in rows if "kind" in row})}
    lines, endpoints = (",\n".join(map(json.dumps, one)) for one in (rows, _endpoints()))
    return f'{{"bases": {json.dumps(bases)},\n"endpoints": [\n{endpoints}\n],\n"inputs": [\n{lines}\n]}}\n'


def _endpoints() -> Iterator[Fields]:
    """Those that no policy takes, wherever the registration comes from. (One with a NUL is no text of ours.)"""
    for case in json.loads(ENDPOINTS.read_text("utf-8"))["cases"]:
        verdicts = {case[reach] for reach in ("local", "lan", "public")}
        is_refused = verdicts == {"E008"} or (verdicts == {"E026"} and case["why"].endswith(EVERYWHERE))
        if is_refused and "\0" not in case["endpoint"]:
            yield {"endpoint": case["endpoint"], "error": case["local"], "why": case["why"].removesuffix(EVERYWHERE)}


def _row(vector: Vector) -> Fields | None:
    row: Fields = {"name": vector["name"], "what": vector["description"], "code": vector["error"]}
    row["clause"] = vector["requirement"]
    kind = _kind(vector)
    if kind in AMONG_OURS:
        return None  # it passes only between agents that both declared it
    if kind is None and str(vector["name"]).partition(".")[0] not in AS_THEY_STAND:
        return None
    if kind is None:
        row |= {name: vector[name] for name in ("raw", "raw_base64", "repeat") if name in vector}
        body = text_of(row)
    else:
        message = vector["message"] if "message" in vector else json.loads(vector["raw"])
        body = _call(kind, message)
        base, changes = min(
            ((index, dict(_changes(one, message, ""))) for index, one in enumerate(BASES[kind])),
            key=lambda found: len(found[1]),
        )
        row |= {"kind": kind, "base": base, "set": _braced(changes)}
        if "sender" in changes and vector["path"] != "sender":
            return None  # its sender would have to be another member, whose token the kit does not show
    row["roles"] = [NAMES[role] for role in Role if _refuses(role, body, vector["error"])]
    return row if row["roles"] else None


def _kind(vector: Vector) -> str | None:
    """The type of a vector that is a message; None for a text as it stands."""
    kind = str(vector["name"]).partition(".")[0].upper()
    return kind if kind in EXCHANGES and "repeat" not in vector else None


def _call(kind: str, message: Fields) -> bytes:
    call = {"jsonrpc": "2.0", "id": 1, "method": EXCHANGES[kind].method, "params": message}
    return json.dumps(call).encode()


def _refuses(role: Role, body: bytes, error: str) -> bool:
    """Does this role refuse it with this error in `compat` too?"""
    if LIST.encode() in body:
        return False  # an agent that is an MCP server may answer it
    try:
        content = read_request(body, Speaker(role, role.value, Reading("compat")), LIMITS[role]).content
    except BadRequestError as bad:
        return bad.error.code == error
    return isinstance(content, Unsealed) and [one.code for one in content.violations[:1]] == [error]


def _changes(base: Any, message: Any, place: str) -> Iterator[tuple[str, Any]]:
    """What to change in the one to make it the other: places and values (Any: JSON values)."""
    if isinstance(base, dict) and isinstance(message, dict):
        yield from ((f"{place}.{name}".lstrip("."), ABSENT) for name in base if name not in message)
        for name, value in message.items():
            there = f"{place}.{name}".lstrip(".")
            yield from _changes(base[name], value, there) if name in base else [(there, value)]
    elif isinstance(base, list) and isinstance(message, list) and len(base) == len(message):
        for index, (one, other) in enumerate(zip(base, message, strict=True)):
            yield from _changes(one, other, f"{place}.{index}")
    elif type(base) is not type(message) or base != message:
        yield place, message


def _braced(value: Any) -> Any:
    """The same JSON with the ids in braces (Any: JSON values)."""
    if isinstance(value, dict):
        return {_braced(name): _braced(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_braced(item) for item in value]
    if not isinstance(value, str):
        return value
    role, colon, name = value.rpartition(":")
    if name in IDS and role in ("", "player", "referee"):
        return f"{role}{colon}{{{name}}}"
    return ".".join(f"{{{part}}}" if part in IDS else part for part in value.split("."))
