"""Between bytes and letters: how a call is written and read, and how its answer is. Pure; all transports share it.

Every request and every answer is read in up to three ways, and the first that succeeds counts:

- *quickly*: right in every way, as our own agents write it (`read_quickly`, `quick_read`);
- *as documented*: in the general way, with a verdict on everything that is wrong;
- *otherwise*, in the profile "compat" only: normalised to the protocol, with every deviation recorded.

A quicker way must never read a message differently from a slower one; it may only decline to read it. R-02 decides what
an answer is: an error, the expected message, or a mere acknowledgement. An answer of ours repeats the convention of its
request (`Asked`), so that a caller is answered in the form in which it called.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct, structs

from league.gateway import forms
from league.gateway.readers import normalise, understanding
from league.gateway.readers.foreign_assignments import is_answered_freely, name_of_round
from league.gateway.readers.tools import NO_SESSION, Session, Tool
from league.machine import (
    ASSIGNMENTS,
    Acknowledged,
    Address,
    Answering,
    Content,
    DialectProbe,
    Information,
    Inquiry,
    LiveMatch,
    MatchNews,
    MatchRecord,
    Ping,
    Pong,
    RecordRequest,
    Refusal,
    Watch,
)
from league.protocol.conventions import Convention
from league.protocol.errors import (
    ERRORS,
    PeerError,
    Retry,
    Stage,
    Violation,
    read_foreign,
)
from league.protocol.message.envelope import Reading, Unsealed, seal, unseal
from league.protocol.message.exchanges import EXCHANGES, Role, family_of
from league.protocol.message.findings import Findings
from league.protocol.message.messages import MESSAGES, LeagueQuery, Message
from league.protocol.versions import LIVE, PROTOCOL
from league.protocol.wire import jsonrpc, quick_read
from league.protocol.wire.jsonrpc import BadRequestError, Id, RpcAnswer, is_int

PING = "ping"
RECORD = "get_match_record"
NEWS = "match_news"
RECORD_LIMIT = jsonrpc.MANAGER_LIMIT
"""The largest match record a manager takes."""
INQUIRIES: Mapping[Role, tuple[str, ...]] = {
    Role.MANAGER: ("get_standings", "get_assigned_matches"),
    Role.REFEREE: ("get_match_state", *ASSIGNMENTS),
    Role.PLAYER: ("get_player_state",),
}
"""The questions a role answers besides messages of the protocol, by method or by message type."""
UNKNOWN_TOOL = -32602
"""MCP's number for it."""
ACCEPTED = 202
"""The HTTP status that says: the answer comes later."""
_NO_RESULT = Violation(
    "E035",
    "",
    "an answer is a JSON-RPC object with a result, not an empty body",
    "RPC.one_answer",
    lenient=True,
)
_METHODS = {kind: b',"method":"%b","params":' % row.method.encode() for kind, row in EXCHANGES.items()}
_RETRYABLE = (Retry.YES, Retry.LATER, Retry.IN_WINDOW)
_SIGNS_OF_ERROR = ("error_code", "error_name", "error_description", "error_detail", "error", "reason")
_ERROR_TYPES = {Role.MANAGER: "LEAGUE_ERROR", Role.REFEREE: "GAME_ERROR"}
_CHOICE_FIELDS = ("accept", "accepted", "parity_choice", "choice", "move_data")


class HttpReply(Struct, frozen=True, gc=False):
    """What a server answered to an HTTP request, whatever the status."""

    status: int
    body: bytes
    retry_after: float | None = None
    content_type: str = ""
    session: str = ""
    """The MCP session the server opened with this answer."""
    location: str = ""
    """Where a redirect leads."""


class Asked(msgspec.Struct, frozen=True, gc=False):
    """A request as read: its content, and what its answer must repeat."""

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
        """The same request from a caller that speaks MCP."""
        return msgspec.structs.replace(self, is_mcp=True)

    @property
    def calls_tool(self) -> bool:
        return self.is_mcp and self.convention is Convention.TOOLS

    @property
    def is_unknown(self) -> bool:
        """Whether this is neither a message nor a question of the protocol."""
        if self.message_type is not None or not isinstance(self.content, Unsealed):
            return False
        return any(violation.code == "E036" for violation in self.content.violations)


_REGISTRATIONS = ("LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST")


class Speaker(Struct, frozen=True):
    """The agent that answers here: its role decides which methods it knows and how its errors look."""

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
    """Write a request. The body was encoded once for all receivers; the receiver's token is spliced in. `tool` is the
    name of the method there, if it is not the one in the documents."""
    if isinstance(message, Ping):
        return _write_ping(request_id, message, to)
    token = b""
    if to.token is not None:
        token = b',"auth_token":"%b"' % to.token.encode()
    # The usual call: no parsing and no second encoding, only bytes put together.
    if tool is None and to.convention is Convention.SPEC and message.type in _METHODS:
        return b'{"jsonrpc":"2.0","id":%d%b%b%b}}' % (
            request_id,
            _METHODS[message.type],
            body[:-1],
            token,
        )
    body = b"%b%b}" % (body[:-1], token)
    if to.convention is Convention.BARE:
        body = forms.with_flat_meta(message, body)
    if tool is None:
        tool = Tool(forms.spellings(to.convention, message.type)[0])
    return forms.frame(
        to.convention,
        request_id,
        tool,
        forms.retyped(message, body, tool.name),
        session,
    )


def _write_ping(request_id: int, message: Ping, to: Address) -> bytes:
    if isinstance(message, Watch):
        watched = {"watched": message.match_ids, "auth_token": to.token}
        return jsonrpc.encode_call(request_id, PING, msgspec.json.encode(watched))
    if not isinstance(message, RecordRequest | MatchNews):
        return b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % request_id
    params = {
        "match_id": message.match_id,
        "attempt": message.attempt,
        "auth_token": to.token,
    }
    if isinstance(message, RecordRequest):
        return jsonrpc.encode_call(request_id, RECORD, msgspec.json.encode(params))
    return jsonrpc.encode_call(request_id, NEWS, msgspec.json.encode({**params, "live": message.live}))


def read_request(raw: bytes, speaker: Speaker, limit: int = jsonrpc.MESSAGE_LIMIT) -> Asked:
    """Read any bytes as a request for the machine; raise BadRequestError if they cannot be dispatched."""
    return read_quickly(raw, speaker, limit) or read_closely(raw, speaker, limit)


def read_quickly(raw: bytes, speaker: Speaker, limit: int) -> Asked | None:
    """Read a request that is right in every way; return None for any other."""
    if len(raw) > limit:
        return None
    request = quick_read.read_request(raw, speaker.role, speaker.reading)
    if request is None:
        return None
    request_id, read = request
    message: Any = read.message  # each has an envelope; only those about a match have its id
    match_id = getattr(message, "match_id", None)
    return Asked(
        request_id,
        read,
        message.type,
        message.conversation_id,
        message.sender,
        match_id,
    )


def read_closely(raw: bytes, speaker: Speaker, limit: int) -> Asked:
    """Read any request, in the general way."""
    call = jsonrpc.decode_call(raw, limit)
    reading = speaker.reading
    if call.convention is Convention.BARE and reading.profile == "strict":
        raise BadRequestError(
            None,
            PeerError(
                "E035",
                'jsonrpc must be "2.0"',
                {"field": "jsonrpc"},
                "RPC.object",
            ),
        )
    content = _fields(call.params)
    if call.method == PING:
        return Asked(call.id, _ping(content), convention=call.convention)
    if call.method == RECORD and speaker.role is Role.REFEREE:
        return Asked(call.id, _record_request(content))
    if call.method == NEWS and speaker.role is Role.MANAGER:
        return Asked(call.id, _match_news(call.id, content))
    inquiry = _inquiry_in(call.method, content.get("message_type"), speaker.role)
    if inquiry is not None:
        return Asked(
            call.id,
            Inquiry(inquiry, content),
            convention=call.convention,
            is_halved=call.is_halved,
        )
    read = jsonrpc.read_call(call, reading, speaker.role)
    # Only a message that cannot be read as it stands is normalised: usually this costs nothing.
    if reading.profile == "compat" and read.message is None:
        round_name = name_of_round(content.get("round_id"))
        content, deviations = normalise.normalise_request(content, call.method, reading.game_type)
        if deviations:
            normalised = jsonrpc.read_call(structs.replace(call, params=content), reading, speaker.role)
            read = structs.replace(
                _with_deviations(normalised, deviations, content),
                round_name=round_name,
            )
    return Asked(
        call.id,
        read,
        _text(content, "message_type"),
        conversation_id=_text(content, "conversation_id"),
        sender=_text(content, "sender"),
        match_id=_text(content, "match_id"),
        convention=call.convention,
        is_halved=call.is_halved,
    )


def _with_deviations(
    read: Unsealed,
    deviations: tuple[Violation, ...],
    content: dict[str, Any],
) -> Unsealed:
    """Record the deviations of a message's form; refuse a message that contradicts itself."""
    lenient = tuple(deviation for deviation in deviations if deviation.lenient)
    broken = tuple(deviation for deviation in deviations if not deviation.lenient)
    recorded = lenient + read.deviations
    if not broken:
        return structs.replace(read, deviations=recorded)
    return structs.replace(
        read,
        message=None,
        violations=broken + read.violations,
        deviations=recorded,
        content=content,
    )


def _inquiry_in(method: str, message_type: object, role: Role) -> str | None:
    """Find the inquiry a request makes, if its type is not one of the protocol's."""
    names = [method.lower()]
    if isinstance(message_type, str):
        if message_type in MESSAGES:
            return None
        names.append(message_type.lower())
    for inquiry in INQUIRIES.get(role, ()):
        if inquiry in names:
            return inquiry
    return None


def _record_request(params: Mapping[str, object]) -> RecordRequest:
    """Read which record is asked for. A field that is missing or wrong names no match, and is refused as such."""
    attempt = params.get("attempt")
    if not is_int(attempt):
        attempt = 0
    return RecordRequest(_text(params, "match_id") or "", attempt, _text(params, "auth_token"))


def _ping(params: Mapping[str, object]) -> Ping:
    watched = params.get("watched")
    if not isinstance(watched, list):
        return Ping()
    return Watch(tuple(name for name in watched if isinstance(name, str)), _text(params, "auth_token"))


def _match_news(request_id: Id, params: Mapping[str, object]) -> MatchNews:
    request = _record_request(params)
    try:
        live = msgspec.convert(params.get("live"), LiveMatch)
    except msgspec.ValidationError as error:
        raise BadRequestError(request_id, PeerError("E035", f"live: {error}", {"field": "live"})) from error
    return MatchNews(request.match_id, request.attempt, live, request.token)


def _fields(value: object) -> dict[str, Any]:
    """The fields of an object; none of anything else."""
    return value if isinstance(value, dict) else {}


def _text(content: Mapping[str, object], name: str) -> str | None:
    value = content.get(name)
    return value if isinstance(value, str) else None


# --- answers of ours --------------------------------------------------------------------------------------------------


def write_answer(request: Asked, answering: Answering, speaker: Speaker, now: float) -> bytes:
    """Write the one answer a request gets, in the convention of the request."""
    content = answering.content
    convention = request.convention
    if isinstance(content, Message) and convention is Convention.SPEC and not request.is_halved:
        return jsonrpc.encode_result(request.id, content)
    if isinstance(content, PeerError):
        return _write_error(
            request,
            content,
            answering.about,
            error_data(content, request, speaker, now),
        )
    result = _result(content)
    if request.is_mcp and isinstance(content, Pong):
        result = {}
    if convention is Convention.BARE:
        return msgspec.json.encode(result)
    if convention is Convention.TOOLS:
        result = forms.tool_result(result, beside=not request.is_mcp)
    elif request.is_halved:
        plain = msgspec.to_builtins(result)
        result = {**plain, **forms.halved(plain)}
    return jsonrpc.encode_result(request.id, result)


def _write_error(request: Asked, error: PeerError, about: str | None, data: dict[str, Any]) -> bytes:
    if request.convention is Convention.BARE:
        return msgspec.json.encode(data)
    if request.calls_tool:
        return _tool_refusal(request.id, error, data)
    return jsonrpc.encode_error(request.id, error.code, family_of(about or request.message_type), data)


def _tool_refusal(request_id: Id, error: PeerError, data: dict[str, Any]) -> bytes:
    """Refuse a call of an MCP client, which shows nothing but the sentence to people and models. A tool that does not
    exist is an error of the request."""
    if error.code == "E036":
        unknown = {
            "code": UNKNOWN_TOOL,
            "message": f"Unknown tool ({error.detail})",
        }
        return msgspec.json.encode({"jsonrpc": "2.0", "id": request_id, "error": unknown})
    sentence = f"{error.code} {error.row.name}: {error.detail}"
    result = {
        "content": [{"type": "text", "text": sentence}],
        "structuredContent": data,
        "isError": True,
    }
    return jsonrpc.encode_result(request_id, result)


def _result(
    content: Message | Pong | Acknowledged | MatchRecord | Information,
) -> Message | dict[str, Any]:
    if isinstance(content, Acknowledged):
        return {}
    if isinstance(content, Pong):
        return _pong(content)
    if isinstance(content, MatchRecord):
        return {
            "match_id": content.match_id,
            "attempt": content.attempt,
            "events": list(content.events),
        }
    if isinstance(content, Information):
        return dict(content.data)
    return content


def _pong(pong: Pong) -> dict[str, Any]:
    """Write the answer to a ping (Any: JSON)."""
    fields: dict[str, Any] = {"protocol": PROTOCOL}
    if pong.player_id:
        fields["player_id"] = pong.player_id
    if pong.matches is not None:
        fields["matches"] = [{"match_id": match_id, "attempt": attempt} for match_id, attempt in pong.matches]
    if pong.is_live:
        fields["live"] = LIVE
    return fields


def write_bad_request(bad: BadRequestError, speaker: Speaker, now: float) -> bytes:
    """Answer bytes that could not be dispatched."""
    data = error_data(bad.error, Asked(bad.id, Ping()), speaker, now)
    return jsonrpc.encode_error(bad.id, bad.error.code, family_of(None), data)


def write_refusal(code: str, detail: str, speaker: Speaker, now: float) -> bytes:
    """Answer a request that HTTP itself refuses: the whole error of the catalogue, to no particular request."""
    return write_bad_request(BadRequestError(None, PeerError(code, detail)), speaker, now)


def error_data(error: PeerError, request: Asked, speaker: Speaker, now: float) -> dict[str, Any]:
    """Write the LEAGUE_ERROR or GAME_ERROR message of a refusal (R-13, R-46); a player's has no message_type."""
    about = request.message_type or "UNKNOWN"
    sender = request.sender or ""
    data: dict[str, Any] = {}
    if speaker.role in _ERROR_TYPES:
        data["message_type"] = _ERROR_TYPES[speaker.role]
    data |= error.context
    data |= seal(speaker.sender, now, request.conversation_id or "conv-unknown")
    del data["auth_token"]
    detail = error.detail
    if about in _REGISTRATIONS and speaker.role is not Role.MANAGER:
        detail += f": this is {' '.join(speaker.sender.split(':'))}, not a manager"
    affected_player = None
    if sender.startswith("player:"):
        affected_player = sender.removeprefix("player:") or None
    return {
        **data,
        "error_code": error.code,
        "error_description": error.row.name,
        "error_name": error.row.name,
        "error_detail": detail,
        "original_message_type": about,
        "context": {**error.context, "action": about},
        "affected_player": affected_player,
        "action_required": _action(error, about, sender, speaker),
        "retryable": error.row.retry in _RETRYABLE,
    }


def _action(error: PeerError, about: str, sender: str, speaker: Speaker) -> str:
    """Name the message to repeat; without a valid token that is the registration."""
    if speaker.role is not Role.MANAGER or error.code != "E012":
        return about
    return "REFEREE_REGISTER_REQUEST" if sender.startswith("referee:") else "LEAGUE_REGISTER_REQUEST"


# --- answers of others ------------------------------------------------------------------------------------------------


def read_answer(
    raw: bytes,
    sent: Message | Ping,
    reading: Reading,
    limit: int = jsonrpc.MESSAGE_LIMIT,
    status: int = 200,
) -> Content:
    """Read the answer to a call of ours. `status` is its HTTP status, below 300 unless the body says something."""
    if isinstance(sent, Ping):
        return _read_ping_answer(raw, sent, limit)
    if len(raw) <= limit and not (isinstance(sent, LeagueQuery) and is_answered_freely(sent)):
        quickly = quick_read.read_answer(raw, sent.type, reading)
        if quickly is not None:
            return quickly
    is_lenient = status < 300 and reading.profile == "compat"
    if is_lenient and (not raw or raw.isspace()):
        # Nothing at all is a mere acknowledgement (section 6.2).
        return Acknowledged((_NO_RESULT,), is_promise=status == ACCEPTED, is_empty=True)
    content = _read_closely(raw, sent, reading, limit)
    if is_lenient and status == ACCEPTED and not _says_something(content):
        return Acknowledged((_NO_RESULT,), is_promise=True)
    return content


def _says_something(content: Content) -> bool:
    """False for an answer without a message: with the status "accepted" it is a mere acknowledgement."""
    if isinstance(content, Unsealed):
        return content.message is not None or content.message_type is not None
    return isinstance(content, Refusal | Information)


def _read_closely(raw: bytes, sent: Message, reading: Reading, limit: int) -> Content:
    try:
        value = jsonrpc.parse_answer(raw, limit)
        return _read_documented(value, sent, reading) or _read_otherwise(value, sent, reading)
    except PeerError as error:
        return _unreadable(error)


def _read_documented(value: object, sent: Message, reading: Reading) -> Unsealed | None:
    """Read an answer that is right in every way, which most are: nothing else is looked for then."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0" or "error" in value:
        return None
    result = value.get("result")
    row = EXCHANGES.get(sent.type)
    if row is None or not isinstance(result, dict) or result.get("message_type") not in row.replies:
        return None
    if isinstance(sent, LeagueQuery) and is_answered_freely(sent):
        return None
    read = unseal(result, reading, row.replies)
    if read.message is None or read.deviations:
        return None
    return read


def _read_otherwise(value: object, sent: Message, reading: Reading) -> Content:
    """Read any other answer, in whatever form; raise PeerError if nothing can be read of it."""
    if is_answered_freely(sent):
        return _read_information(value)
    # The type is looked at before normalising: an error must not be normalised into the expected message.
    is_compat = reading.profile == "compat"
    answer = forms.answer_in(value) if is_compat else jsonrpc.answer_in(value)
    content = answer.content
    deviations = answer.deviations
    expected = EXCHANGES[sent.type].replies if sent.type in EXCHANGES else ()
    if answer.is_error or (_type_in(content) not in expected and _is_refusal(content)):
        return _refusal(answer)
    if is_compat and isinstance(content, dict):
        content, more = normalise.normalise_answer(content, sent.type, getattr(sent, "move_request", None))
        deviations = more + deviations
    message_type = _type_in(content)
    is_message = isinstance(message_type, str) and not is_notification(sent)
    if is_compat and message_type not in expected and not is_message:
        return Acknowledged()
    read = unseal(content, reading, expected)
    if not deviations:
        return read
    return structs.replace(read, deviations=(*deviations, *read.deviations))


def _type_in(content: object) -> object:
    return content.get("message_type") if isinstance(content, dict) else None


def says_something(raw: bytes) -> bool:
    """True if this is an answer at all, whatever the HTTP status: a message, or JSON-RPC."""
    try:
        value = jsonrpc.parse_answer(raw, len(raw))
    except PeerError:
        return False
    return isinstance(value, dict) and ("message_type" in value or "jsonrpc" in value)


def is_notification(sent: Message) -> bool:
    """True for a notification: any answer but an error acknowledges it (R-04)."""
    row = EXCHANGES.get(sent.type)
    return row is None or (row.replies[0].endswith("_ACK") and sent.type != "GAME_INVITATION")


def _read_ping_answer(raw: bytes, sent: Ping, limit: int) -> Content:
    if isinstance(sent, RecordRequest):
        return _read_record(raw, limit)
    if isinstance(sent, DialectProbe):
        # The gateway itself wrote this answer, out of all that it was answered.
        return msgspec.json.decode(raw, type=Findings)
    return _read_pong(raw, limit)


def lists_matches(raw: bytes) -> bool:
    """True for the answer of a referee of ours to a ping."""
    return _read_pong(raw, RECORD_LIMIT).matches is not None


def _read_pong(raw: bytes, limit: int) -> Pong:
    """Read the answer to a ping. Any answer is a sign of life; ours say more."""
    try:
        content = jsonrpc.decode_answer(raw, limit).content
    except PeerError:
        return Pong()
    fields = _fields(content)
    listed = fields.get("matches")
    if not isinstance(listed, list):
        return Pong(player_id=_text(fields, "player_id") or "")
    matches = []
    for match in map(_fields, listed):
        match_id = _text(match, "match_id")
        attempt = match.get("attempt")
        if match_id is not None and is_int(attempt):
            matches.append((match_id, attempt))
    return Pong(tuple(matches), is_live=fields.get("live") == LIVE)


def _read_record(raw: bytes, limit: int) -> Content:
    try:
        answer = jsonrpc.decode_answer(raw, limit)
    except PeerError as error:
        return _unreadable(error)
    if answer.is_error:
        return _refusal(answer)
    content = _fields(answer.content)
    match_id = _text(content, "match_id")
    attempt = content.get("attempt")
    events = content.get("events")
    if match_id is None or not is_int(attempt) or not isinstance(events, list):
        return Acknowledged()
    return MatchRecord(
        match_id,
        attempt,
        tuple(event for event in events if isinstance(event, dict)),
    )


def _read_information(value: object) -> Content:
    """Read any answer but an error; a list alone is a list of matches, the only thing that is asked for in this way."""
    answer = RpcAnswer(value) if isinstance(value, list) else forms.answer_in(value)
    content = answer.content
    if answer.is_error or _is_refusal(content):
        return _refusal(answer)
    # The list is wrapped, so that whoever asked finds matches in one place.
    if isinstance(content, list):
        content = {"matches": content}
    return Information(content) if isinstance(content, dict) else Acknowledged()


def _unreadable(error: PeerError) -> Unsealed:
    return Unsealed(None, None, (Violation(error.code, "", error.detail, "RPC", Stage.TYPE),))


# --- errors of others -------------------------------------------------------------------------------------------------


def _is_refusal(content: object) -> bool:
    """R-02 (1): an error in the clothes of a result."""
    if not isinstance(content, dict):
        return False
    return (
        _says_no(content)
        or (content.get("message_type") is None and bool(content.get("error_code")))
        or understanding.is_trouble(content)
    )


def _says_no(content: Mapping[str, object]) -> bool:
    """True if it is an error in the words of the protocol."""
    if content.get("status") in ("ERROR", "REJECTED"):
        return True
    if content.get("message_type") not in ("LEAGUE_ERROR", "GAME_ERROR"):
        return False
    # Some agents acknowledge a message by repeating its type, also one that tells them of an error.
    return not content.keys().isdisjoint(_SIGNS_OF_ERROR)


def _meaning(code: str) -> str:
    """Return what a code means to us. Ours for bugs is no one else's: others got it for having said nothing we know."""
    if code == "E099":
        return "it does not say what is wrong"
    return ERRORS[code].when


def _refusal(answer: RpcAnswer) -> Refusal:
    content = answer.content
    number = answer.number
    fields = _fields(content)
    if isinstance(fields.get("error"), dict):
        fields = fields["error"]
    name = _text(fields, "error_name") or _text(fields, "error_description")
    words = understanding.words_of(content, number, answer.message)
    is_unknown = understanding.says_unknown(content, number, is_error=answer.is_error)
    code = "E036"
    if not is_unknown:
        code = read_foreign(_text(fields, "error_code"), name, number)
    detail = (
        _text(fields, "error_detail")
        or _text(fields, "reason")
        or _text(fields, "message")
        or answer.message
        or name
        or words
        or _meaning(code)
    )
    is_no = answer.is_tool_error or (not answer.is_error and _is_no(content))
    understood = (is_no and not is_unknown) or not understanding.is_not_understood(content, number)
    return Refusal(code, detail[:500], understood, words)


def _is_no(content: object) -> bool:
    """True for a no in a result, in the protocol's words or beside the expected fields: its sender has understood."""
    if not isinstance(content, dict):
        return False
    if _says_no(content) or any(name in content for name in _CHOICE_FIELDS):
        return True
    return content.get("success") is False and content.get("error") is None
