"""Tools of an MCP server (spec section 13.1): which of them takes a message, which arguments it declares, and in which
of MCP's eras the server is spoken to. Manager, referee and kit call tools through this module. Pure.

A schema of others may be anything, so references are followed a few steps and no further.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import Struct

from league.gateway.readers import foreign_assignments
from league.gateway.readers.foreign_json import Fields, as_object, flattened, text_in
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import MESSAGES
from league.protocol.wire.jsonrpc import NESTED_METHODS

HANDSHAKE: Final = "2025-06-18"
"""The version of MCP that is asked for in a handshake."""
STATELESS: Final = "2026-07-28"
"""The version of MCP without handshake and session: every request says all about itself."""
CLIENT: Final = {"name": "agent-league", "version": "1"}
META: Final[Fields] = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
"""What a request without a session carries as `_meta`."""
GREETING: Final[Fields] = {
    "protocolVersion": HANDSHAKE,
    "capabilities": {},
    "clientInfo": CLIENT,
}
"""The params of `initialize`."""
PAGES: Final = 16
"""The maximum number of pages of a list of tools that are asked for."""
LONGEST_CURSOR: Final = 2048
DEEPEST: Final = 4
"""The maximum number of levels in which a message is wrapped, and of references that are followed."""
_VERSION: Final = re.compile(r"\d{4}-\d\d-\d\d")
_PLAIN: Final = re.compile(r"[\x21-\x7e]+")

_HINTS: Final[Mapping[str, tuple[str, ...]]] = {
    "GAME_INVITATION": ("invitation", "invite", "join"),
    "CHOOSE_PARITY_CALL": ("parity", "choose", "choice", "move"),
    "GAME_MOVE_CALL": ("move", "choice"),
    "GAME_OVER": (
        "game_over",
        "match_result",
        "over",
        "result",
        "game_has_ended",
        "game_end",
    ),
    "GAME_ERROR": ("game_error", "error"),
    "LEAGUE_ERROR": ("league_error",),
    "ROUND_ANNOUNCEMENT": (
        "announcement",
        "announce",
        "notify_round",
        "new_round",
        "round_start",
    ),
    "ROUND_COMPLETED": ("round_completed", "round_complete", "round_end"),
    "LEAGUE_STANDINGS_UPDATE": ("standings", "table", "ranking"),
    "LEAGUE_COMPLETED": ("league_completed", "league_complete", "league_end"),
    "LEAGUE_REGISTER_REQUEST": (
        "register_player",
        "player_register",
        "register",
    ),
    "REFEREE_REGISTER_REQUEST": ("register_referee", "referee_register"),
    "MATCH_RESULT_REPORT": ("match_result", "report"),
    "LEAGUE_QUERY": ("query",),
    "START_MATCH": ("start_match", "start", "run_match"),
    "MATCH_ASSIGNMENT": ("assign",),
    "GET_ASSIGNED_MATCHES": ("assigned", "my_matches"),
}
"""Words in the name of the tool for a message, the surest first."""


_OWN_NAMES: Final = ("name", "player_name", "referee_name", "agent_id", "player_id", "referee_id")


# --- which tool -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool an agent offers, or just the method that it knows; `schema` declares the arguments."""

    name: str
    about: str = ""
    schema: Fields = field(default_factory=dict, compare=False, repr=False)


class ToolList:
    """The tools of an agent, listed page by page. `params` are those of the next `tools/list`, None after the last."""

    def __init__(self) -> None:
        self.tools: tuple[Tool, ...] = ()
        self.params: Fields | None = {}
        self._cursors: list[str] = []

    def add(self, content: object) -> None:
        """Add the answer to a `tools/list`. If it names no page, or the same one again, everything is listed."""
        fields = as_object(content)
        rows = fields.get("tools")
        if isinstance(rows, list):
            self.tools += tuple(_tool(row) for row in map(as_object, rows) if text_in(row, "name"))
        cursor = fields.get("nextCursor")
        self.params = None
        if self._may_follow(cursor):
            self.params = {"cursor": cursor}
        self._cursors.append(str(cursor))

    def _may_follow(self, cursor: object) -> bool:
        """Is this another page to ask for? A server cannot keep us asking without end."""
        if not isinstance(cursor, str) or len(cursor) > LONGEST_CURSOR:
            return False
        return cursor not in self._cursors and len(self._cursors) + 1 < PAGES


def _tool(row: Fields) -> Tool:
    return Tool(
        row["name"],
        str(row.get("description", "")),
        as_object(row.get("inputSchema")),
    )


def verbs(message_type: str) -> tuple[str, ...]:
    """Return the names of the method or the tool for a message, the likeliest first."""
    row = EXCHANGES.get(message_type)
    if row is not None:
        return (row.method, *row.other_methods)
    return foreign_assignments.VERBS.get(message_type, (message_type.lower(),))


def pick(message_type: str, offered: Iterable[Tool]) -> Tool | None:
    """Pick the tool for a message among those an agent lists: by name, by its description, or by words in its name."""
    tools = {tool.name.lower(): tool for tool in offered}
    lower = message_type.lower()
    names = (
        *verbs(message_type),
        lower,
        f"receive_{lower}",
        *NESTED_METHODS,
    )
    for name in names:
        if name in tools:
            return tools[name]
    type_as_word = re.compile(rf"\b{re.escape(message_type)}\b")
    for tool in tools.values():
        if type_as_word.search(tool.about):
            return tool
    # Words are the last resort: the surest word decides, not the first tool.
    for hint in _HINTS.get(message_type, ()):
        for name, tool in tools.items():
            if hint in name:
                return tool
    return None


# --- which arguments --------------------------------------------------------------------------------------------------


def arguments(tool: Tool, message: Fields) -> Fields:
    """Return the arguments of a tool for a message: only the fields it declares, because many tools refuse the rest.
    The whole message goes into a parameter that is not one of its fields. A tool that declares nothing gets the message
    as it is."""
    fields = flattened(flattened(message, "move_request"), "context")
    for meta in ("player_meta", "referee_meta"):
        if meta in message:
            fields = {**_registrant(as_object(message[meta])), **flattened(fields, meta)}
    names = set(fields)
    kind = MESSAGES.get(str(message.get("message_type")))
    if kind is not None:
        names.update(kind.__struct_fields__)
    declaration = _Declaration(tool.schema, fields, frozenset(names))
    return declaration.shape(tool.schema, message, DEEPEST)


def _registrant(meta: Fields) -> Fields:
    """Return what tools for registrations call the name and the address of an agent."""
    names = dict.fromkeys(_OWN_NAMES, meta.get("display_name"))
    return names | dict.fromkeys(("endpoint", "url"), meta.get("contact_endpoint"))


class _Declaration(Struct, frozen=True):
    """The schema of a tool, read for one message. `fields` are those of the message, of its move request and of its
    context; `names` also has the fields that the message leaves out."""

    root: Fields
    fields: Fields
    names: frozenset[str]

    def shape(self, schema: Fields, message: Fields, levels: int) -> Fields:
        """Put a message into the shape of a schema, at most this many levels deep."""
        properties = schema.get("properties")
        if not isinstance(properties, dict) or not levels:
            return message
        declared = {}
        wrappers = {}
        for name, place in properties.items():
            if name not in self.names:
                wrappers[name] = place
            elif name in self.fields:
                value = self.fields[name]
                if value is not None or self._takes(place, "null"):
                    declared[name] = self.fit(value, place)
        needed = schema.get("required")
        if not isinstance(needed, list):
            needed = []
        wrapped = self._wrapped(wrappers, needed, bool(declared), message, levels)
        if schema.get("additionalProperties") in (None, False) or wrapped:
            return {**declared, **wrapped}
        return {**message, **declared}

    def _wrapped(
        self,
        wrappers: Fields,
        needed: list[Any],
        has_fields: bool,
        message: Fields,
        levels: int,
    ) -> Fields:
        """Put the message as a whole into a parameter that is none of its fields: as an object, or else as JSON
        text."""
        order = sorted(wrappers, key=lambda name: name not in needed)
        objects = [name for name in order if self._takes(wrappers[name], "object")]
        if has_fields:
            # The tool has the fields already: only what it insists on is filled in.
            objects = [name for name in objects if name in needed]
        else:
            texts = [name for name in order if self._takes(wrappers[name], "string")]
            if texts and not objects:
                return {texts[0]: _text(message)}
            objects = objects[:1]
        wrapped = {}
        for name in objects:
            inner = self._object_at(wrappers[name])
            wrapped[name] = self.shape(inner, message, levels - 1)
        return wrapped

    def fit(self, value: object, place: object) -> object:
        """Return a value as its parameter takes it: text where only text is taken, an object without unknown fields."""
        wants_text = self._takes(place, "string") and not self._takes(place, _KIND_OF.get(type(value), "null"))
        if wants_text and not isinstance(value, str):
            return _text(value)
        if isinstance(value, list):
            items = self._items_at(place)
            return [self.fit(item, items) for item in value]
        declared = self._object_at(place)
        if not isinstance(value, dict) or declared.get("additionalProperties") is not False:
            return value
        properties = as_object(declared.get("properties"))
        fitting = {}
        for name, inner in value.items():
            if name in properties:
                fitting[name] = self.fit(inner, properties[name])
        return fitting

    def _items_at(self, place: object) -> object:
        """Return the schema of the items of a list, None if there is none."""
        for schema in self._alternatives(place):
            if "items" in schema:
                return schema["items"]
        return None

    def _object_at(self, place: object) -> Fields:
        """Return the schema of an object at this place, an empty one if there is none."""
        for schema in self._alternatives(place):
            if "object" in _kinds(schema):
                return schema
        return {}

    def _takes(self, place: object, kind: str) -> bool:
        return any(kind in _kinds(schema) for schema in self._alternatives(place))

    def _alternatives(self, place: object) -> list[Fields]:
        """Return the schema at a place, or those it is one of."""
        schema = self._followed(place)
        union = schema.get("anyOf", schema.get("oneOf"))
        if not isinstance(union, list):
            return [schema]
        return [self._followed(alternative) for alternative in union]

    def _followed(self, place: object) -> Fields:
        """Return the schema that a reference leads to."""
        # References may lead in a circle.
        for _ in range(DEEPEST):
            reference = as_object(place).get("$ref")
            if not isinstance(reference, str):
                break
            place = self.root
            for step in reference.removeprefix("#/").split("/"):
                place = as_object(place).get(step)
        return as_object(place)


_KINDS: Final = (
    "object",
    "array",
    "string",
    "integer",
    "number",
    "boolean",
    "null",
)
_KIND_OF: Final = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
}


def _kinds(schema: Fields) -> tuple[str, ...]:
    """Return the kinds of JSON that a schema takes; one that names none takes all."""
    kind = schema.get("type")
    if isinstance(kind, str):
        return (kind,)
    if isinstance(kind, list):
        return tuple(map(str, kind))
    if "type" not in schema and "properties" in schema:
        return ("object",)
    return _KINDS


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()


# --- in which era -----------------------------------------------------------------------------------------------------


class Session(Struct, frozen=True):
    """How an MCP server wants to be spoken to: with what it answered to the handshake, or without one."""

    version: str = ""
    id: str = ""

    @property
    def is_stateless(self) -> bool:
        return self.version == STATELESS

    def headers(self, method: str, name: str = "") -> tuple[tuple[str, str], ...]:
        """Return the headers of a request, `name` being that of the tool it calls."""
        headers = [
            ("Mcp-Session-Id", self.id),
            ("MCP-Protocol-Version", self.version),
        ]
        if self.is_stateless:
            headers += [
                ("Mcp-Method", method),
                ("Mcp-Name", _header_value(name)),
            ]
        return tuple((title, value) for title, value in headers if value)

    def params(self, params: Fields) -> Fields:
        """Return the params of a request."""
        if self.is_stateless:
            return {**params, "_meta": META}
        return params


NO_SESSION: Final = Session()
WITHOUT_HANDSHAKE: Final = Session(STATELESS)


def greeted(content: object, session_id: str) -> Session:
    """Return the session that the answer to `initialize` opens."""
    version = as_object(content).get("protocolVersion")
    if not isinstance(version, str) or not _VERSION.fullmatch(version):
        version = HANDSHAKE
    return Session(version, session_id)


def _header_value(name: str) -> str:
    """Return a name as MCP writes it into a header, whatever characters it has."""
    if not name or _PLAIN.fullmatch(name):
        return name
    encoded = base64.b64encode(name.encode(errors="replace"))
    return f"=?base64?{encoded.decode()}?="
