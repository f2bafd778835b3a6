"""The five conventions (spec section 13.1): how a request is wrapped, and where its answer is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from league.gateway import tools
from league.gateway.forms import halved, returned
from league.gateway.normalise import named
from league.gateway.tools import NO_SESSION, Session, Tool
from league.protocol.exchanges import EXCHANGES
from league.protocol.jsonrpc import ENVELOPED, TOOLS_CALL, joined_halves
from league.protocol.parts import MoveRequest

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


@dataclass(slots=True)
class CallForm:
    """A convention, and the details of it that an agent turned out to use."""

    convention: Convention = Convention.SPEC
    tools: tuple[Tool, ...] = ()
    """What it offers as tools."""
    verbs: Mapping[str, str] = field(default_factory=dict)
    """Methods in SPEC that are not the usual ones."""
    lower_case: bool = False
    """Are the methods in TYPE written in lower case?"""
    method: str = "handle_message"
    """The method of everything in NESTED."""
    session: Session = NO_SESSION
    """How it is spoken to as an MCP server."""

    def wrap(self, request_id: object, message: Object, method: str | None = None) -> Object:
        """The JSON document of a request."""
        kind = str(message["message_type"])
        verb = method or self.verbs.get(kind, EXCHANGES[kind].method)
        call: Object = {"jsonrpc": "2.0", "id": request_id, "method": verb, "params": message}
        match self.convention:
            case Convention.TYPE:
                return {**call, "method": method or (kind.lower() if self.lower_case else kind)}
            case Convention.TOOLS:
                tool = self._tool(kind)
                params = {"name": tool.name, "arguments": tools.arguments(tool, message)}
                return {**call, "method": TOOLS_CALL, "params": self.session.params(params)}
            case Convention.NESTED:
                inner = halved(message) if self.method == ENVELOPED else {"message": message}
                return {**call, "method": self.method, "params": inner}
            case Convention.BARE:
                return message
            case Convention.SPEC:
                return call

    def headers(self, method: str, kind: str) -> tuple[tuple[str, str], ...]:
        """What the session wants in the head of a request."""
        return self.session.headers(method, self._tool(kind).name if kind and method == TOOLS_CALL else "")

    def _tool(self, kind: str) -> Tool:
        return tools.pick(kind, self.tools) or Tool(EXCHANGES[kind].method)


def unpacked(content: object, sent: Object) -> object:
    """The message MCP content holds, as the answer to the message that was sent; anything else as it is."""
    if not isinstance(content, dict):
        return content
    whole = joined_halves(content)
    if whole is not None:
        return whole
    if "message_type" in content or not ("content" in content or "structuredContent" in content):
        return content
    found = returned(content)
    if not isinstance(found, dict):
        return content
    move = MoveRequest(**sent["move_request"]) if "move_request" in sent else None
    return named(found, str(sent.get("message_type", "")), move)


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
