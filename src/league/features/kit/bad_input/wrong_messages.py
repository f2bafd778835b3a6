"""Wrong texts, wrong JSON-RPC and wrong messages: the invalid vectors of the specification with the ids of a live
league, and the rows of bad_messages.toml: wrong envelopes, right messages from the wrong sender or at the wrong time.

The vectors come from bad_input.json, which scripts/bad_input.py writes.
"""

from __future__ import annotations

import base64
import copy
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any, Final

from league.features.kit.bad_input.cases import (
    LEAGUE_WORD,
    BadInput,
    Fields,
    LeaguePhase,
    Standing,
    call_of,
    encoded,
    method_of,
    posted,
    refused,
    rows_of,
)
from league.features.kit.driver.templates import filled, with_words
from league.features.kit.driver.wire import RawRequest
from league.protocol.message.exchanges import EXCHANGES, REPLY_TYPES, Role
from league.protocol.message.messages import AMONG_OURS, MESSAGES
from league.protocol.signing import tokens

FILE: Final = "bad_input.json"
META: Final = {"LEAGUE_REGISTER_REQUEST": "player_meta", "REFEREE_REGISTER_REQUEST": "referee_meta"}
NUMBERS: Final = {"LEAGUE_REGISTER_REQUEST": "P01", "REFEREE_REGISTER_REQUEST": "Ref01"}
"""The number of the kit's member in its name."""
FORBIDDEN: Final = "REGISTER.refuses_forbidden_endpoint"
ABSENT: Final = "{absent}"
IDS: Final = ("P01", "P02", "REF01", "REF02", "R1M1", LEAGUE_WORD)
"""Words that stand for themselves where the live league has no other."""


@cache
def _data() -> Fields:
    data: Fields = json.loads(files("league.features.kit").joinpath(FILE).read_text(encoding="utf-8"))
    return data


def wrong_messages(role: str) -> Iterator[BadInput]:
    """Return every wrong text and message for an agent of this role."""
    for row in _data()["inputs"]:
        if role in row["roles"]:
            yield _of_row(row, row["kind"]) if "kind" in row else _of_text(row)
    receiver = Role.MANAGER if role == "manager" else Role(role)
    # What passes only between agents that both declared it is not asked of anybody.
    exchanges = [row for row in EXCHANGES.values() if row.message_type not in AMONG_OURS]
    kinds = [row.message_type for row in exchanges if receiver in row.receivers]
    for kind in (*(row.message_type for row in exchanges), *REPLY_TYPES):
        # A referee takes answers that players post as requests of their own.
        is_posted_answer = kind in REPLY_TYPES and role == "referee"
        if kind not in kinds and not is_posted_answer:
            yield from _not_for(kind, role)
    requests = [kind for kind in kinds if not MESSAGES[kind].is_reply]
    for row in (*rows_of("bad_messages.toml"), *_endpoints()):
        if row.get("role", role) == role:
            to = row.get("to", kinds)
            yield from (_of_row(row, kind) for kind in (requests if to == "requests" else to))


def right_message(kind: str, standing: Standing, base: int = 0) -> Fields:
    """Return a right message of this type with the ids of this league, from its right sender with its token."""
    message: Fields = with_words(_data()["bases"][kind][base], partial(_word, standing, ""))
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


def _of_text(row: Fields) -> BadInput:
    return BadInput(
        id=row["name"],
        clause=row["clause"],
        what=row["what"],
        expected=refused(row["code"]),
        make=posted(text_of(row)),
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


def _endpoints() -> Iterator[Fields]:
    """Return a row for every address that no policy accepts: those of spec/vectors/endpoints.json."""
    kind = "LEAGUE_REGISTER_REQUEST"
    place = f"{META[kind]}.contact_endpoint"
    for number, row in enumerate(_data()["endpoints"]):
        reason = re.sub(r"[^A-Za-z0-9]+", "-", row["why"])
        code = row["error"]
        clause = FORBIDDEN if code == "E026" else f"{kind}.{place}"
        name = f"endpoint-{number}-{reason}"
        yield {
            "role": "manager",
            "to": [kind],
            "row": name,
            "clause": clause,
            "code": code,
            "set": {place: row["endpoint"]},
        }


def _of_row(row: Fields, kind: str) -> BadInput:
    number = NUMBERS.get(kind, "")
    words = {
        "kind": kind,
        "meta": META.get(kind, ""),
        "row": row.get("row", ""),
        "number": number,
        "number with an O": number.replace("0", "O"),
        "value": ", ".join(map(json.dumps, row["set"].values())),
    }
    changes = with_words(row["set"], words.get)
    if kind in META and isinstance(row.get("to"), list):
        meta = META[kind]
        newcomer = {f"{meta}.display_name": "Newcomer", f"{meta}.contact_endpoint": "{spare endpoint}"}
        changes = {"auth_token": ABSENT, **newcomer, **changes}
    name = filled(row.get("id", "{row}"), words.get)
    message = with_words(row.get("message"), words.get)
    method = row.get("method") or method_of(kind)
    return BadInput(
        id=row.get("name") or (f"{kind.lower()}.{name}" if kind else name),
        clause=filled(row["clause"], words.get),
        what=filled(row.get("what", f"{kind}: {name.replace('-', ' ')}"), words.get),
        # Without its type nobody can tell which numbers its errors have.
        expected=refused(row["code"], None if "message_type" in changes else kind or None),
        make=partial(_said, row, kind, method, changes, message),
        phase=LeaguePhase[row.get("phase", "OPEN")],
        as_member=kind in EXCHANGES and EXCHANGES[kind].token,
        profile=row.get("profile", ""),
    )


def _said(
    row: Fields, kind: str, method: str, changes: Fields, message: Fields | None, standing: Standing
) -> RawRequest:
    """Write a right message with these changes, or the given one."""
    said = right_message(kind, standing, row.get("base", 0)) if message is None else copy.deepcopy(message)
    if "sender" in row:
        said["sender"] = f"referee:{standing.words[row['sender']]}"
        said["auth_token"] = standing.token_of(said)
    find = partial(_word, standing, str(said.get("auth_token")))
    for place, value in with_words(changes, find).items():
        *path, last = [int(step) if step.isdecimal() else step for step in place.split(".")]
        part: Any = said
        for step in path:
            part = part[step]
        if value == ABSENT:
            part.pop(last, None)
        else:
            part[last] = value
    return RawRequest(standing.url, encoded(call_of(said, method)))


def _word(standing: Standing, own_token: str, name: str) -> str | None:
    """Return a word of the live league."""
    subject, _, owner = name.partition(" of ")
    match subject:
        case "token":
            return standing.tokens[standing.words[owner]]
        case "shown":
            return standing.tokens[f"of {owner}"]
        case "own token":
            return own_token
        case "derived":
            return _derived(standing, owner)
        case _:
            return standing.words.get(name, name if name in IDS else None)


def _derived(standing: Standing, sender: str) -> str:
    """Return the token that this sender derives from the first player's: for the first match, or for none."""
    words = standing.words
    player = words["P01"]
    key = tokens.deriver(standing.tokens[player])
    receiver = words["REF01"] if sender == "P01" else player
    if sender == tokens.MANAGER:
        return tokens.derive(key, sender, receiver, words[LEAGUE_WORD])
    return tokens.derive(key, words[sender], receiver, words[LEAGUE_WORD], words["R1M1"], 1)
