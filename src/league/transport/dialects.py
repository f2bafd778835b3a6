"""How others really speak (spec section 13.1): a call put in each convention, answers of every shape read, and what
agents say for the protocol's words. Pure. A frame is understood, a value is never repaired.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from league.protocol import assigning
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError, Stage, Violation
from league.protocol.exchanges import EXCHANGES, message_type_of
from league.protocol.judge import ENVELOPE
from league.protocol.messages import MESSAGES, Message
from league.transport import jsonrpc, notice_words, report_words
from league.transport.jsonrpc import NESTED_METHODS, TOOLS_CALL, Answer, is_int
from league.transport.notice_words import Words

UNKNOWN_METHOD = -32601
UNKNOWN_VERSION = "0.0.0"
INTERNAL_ERROR = -32603

# What the tool for a message is called, when it is not called by its verb or its type.
_HINTS: Mapping[str, tuple[str, ...]] = {
    "GAME_INVITATION": ("invitation", "invite", "join"),
    "CHOOSE_PARITY_CALL": ("parity", "choose", "choice", "move"),
    "GAME_MOVE_CALL": ("move", "choose", "choice"),
    "GAME_OVER": ("game_over", "match_result", "over", "result", "game_has_ended", "game_end"),
    "GAME_ERROR": ("game_error", "error"),
    "ROUND_ANNOUNCEMENT": ("announcement", "announce", "notify_round", "new_round", "round_start"),
    "ROUND_COMPLETED": ("round_completed", "round_complete", "round_end"),
    "LEAGUE_STANDINGS_UPDATE": ("standings", "table", "ranking"),
    "LEAGUE_COMPLETED": ("league_completed", "league_complete", "league_end"),
    "LEAGUE_REGISTER_REQUEST": ("register_player", "player_register", "register"),
    "REFEREE_REGISTER_REQUEST": ("register_referee", "referee_register"),
    "MATCH_RESULT_REPORT": ("match_result", "report"),
    "LEAGUE_QUERY": ("query",),
    "START_MATCH": ("start_match", "start", "run_match"),
    "MATCH_ASSIGNMENT": ("assign",),
    "GET_ASSIGNED_MATCHES": ("assigned", "my_matches"),
}
REGISTRATIONS: Mapping[str, str] = {
    "LEAGUE_REGISTER_REQUEST": "player_meta",
    "REFEREE_REGISTER_REQUEST": "referee_meta",
}
"""The registrations, and where each says who registers."""
_JOINED = ("ACCEPTED", "ACK", "ACKNOWLEDGED")
_MEMBERSHIPS = frozenset(one.replace("REQUEST", "RESPONSE") for one in REGISTRATIONS)
_MEMBER = frozenset({"ACCEPTED", "REGISTERED", "OK", "SUCCESS", "APPROVED", "CONFIRMED", "ACK", "ACKNOWLEDGED"})
_NO_MEMBER = frozenset({"REJECTED", "ERROR", "DENIED", "DECLINED", "FAILED", "FAILURE", "REFUSED"})


# --- calls ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool an agent offers; `wrapper` is its one parameter, if it takes the message as a whole in it."""

    name: str
    wrapper: str | None = None


def spellings(convention: Convention, message_type: str) -> tuple[str, ...]:
    """What the method or the tool may be called, the likeliest first."""
    row = EXCHANGES.get(message_type)
    others = assigning.VERBS.get(message_type, (message_type.lower(),))
    verbs = (row.method, *row.other_methods) if row else others
    if convention in (Convention.TYPE, Convention.LOWER):
        kind = message_type if convention is Convention.TYPE else message_type.lower()
        # What is in no document has no type either: everybody may go by its verb.
        return (kind,) if row else tuple(dict.fromkeys((kind, *others)))
    return NESTED_METHODS[:2] if convention is Convention.NESTED else verbs


def pick(message_type: str, offered: Iterable[Tool]) -> Tool | None:
    """The tool for a message among those an agent lists: by name, else by what its name speaks of."""
    tools = {one.name.lower(): one for one in offered}
    lower = message_type.lower()
    for name in (*spellings(Convention.TOOLS, message_type), lower, f"receive_{lower}", *NESTED_METHODS):
        if name in tools:
            return tools[name]
    for hint in _HINTS.get(message_type, ()):
        for name, tool in tools.items():
            if hint in name:
                return tool
    return None


def listed(content: object) -> tuple[Tool, ...]:
    """The tools in an answer to `tools/list`."""
    tools = content.get("tools") if isinstance(content, dict) else None
    found = [one for one in tools if isinstance(one, dict)] if isinstance(tools, list) else []
    return tuple(
        Tool(one["name"], _wrapper(one.get("inputSchema"))) for one in found if isinstance(one.get("name"), str)
    )


def _wrapper(schema: object) -> str | None:
    """A tool with one parameter that is no field of a message takes the whole message in it."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or len(properties) != 1:
        return None
    (name, kind), *_ = properties.items()
    is_text = isinstance(kind, dict) and kind.get("type") in ("string", "integer", "number", "boolean", "array")
    return None if is_text else str(name)


def frame(convention: Convention, request_id: int, tool: Tool, body: bytes) -> bytes:
    """A request around an encoded message. Whatever the frame, the message carries its type."""
    if convention is Convention.BARE:
        return body
    if convention is Convention.NESTED:
        body = b'{"message":' + body + b"}"
    elif convention is Convention.TOOLS:
        name = msgspec.json.encode(tool.name)
        if tool.wrapper is not None:
            body = b"{" + msgspec.json.encode(tool.wrapper) + b":" + body + b"}"
        return jsonrpc.encode_call(request_id, TOOLS_CALL, b'{"name":' + name + b',"arguments":' + body + b"}")
    return jsonrpc.encode_call(request_id, tool.name, body)


def with_flat_meta(message: Message, body: bytes) -> bytes:
    """A bare registration says its meta fields twice: some take no message at all, only these (REST)."""
    meta = getattr(message, REGISTRATIONS.get(message.type, ""), None)
    return body if meta is None else body[:-1] + b"," + msgspec.json.encode(meta)[1:]


# --- answers ----------------------------------------------------------------------------------------------------------


def answer_in(value: object) -> Answer:
    """What an answer says, in whatever shape (R-02): `result`, or `params`, or the body itself; then MCP content."""
    try:
        return _unwrapped(jsonrpc.answer_in(value))
    except PeerError as problem:
        if not isinstance(value, dict):
            raise
        return _unwrapped(_loosely(value, problem))


def _loosely(value: Mapping[str, Any], problem: PeerError) -> Answer:
    """An answer that is no JSON-RPC 2.0 response, with the clause it breaks. Any: JSON of others."""
    broken = Violation(problem.code, "", problem.detail, problem.requirement or "RPC.object", Stage.TYPE, lenient=True)
    if "message_type" in value:
        return Answer(value, deviations=(broken,))
    error = value.get("error")
    if error is not None:
        said = error if isinstance(error, dict) else {"error_detail": str(error)}
        number = said.get("code")
        data = said.get("data")
        return Answer(data if isinstance(data, dict) else said, number if is_int(number) else None, True, (broken,))
    for name in ("result", "params"):
        if name in value:
            return Answer(value[name], deviations=(broken,))
    if "jsonrpc" in value:
        raise problem
    return Answer(value, deviations=(broken,))


def _unwrapped(answer: Answer) -> Answer:
    """MCP: the message is in `structuredContent`, or written down as text in `content`."""
    content = answer.content
    if not isinstance(content, dict) or not ("content" in content or "structuredContent" in content):
        return answer
    if "message_type" in content:
        return answer
    failed = answer.is_error or content.get("isError") is True
    return replace(answer, content=_structured(content), is_error=failed)


def _structured(content: Mapping[str, Any]) -> object:
    structured = content.get("structuredContent")
    if isinstance(structured, dict):
        inner = structured.get("result") if len(structured) == 1 else None
        return _read_text(inner) if isinstance(inner, str) else inner if isinstance(inner, dict) else structured
    parts = content.get("content")
    first = parts[0] if isinstance(parts, list) and parts else None
    text = first.get("text") if isinstance(first, dict) else None
    return _read_text(text) if isinstance(text, str) else content


def _read_text(text: str) -> object:
    try:
        return jsonrpc.parse_answer(text.encode(errors="replace"), jsonrpc.MANAGER_LIMIT)
    except PeerError:
        return {"text": text}


def event_data(body: bytes) -> bytes:
    """The data of the last event in a server-sent stream: the answer, as MCP's streamable HTTP sends it."""
    events = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n")
    found = b""
    for event in events:
        lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
        found = b"\n".join(lines) if lines else found
    return found


def is_not_understood(answer: Answer) -> bool:
    """An error that names nothing of our catalogue rather means the call itself; so do those about requests. An
    internal error is a bug of theirs."""
    if not answer.is_error:
        return False
    data = answer.content if isinstance(answer.content, dict) else {}
    if answer.number == UNKNOWN_METHOD or "nknown tool" in str(data.get("message")):
        # Whatever catalogue the code beside it is from.
        return True
    if answer.number == INTERNAL_ERROR:
        return False
    named = data.get("error_code") or data.get("error_name") or data.get("error_description")
    return not named or data.get("error_code") in ("E034", "E035", "E036")


# --- words ------------------------------------------------------------------------------------------------------------


def in_our_words(content: dict[str, Any], sent: str) -> Words:
    """An answer as it is said out there, read as the message it stands for."""
    if sent == "GAME_INVITATION":
        return _join(content)
    if sent == "CHOOSE_PARITY_CALL":
        return _choice(content)
    if sent in REGISTRATIONS:
        return _membership(content, sent)
    return content, ()


def _join(content: dict[str, Any]) -> Words:
    told, accept = content.get("message_type"), content.get("accept")
    if told not in (None, "GAME_JOIN_ACK") or (told is not None and accept is not None):
        return content, ()
    if accept is None:
        accept = content.get("accepted")
    if accept is None and content.get("status") in _JOINED:
        accept = True
    if not isinstance(accept, bool):
        return content, ()
    odd = [] if "accept" in content else [_odd("accept", "the answer is under accept", "GAME_JOIN_ACK.accept")]
    return _typed({**content, "accept": accept}, "GAME_JOIN_ACK", odd)


def _choice(content: dict[str, Any]) -> Words:
    told, choice = content.get("message_type"), content.get("choice")
    if told not in (None, "CHOOSE_PARITY_RESPONSE"):
        return content, ()
    if "parity_choice" in content:
        return _typed(content, "CHOOSE_PARITY_RESPONSE", []) if told is None else (content, ())
    if not isinstance(choice, str):
        return content, ()
    place = "parity_choice"
    odd = [_odd(place, "the choice is under parity_choice, not choice", f"CHOOSE_PARITY_RESPONSE.{place}")]
    return _typed({**content, place: choice}, "CHOOSE_PARITY_RESPONSE", odd)


def _membership(content: dict[str, Any], sent: str) -> Words:
    """Who says that we are in, and as whom, has answered a registration; so has who says in the answer's own type that
    we are not."""
    kind, named = sent.replace("REQUEST", "RESPONSE"), "player_id" if sent.startswith("LEAGUE") else "referee_id"
    told, data = content.get("message_type"), content.get("data")
    if told is not None and (not isinstance(told, str) or (told in MESSAGES and told not in _MEMBERSHIPS)):
        return content, ()
    fields = {**data, **content} if isinstance(data, dict) else content
    agent_id = _first(fields, (named, "agent_id", "assigned_id", "id"))
    status = _membership_status(fields, has_id=agent_id is not None)
    if status is None or (status == "REJECTED" and told != kind) or (status == "ACCEPTED" and agent_id is None):
        return content, ()
    said = {"status": status, named: agent_id, "auth_token": _first(fields, ("auth_token", "token", "access_token"))}
    odd = [
        _odd(name, f"{name} does not say it, but something else in the answer", f"{kind}.{name}")
        for name, value in said.items()
        if value is not None and value != content.get(name)
    ]
    if told is not None and told != kind:
        odd.append(_odd("message_type", f"this is a {kind}, whatever its type says", "ENVELOPE.message_type"))
    return _typed({**fields, **said}, kind, odd) if odd or told is None else (content, ())


def _membership_status(fields: Mapping[str, Any], has_id: bool) -> str | None:
    """ACCEPTED or REJECTED, by whatever says so; an id alone says yes."""
    status = fields.get("status")
    word = status.upper() if isinstance(status, str) else ""
    flags = [flag for flag in map(fields.get, ("success", "accepted", "registered")) if isinstance(flag, bool)]
    if word in _NO_MEMBER or not all(flags) or fields.get("error") is not None:
        return "REJECTED"
    return "ACCEPTED" if word in _MEMBER or flags or (has_id and not word) else None


def _first(fields: Mapping[str, Any], names: Iterable[str]) -> str | None:
    found = (fields.get(name) for name in names)
    return next((value for value in found if isinstance(value, str) and value), None)


def _typed(content: dict[str, Any], kind: str, odd: list[Violation]) -> Words:
    if "message_type" not in content:
        odd.append(_odd("message_type", f"message_type is missing; this is a {kind}", "ENVELOPE.message_type"))
    return {**content, "message_type": kind}, tuple(odd)


def _odd(path: str, detail: str, clause: str) -> Violation:
    return Violation("E003", path, detail, clause, lenient=True)


def request_in_our_words(content: dict[str, Any], method: str) -> Words:
    """A request of an agent as it is said out there: a choice or a join as its own POST, a registration whose meta
    fields stand flat in it, a report or what a player is told in other words. Any: JSON of others."""
    told = content.get("message_type") or message_type_of(method)
    if told == "GAME_JOIN_ACK":
        return _join(content)
    if told == "CHOOSE_PARITY_RESPONSE":
        return _choice(content)
    if isinstance(told, str) and told in REGISTRATIONS:
        return _registration(content, str(told))
    if isinstance(told, str) and told in notice_words.KINDS:
        return notice_words.in_our_words(content, told)
    return report_words.in_our_words(content) if told == report_words.KIND else (content, ())


def _registration(content: dict[str, Any], kind: str) -> Words:
    place = REGISTRATIONS[kind]
    if place in content and "message_type" in content:
        return content, ()
    if place in content:
        content, odd = _with_version(content, place, kind)
        return _typed(content, kind, odd)
    if "contact_endpoint" not in content:
        return content, ()
    envelope = {name: value for name, value in content.items() if name in ENVELOPE or name == "auth_token"}
    meta = {name: value for name, value in content.items() if name not in envelope}
    flat = _odd(place, f"the fields of {place} stand in an object of that name", f"{kind}.{place}")
    content, odd = _with_version({**envelope, place: meta}, place, kind)
    return _typed(content, kind, [flat, *odd])


def _with_version(content: dict[str, Any], place: str, kind: str) -> tuple[dict[str, Any], list[Violation]]:
    """Who sends no message of the documents, only what is to be in one, need not say its version. Any: JSON."""
    meta = content[place]
    if not isinstance(meta, dict) or meta.get("version") is not None:
        return content, []
    odd = _odd(f"{place}.version", "version is missing", f"{kind}.{place}.version")
    return {**content, place: {**meta, "version": UNKNOWN_VERSION}}, [odd]


def registration_of(fields: dict[str, Any]) -> dict[str, Any]:
    """What is posted to /register, as a message: who offers to run matches is a referee. Any: JSON of others."""
    role = str(fields.get("role") or fields.get("agent_type") or fields.get("sender") or "")
    is_referee = role.lower().startswith("ref") or "max_concurrent_matches" in fields or "referee_meta" in fields
    return {"message_type": "REFEREE_REGISTER_REQUEST" if is_referee else "LEAGUE_REGISTER_REQUEST", **fields}


def tool_result(result: Message | dict[str, Any]) -> dict[str, Any]:
    """The result of a `tools/call`: as MCP has it, and beside it plain as anybody else does. Any: JSON."""
    plain = msgspec.to_builtins(result)
    text = msgspec.json.encode(plain).decode()
    content = [{"type": "text", "text": text}]
    return {**plain, "content": content, "structuredContent": plain, "isError": False}
