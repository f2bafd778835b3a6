"""Between bytes and letters: how a call is written and read, and how its answer is. Pure; all transports share it.

R-02 decides what an answer is: an error, the expected message, or a mere acknowledgement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from msgspec import structs

from league.gateway import forms, normalise, understanding
from league.gateway.assignments import is_answered_freely, name_of_round
from league.gateway.tools import NO_SESSION, Session, Tool
from league.machine import (
    ASSIGNMENTS,
    Acknowledged,
    Address,
    Answering,
    Content,
    Information,
    Inquiry,
    MatchRecord,
    Ping,
    Pong,
    RecordRequest,
    Refusal,
)
from league.protocol import jsonrpc, quick_read
from league.protocol.conventions import Convention
from league.protocol.envelope import Reading, Unsealed, seal, unseal
from league.protocol.errors import ERRORS, PeerError, Retry, Stage, Violation, read_foreign
from league.protocol.exchanges import EXCHANGES, Role, family_of
from league.protocol.jsonrpc import BadRequestError, Id, RpcAnswer, RpcCall, is_int
from league.protocol.messages import MESSAGES, LeagueQuery, Message

PING = "ping"
RECORD = "get_match_record"
RECORD_LIMIT = 256 * 1024
"""The largest match record a manager takes."""
INQUIRIES: Mapping[Role, tuple[str, ...]] = {
    Role.MANAGER: ("get_standings", "get_assigned_matches"),
    Role.REFEREE: ("get_match_state", *ASSIGNMENTS),
    Role.PLAYER: ("get_player_state",),
}
"""What is asked of a role without a message of the protocol, by method or by message type."""
UNKNOWN_TOOL = -32602
"""MCP's number for it."""
ACCEPTED = 202
"""The HTTP status that says: the answer comes later."""
_NO_RESULT = Violation(
    "E035", "", "an answer is a JSON-RPC object with a result, not an empty body", "RPC.one_answer", lenient=True
)
_METHODS = {kind: b',"method":"%b","params":' % row.method.encode() for kind, row in EXCHANGES.items()}
_NAMING = ("message_type", "conversation_id", "sender", "match_id")


class Asked(msgspec.Struct, frozen=True, gc=False):
    """A request as read: what it says, and what its answer must repeat."""

    id: Id
    content: Content
    message_type: str | None = None
    conversation_id: str | None = None
    sender: str | None = None
    match_id: str | None = None
    convention: Convention = Convention.SPEC
    is_halved: bool = False
    is_mcp: bool = False
    """The caller speaks MCP: its answer is as MCP has it, and nothing else."""

    def by_mcp(self) -> Asked:
        """The same, asked by a caller that speaks MCP."""
        return msgspec.structs.replace(self, is_mcp=True)

    @property
    def calls_tool(self) -> bool:
        return self.is_mcp and self.convention is Convention.TOOLS


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who answers here: its role decides which methods it knows and how its errors look."""

    role: Role
    sender: str
    reading: Reading


# --- calls ------------------------------------------------------------------------------------------------------------


def write_call(
    request_id: int,
    message: Message | Ping,
    body: bytes,
    to: Address,
    tool: Tool | None = None,
    session: Session = NO_SESSION,
) -> bytes:
    """A request; the body was encoded once for all receivers, the receiver's token is spliced in. `tool` is what the
    method is called there, if it is not what the documents call it."""
    if isinstance(message, Ping):
        if not isinstance(message, RecordRequest):
            return b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % request_id
        asked = {"match_id": message.match_id, "attempt": message.attempt, "auth_token": to.token}
        return jsonrpc.encode_call(request_id, RECORD, msgspec.json.encode(asked))
    token = b"" if to.token is None else b',"auth_token":"%b"' % to.token.encode()
    if tool is None and to.convention is Convention.SPEC and message.type in _METHODS:
        return b'{"jsonrpc":"2.0","id":%d%b%b%b}}' % (request_id, _METHODS[message.type], body[:-1], token)
    body = b"%b%b}" % (body[:-1], token)
    if to.convention is Convention.BARE:
        body = forms.with_flat_meta(message, body)
    tool = tool or Tool(forms.spellings(to.convention, message.type)[0])
    return forms.frame(to.convention, request_id, tool, forms.retyped(message, body, tool.name), session)


def read_request(raw: bytes, speaker: Speaker, limit: int = jsonrpc.MESSAGE_LIMIT) -> Asked:
    """Whatever the bytes: a request to hand to the machine. BadRequestError for what cannot be dispatched."""
    return read_quickly(raw, speaker, limit) or read_closely(raw, speaker, limit)


def read_quickly(raw: bytes, speaker: Speaker, limit: int) -> Asked | None:
    """A request that is right in every way; None for any other."""
    found = quick_read.read_request(raw, speaker.role, speaker.reading) if len(raw) <= limit else None
    if found is None:
        return None
    number, read = found
    said: Any = read.message  # each has an envelope; only those about a match have its id
    return Asked(number, read, said.type, said.conversation_id, said.sender, getattr(said, "match_id", None))


def read_closely(raw: bytes, speaker: Speaker, limit: int) -> Asked:
    """Any request, in the general way."""
    return _read_call(jsonrpc.decode_call(raw, limit), speaker)


def _read_call(call: RpcCall, speaker: Speaker) -> Asked:
    if call.convention is Convention.BARE and speaker.reading.profile == "strict":
        raise BadRequestError(None, PeerError("E035", 'jsonrpc must be "2.0"', {"field": "jsonrpc"}, "RPC.object"))
    if call.method == PING:
        return Asked(call.id, Ping(), convention=call.convention)
    if call.method == RECORD and speaker.role is Role.REFEREE:
        return Asked(call.id, _record_request(call.params))
    content = call.params if isinstance(call.params, dict) else {}
    inquired = _inquired(call.method, content.get("message_type"), speaker.role)
    if inquired is not None:
        return Asked(call.id, Inquiry(inquired, content), convention=call.convention, is_halved=call.is_halved)
    read = jsonrpc.read_call(call, speaker.reading, speaker.role)
    if speaker.reading.profile == "compat" and read.message is None:
        # What is right as it stands costs nothing more.
        round_name = name_of_round(content.get("round_id"))
        content, deviations = normalise.normalise_request(content, call.method, speaker.reading.game_type)
        if deviations:
            normalised = jsonrpc.read_call(replace(call, params=content), speaker.reading, speaker.role)
            read = structs.replace(_with(normalised, deviations, content), round_name=round_name)
    kind, conversation_id, sender, match_id = (_text(content, name) for name in _NAMING)
    return Asked(call.id, read, kind, conversation_id, sender, match_id, call.convention, call.is_halved)


def _with(read: Unsealed, deviations: tuple[Violation, ...], content: dict[str, Any]) -> Unsealed:
    """The deviations of its form are recorded; a message that contradicts itself is refused."""
    broken = tuple(one for one in deviations if not one.lenient)
    passed = (*(one for one in deviations if one.lenient), *read.deviations)
    if not broken:
        return structs.replace(read, deviations=passed)
    return structs.replace(
        read, message=None, violations=(*broken, *read.violations), deviations=passed, content=content
    )


def _inquired(method: str, message_type: object, role: Role) -> str | None:
    """Which inquiry this is, if its type is none of the protocol's."""
    kind = message_type if isinstance(message_type, str) else ""
    if kind in MESSAGES:
        return None
    said = (method.lower(), kind.lower())
    return next((one for one in INQUIRIES.get(role, ()) if one in said), None)


def _record_request(params: object) -> RecordRequest:
    """What is missing or wrong names no match, and is refused as such."""
    fields = params if isinstance(params, dict) else {}
    attempt = fields.get("attempt")
    return RecordRequest(
        _text(fields, "match_id") or "", attempt if is_int(attempt) else 0, _text(fields, "auth_token")
    )  # fmt: skip


def _text(content: Mapping[str, object], name: str) -> str | None:
    value = content.get(name)
    return value if isinstance(value, str) else None


# --- answers ----------------------------------------------------------------------------------------------------------


def write_answer(asked: Asked, answering: Answering, speaker: Speaker, now: float) -> bytes:
    """The one answer a request gets, in the way it was asked."""
    content = answering.content
    if isinstance(content, Message) and asked.convention is Convention.SPEC and not asked.is_halved:
        return jsonrpc.encode_result(asked.id, content)
    if isinstance(content, PeerError):
        about = answering.about or asked.message_type
        data = error_data(content, asked, speaker, now)
        if asked.convention is Convention.BARE:
            return msgspec.json.encode(data)
        if asked.calls_tool:
            return _tool_refusal(asked.id, content, data)
        return jsonrpc.encode_error(asked.id, content.code, family_of(about), data)
    result = _result(content) if not (asked.is_mcp and isinstance(content, Pong)) else {}
    if asked.convention is Convention.BARE:
        return msgspec.json.encode(result)
    if asked.convention is Convention.TOOLS:
        result = forms.tool_result(result, beside=not asked.is_mcp)
    elif asked.is_halved:
        plain = msgspec.to_builtins(result)
        result = {**plain, **forms.halved(plain)}
    return jsonrpc.encode_result(asked.id, result)


def _tool_refusal(request_id: Id, error: PeerError, data: dict[str, Any]) -> bytes:
    """To an MCP client: the sentence is all that it shows to people and models. A tool that is not there is an error of
    the request."""
    if error.code == "E036":
        unknown = {"code": UNKNOWN_TOOL, "message": f"Unknown tool ({error.detail})"}
        return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": unknown})
    said = f"{error.code} {error.row.name}: {error.detail}"
    result = {"content": [{"type": "text", "text": said}], "structuredContent": data, "isError": True}
    return jsonrpc.encode_result(request_id, result)


def _result(content: Message | Pong | Acknowledged | MatchRecord | Information) -> Message | dict[str, Any]:
    if isinstance(content, Acknowledged):
        return {}
    if isinstance(content, Pong):
        held = [{"match_id": match_id, "attempt": attempt} for match_id, attempt in content.matches or ()]
        return {} if content.matches is None else {"matches": held}
    if isinstance(content, MatchRecord):
        return {"match_id": content.match_id, "attempt": content.attempt, "events": list(content.events)}
    return dict(content.data) if isinstance(content, Information) else content


def write_bad_request(bad: BadRequestError, speaker: Speaker, now: float) -> bytes:
    """The answer to bytes that could not be dispatched."""
    asked = Asked(bad.id, Ping())
    return jsonrpc.encode_error(bad.id, bad.error.code, family_of(None), error_data(bad.error, asked, speaker, now))


def write_refusal(code: str, detail: str, speaker: Speaker, now: float) -> bytes:
    """The answer to a request that HTTP itself refuses: the whole error of the catalogue, to no particular request."""
    return write_bad_request(BadRequestError(None, PeerError(code, detail)), speaker, now)


def error_data(error: PeerError, asked: Asked, speaker: Speaker, now: float) -> dict[str, Any]:
    """The whole LEAGUE_ERROR or GAME_ERROR message of a refusal (R-13, R-46); a player's has no message_type."""
    about = asked.message_type or "UNKNOWN"
    sender = asked.sender or ""
    data: dict[str, Any] = {
        **error.context,
        **seal(speaker.sender, now, asked.conversation_id or "conv-unknown"),
        "error_code": error.code,
        "error_description": error.row.name,
        "error_name": error.row.name,
        "error_detail": error.detail,
        "original_message_type": about,
        "context": {**error.context, "action": about},
        "affected_player": sender.partition(":")[2] or None if sender.startswith("player:") else None,
        "action_required": _action(error, about, sender) if speaker.role is Role.MANAGER else about,
        "retryable": error.row.retry in (Retry.YES, Retry.LATER, Retry.IN_WINDOW),
    }
    del data["auth_token"]
    kind = {Role.MANAGER: "LEAGUE_ERROR", Role.REFEREE: "GAME_ERROR"}.get(speaker.role)
    return {"message_type": kind, **data} if kind else data


def _action(error: PeerError, about: str, sender: str) -> str:
    """What to repeat; without a valid token that is the registration."""
    if error.code != "E012":
        return about
    return "REFEREE_REGISTER_REQUEST" if sender.startswith("referee:") else "LEAGUE_REGISTER_REQUEST"


def read_answer(
    raw: bytes, sent: Message | Ping, reading: Reading, limit: int = jsonrpc.MESSAGE_LIMIT, status: int = 200
) -> Content:
    """What an answer to our call says. `status` is its HTTP status, below 300 unless the body says something."""
    if isinstance(sent, Ping):
        return _read_record(raw, limit) if isinstance(sent, RecordRequest) else _read_pong(raw, limit)
    if len(raw) <= limit and not (type(sent) is LeagueQuery and is_answered_freely(sent)):
        quickly = quick_read.read_answer(raw, sent.type, reading)
        if quickly is not None:
            return quickly
    if status < 300 and reading.profile == "compat":
        return _read_empty(raw, status) or _read_accepted(_read_closely(raw, sent, reading, limit), status)
    return _read_closely(raw, sent, reading, limit)


def _read_closely(raw: bytes, sent: Message, reading: Reading, limit: int) -> Content:
    try:
        value = jsonrpc.parse_answer(raw, limit)
        return _read_documented(value, sent, reading) or _read_otherwise(value, sent, reading)
    except PeerError as error:
        return _unreadable(error)


def _read_empty(raw: bytes, status: int) -> Acknowledged | None:
    """Nothing at all is a mere acknowledgement (section 6.2)."""
    return Acknowledged((_NO_RESULT,), status == ACCEPTED) if not raw or raw.isspace() else None


def _read_accepted(content: Content, status: int) -> Content:
    """ "Accepted" without a message is one too, whatever stands there instead."""
    is_message = isinstance(content, Unsealed) and (content.message is not None or content.message_type is not None)
    if status != ACCEPTED or is_message or isinstance(content, Refusal | Information):
        return content
    return Acknowledged((_NO_RESULT,), is_promise=True)


def _read_documented(value: object, sent: Message, reading: Reading) -> Unsealed | None:
    """An answer that is right in every way, which most are: nothing else is looked for then."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0" or "error" in value:
        return None
    result, row = value.get("result"), EXCHANGES.get(sent.type)
    if row is None or not isinstance(result, dict) or result.get("message_type") not in row.replies:
        return None
    if isinstance(sent, LeagueQuery) and is_answered_freely(sent):
        return None
    read = unseal(result, reading, row.replies)
    return read if read.message is not None and not read.deviations else None


def _read_otherwise(value: object, sent: Message, reading: Reading) -> Content:
    """Any other answer, in whatever form; PeerError for one of which nothing can be read."""
    if is_answered_freely(sent):
        return _read_information(value)
    compat = reading.profile == "compat"
    answer = forms.answer_in(value) if compat else jsonrpc.answer_in(value)
    expected = EXCHANGES[sent.type].replies if sent.type in EXCHANGES else ()
    content, deviations = answer.content, answer.deviations
    said = content.get("message_type") if isinstance(content, dict) else None
    if answer.is_error or (said not in expected and _is_refusal(content)):
        return _refusal(answer)
    if compat and isinstance(content, dict):
        content, more = normalise.normalise_answer(content, sent.type, getattr(sent, "move_request", None))
        said, deviations = content.get("message_type"), more + deviations
    if said in expected or (isinstance(said, str) and not is_notification(sent)) or not compat:
        read = unseal(content, reading, expected)
        return structs.replace(read, deviations=(*deviations, *read.deviations)) if deviations else read
    return Acknowledged()


def says_something(raw: bytes) -> bool:
    """Is this an answer at all, whatever the HTTP status says? A message, or JSON-RPC."""
    try:
        value = jsonrpc.parse_answer(raw, len(raw))
    except PeerError:
        return False
    return isinstance(value, dict) and ("message_type" in value or "jsonrpc" in value)


def is_notification(sent: Message) -> bool:
    """A notification: any answer that is no error acknowledges it (R-04)."""
    row = EXCHANGES.get(sent.type)
    return row is None or (row.replies[0].endswith("_ACK") and sent.type != "GAME_INVITATION")


def _read_pong(raw: bytes, limit: int) -> Pong:
    """Any answer is a sign of life; ours lists matches and attempts."""
    try:
        content = jsonrpc.decode_answer(raw, limit).content
    except PeerError:
        return Pong()
    listed = content.get("matches") if isinstance(content, dict) else None
    if not isinstance(listed, list):
        return Pong()
    pairs = [(one.get("match_id"), one.get("attempt")) for one in listed if isinstance(one, dict)]
    return Pong(tuple((match, attempt) for match, attempt in pairs if isinstance(match, str) and is_int(attempt)))


def _read_record(raw: bytes, limit: int) -> Content:
    try:
        answer = jsonrpc.decode_answer(raw, limit)
    except PeerError as error:
        return _unreadable(error)
    if answer.is_error:
        return _refusal(answer)
    content = answer.content if isinstance(answer.content, dict) else {}
    match_id, attempt, events = _text(content, "match_id"), content.get("attempt"), content.get("events")
    if match_id is None or not is_int(attempt) or not isinstance(events, list):
        return Acknowledged()
    return MatchRecord(match_id, attempt, tuple(one for one in events if isinstance(one, dict)))


def _read_information(value: object) -> Content:
    """Whatever is said, if it is no error; a list alone is of matches, the only thing that is asked for so."""
    answer = RpcAnswer(value) if isinstance(value, list) else forms.answer_in(value)
    content = answer.content
    if answer.is_error or _is_refusal(content):
        return _refusal(answer)
    listed = {"matches": content} if isinstance(content, list) else content
    return Information(listed) if isinstance(listed, dict) else Acknowledged()


def _unreadable(error: PeerError) -> Unsealed:
    return Unsealed(None, None, (Violation(error.code, "", error.detail, "RPC", Stage.TYPE),))


def _is_refusal(content: object) -> bool:
    """R-02 (1): an error in the clothes of a result."""
    if not isinstance(content, dict):
        return False
    return (
        content.get("message_type") in ("LEAGUE_ERROR", "GAME_ERROR")
        or content.get("status") in ("ERROR", "REJECTED")
        or (content.get("message_type") is None and bool(content.get("error_code")))
        or understanding.is_trouble(content)
    )


def _refusal(answer: RpcAnswer) -> Refusal:
    content, number, is_error = answer.content, answer.number, answer.is_error
    fields = content if isinstance(content, dict) else {}
    inner = fields.get("error")
    fields = inner if isinstance(inner, dict) else fields
    code, name = _text(fields, "error_code"), _text(fields, "error_name") or _text(fields, "error_description")
    is_unknown = understanding.says_unknown(content, number, is_error=is_error)
    words = understanding.words_of(content, number)
    known = "E036" if is_unknown else read_foreign(code, name, number)
    said = (_text(fields, place) for place in ("error_detail", "reason", "message"))
    detail = next(filter(None, said), None) or name or words or ERRORS[known].when
    is_no = (answer.is_tool_error or _is_no(content, is_error)) and not is_unknown
    understood = is_no or not understanding.is_not_understood(content, number)
    return Refusal(known, detail[:500], understood, words)


_ANSWERS = ("accept", "accepted", "parity_choice", "choice", "move_data")


def _is_no(content: object, is_error: bool) -> bool:
    """Whoever says no in a result, in the protocol's words or beside what it was asked for, has understood."""
    if not isinstance(content, dict) or is_error:
        return False
    if content.get("status") in ("ERROR", "REJECTED") or content.get("message_type") in ("LEAGUE_ERROR", "GAME_ERROR"):
        return True
    is_plain = content.get("success") is False and content.get("error") is None
    return is_plain or any(name in content for name in _ANSWERS)
