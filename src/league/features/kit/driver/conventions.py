"""How requests are wrapped (spec section 13.1): those of the kit, and those that agents send to the kit.

Both directions go through the readers of the manager, so that the kit calls as a manager calls, and reads every
registration that a manager reads. The kit adds one thing: it reads a message out of a frame that is wrong, because the
frame is judged by clauses of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from league import letters
from league.gateway import forms
from league.gateway.readers import tools
from league.gateway.readers.normalise import normalise_request
from league.gateway.readers.registrations import registration_of
from league.gateway.readers.tools import NO_SESSION, Session, Tool
from league.machine import Inquiry
from league.protocol.conventions import Convention
from league.protocol.message.envelope import Reading, Unsealed
from league.protocol.message.exchanges import EXCHANGES, Role
from league.protocol.message.parts import MoveRequest
from league.protocol.signing import tokens
from league.protocol.wire.jsonrpc import (
    ENVELOPED,
    MANAGER_LIMIT,
    TOOLS_CALL,
    BadRequestError,
    decode_call,
)

Object = dict[str, Any]
"""A JSON object (Any: whatever agents say)."""

DOCUMENTED: Final = (Convention.SPEC, Convention.TYPE, Convention.LOWER)
"""Those in the documents: D1 calls by the verb, D2 by the message type (R-01)."""
REGISTER: Final = "/register"
"""Where some agents post the fields of a registration, without a message."""
HOSTED: Final = "/hosted/"
"""Below this path the kit plays members of somebody else's league."""
NO_METHOD: Final = "no method"


@dataclass(slots=True)
class CallForm:
    """A convention, and the details of it that an agent turned out to use."""

    convention: Convention = Convention.SPEC
    tools: tuple[Tool, ...] = ()
    """The tools that the agent lists."""
    verbs: Mapping[str, str] = field(default_factory=dict)
    """Methods in SPEC that are not the usual ones."""
    method: str = "handle_message"
    """The method of everything in NESTED."""
    session: Session = NO_SESSION
    """How the agent wants to be called as an MCP server."""

    def wrap(self, request_id: int, message: Object, method: str | None = None) -> Object:
        """Return the JSON document of a request."""
        tool = self._tool(str(message["message_type"]), method)
        body = json.dumps(message).encode()
        document: Object = json.loads(forms.frame(self.convention, request_id, tool, body, self.session))
        return document

    def headers(self, method: str, kind: str) -> tuple[tuple[str, str], ...]:
        """Return the headers that the session needs."""
        if kind and method == TOOLS_CALL:
            return self.session.headers(method, self._tool(kind).name)
        return self.session.headers(method)

    def _tool(self, kind: str, method: str | None = None) -> Tool:
        """Return the tool, or the method, that takes this message."""
        verb = EXCHANGES[kind].method if kind in EXCHANGES else kind.lower()
        if self.convention is Convention.TOOLS:
            return tools.pick(kind, self.tools) or Tool(verb)
        if method is not None:
            return Tool(method)
        match self.convention:
            case Convention.TYPE:
                return Tool(kind)
            case Convention.LOWER:
                return Tool(kind.lower())
            case Convention.NESTED:
                return Tool(self.method)
            case _:
                return Tool(self.verbs.get(kind, verb))


FORMS: Final = (
    CallForm(Convention.SPEC),
    CallForm(Convention.TYPE),
    CallForm(Convention.LOWER),
    CallForm(Convention.TOOLS),
    CallForm(Convention.NESTED),
    CallForm(Convention.NESTED, method="protocol/message"),
    CallForm(Convention.NESTED, method=ENVELOPED),
    CallForm(Convention.BARE),
)
"""In the order in which they are tried."""


class ReadRequest(NamedTuple):
    """A request that an agent made, as a manager reads it."""

    kind: str
    """The type of its message; empty if there is none."""
    message: Object
    """The message in the agent's own words: these are judged."""
    normalised: Object
    """The message in the words of the documents."""


READERS: Final = tuple(letters.Speaker(role, tokens.MANAGER, Reading("compat")) for role in Role)
"""The kit plays every role: it reads what any of them reads."""
NO_MESSAGE: Final = ReadRequest("", {}, {})


def read_request(document: object, path: str) -> ReadRequest:
    """Read a request in any convention."""
    if not isinstance(document, dict):
        return NO_MESSAGE
    if path == REGISTER and is_bare(document):
        registration, _ = normalise_request(registration_of(document), "")
        return ReadRequest(str(registration["message_type"]), document, registration)
    raw = _framed(document)
    try:
        params = decode_call(raw, MANAGER_LIMIT).params
        contents = [letters.read_closely(raw, reader, MANAGER_LIMIT).content for reader in READERS]
    except BadRequestError:
        return NO_MESSAGE
    for content in contents:
        if isinstance(params, dict) and isinstance(content, Inquiry) and path.startswith(HOSTED):
            return ReadRequest(content.method.upper(), params, params)
        if isinstance(params, dict) and isinstance(content, Unsealed) and content.message_type:
            return ReadRequest(content.message_type, params, _normalised(content))
    return NO_MESSAGE


def _normalised(content: Unsealed) -> Object:
    if content.message is None:
        return dict(content.content)
    message: Object = msgspec.to_builtins(content.message)
    return message


def is_bare(document: object) -> bool:
    """Does this object have none of the members of a JSON-RPC request?"""
    return isinstance(document, dict) and document.keys().isdisjoint(("jsonrpc", "method", "params"))


def _framed(document: Object) -> bytes:
    """Return the request, with a frame that does not keep a manager from reading the message."""
    frame = document
    if not is_bare(document):
        # A wrong version, id or method is the matter of RPC.object, RPC.id and RPC.method.
        method = document.get("method")
        if not isinstance(method, str) or not method:
            method = NO_METHOD
        frame = {**document, "jsonrpc": "2.0", "id": 0, "method": method}
    return json.dumps(frame).encode()


def move_in(message: Object) -> MoveRequest | None:
    """Return what a GAME_MOVE_CALL asks for; None for any other message."""
    if "move_request" not in message:
        return None
    return MoveRequest(**message["move_request"])
