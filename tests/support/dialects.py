"""How agents speak: the documents' convention and those of others, for the scripted peer.

Each is as strict as the real ones are: it knows its own way of calling and no other, and what it does with the rest is
part of it. Nothing here knows how ours finds that out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from tests.support.scripts import Object, Reaction, Received, json_object


@dataclass(frozen=True, slots=True)
class Convention:
    """How an agent wraps its messages: its own requests, how it reads those of others, and its answers to them."""

    request: Callable[[int, str, Object], Object]
    read: Callable[[Object], tuple[str, Object]]
    answer: Callable[[Object, Object], Object]
    hear: Callable[[Object], Object] = lambda answer: _part(answer, "result")
    """The message in an answer to a request of its own; {} if there is none it could read."""
    aside: Callable[[Received, Sequence[Received]], Reaction | None] = lambda _request, _before: None
    """What it does with a call that is no message to it, given all that came before; None: it is a message."""
    opening: tuple[Object, ...] = ()
    """Calls it makes at every endpoint, before its first message there."""
    registers: Convention | None = None
    """How it registers, if in another way."""
    path: str = ""
    """Where it posts, if not at the endpoint's own path."""
    events: bool = False
    """Its answers are streams of one event, as MCP's often are."""


def _part(whole: Object, name: str) -> Object:
    part = whole.get(name)
    return part if isinstance(part, dict) else {}


def _read_params(call: Object) -> tuple[str, Object]:
    return str(call.get("method", "")), _part(call, "params")


def _no_message(request: Received, _before: Sequence[Received]) -> Reaction | None:
    if request.method == "ping" or "message_type" in request.message:
        return None
    code, words = (-32601, "Method not found") if request.method else (-32600, "Invalid Request")
    answer = {"jsonrpc": "2.0", "id": request.call.get("id"), "error": {"code": code, "message": words}}
    return Reaction(body=json.dumps(answer).encode())


UNSUSPECTING = Convention(
    request=lambda number, method, message: {"jsonrpc": "2.0", "id": number, "method": method, "params": message},
    read=_read_params,
    answer=lambda call, message: {"jsonrpc": "2.0", "id": call.get("id"), "result": message},
)
"""Takes whatever comes for a message."""
SPEC = replace(UNSUSPECTING, aside=_no_message)
"""The documents' way: a message in `params`, or `ping`."""

VERBS: Mapping[str, str] = {
    "LEAGUE_REGISTER_REQUEST": "register_player",
    "REFEREE_REGISTER_REQUEST": "register_referee",
    "MATCH_RESULT_REPORT": "report_match_result",
    "LEAGUE_QUERY": "league_query",
    "ROUND_ANNOUNCEMENT": "notify_round",
    "LEAGUE_STANDINGS_UPDATE": "update_standings",
    "ROUND_COMPLETED": "notify_round_completed",
    "LEAGUE_COMPLETED": "notify_league_completed",
    "GAME_INVITATION": "handle_game_invitation",
    "CHOOSE_PARITY_CALL": "parity_choose",
    "GAME_MOVE_CALL": "choose_move",
    "GAME_OVER": "notify_match_result",
    "GAME_ERROR": "notify_game_error",
}
"""The methods of requests; anything else is called by its message type."""

REPLIES: Mapping[str, str] = {
    "GAME_INVITATION": "GAME_JOIN_ACK",
    "CHOOSE_PARITY_CALL": "CHOOSE_PARITY_RESPONSE",
    "GAME_MOVE_CALL": "GAME_MOVE_RESPONSE",
    "LEAGUE_STANDINGS_UPDATE": "STANDINGS_UPDATE_ACK",
}
"""The types of answers; anything else is answered by its own type with _ACK behind it."""


Lost = Callable[[Object], Reaction]
"""What an agent does with a call it has no idea of."""
Aside = Callable[[Received, Sequence[Received]], Reaction | None]

ASSIGNMENTS: Final = ("START_MATCH", "MATCH_ASSIGNMENT", "ASSIGN_MATCH")
TYPES: Final = frozenset((*VERBS, *ASSIGNMENTS, "GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE"))
"""The message types an agent may have a handler for."""


# --- what they do with what they don't know ---------------------------------------------------------------------------


def _said(content: object, status: int = 200, headers: tuple[tuple[str, str], ...] = ()) -> Reaction:
    return Reaction(body=json.dumps(content).encode(), status=status, reason="Whatever", headers=headers)


def _result(call: Object, content: object) -> Object:
    return {"jsonrpc": "2.0", "id": call.get("id"), "result": content}


def refuses(code: int = -32601, message: str = "Method not found", status: int = 200) -> Lost:
    """A JSON-RPC error."""

    def lost(call: Object) -> Reaction:
        return _said({"jsonrpc": "2.0", "id": call.get("id"), "error": {"code": code, "message": message}}, status)

    return lost


def says_in_a_result(**result: object) -> Lost:
    """No error, by its looks; "error": null stands beside it."""
    return lambda call: _said({**_result(call, result), "error": None})


def says_ok(call: Object) -> Reaction:
    """Fine with everything, and did nothing."""
    return _said(_result(call, {"status": "ok"}))


def says_ok_barely(_: Object) -> Reaction:
    """The same without JSON-RPC."""
    return _said({"status": "ok"})


def http_status(status: int, **body: object) -> Lost:
    """No JSON-RPC, only a status."""
    return lambda _: _said(body or {"detail": "no"}, status)


def hangs_up(_: Object) -> Reaction:
    """Not a byte."""
    return Reaction(body=b"", cut=0, ending="close")


UNKNOWN: Final = refuses()


# --- conventions ------------------------------------------------------------------------------------------------------


def _params(call: Object) -> Object:
    return _part(call, "params")


def _inner(call: Object, name: str) -> Object:
    return _part(_params(call), name)


def _unless(is_message: Callable[[Object], bool], lost: Lost) -> Aside:
    return lambda request, _before: None if is_message(request.call) else lost(request.call)


def by_method(
    names: Mapping[str, str], say: Callable[[str, str], str], lost: Lost = UNKNOWN, *, pings: bool = False
) -> Convention:
    """Looks at the method only: `names` are those it knows, with the type each stands for; `say` makes its own
    method of a type and the documents' verb."""

    def read(call: Object) -> tuple[str, Object]:
        method = str(call.get("method", ""))
        return method, {**_params(call), "message_type": names[method]} if method in names else {}

    def request(number: int, method: str, message: Object) -> Object:
        return SPEC.request(number, say(message.get("message_type") or method, method), message)

    known = {*names, "ping"} if pings else {*names}
    return replace(SPEC, request=request, read=read, aside=_unless(lambda call: call.get("method") in known, lost))


def by_type(lost: Lost = UNKNOWN) -> Convention:
    """Looks at the message type only, whatever the method."""
    return replace(SPEC, aside=_unless(lambda call: _params(call).get("message_type") in TYPES, lost))


def nested(method: str = "handle_message", lost: Lost = UNKNOWN) -> Convention:
    """One method for everything, the message inside."""
    return replace(
        SPEC,
        request=lambda number, _method, message: SPEC.request(number, method, {"message": message}),
        read=lambda call: (str(call.get("method", "")), _inner(call, "message")),
        aside=_unless(lambda call: call.get("method") == method and "message_type" in _inner(call, "message"), lost),
    )


_HALF: Final = ("protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token", "league_id")


def _halves(message: Object) -> Object:
    envelope = {name: one for name, one in message.items() if name in _HALF}
    return {"envelope": envelope, "payload": {name: one for name, one in message.items() if name not in _HALF}}


def _whole(halves: Object) -> Object:
    return {**_part(halves, "envelope"), **_part(halves, "payload")}


def in_halves() -> Convention:
    """`league.handle` for everything, the message in two halves; so are its answers."""
    lost = refuses(4002, "Invalid method, expected league.handle")
    return replace(
        SPEC,
        request=lambda number, _method, message: SPEC.request(number, "league.handle", _halves(message)),
        read=lambda call: (str(call.get("method", "")), _whole(_params(call))),
        answer=lambda call, message: _result(call, _halves(message)),
        hear=lambda answer: _whole(_part(answer, "result")),
        aside=_unless(lambda call: call.get("method") == "league.handle" and "envelope" in _params(call), lost),
    )


FIELD_REQUIRED: Final = http_status(422, detail=[{"loc": ["body", "message_type"], "msg": "Field required"}])


def bare(lost: Lost = FIELD_REQUIRED) -> Convention:
    """No JSON-RPC at all."""
    return Convention(
        request=lambda _number, _method, message: message,
        read=lambda call: ("", call),
        answer=lambda _, message: message,
        hear=lambda answer: answer,
        aside=_unless(lambda call: call.get("message_type") in TYPES and "jsonrpc" not in call, lost),
    )


def text(message: Object) -> Object:
    """MCP content: JSON in a text."""
    return {"content": [{"type": "text", "text": json.dumps(message)}], "isError": False}


def structured(message: Object) -> Object:
    """MCP content: an object, and words for people."""
    return {"content": [{"type": "text", "text": "Done."}], "structuredContent": message, "isError": False}


def _hear_tool(answer: Object) -> Object:
    result = _part(answer, "result")
    content = result.get("content") or [{}]
    return _part(result, "structuredContent") or json_object(content[0].get("text", "{}").encode())


PROTOCOL_VERSION: Final = "2025-06-18"
SESSION: Final = "session-of-a-stand-in"
_HELLO: Final = {
    "jsonrpc": "2.0",
    "method": "initialize",
    "params": {
        "protocolVersion": PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "stand-in", "version": "1.0.0"},
    },
}
_GREETED: Final = {
    "protocolVersion": PROTOCOL_VERSION,
    "capabilities": {"tools": {"listChanged": False}},
    "serverInfo": {"name": "stand-in", "version": "1.0.0"},
}
_READY: Final = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def tools(
    names: Mapping[str, str],
    wrap: Callable[[Object], Object] = text,
    *,
    handshake: bool = False,
    session: bool = False,
    lost: Lost = UNKNOWN,
    on_a_page: int = 100,
) -> Convention:
    """An MCP server: `names` are its tools, with the type each stands for; its list has so many `on_a_page`. With a
    handshake nothing goes before `initialize`; with a session nothing without its header, nor without MCP's Accept."""
    tool_of = {kind: name for name, kind in names.items()}
    listed = [
        {"name": name, "description": f"Handles {kind}.", "inputSchema": {"type": "object"}}
        for name, kind in names.items()
    ]
    own: dict[str, Callable[[Object], Object]] = {
        "initialize": lambda _: _GREETED,
        "tools/list": partial(_page, listed, on_a_page),
        "ping": lambda _: {},
    }

    def read(call: Object) -> tuple[str, Object]:
        kind = names.get(str(_params(call).get("name")))
        return str(call.get("method", "")), {**_inner(call, "arguments"), "message_type": kind} if kind else {}

    def aside(request: Received, before: Sequence[Received]) -> Reaction | None:
        call, method = request.call, request.method
        refusal = _unopened(request, before, session) if handshake and method != "initialize" else None
        if refusal is not None:
            return refusal
        if method == "notifications/initialized":
            return Reaction(body=b"", status=202, reason="Accepted")
        if method in own:
            headers = (("Mcp-Session-Id", SESSION),) if session and method == "initialize" else ()
            return _said(_result(call, own[method](call)), headers=headers)
        if method != "tools/call":
            return lost(call)
        return None if _params(call).get("name") in names else _no_such_tool(call)

    def request(number: int, method: str, message: Object) -> Object:
        name = tool_of.get(message.get("message_type", ""), method)
        return SPEC.request(number, "tools/call", {"name": name, "arguments": message})

    return Convention(
        request=request,
        read=read,
        answer=lambda call, message: _result(call, wrap(message)),
        hear=_hear_tool,
        aside=aside,
        opening=(_HELLO, _READY) if handshake else (),
    )


def _page(rows: list[Object], size: int, call: Object) -> Object:
    """What a `tools/list` asks for: the first rows, or those at its cursor."""
    start = int(_params(call).get("cursor", "0"))
    end = start + size
    return {"tools": rows[start:end], **({"nextCursor": str(end)} if end < len(rows) else {})}


def _no_such_tool(call: Object) -> Reaction:
    said = f"Unknown tool: {_params(call).get('name')}"
    return _said(_result(call, {"content": [{"type": "text", "text": said}], "isError": True}))


def _unopened(request: Received, before: Sequence[Received], session: bool) -> Reaction | None:
    if session and "text/event-stream" not in request.header(b"accept"):
        return refuses(-32600, "Not Acceptable: Client must accept text/event-stream", 406)(request.call)
    if session and request.header(b"mcp-session-id") != SESSION:
        return refuses(-32600, "Bad Request: Missing session ID", 400)(request.call)
    if not any(one.method == "initialize" for one in before):
        return refuses(-32602, "Received request before initialization was complete")(request.call)
    return None


def only_whole_ids(convention: Convention) -> Convention:
    """Takes nothing but integers as JSON-RPC ids."""

    def aside(request: Received, before: Sequence[Received]) -> Reaction | None:
        given = request.call.get("id")
        if isinstance(given, int) and not isinstance(given, bool):
            return convention.aside(request, before)
        return refuses(-32600, "Invalid Request: id must be an integer")(request.call)

    return replace(convention, aside=aside)


def _meta(_number: int, _method: str, message: Object) -> Object:
    return dict(next(part for name, part in message.items() if name.endswith("_meta")))


def registering(change: Callable[[Object], Object], convention: Convention | None = None) -> Convention:
    """Knows the verbs, but its registrations are changed so."""

    def request(number: int, method: str, message: Object) -> Object:
        changed = change(message)
        kind = changed.get("message_type")
        return SPEC.request(number, method if kind == message["message_type"] else str(kind), changed)

    return replace(convention or VERBS_ONLY, registers=replace(SPEC, request=request))


def meta_without(*names: str, **others: str) -> Callable[[Object], Object]:
    """The meta fields but these; and what stands in them under another name."""

    def change(message: Object) -> Object:
        place = next(name for name in message if name.endswith("_meta"))
        meta = message[place]
        renamed = {new: meta[old] for new, old in others.items()}
        kept = {name: one for name, one in meta.items() if name not in (*names, *others.values())}
        return {**message, place: {**kept, **renamed}}

    return change


def flat(message: Object) -> Object:
    """The meta fields beside the envelope."""
    place = next(name for name in message if name.endswith("_meta"))
    return {**{name: one for name, one in message.items() if name != place}, **message[place]}


def called(kind: str) -> Callable[[Object], Object]:
    """The same message under another type."""
    return lambda message: {**message, "message_type": kind}


def pathless(message: Object) -> Object:
    """Its endpoint is a host and a port."""
    place = next(name for name in message if name.endswith("_meta"))
    endpoint = str(message[place]["contact_endpoint"]).removesuffix("/mcp")
    return {**message, place: {**message[place], "contact_endpoint": endpoint}}


def only_at(path: bytes, convention: Convention) -> Convention:
    """There is nothing at any other path."""

    def aside(request: Received, before: Sequence[Received]) -> Reaction | None:
        if request.head.startswith(b"POST %b " % path):
            return convention.aside(request, before)
        return _said({"detail": "Not Found"}, 404)

    return replace(convention, aside=aside)


def verb(_: str, method: str) -> str:
    """Says what the documents say."""
    return method


def capitals(kind: str, _: str) -> str:
    """Says the message type."""
    return kind


def small_letters(kind: str, _: str) -> str:
    """Says the message type, in small letters."""
    return kind.lower()


def typed(lost: Lost = UNKNOWN) -> Convention:
    """Message types as methods, in capitals."""
    return by_method({kind: kind for kind in TYPES}, capitals, lost)


BY_VERB: Final = {method: kind for kind, method in VERBS.items()}
_BY_OTHER_VERB: Final = {name: kind for name, kind in BY_VERB.items() if name != "parity_choose"} | {
    "choose_parity": "CHOOSE_PARITY_CALL"
}
_RECEIVES: Final = {f"receive_{kind.lower()}": kind for kind in VERBS} | {
    "choose_parity": "CHOOSE_PARITY_CALL",
    "notify_standings": "LEAGUE_STANDINGS_UPDATE",
}
_ITS_OWN: Final = {
    "on_invited_to_game": "GAME_INVITATION",
    "pick_a_parity": "CHOOSE_PARITY_CALL",
    "on_game_has_ended": "GAME_OVER",
    "on_game_trouble": "GAME_ERROR",
    "on_new_round": "ROUND_ANNOUNCEMENT",
    "on_new_table": "LEAGUE_STANDINGS_UPDATE",
    "on_round_end": "ROUND_COMPLETED",
    "on_league_end": "LEAGUE_COMPLETED",
}

VERBS_ONLY: Final = by_method(BY_VERB, verb, pings=True)
CHOOSE_PARITY: Final = by_method(_BY_OTHER_VERB, verb, pings=True)
TYPES_ONLY: Final = by_type(refuses(-32600, "message_type is missing"))
TYPE: Final = typed()
TYPE_LOWER: Final = by_method({kind.lower(): kind for kind in TYPES}, small_letters)
TOOLS: Final = tools(BY_VERB)
TOOLS_STRUCTURED: Final = tools(BY_VERB, structured)
TOOLS_RECEIVE: Final = tools(_RECEIVES)
TOOLS_LISTED: Final = tools(_ITS_OWN, on_a_page=1)
MCP: Final = tools(_RECEIVES, handshake=True)
MCP_SESSION: Final = tools(BY_VERB, structured, handshake=True, session=True)
MCP_EVENTS: Final = replace(tools(BY_VERB, handshake=True, session=True), events=True)
NESTED: Final = nested()
NESTED_PROTOCOL: Final = nested("protocol/message")
BARE: Final = bare()
HALVES: Final = in_halves()


def _asked_to_choose(lost: Lost) -> Convention:
    """Knows the types, but calls the call for a choice a request."""
    request, call = "CHOOSE_PARITY_REQUEST", "CHOOSE_PARITY_CALL"
    known = {*TYPES, request} - {call}

    def read(asked: Object) -> tuple[str, Object]:
        method, message = _read_params(asked)
        return method, {**message, "message_type": call} if message.get("message_type") == request else message

    return replace(SPEC, read=read, aside=_unless(lambda asked: _params(asked).get("message_type") in known, lost))


REST: Final = replace(VERBS_ONLY, registers=replace(SPEC, request=_meta, hear=lambda answer: answer, path="/register"))


def _few_words() -> Convention:
    registers = REST.registers
    assert registers is not None

    def request(number: int, method: str, message: Object) -> Object:
        meta = registers.request(number, method, message)
        return {"display_name": meta["display_name"], "version": "1.0.0", "endpoint": meta["contact_endpoint"]}

    return replace(registers, request=request)


CONVENTIONS: Final[Mapping[str, Convention]] = {
    "SPEC": VERBS_ONLY,
    "SPEC, choose_parity": CHOOSE_PARITY,
    "SPEC, by message type": TYPES_ONLY,
    "TYPE": TYPE,
    "TYPE in small letters": TYPE_LOWER,
    "TYPE, fine with the rest": typed(says_ok),
    "TYPE, ok to the rest": typed(says_ok_barely),
    "TOOLS": TOOLS,
    "TOOLS, structured": TOOLS_STRUCTURED,
    "TOOLS, receive": TOOLS_RECEIVE,
    "TOOLS, names of its own": TOOLS_LISTED,
    "TOOLS after a handshake": MCP,
    "TOOLS in a session": MCP_SESSION,
    "TOOLS as events": MCP_EVENTS,
    "TOOLS or 404": tools(BY_VERB, lost=http_status(404)),
    "SPEC, choose_parity, says so in a result": by_method(
        _BY_OTHER_VERB, verb, says_in_a_result(error="Unknown method"), pings=True
    ),
    "TYPE, unknown_message_type": typed(says_in_a_result(status="unknown_message_type")),
    "NESTED, status error": nested(lost=says_in_a_result(status="error", message="Unsupported message")),
    "CHOOSE_PARITY_REQUEST": _asked_to_choose(says_in_a_result(status="unknown_message_type")),
    "league.handle": HALVES,
    "NESTED": NESTED,
    "NESTED, protocol/message": NESTED_PROTOCOL,
    "NESTED or 500": nested(lost=http_status(500, error="KeyError: 'message'")),
    "NESTED, or hangs up": nested(lost=hangs_up),
    "BARE": BARE,
    "BARE or 400": bare(http_status(400, error="unknown message")),
    "BARE, ok to the rest": bare(says_ok_barely),
    "REST": REST,
    "REST, few words": replace(REST, registers=_few_words()),
    "at /MCP": replace(VERBS_ONLY, path="/MCP"),
    "an endpoint without a path": registering(pathless, only_at(b"/mcp", VERBS_ONLY)),
    "no game_types": registering(meta_without("game_types")),
    "no display_name": registering(meta_without("display_name")),
    "endpoint": registering(meta_without(endpoint="contact_endpoint")),
    "url, no game_types": registering(meta_without("game_types", url="contact_endpoint")),
    "flat meta": registering(flat),
    "PLAYER_REGISTER_REQUEST": registering(called("PLAYER_REGISTER_REQUEST")),
}
