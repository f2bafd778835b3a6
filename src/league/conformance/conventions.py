"""The five conventions (spec section 13.1): how a request is wrapped, and where its answer is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from league.dialects.forms import halved
from league.protocol.exchanges import EXCHANGES
from league.protocol.jsonrpc import ENVELOPED, joined_halves

Object = dict[str, Any]
"""A JSON object (Any: whatever agents say)."""


class Convention(Enum):
    """In the order in which they are tried."""

    SPEC = "SPEC"
    TYPE = "TYPE"
    TOOLS = "TOOLS"
    NESTED = "NESTED"
    BARE = "BARE"


DOCUMENTED: Final = (Convention.SPEC, Convention.TYPE)
"""Those in the documents: D1 calls by the verb, D2 by the message type (R-01)."""
ABOUT: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "GAME_INVITATION": (("invit",),),
    "CHOOSE_PARITY_CALL": (("parity",), ("choose",)),
    "GAME_MOVE_CALL": (("move",),),
    "GAME_OVER": (("game", "over"), ("game", "end"), ("match", "result"), ("result",)),
    "GAME_ERROR": (("game", "error"), ("error",)),
    "LEAGUE_ERROR": (("league", "error"),),
    "ROUND_ANNOUNCEMENT": (("round", "announ"), ("round", "start"), ("new", "round"), ("round",)),
    "ROUND_COMPLETED": (("round", "complet"), ("round", "end")),
    "LEAGUE_STANDINGS_UPDATE": (("standing",),),
    "LEAGUE_COMPLETED": (("league", "complet"), ("league", "end")),
}
"""Words in the names of tools that take a message, the surest first."""


@dataclass(slots=True)
class CallForm:
    """A convention, and the details of it that an agent turned out to use."""

    convention: Convention = Convention.SPEC
    tools: Mapping[str, str] = field(default_factory=dict)
    """The names of its tools, each with what it says of itself."""
    verbs: Mapping[str, str] = field(default_factory=dict)
    """Methods in SPEC that are not the usual ones."""
    lower_case: bool = False
    """Are the methods in TYPE written in lower case?"""
    method: str = "handle_message"
    """The method of everything in NESTED."""
    headers: tuple[tuple[str, str], ...] = ()
    """Of an MCP session, if the agent opened one."""

    def wrap(self, request_id: object, message: Object, method: str | None = None) -> Object:
        """The JSON document of a request."""
        kind = str(message["message_type"])
        verb = method or self.verbs.get(kind, EXCHANGES[kind].method)
        call: Object = {"jsonrpc": "2.0", "id": request_id, "method": verb, "params": message}
        match self.convention:
            case Convention.TYPE:
                return {**call, "method": method or (kind.lower() if self.lower_case else kind)}
            case Convention.TOOLS:
                return {**call, "method": "tools/call", "params": {"name": self._tool(kind), "arguments": message}}
            case Convention.NESTED:
                inner = halved(message) if self.method == ENVELOPED else {"message": message}
                return {**call, "method": self.method, "params": inner}
            case Convention.BARE:
                return message
            case Convention.SPEC:
                return call

    def _tool(self, kind: str) -> str:
        row = EXCHANGES[kind]
        known = (row.method, *row.other_methods)
        names = [name for name in self.tools if name in known or name.lower() == kind.lower()]
        names += [name for name, about in self.tools.items() if kind in about]
        for words in ABOUT.get(kind, ()):
            names += [name for name in self.tools if all(word in name.lower() for word in words)]
        return names[0] if names else row.method


def unpacked(content: object) -> object:
    """The message MCP content holds; anything else as it is."""
    if not isinstance(content, dict):
        return content
    whole = joined_halves(content)
    if whole is not None:
        return whole
    structured = content.get("structuredContent")
    if isinstance(structured, dict):
        return structured
    try:
        value = json.loads(text_of_content(content))
    except ValueError:
        return content
    return value if isinstance(value, dict) else content


def text_of_content(content: Object) -> str:
    """The text MCP content begins with; empty if it is none."""
    parts = content.get("content")
    first = parts[0] if isinstance(parts, list) and parts else None
    text = first.get("text") if isinstance(first, dict) else None
    return text if isinstance(text, str) else ""


def of_event_stream(body: bytes) -> bytes:
    """The data of the first event: how MCP servers stream an answer."""
    lines = body.replace(b"\r\n", b"\n").partition(b"\n\n")[0].split(b"\n")
    return b"\n".join(line.removeprefix(b"data:").strip() for line in lines if line.startswith(b"data:"))


def message_in(document: object) -> Object:
    """The message of a request in any convention; empty if there is none."""
    value: object = document
    for name in ("params", "arguments", "message"):
        inner = value.get(name) if isinstance(value, dict) and "message_type" not in value else None
        if isinstance(inner, dict):
            value = inner
    value = joined_halves(value) or value
    return value if isinstance(value, dict) and isinstance(value.get("message_type"), str) else {}
