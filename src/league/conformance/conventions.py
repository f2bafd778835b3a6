"""The five ways of calling (spec section 13.1): how a request is wrapped, and where its answer lies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from league.protocol.exchanges import EXCHANGES

Object = dict[str, Any]
"""A JSON object (Any: whatever agents say)."""


class Convention(Enum):
    """In the order in which they are tried."""

    SPEC = "SPEC"
    TYPE = "TYPE"
    TOOLS = "TOOLS"
    NESTED = "NESTED"
    BARE = "BARE"


ABOUT: Final[Mapping[str, str]] = {
    "GAME_INVITATION": "invit",
    "CHOOSE_PARITY_CALL": "parity",
    "GAME_MOVE_CALL": "move",
    "GAME_OVER": "over",
    "GAME_ERROR": "error",
    "ROUND_ANNOUNCEMENT": "round",
    "LEAGUE_STANDINGS_UPDATE": "standings",
}
"""What the name of somebody's tool for a message has in it."""


@dataclass(slots=True)
class Way:
    """A convention, with the names its tools turned out to have."""

    convention: Convention = Convention.SPEC
    tools: tuple[str, ...] = field(default=())

    def wrap(self, request_id: object, message: Object, method: str | None = None) -> Object:
        """The JSON document of a request."""
        kind = str(message["message_type"])
        verb = method or EXCHANGES[kind].method
        call: Object = {"jsonrpc": "2.0", "id": request_id, "method": verb, "params": message}
        match self.convention:
            case Convention.TYPE:
                return {**call, "method": method or kind}
            case Convention.TOOLS:
                return {**call, "method": "tools/call", "params": {"name": self._tool(kind), "arguments": message}}
            case Convention.NESTED:
                return {**call, "method": "handle_message", "params": {"message": message}}
            case Convention.BARE:
                return message
            case Convention.SPEC:
                return call

    def _tool(self, kind: str) -> str:
        verb = EXCHANGES[kind].method
        names = [name for name in self.tools if name == verb or name.lower() == kind.lower()]
        names += [name for name in self.tools if kind in ABOUT and ABOUT[kind] in name.lower()]
        return names[0] if names else verb


def unpacked(content: object) -> object:
    """What MCP content holds; anything else as it is."""
    if not isinstance(content, dict):
        return content
    structured = content.get("structuredContent")
    if isinstance(structured, dict):
        return structured
    parts = content.get("content")
    first = parts[0] if isinstance(parts, list) and parts else None
    text = first.get("text") if isinstance(first, dict) else None
    if not isinstance(text, str):
        return content
    try:
        return json.loads(text)
    except ValueError:
        return content


def message_in(document: object) -> Object:
    """The message of a request in any convention; empty if there is none."""
    value: object = document
    for name in ("params", "arguments", "message"):
        inner = value.get(name) if isinstance(value, dict) and "message_type" not in value else None
        if isinstance(inner, dict):
            value = inner
    return value if isinstance(value, dict) and isinstance(value.get("message_type"), str) else {}
