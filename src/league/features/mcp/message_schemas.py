"""The message classes for other languages: a JSON Schema for each message, and the list of clauses it can violate.

A schema accepts what `strict` reading accepts, as far as JSON Schema can: it cannot tell 1.0 from 1, and it cannot see
that a player plays twice in a round. Python and ECMAScript read the patterns alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from msgspec import inspect as ms

from league.protocol.endpoints import URL_MAX
from league.protocol.message.consistency import (
    MAX_CONCURRENT_MATCHES,
    MAX_ROWS,
    MOST_CONCURRENT_MATCHES,
    TABLES,
)
from league.protocol.message.exchanges import Role, speakers
from league.protocol.message.fields import JOINERS, NAME_MAX, QUERY_TYPES, UNSEEN
from league.protocol.message.judge import FieldSpec, peel, place_of, specs
from league.protocol.message.messages import MESSAGES
from league.protocol.versions import SEMVER_PATTERN

Schema = dict[str, Any]
"""A JSON Schema (Any: its values are whatever JSON holds)."""

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_END = r"$(?!\n)"  # Python's `$` also matches before a final line break


def schema_id(message_type: str) -> str:
    """The `$id` of a message's schema."""
    return f"urn:league.v2:schema:{message_type}"


def schema(message_type: str) -> Schema:
    """The self-contained JSON Schema (2020-12) of one message."""
    body = _object(specs(MESSAGES[message_type]), {"sender": _sender(message_type)})
    message_schema: Schema = {
        "$schema": DIALECT,
        "$id": schema_id(message_type),
        "title": message_type,
        "description": f"A {message_type} of league.v2, as read in the strict profile. Unknown fields are ignored.",
        "type": "object",
        "properties": {"message_type": {"const": message_type}, **body["properties"]},
        "required": ["message_type", *body.get("required", [])],
        **_ACROSS_FIELDS.get(message_type, {}),
    }
    # The length of a table is not part of its field: compat accepts longer ones.
    if message_type in TABLES:
        message_schema["properties"][TABLES[message_type]]["maxItems"] = MAX_ROWS
    definitions: dict[str, Schema] = {}
    _collect(message_schema, definitions)
    if definitions:
        message_schema["$defs"] = definitions
    return message_schema


# --- fields -----------------------------------------------------------------------------------------------------------


def _object(
    fields: Iterable[FieldSpec],
    special: Mapping[str, Schema] = MappingProxyType({}),
) -> Schema:
    properties: dict[str, Schema] = {}
    for spec in fields:
        inner = special.get(spec.name) or _value(spec.type, spec.rule)
        properties[spec.name] = _or_null(inner) if _may_be_null(spec) else inner
    mandatory = [spec.name for spec in fields if spec.required or spec.needed]
    return {
        "type": "object",
        "properties": properties,
        **_stated(required=mandatory or None),
    }


def _may_be_null(spec: FieldSpec) -> bool:
    """Whether a field may be null: an optional field that is null counts as absent."""
    return not spec.needed and spec.code is None and (spec.nullable or not spec.required)


def _or_null(inner: Schema) -> Schema:
    # Where anything is allowed, null is too.
    return inner and {"anyOf": [inner, {"type": "null"}]}


def _value(info: ms.Type, rule: str | None = None) -> Schema:
    if rule is not None:
        return {"$ref": f"#/$defs/{_NAMES.get(rule, rule)}"}
    if isinstance(info, ms.StrType):
        return {
            "type": "string",
            **_stated(minLength=info.min_length, pattern=info.pattern),
        }
    if isinstance(info, ms.IntType | ms.FloatType):
        kind = "integer" if isinstance(info, ms.IntType) else "number"
        return {"type": kind, **_stated(minimum=info.ge, maximum=info.le)}
    if isinstance(info, ms.BoolType):
        return {"type": "boolean"}
    if isinstance(info, ms.LiteralType):
        return _one_of(info.values)
    return _compound(info)


def _one_of(values: Collection[object]) -> Schema:
    options = list(values)
    if len(options) == 1:
        return {"const": options[0]}
    return {"enum": options}


def _compound(info: ms.Type) -> Schema:
    if isinstance(info, ms.ListType):
        return {
            "type": "array",
            **_stated(items=_element(info.item_type), minItems=info.min_length),
        }
    if isinstance(info, ms.DictType):
        return {
            "type": "object",
            **_stated(additionalProperties=_element(info.value_type)),
        }
    if isinstance(info, ms.StructType):
        return _object(specs(info.cls))
    return {}


def _element(info: ms.Type) -> Schema | None:
    """The schema of an element of an array or a value of a map; None where anything is allowed."""
    bare, extra, _ = peel(info)
    return _value(bare, extra.get("rule")) or None


def _stated(**keywords: object) -> Schema:
    """These keywords, without those that have no value."""
    return {name: value for name, value in keywords.items() if value is not None}


def _collect(node: object, definitions: dict[str, Schema]) -> None:
    """Add the definitions that this schema refers to."""
    if isinstance(node, dict):
        if "$ref" in node:
            name = node["$ref"].removeprefix("#/$defs/")
            definitions[name] = _DEFINITIONS[name]
        for inner in node.values():
            _collect(inner, definitions)
    elif isinstance(node, list):
        for inner in node:
            _collect(inner, definitions)


# --- the grammar of section 3.5 as patterns ---------------------------------------------------------------------------


def _days(dash: str) -> str:
    """The pattern of every day that exists; the year 0000 is excluded elsewhere."""
    leap = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)"
    common = (
        f"(?:0[13578]|1[02]){dash}(?:0[1-9]|[12][0-9]|3[01])"
        f"|(?:0[469]|11){dash}(?:0[1-9]|[12][0-9]|30)"
        f"|02{dash}(?:0[1-9]|1[0-9]|2[0-8])"
    )
    return f"[0-9]{{4}}{dash}(?:{common})|{leap}{dash}02{dash}29"


_TIMESTAMP = (
    f"^(?!0000)(?:{_days('-')}|{_days('')})"
    rf"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{{1,9}})?(?:Z|\+00:00){_END}"
)

_BLANK = r" \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
# Unicode's Cc, Cf, Cs, Zl and Zp except for the joiners. Characters beyond the first 65,536 stand here as they are,
# because the two languages share no escape for them.
_HIDDEN = (
    r"\u0000-\u001f\u007f-\u009f\u00ad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f"
    r"\u2028-\u202e\u2060-\u2064\u2066-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0001\U000e0020-\U000e007f"
)

_LABEL = "[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_PORT = "(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_NUMBER = "(?:[0-9]+|0[Xx][0-9A-Fa-f]*)"
_HOST_ENDS = f"(?:[:/?]|{_END})"
_URL = (
    r"^[Hh][Tt][Tt][Pp][Ss]?://"
    rf"(?:(?!(?:{_LABEL}\.)*{_NUMBER}\.?{_HOST_ENDS})|(?={_BYTE}(?:\.{_BYTE}){{3}}{_HOST_ENDS}))"
    rf"(?:{_LABEL}(?:\.{_LABEL})*\.?|\[[0-9A-Fa-f:.]{{2,45}}\])"
    rf"(?::{_PORT})?"
    rf'(?:[/?][!"$-\[\]-~]*)?{_END}'
)

_DEFINITIONS: Mapping[str, Schema] = {
    "timestamp": {
        "description": "UTC, ISO 8601 (section 3.4); write YYYY-MM-DDTHH:MM:SSZ",
        "type": "string",
        "pattern": _TIMESTAMP,
    },
    "version": {
        "description": "a version by Semantic Versioning 2.0",
        "type": "string",
        "pattern": f"^{SEMVER_PATTERN[1:-1]}{_END}",
    },
    "protocol_version": {
        "description": "a version from 2.0.0 on, below 3.0.0",
        "type": "string",
        "pattern": rf"^(?=2\.)(?!2\.0\.0-){SEMVER_PATTERN[1:-1]}{_END}",
    },
    "display_name": {
        "description": f"1 to {NAME_MAX} visible characters, not counting blanks around them",
        "type": "string",
        "pattern": rf"^[{_BLANK}]*[^{_BLANK}](?:[\s\S]{{0,{NAME_MAX - 2}}}[^{_BLANK}])?[{_BLANK}]*{_END}",
        "not": {"pattern": f"[{_HIDDEN}{UNSEEN}]|(?:^|[{_BLANK}])[{JOINERS}]"},
    },
    "url": {
        "description": "an http or https address without credentials or fragment (section 3.5)",
        "type": "string",
        "maxLength": URL_MAX,
        "pattern": _URL,
    },
    "query_type": {"enum": list(QUERY_TYPES)},
    "player_id": {"type": "string", "pattern": f"^P[0-9]{{2,}}{_END}"},
    "referee_id": {"type": "string", "pattern": f"^REF[0-9]{{2,}}{_END}"},
    "token": {"type": "string", "minLength": 1},
    "error_code": {"type": "string", "pattern": f"^E[0-9]{{3}}{_END}"},
}
_NAMES = {"reply_timestamp": "timestamp", "semver": "version"}


def _sender(message_type: str) -> Schema:
    """The senders of a message: the manager with or without a name, the others with their id."""
    senders = []
    for role in speakers(message_type):
        name = r"(?::[^\n]+)?" if role is Role.MANAGER else r":[^\n]+"
        senders.append(f"{role.value}{name}")
    return {"type": "string", "pattern": f"^(?:{'|'.join(senders)}){_END}"}


# --- clauses about several fields (protocol.consistency) --------------------------------------------------------------

_NOT_NULL: Schema = {"not": {"type": "null"}}
_PARITIES: Schema = {"properties": {"choices": {"additionalProperties": {"enum": ["even", "odd", None]}}}}


def _present(*names: str) -> Schema:
    return {"properties": dict.fromkeys(names, _NOT_NULL), "required": list(names)}


def _in(name: str, inner: Schema) -> Schema:
    return {"properties": {name: inner}, "required": [name]}


def _is(name: str, *values: object) -> Schema:
    return _in(name, _one_of(values))


def _when(condition: Schema, then: Schema) -> Schema:
    return {"if": condition, "then": then}


def _both(*parts: Schema) -> Schema:
    return {"allOf": list(parts)}


_EVEN_ODD = _is("game_type", "even_odd")
_PLAYED = _in("game_result", _is("status", "WIN", "DRAW"))
_ABOUT_A_PLAYER = _is("query_type", "GET_NEXT_MATCH", "GET_PLAYER_STATS")
_ASKED_BY_REFEREE = _in("sender", {"pattern": "^referee:"})

_DRAWN: Schema = {"minimum": 1, "maximum": 10}
_ACROSS_FIELDS: Mapping[str, Schema] = {
    "REFEREE_REGISTER_REQUEST": {
        "allOf": [
            _in(
                "referee_meta",
                {"properties": {"max_concurrent_matches": {"maximum": MOST_CONCURRENT_MATCHES}}},
            ),
            _in(
                "referee_meta",
                {
                    "anyOf": [
                        _present("token_scheme"),
                        {"properties": {"max_concurrent_matches": {"maximum": MAX_CONCURRENT_MATCHES}}},
                    ]
                },
            ),
        ]
    },
    "REFEREE_REGISTER_RESPONSE": _when(_is("status", "ACCEPTED"), _present("referee_id")),
    "LEAGUE_REGISTER_RESPONSE": _when(_is("status", "ACCEPTED"), _present("player_id")),
    "ROUND_ANNOUNCEMENT": {
        "$comment": "No player may play two matches or against itself; JSON Schema cannot express that."
    },
    "ROUND_COMPLETED": {"anyOf": [_present("matches_completed"), _present("matches_played")]},
    "GAME_OVER": _both(
        _when(
            _in("game_result", _is("status", "WIN")),
            _in("game_result", _present("winner_player_id")),
        ),
        _when(
            _both(_EVEN_ODD, _PLAYED),
            _in("game_result", _present("drawn_number", "number_parity")),
        ),
        _when(
            _EVEN_ODD,
            _in(
                "game_result",
                {"properties": {**_PARITIES["properties"], "drawn_number": _DRAWN}},
            ),
        ),
    ),
    "MATCH_RESULT_REPORT": _when(
        _EVEN_ODD,
        _in("result", _in("details", {**_PARITIES, "required": ["drawn_number"]})),
    ),
    "LEAGUE_QUERY": _when(
        _both(_ABOUT_A_PLAYER, _ASKED_BY_REFEREE),
        _in("query_params", {**_NOT_NULL, **_present("player_id")}),
    ),
    "LEAGUE_QUERY_RESPONSE": _both(
        _when(_is("success", True), _present("data")),
        _when(_is("success", False), _present("error")),
    ),
}


# --- clauses ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One place of a message that can be wrong: the id of its requirement, its path, its type.

    `field` is None for the elements of an array (`[]`) and the values of a map (`.*`).
    """

    requirement: str
    path: str
    type: ms.Type
    field: FieldSpec | None


def clauses(message_type: str) -> Iterator[FieldRequirement]:
    """Every place of this message, in the order of its table; the envelope's fields come first."""
    for spec in specs(MESSAGES[message_type]):
        yield from _clauses(place_of(message_type, spec.name).clause, spec.name, spec)


def _clauses(requirement: str, path: str, spec: FieldSpec) -> Iterator[FieldRequirement]:
    yield FieldRequirement(requirement, path, spec.type, spec)
    yield from _inside(requirement, path, spec.type)


def _inside(requirement: str, path: str, info: ms.Type) -> Iterator[FieldRequirement]:
    if isinstance(info, ms.StructType):
        for spec in specs(info.cls):
            yield from _clauses(f"{requirement}.{spec.name}", f"{path}.{spec.name}", spec)
    elif isinstance(info, ms.ListType):
        yield from _elements(f"{requirement}[]", f"{path}[]", info.item_type)
    elif isinstance(info, ms.DictType):
        yield from _elements(f"{requirement}.*", f"{path}.*", info.value_type)


def _elements(requirement: str, path: str, info: ms.Type) -> Iterator[FieldRequirement]:
    bare = peel(info).bare
    if not isinstance(bare, ms.AnyType):
        yield FieldRequirement(requirement, path, bare, None)
        yield from _inside(requirement, path, bare)
