"""Words: how one call is made in the words that a third-party agent knows. Without I/O; shell and simulator run it.

One call may take several requests. `Words` remembers, for each endpoint, what was found out; a `DialectCall` is one
call: its runner sends the first request, hands each reply to `step`, and gets another request or the reply that counts:

    usual request ──▶ "no such method": the other names of the method, one after the other
          ├────────▶ 404 or 405 at an endpoint without a path: the same request at the usual path
          ├────────▶ 307 or 308 to the same server: the same request there, once; the address is remembered
          └────────▶ an event stream: the answer is the data of its last event
    tool call ─────▶ first a list of the tools, once; a server that gives none may want a handshake, or none at all
          └────────▶ 400 or 404 in a session: the session is over, and opened anew, once
    invitation ────▶ no tool takes it, but one takes the choice: the server has joined (T-12)
    probe ─────────▶ a ping and, where it says too little, a list of the tools; the reply holds the findings (T-11)

All requests of an exchange share the deadline of their call: the runner keeps it, and ends the exchange when it is
reached. Nothing is journalled: what is remembered is asked again after a restart, which is harmless.

What must never happen: a message is understood twice. So another name is tried only after an answer that says "no such
method", and another path or session only where nobody took the request. Nor is a server taken for one without tools
because it was slow, or failed once: only an answer to the question itself says so.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import suppress
from functools import lru_cache
from typing import Final

import msgspec
from msgspec import Struct, structs

from league import letters
from league.gateway import forms
from league.gateway.readers import tools, understanding
from league.gateway.readers.tools import (
    NO_SESSION,
    WITHOUT_HANDSHAKE,
    Session,
    Tool,
    ToolList,
)
from league.letters import HttpReply
from league.machine import Address, DialectProbe, Ping
from league.protocol import endpoints
from league.protocol.conventions import Convention
from league.protocol.errors import Family, PeerError
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.findings import Findings, OfferedTools, PingAnswer
from league.protocol.message.messages import ACKS, MESSAGES, Message
from league.protocol.safe_text import excerpt
from league.protocol.versions import PROTOCOL
from league.protocol.wire import jsonrpc
from league.protocol.wire.jsonrpc import TOOLS_CALL

LIST_LIMIT: Final = 256 * 1024
"""The largest list of tools that is read."""
ENDPOINTS: Final = 4096
"""The maximum number of endpoints that are remembered; then all are forgotten."""
USUAL_PATH: Final = "/mcp"
_EVENTS = "text/event-stream"
_NOT_HERE = (404, 405)
_MOVED = (307, 308)
_ELSEWHERE = (*_NOT_HERE, *_MOVED)
_NEVER_MCP = (401, 403, 404, 405, 429)
"""A server that answers a ping like this offers no tools to us."""
_OF_FRAMEWORKS = ({"detail": "Not Found"}, {"detail": "Method Not Allowed"})
LONGEST_LOCATION: Final = 160
MOST_NAMES: Final = 50
LONGEST_NAME: Final = 60
_SESSION_OVER = (400, 404)
_LIST = "tools/list"
_GREETING = msgspec.json.encode(tools.GREETING)
_GREETED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
_CHOICES = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
_USUAL_ARGUMENTS = 6
"""The number of arguments that are named to the author of a server without a tool for the choice."""

NOTIFICATIONS: Final = frozenset(
    row.message_type
    for row in EXCHANGES.values()
    if row.family is not Family.REPORT and row.replies and row.replies[0] in ACKS
)
"""Messages whose connection may be given to a more urgent call: nothing follows from their acknowledgements."""
COUNTED: Final = "MATCH_RESULT_REPORT"
"""It is never sent again before its sender knows of the failure: a third-party manager may count both."""


class HttpPost(Struct, frozen=True):
    """One HTTP request. `limit` is the largest answer to read, 0 for the limit of the call."""

    url: str
    raw: bytes
    headers: bytes = b""
    origin: str = ""
    gives_way: bool = False
    is_once: bool = False
    limit: int = 0


class EndpointWords(Struct):
    """What an endpoint is known to want."""

    names: dict[tuple[Convention, str], Tool] = {}
    """The name that worked, by convention and type of the message."""
    tools: tuple[Tool, ...] | None = None
    """Its tools; None before it was asked."""
    session: Session = NO_SESSION
    url: str = ""
    """Where it really takes messages, if it was named without a path, or redirects."""


_NOTHING = EndpointWords()
_Steps = Generator[HttpPost, HttpReply, HttpReply]


class NoReplyError(Exception):
    """A request of an exchange got no reply."""


class DialectCall:
    """One call: requests go out one after the other, until one reply counts."""

    def __init__(self, steps: _Steps) -> None:
        self._steps = steps
        self.first = next(steps)
        """The request to begin with."""

    def step(self, reply: HttpReply) -> HttpPost | HttpReply:
        """Return the next request, or the reply that counts."""
        try:
            return self._steps.send(reply)
        except StopIteration as end:
            final: HttpReply = end.value
            return final

    def fail(self) -> HttpReply | None:
        """A request got no reply: return the reply that counts all the same, if there is one."""
        try:
            self._steps.throw(NoReplyError())
        except StopIteration as end:
            final: HttpReply = end.value
            return final
        except NoReplyError:
            pass
        return None


class Words:
    """The words of all endpoints that one agent of ours calls."""

    def __init__(self) -> None:
        self.endpoints: dict[str, EndpointWords] = {}
        self.without_tools: dict[str, int] = {}
        """Endpoints that listed no tools, and the HTTP status of the ping before that."""

    def begin(
        self,
        call_id: int,
        message: Message | Ping,
        body: bytes,
        to: Address,
        *,
        was_sent: bool = False,
    ) -> DialectCall:
        """Begin a call in whatever words are known there. `was_sent`: the usual request has left already, and its reply
        is the first to step on."""
        call = _Call(self, call_id, message, body, to)
        return DialectCall(call.steps(was_sent))

    def of(self, endpoint: str) -> EndpointWords:
        """Return what is known of an endpoint, to read it."""
        return self.endpoints.get(endpoint, _NOTHING)

    def learn(self, endpoint: str) -> EndpointWords:
        """Return what is known of an endpoint, to add to it."""
        if len(self.endpoints) >= ENDPOINTS:
            self.endpoints.clear()
        return self.endpoints.setdefault(endpoint, EndpointWords())

    def forget_tools(self, endpoint: str) -> None:
        """Forget an endpoint without tools, unless something else about it is special."""
        words = self.endpoints.get(endpoint)
        if words is not None and not words.names and not words.url:
            del self.endpoints[endpoint]

    def forget_names(self, endpoint: str, tried: Iterable[Tool]) -> None:
        """No name worked. If one of them did before, somebody else answers there now."""
        words = self.endpoints.get(endpoint)
        if words is None:
            return
        worked = {*words.names.values()}
        if words.tools is not None:
            worked.update(words.tools)
        if not worked.isdisjoint(tried):
            del self.endpoints[endpoint]


class _Call:
    """The requests of one call, as generators: each yields a request and is sent its reply."""

    def __init__(
        self,
        words: Words,
        call_id: int,
        message: Message | Ping,
        body: bytes,
        to: Address,
    ) -> None:
        self._words = words
        self._call_id = call_id
        self._message = message
        self._body = body
        self._to = to
        self._has_no_list = False
        message_type = "" if isinstance(message, Ping) else message.type
        self._gives_way = message_type in NOTIFICATIONS
        self._is_once = message_type == COUNTED

    def steps(self, was_sent: bool) -> _Steps:
        message = self._message
        if isinstance(message, DialectProbe):
            return (yield from self._probe(message))
        if isinstance(message, Ping):
            return (yield from self._post(self._written()))
        # The usual case comes first for speed: nothing is known of the endpoint, because nothing special was needed.
        if self._to.convention is Convention.TOOLS:
            yield from self._learn_tools()
            if message.type == "GAME_INVITATION" and self._has_joined():
                return (yield from self._join())
        elif was_sent or self._to.endpoint not in self._words.endpoints:
            return (yield from self._usual(message))
        return (yield from self._try(self._candidates(message.type), message))

    def _usual(self, message: Message) -> _Steps:
        """Call an endpoint of which nothing is known: as the documents say, and then by the other names."""
        reply = yield from self._post(self._written())
        names = _names(self._to.convention, message.type)[1:]
        if not names or not is_unknown(reply.body):
            return reply
        return (yield from self._try(names, message))

    def _written(self) -> bytes:
        return letters.write_call(self._call_id, self._message, self._body, self._to)

    # --- names --------------------------------------------------------------------------------------------------------

    def _try(self, names: tuple[Tool, ...], message: Message) -> _Steps:
        """Try one name after the other, until one is known there; that one is remembered."""
        endpoint = self._to.endpoint
        for name in names:
            session = self._words.of(endpoint).session
            raw = letters.write_call(self._call_id, message, self._body, self._to, name, session)
            reply = yield from self._post_in_session(raw, name.name)
            if not is_unknown(reply.body):
                self._words.learn(endpoint).names[self._to.convention, message.type] = name
                return reply
        self._words.forget_names(endpoint, names)
        return reply

    def _candidates(self, message_type: str) -> tuple[Tool, ...]:
        """Return the names to try: the one that worked last, one from the list of tools, or all there are."""
        convention = self._to.convention
        words = self._words.of(self._to.endpoint)
        name = words.names.get((convention, message_type))
        if name is not None:
            return (name,)
        names = _names(convention, message_type)
        if convention is Convention.TOOLS and words.tools:
            # If the server offers no such tool, it is called once all the same: then the refusal is its own.
            tool = tools.pick(message_type, words.tools) or names[0]
            return (tool,)
        return names

    # --- finding out --------------------------------------------------------------------------------------------------

    def _probe(self, probe: DialectProbe) -> _Steps:
        """Ping the endpoint, ask for its tools where that may help, and reply with the findings."""
        reply = yield from self._post(self._written())
        words = self._words
        endpoint = self._to.endpoint
        asks = not _speaks_league(reply) and self._may_offer_tools(reply)
        if asks:
            # If that fails, the answer to the ping is a finding, too. The next probe asks for the tools again.
            with suppress(NoReplyError):
                yield from self._learn_tools()
            if words.of(endpoint).tools == () and self._to.convention is not Convention.TOOLS:
                words.without_tools[endpoint] = reply.status
                words.forget_tools(endpoint)
        findings = _findings(endpoint, probe, reply, words.of(endpoint), self._to.convention)
        if asks and words.of(endpoint).tools is None and endpoint not in words.without_tools:
            findings = structs.replace(findings, is_incomplete=True)
        return HttpReply(200, msgspec.json.encode(findings))

    def _may_offer_tools(self, reply: HttpReply) -> bool:
        if self._to.convention is Convention.TOOLS:
            return True
        if reply.status >= 500 or reply.status in _NEVER_MCP or reply.status in _MOVED:
            return False
        # An agent that listed none is asked again when it answers differently: its author may have changed it.
        return self._words.without_tools.get(self._to.endpoint) != reply.status

    def _has_joined(self) -> bool:
        """True if no tool takes the invitation, but one takes the choice."""
        offered = self._words.of(self._to.endpoint).tools or ()
        return bool(offered) and not tools.pick("GAME_INVITATION", offered) and _choice_tool(offered) is not None

    def _join(self) -> _Steps:
        """Take a server that lists its tools for joined. The list is asked for each time: it shows that somebody is
        there."""
        session = self._words.of(self._to.endpoint).session
        raw = jsonrpc.encode_call(1, _LIST, msgspec.json.encode(session.params({})))
        reply = yield from self._post(raw, method=_LIST, limit=LIST_LIMIT)
        if _content(reply) is None:
            return reply
        return structs.replace(reply, body=jsonrpc.encode_result(self._call_id, forms.JOINED_BY_TOOLS))

    # --- tools and sessions -------------------------------------------------------------------------------------------

    def _learn_tools(self) -> Generator[HttpPost, HttpReply, None]:
        """Ask for the list of tools, once. A server that does not give it may want a handshake first, or to hear of no
        session at all."""
        words = self._words.learn(self._to.endpoint)
        if words.tools is not None:
            return
        listed = yield from self._listed_tools()
        if self._has_no_list and self._to.convention is not Convention.TOOLS:
            words.tools = ()
            return
        if not listed and (yield from self._greet(words)):
            listed = yield from self._listed_tools()
        if not listed:
            session = words.session
            words.session = WITHOUT_HANDSHAKE
            listed = yield from self._listed_tools()
            if not listed:
                # A session that was opened all the same may be needed, when the list is asked for again.
                words.session = session
        # Only now: the deadline may end the call anywhere above, and the next call begins anew.
        if listed is not None:
            words.tools = listed

    def _greet(self, words: EndpointWords) -> Generator[HttpPost, HttpReply, bool]:
        """Make MCP's handshake: return whether the server answered it."""
        reply = yield from self._post(jsonrpc.encode_call(1, "initialize", _GREETING), limit=LIST_LIMIT)
        content = _content(reply)
        if reply.status >= 300 or content is None:
            return False
        words.session = tools.greeted(content, reply.session)
        yield from self._post(_GREETED, limit=LIST_LIMIT)
        return True

    def _listed_tools(self) -> Generator[HttpPost, HttpReply, tuple[Tool, ...] | None]:
        """Return the tools; None if the server failed, so that nothing is known."""
        session = self._words.of(self._to.endpoint).session
        listed = ToolList()
        while listed.params is not None:
            raw = jsonrpc.encode_call(1, _LIST, msgspec.json.encode(session.params(listed.params)))
            reply = yield from self._post(raw, method=_LIST, limit=LIST_LIMIT)
            if reply.status >= 500 or reply.status == 429:
                return None
            # A plain agent says "no such method", or answers as it answers everything. A server that wants a handshake
            # refuses the request for another reason.
            self._has_no_list = reply.status < 300 and (_content(reply) is not None or is_unknown(reply.body))
            listed.add(_content(reply))
        return listed.tools

    def _post_in_session(self, raw: bytes, tool: str) -> _Steps:
        """Post a request; if the session is over, open a new one and post it again, once: the server did nothing."""
        had_session = bool(self._words.of(self._to.endpoint).session.id)
        reply = yield from self._post(raw, TOOLS_CALL, tool)
        if had_session and reply.status in _SESSION_OVER:
            self._words.endpoints.pop(self._to.endpoint, None)
            yield from self._learn_tools()
            reply = yield from self._post(raw, TOOLS_CALL, tool)
        return reply

    # --- requests -----------------------------------------------------------------------------------------------------

    def _post(self, raw: bytes, method: str = "", tool: str = "", limit: int = 0) -> _Steps:
        words = self._words.of(self._to.endpoint)
        headers = b""
        if words.session.version:
            headers = _headers(words.session, method, tool)
        # Only the message itself gives way. Questions about tools and sessions have a limit of their own.
        gives_way = self._gives_way and not limit
        post = HttpPost(
            words.url or self._to.endpoint,
            raw,
            headers,
            self._to.origin,
            gives_way=gives_way,
            is_once=self._is_once,
            limit=limit,
        )
        reply = yield post
        if words.url:
            return _without_events(reply)
        return (yield from self._settled(reply, post))

    def _settled(self, reply: HttpReply, post: HttpPost) -> _Steps:
        """Find the reply that counts: out of its event, or from the path that was meant."""
        endpoint = self._to.endpoint
        if reply.status in _NOT_HERE and _has_no_path(endpoint):
            # Nobody takes messages there, so nobody got this one: the usual path is what was meant.
            usual = endpoint.rstrip("/") + USUAL_PATH
            reply = yield structs.replace(post, url=usual)
            if reply.status not in _NOT_HERE:
                self._words.learn(endpoint).url = usual
        if reply.status in _MOVED:
            target = _same_server(endpoint, reply.location)
            if target:
                # Followed once: a second redirect is an answer.
                reply = yield structs.replace(post, url=target)
            if target and reply.status not in _ELSEWHERE:
                self._words.learn(endpoint).url = target
        return _without_events(reply)


def _same_server(endpoint: str, location: str) -> str:
    """Return the address that a redirect leads to, if it is another one on the same server."""
    target = location
    if location.startswith("/") and not location.startswith("//"):
        target = forms.at_path(endpoint, location)
    try:
        here = endpoints.parse(endpoint)
        there = endpoints.parse(target)
    except ValueError:
        return ""
    is_same = (here.scheme, here.host, here.port) == (there.scheme, there.host, there.port)
    if not is_same or here.target == there.target:
        return ""
    return target


def _has_no_path(endpoint: str) -> bool:
    return "/" not in endpoint.partition("://")[2].rstrip("/")


def _headers(session: Session, method: str, tool: str) -> bytes:
    lines = (f"{name}: {value}\r\n" for name, value in session.headers(method, tool))
    return "".join(lines).encode("latin-1")


@lru_cache(maxsize=128)
def _names(convention: Convention, message_type: str) -> tuple[Tool, ...]:
    return tuple(map(Tool, forms.spellings(convention, message_type)))


def _without_events(reply: HttpReply) -> HttpReply:
    if not reply.content_type.startswith(_EVENTS):
        return reply
    return structs.replace(
        reply,
        body=forms.event_data(reply.body),
        content_type="application/json",
    )


def _content(reply: HttpReply) -> object:
    try:
        answer = jsonrpc.decode_answer(reply.body, LIST_LIMIT)
    except PeerError:
        return None
    if answer.is_error:
        return None
    return answer.content


# --- findings ---------------------------------------------------------------------------------------------------------


def _speaks_league(reply: HttpReply) -> bool:
    """True if the answer to a ping names our protocol: then there is nothing to find out."""
    content = _content(reply)
    return isinstance(content, dict) and content.get("protocol") == PROTOCOL


def _choice_tool(offered: Iterable[Tool]) -> Tool | None:
    offered = tuple(offered)
    for choice in _CHOICES:
        tool = tools.pick(choice, offered)
        if tool is not None:
            return tool
    return None


def _findings(
    endpoint: str,
    probe: DialectProbe,
    reply: HttpReply,
    words: EndpointWords,
    convention: Convention,
) -> Findings:
    """Put together what a probe found out."""
    offered = words.tools or ()
    is_json = _is_json(reply.body)
    quote = ""
    if not is_json or reply.status >= 500:
        quote = excerpt(reply.body)
    status = reply.status
    if status in _NOT_HERE and _has_own_words(reply.body):
        # Some agents answer an unknown method like this: it is no page of a web server.
        status = 200
    location = ""
    if reply.status in _MOVED:
        location = reply.location[:LONGEST_LOCATION]
    # A server that answers a plain call properly is called plainly, unless it registered through a tool itself.
    is_refused = reply.status >= 300 or not is_json
    offered_tools = None
    if offered and (convention is Convention.TOOLS or is_refused):
        offered_tools = _offered_tools(offered, probe, words.session.version)
    return Findings(
        endpoint,
        answer=PingAnswer(
            status=status,
            quote=quote,
            is_json=is_json,
            is_empty=not reply.body.strip(),
            lists_matches=letters.lists_matches(reply.body),
        ),
        moved_to=words.url,
        location=location,
        tools=offered_tools,
        is_player=probe.role == "player",
    )


def _offered_tools(offered: tuple[Tool, ...], probe: DialectProbe, version: str) -> OfferedTools:
    choice = _CHOICES[probe.game_type != "even_odd"]
    invitation_tool = tools.pick("GAME_INVITATION", offered)
    choice_tool = _choice_tool(offered)
    return OfferedTools(
        names=tuple(tool.name[:LONGEST_NAME] for tool in offered[:MOST_NAMES]),
        invitation=invitation_tool.name if invitation_tool else "",
        choice=choice_tool.name if choice_tool else "",
        version=version,
        usual_names=tools.verbs(choice),
        usual_arguments=tuple(MESSAGES[choice].__struct_fields__[-_USUAL_ARGUMENTS:]),
    )


def _has_own_words(body: bytes) -> bool:
    """True for a JSON object, unless a web framework answers like that by itself."""
    try:
        content = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return False
    return isinstance(content, dict) and content not in _OF_FRAMEWORKS


def _is_json(body: bytes) -> bool:
    """True for JSON, also as the data of an event, and for an empty body: that is an acknowledgement."""
    if not body.strip():
        return True
    try:
        msgspec.json.decode(body)
    except msgspec.DecodeError:
        return False
    return True


# --- "no such method" -------------------------------------------------------------------------------------------------

_SIGNS_OF_UNKNOWN = (
    *(
        b"-32601",
        b"e036",
        b"unknown",
        b"unsupport",
        b"unrecogni",
        b"unhandled",
        b"unexpected",
        b"invalid",
        b"bad",
    ),
    *(b"wrong", b"no such", b"no handler", b"not ", b"not_", b"not-", b"n't"),
)
"""Every answer that says "unknown" holds one of these: nearly all answers do not, and are not looked at any closer."""
# An answer can say it in an `error`, with `isError` or `success`, in text within text, or as its `status`.
_ERROR = b"rror"
_SUCCESS = b'"success"'
_ESCAPE = b"\\"
_STATUS = b'"status"'
_GOOD_STATUS = b'"status":"A'
"""ACKNOWLEDGED and ACCEPTED."""


def is_final(reply: HttpReply) -> bool:
    """Does this answer count as it is, with nothing to unwrap and no other name to try?"""
    if reply.status in _ELSEWHERE or reply.content_type.startswith(_EVENTS):
        return False
    return not is_unknown(reply.body)


def is_unknown(body: bytes) -> bool:
    """Does this answer say that there is no such method or tool? Then nothing happened."""
    if not _could_say_unknown(body):
        return False
    text = body.lower()
    for sign in _SIGNS_OF_UNKNOWN:
        if sign in text:
            return _says_unknown(body)
    return False


def _could_say_unknown(body: bytes) -> bool:
    if body.find(_ERROR) >= 0 or body.find(_SUCCESS) >= 0 or body.find(_ESCAPE) >= 0:
        return True
    status = body.find(_STATUS)
    while status >= 0:
        if not body.startswith(_GOOD_STATUS, status):
            return True
        status = body.find(_STATUS, status + 1)
    return False


def _says_unknown(body: bytes) -> bool:
    try:
        answer = forms.answer_in(jsonrpc.parse_answer(body, LIST_LIMIT))
    except PeerError:
        return False
    return understanding.says_unknown(answer.content, answer.number, is_error=answer.is_error)
