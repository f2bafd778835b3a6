"""The HTTP server of a third-party agent: it stands before the machine of a simulated player, and wants other words.

It has up to four habits: it knows each method or tool by an unusual name only, wants an MCP session before it lists its
tools, takes messages at another path than the one it names, and answers with event streams. What it lets pass, the
player's machine answers. Its sessions end with the process.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from league.gateway import forms
from league.gateway.words import USUAL_PATH, HttpPost
from league.letters import HttpReply
from league.protocol.conventions import Convention
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.wire import jsonrpc
from league.protocol.wire.jsonrpc import BadRequestError, RpcCall

UNKNOWN_METHOD = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}'
_NO_SESSION = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Bad Request: no valid session"}}'
_HEADER = b"Mcp-Session-Id: "
_OF_MCP = ("initialize", "notifications/initialized", "tools/list")
_WITH_NAMES = (Convention.SPEC, Convention.NESTED, Convention.TOOLS)
"""The conventions in which a method has several names. In the others it is the type of the message."""


@dataclass(slots=True)
class ForeignServer:
    """The habits of one server, and its open sessions."""

    renames: bool = False
    wants_session: bool = False
    has_no_path: bool = False
    streams: bool = False
    opened: int = 0
    """How many sessions it has opened."""
    _sessions: set[bytes] = field(default_factory=set)

    @classmethod
    def drawn(cls, dice: Random) -> ForeignServer:
        """Draw each habit by itself."""
        return cls(
            renames=dice.random() < 0.5,
            wants_session=dice.random() < 0.5,
            has_no_path=dice.random() < 0.5,
            streams=dice.random() < 0.5,
        )

    def restarted(self) -> None:
        """The process was killed: its sessions are over."""
        self._sessions.clear()

    def answer(self, post: HttpPost) -> HttpReply | None:
        """Return what the server says itself; None if it hands the request to the machine."""
        if self.has_no_path and not post.url.endswith(USUAL_PATH):
            return HttpReply(404, b"Not Found")
        call = _read(post.raw)
        if call is None:
            return None
        is_known = not self.renames or self._knows(call)
        if call.convention is Convention.TOOLS or call.method in _OF_MCP:
            return self._answer_mcp(call, post, is_known)
        return None if is_known else HttpReply(200, UNKNOWN_METHOD)

    def _answer_mcp(self, call: RpcCall, post: HttpPost, is_known: bool) -> HttpReply | None:
        if call.method == "initialize":
            return self._open_session()
        if call.method == "notifications/initialized":
            return HttpReply(202, b"")
        if self.wants_session and not self._is_in_session(post):
            return HttpReply(400, _NO_SESSION)
        if call.method == "tools/list":
            return self._tools()
        return None if is_known else HttpReply(200, UNKNOWN_METHOD)

    def sent(self, raw: bytes) -> HttpReply:
        """Return an answer of the machine as it leaves the server."""
        if not self.streams:
            return HttpReply(200, raw)
        return HttpReply(
            200,
            b"event: message\r\ndata: %b\r\n\r\n" % raw,
            content_type="text/event-stream",
        )

    def _open_session(self) -> HttpReply:
        result: dict[str, Any] = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
        }
        if not self.wants_session:
            return HttpReply(200, jsonrpc.encode_result(1, result))
        self.opened += 1
        session = f"session-{self.opened}"
        self._sessions.add(session.encode())
        return HttpReply(200, jsonrpc.encode_result(1, result), session=session)

    def _is_in_session(self, post: HttpPost) -> bool:
        after = post.headers.partition(_HEADER)[2]
        return after.partition(b"\r\n")[0] in self._sessions

    def _tools(self) -> HttpReply:
        names = [self._name(Convention.TOOLS, message_type) for message_type in EXCHANGES]
        listed = [{"name": name, "inputSchema": {"type": "object"}} for name in dict.fromkeys(names)]
        return HttpReply(200, jsonrpc.encode_result(1, {"tools": listed}))

    def _knows(self, call: RpcCall) -> bool:
        """Is the method called by the name that it has here? Only messages of the documents have several."""
        message = call.params if isinstance(call.params, dict) else {}
        message_type = str(message.get("message_type"))
        if call.convention not in _WITH_NAMES or message_type not in EXCHANGES:
            return True
        return call.method == self._name(call.convention, message_type)

    def _name(self, convention: Convention, message_type: str) -> str:
        names = forms.spellings(convention, message_type)
        return names[-1] if self.renames else names[0]


def _read(raw: bytes) -> RpcCall | None:
    """Read a request; None for one that the machine is to refuse."""
    try:
        return jsonrpc.decode_call(raw, jsonrpc.MANAGER_LIMIT)
    except BadRequestError:
        return None
