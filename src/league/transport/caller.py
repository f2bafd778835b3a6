"""Calls to others in the words they know: which method or tool a message is called by at an endpoint, and the MCP
session some want first. What is learned here is asked again after a restart; it is harmless and costs one call.

Another word is tried only after an answer that says "no such method": such a call changed nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import msgspec

from league.dialects import forms, tools, understanding
from league.dialects.tools import NO_SESSION, WITHOUT_HANDSHAKE, Session, Tool, ToolList
from league.machine import Address, Ping
from league.protocol import jsonrpc
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError
from league.protocol.exchanges import EXCHANGES
from league.protocol.jsonrpc import TOOLS_CALL
from league.protocol.messages import ACKS, Message
from league.transport import letters
from league.transport.http import MCP_PATH
from league.transport.http_call import CallFailed, HttpReply, PendingCall
from league.transport.http_client import HttpClient

LIST_LIMIT = 256 * 1024
"""The largest list of tools that is read."""
ENDPOINTS = 4096
_EVENTS = "text/event-stream"
_SIGNS_OF_UNKNOWN = (
    *(b"-32601", b"e036", b"unknown", b"unsupport", b"unrecogni", b"unhandled", b"unexpected", b"invalid", b"bad"),
    *(b"wrong", b"no such", b"no handler", b"not ", b"not_", b"not-", b"n't"),
)
"""Whatever says "unknown" holds one of these: nearly all answers do not, and are not looked at any closer."""
_ERROR, _SUCCESS, _ESCAPE, _STATUS, _GOOD = b"rror", b'"success"', b"\\", b'"status"', b'"status":"A'
"""Where an answer can say it: in an `error`, with `isError` or `success`, in text within text, or as its `status`; but
ACKNOWLEDGED and ACCEPTED are good ones."""
_LIST = "tools/list"
_GREETING = msgspec.json.encode(tools.GREETING)
_GREETED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


@dataclass(slots=True)
class EndpointForm:
    """What an endpoint is known to want."""

    words: dict[tuple[Convention, str], Tool] = field(default_factory=dict)
    tools: tuple[Tool, ...] | None = None
    """What it offers as tools; None before it was asked."""
    session: Session = NO_SESSION
    url: str = ""
    """Where it really takes messages, if it was named without a path."""


class Caller:
    """The calls of one agent of ours."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client
        self._now = asyncio.get_running_loop().time
        self._known: dict[str, EndpointForm] = {}

    def send(
        self,
        request_id: int,
        message: Message | Ping,
        body: bytes,
        to: Address,
        wait: float,
        limit: int,
        on_end: Callable[[HttpReply | CallFailed], None],
    ) -> PendingCall | None:
        """Make a call to an endpoint of which nothing special is known, as nearly all are; None for any other. `on_end`
        is told the answer, which counts if it `is_final`, or the failure."""
        if to.convention is Convention.TOOLS or to.endpoint in self._known or isinstance(message, Ping):
            return None
        raw, gives_way = letters.write_call(request_id, message, body, to), message.type in _NOTIFICATIONS
        return self._client.send(to.endpoint, raw, wait, limit, on_end, b"", to.origin, gives_way)

    async def call(
        self,
        request_id: int,
        message: Message | Ping,
        body: bytes,
        to: Address,
        wait: float,
        limit: int,
        first: HttpReply | None = None,
    ) -> HttpReply:
        """Make a call, in whatever words are known there; CallFailed if nobody answers in time. `first`: what was
        answered already, if it was not final."""
        due = self._now() + wait
        if isinstance(message, Ping):
            return await self._post(to, letters.write_call(request_id, message, body, to), due, limit)
        if to.convention is Convention.TOOLS:
            await self._learn_tools(to, due)
        elif first is not None or to.endpoint not in self._known:
            raw, gives_way = letters.write_call(request_id, message, body, to), message.type in _NOTIFICATIONS
            reply = first or await self._client.post(to.endpoint, raw, wait, limit, b"", to.origin, gives_way)
            reply = await self._settled(reply, to, raw, due, limit, b"", gives_way)
            candidates = _names(to.convention, message.type)[1:]
            if not candidates or not is_unknown(reply.body):
                return reply
            return await self._try(candidates, request_id, message, body, to, due, limit)
        return await self._try(self._candidates(message.type, to), request_id, message, body, to, due, limit)

    async def _try(
        self,
        candidates: tuple[Tool, ...],
        request_id: int,
        message: Message,
        body: bytes,
        to: Address,
        due: float,
        limit: int,
    ) -> HttpReply:
        """One name after the other, until one is known there; that is remembered."""
        for tool in candidates:
            known = self._known.get(to.endpoint, _NOTHING)
            raw = letters.write_call(request_id, message, body, to, tool, known.session)
            reply = await self._post_in_session(to, raw, due, limit, message.type in _NOTIFICATIONS, tool.name)
            if not is_unknown(reply.body):
                self._form_of(to.endpoint).words[to.convention, message.type] = tool
                return reply
        self._forget(to.endpoint, candidates)
        return reply

    def _forget(self, endpoint: str, tried: tuple[Tool, ...]) -> None:
        """It does not know any more what it knew: somebody else answers there now."""
        known = self._known.get(endpoint)
        if known is not None and not {*known.words.values(), *(known.tools or ())}.isdisjoint(tried):
            del self._known[endpoint]

    def _form_of(self, endpoint: str) -> EndpointForm:
        if len(self._known) >= ENDPOINTS:
            self._known.clear()
        return self._known.setdefault(endpoint, EndpointForm())

    def _candidates(self, message_type: str, to: Address) -> tuple[Tool, ...]:
        """What to call it: what worked last, what a list of tools says, or each name it may have."""
        known = self._known.get(to.endpoint, _NOTHING)
        word = known.words.get((to.convention, message_type))
        if word is not None:
            return (word,)
        names = _names(to.convention, message_type)
        if to.convention is Convention.TOOLS and known.tools:
            # What it does not offer it need not hear: one call, so that it is its own answer that says so.
            return (tools.pick(message_type, known.tools) or names[0],)
        return names

    async def _learn_tools(self, to: Address, due: float) -> None:
        """Ask for the list of tools, once; who does not give it may want to be greeted first, or to hear of no session
        at all."""
        known = self._form_of(to.endpoint)
        if known.tools is not None:
            return
        known.tools = await self._list(to, due)
        if not known.tools and await self._greet(to, known, due):
            known.tools = await self._list(to, due)
        if not known.tools:
            known.session = WITHOUT_HANDSHAKE
            known.tools = await self._list(to, due)
        if not known.tools:
            known.session = NO_SESSION

    async def _greet(self, to: Address, known: EndpointForm, due: float) -> bool:
        """MCP's handshake."""
        raw = jsonrpc.encode_call(1, "initialize", _GREETING)
        reply = await self._post(to, raw, due, LIST_LIMIT)
        content = _content(reply)
        if reply.status >= 300 or content is None:
            return False
        known.session = tools.greeted(content, reply.session)
        await self._post(to, _GREETED, due, LIST_LIMIT)
        return True

    async def _list(self, to: Address, due: float) -> tuple[Tool, ...]:
        session, found = self._known.get(to.endpoint, _NOTHING).session, ToolList()
        while found.params is not None:
            raw = jsonrpc.encode_call(1, _LIST, msgspec.json.encode(session.params(found.params)))
            found.add(_content(await self._post(to, raw, due, LIST_LIMIT, method=_LIST)))
        return found.tools

    async def _post_in_session(
        self, to: Address, raw: bytes, due: float, limit: int, gives_way: bool, tool: str
    ) -> HttpReply:
        """A session that is over is opened anew, once: without one the server did nothing."""
        had_one = bool(self._known.get(to.endpoint, _NOTHING).session.id)
        reply = await self._post(to, raw, due, limit, gives_way, TOOLS_CALL, tool)
        if had_one and reply.status in (400, 404):
            self._known.pop(to.endpoint, None)
            await self._learn_tools(to, due)
            reply = await self._post(to, raw, due, limit, gives_way, TOOLS_CALL, tool)
        return reply

    async def _post(
        self,
        to: Address,
        raw: bytes,
        due: float,
        limit: int,
        gives_way: bool = False,
        method: str = "",
        tool: str = "",
    ) -> HttpReply:
        known = self._known.get(to.endpoint, _NOTHING)
        headers = _headers(known.session, method, tool) if known.session.version else b""
        url = known.url or to.endpoint
        reply = await self._client.post(url, raw, self._left(due), limit, headers, to.origin, gives_way)
        if known.url:
            return _without_events(reply)
        return await self._settled(reply, to, raw, due, limit, headers, gives_way)

    async def _settled(
        self, reply: HttpReply, to: Address, raw: bytes, due: float, limit: int, headers: bytes, gives_way: bool
    ) -> HttpReply:
        """What an agent answered where it said that it is: out of its event, or from the path that was meant."""
        if reply.status in _NOT_HERE and _has_no_path(to.endpoint):
            # Nobody takes messages there, so nobody got this one: the usual path is what was meant.
            usual = to.endpoint.rstrip("/") + MCP_PATH
            reply = await self._client.post(usual, raw, self._left(due), limit, headers, to.origin, gives_way)
            if reply.status not in _NOT_HERE:
                self._form_of(to.endpoint).url = usual
        return _without_events(reply)

    def _left(self, due: float) -> float:
        return max(due - self._now(), 0.0)


_NOTIFICATIONS = frozenset(one.message_type for one in EXCHANGES.values() if one.replies and one.replies[0] in ACKS)
_NOTHING = EndpointForm()
_NOT_HERE = (404, 405)


def _has_no_path(endpoint: str) -> bool:
    return "/" not in endpoint.partition("://")[2].rstrip("/")


def _headers(session: Session, method: str, tool: str) -> bytes:
    return "".join(f"{name}: {value}\r\n" for name, value in session.headers(method, tool)).encode("latin-1")


@lru_cache(maxsize=128)
def _names(convention: Convention, message_type: str) -> tuple[Tool, ...]:
    return tuple(map(Tool, forms.spellings(convention, message_type)))


def _without_events(reply: HttpReply) -> HttpReply:
    if not reply.content_type.startswith(_EVENTS):
        return reply
    return msgspec.structs.replace(reply, body=forms.event_data(reply.body), content_type="application/json")


def _content(reply: HttpReply) -> object:
    try:
        answer = jsonrpc.decode_answer(reply.body, LIST_LIMIT)
    except PeerError:
        return None
    return None if answer.is_error else answer.content


def is_final(reply: HttpReply) -> bool:
    """Does this answer count as it is? Another one is to be unwrapped, or says that the call went wrong."""
    return not (reply.status in _NOT_HERE or reply.content_type.startswith(_EVENTS) or is_unknown(reply.body))


def is_unknown(body: bytes) -> bool:
    """Does this answer say that there is no such method or tool? Then nothing happened."""
    if not _could_say_unknown(body):
        return False
    said = body.lower()
    for sign in _SIGNS_OF_UNKNOWN:
        if sign in said:
            return _says_unknown(body)
    return False


def _could_say_unknown(body: bytes) -> bool:
    if body.find(_ERROR) >= 0 or body.find(_SUCCESS) >= 0 or body.find(_ESCAPE) >= 0:
        return True
    status = body.find(_STATUS)
    while status >= 0:
        if not body.startswith(_GOOD, status):
            return True
        status = body.find(_STATUS, status + 1)
    return False


def _says_unknown(body: bytes) -> bool:
    try:
        answer = forms.answer_in(jsonrpc.parse_answer(body, LIST_LIMIT))
    except PeerError:
        return False
    return understanding.says_unknown(answer.content, answer.number, is_error=answer.is_error)
