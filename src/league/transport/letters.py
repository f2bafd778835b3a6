"""Between bytes and letters: how a call is written and read, and how its answer is. Pure; all transports share it.

R-02 decides what an answer is: an error, the expected message, or a mere acknowledgement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from league.machine import Answering, Content, MatchRecord, Ping, Pong, RecordRequest, Refusal
from league.protocol.envelope import Reading, Unsealed, seal, unseal
from league.protocol.errors import ERRORS, PeerError, Retry, Stage, Violation, read_foreign
from league.protocol.exchanges import EXCHANGES, Role, family_of
from league.protocol.messages import Message
from league.transport import jsonrpc
from league.transport.jsonrpc import BadRequestError, Id, is_int

PING = "ping"
RECORD = "get_match_record"
RECORD_LIMIT = 256 * 1024
"""The largest match record a manager takes."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request as read: what it says, and what its answer must repeat."""

    id: Id
    content: Content
    message_type: str | None = None
    conversation_id: str | None = None
    sender: str | None = None
    match_id: str | None = None


@dataclass(frozen=True, slots=True)
class Speaker:
    """Who answers here: its role decides which methods it knows and how its errors look."""

    role: Role
    sender: str
    reading: Reading


# --- calls ------------------------------------------------------------------------------------------------------------


def write_call(request_id: int, message: Message | Ping, body: bytes, token: str | None) -> bytes:
    """A request; the body was encoded once for all receivers, the receiver's token is spliced in."""
    if isinstance(message, RecordRequest):
        asked = {"match_id": message.match_id, "attempt": message.attempt, "auth_token": token}
        return jsonrpc.encode_call(request_id, RECORD, msgspec.json.encode(asked))
    if isinstance(message, Ping):
        return b'{"jsonrpc":"2.0","id":%d,"method":"ping"}' % request_id
    if token is not None:
        body = body[:-1] + b',"auth_token":"' + token.encode() + b'"}'
    return jsonrpc.encode_call(request_id, EXCHANGES[message.type].method, body)


def read_request(raw: bytes, speaker: Speaker, limit: int = jsonrpc.MESSAGE_LIMIT) -> Asked:
    """Whatever the bytes: a request to hand to the machine. BadRequestError for what cannot be dispatched."""
    call = jsonrpc.decode_call(raw, limit)
    if call.method == PING:
        return Asked(call.id, Ping())
    if call.method == RECORD and speaker.role is Role.REFEREE:
        return Asked(call.id, _record_request(call.params))
    read = jsonrpc.read_call(call, speaker.reading, speaker.role)
    content = call.params if isinstance(call.params, dict) else {}
    named = (_text(content, name) for name in ("message_type", "conversation_id", "sender", "match_id"))
    return Asked(call.id, read, *named)


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
    """The one answer a request gets."""
    content = answering.content
    if isinstance(content, Pong):
        matches = content.matches
        held = [{"match_id": match_id, "attempt": attempt} for match_id, attempt in matches or ()]
        result: dict[str, Any] = {} if matches is None else {"matches": held}
        return jsonrpc.encode_result(asked.id, result)
    if isinstance(content, MatchRecord):
        record = {"match_id": content.match_id, "attempt": content.attempt, "events": list(content.events)}
        return jsonrpc.encode_result(asked.id, record)
    if isinstance(content, PeerError):
        about = answering.about or asked.message_type
        return jsonrpc.encode_error(asked.id, content.code, family_of(about), error_data(content, asked, speaker, now))
    return jsonrpc.encode_result(asked.id, content)


def write_bad_request(bad: BadRequestError, speaker: Speaker, now: float) -> bytes:
    """The answer to bytes that could not be dispatched."""
    asked = Asked(bad.id, Ping())
    return jsonrpc.encode_error(bad.id, bad.error.code, family_of(None), error_data(bad.error, asked, speaker, now))


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
        "action_required": about,
        "retryable": error.row.retry in (Retry.YES, Retry.LATER, Retry.IN_WINDOW),
    }
    del data["auth_token"]
    kind = {Role.MANAGER: "LEAGUE_ERROR", Role.REFEREE: "GAME_ERROR"}.get(speaker.role)
    return {"message_type": kind, **data} if kind else data


def read_answer(raw: bytes, sent: Message | Ping, reading: Reading, limit: int = jsonrpc.MESSAGE_LIMIT) -> Content:
    """What an answer to our call says."""
    if isinstance(sent, RecordRequest):
        return _read_record(raw, limit)
    if isinstance(sent, Ping):
        return _read_pong(raw, limit)
    try:
        answer = jsonrpc.decode_answer(raw, limit)
    except PeerError as error:
        return _unreadable(error)
    expected = EXCHANGES[sent.type].replies
    content = answer.content
    said = content.get("message_type") if isinstance(content, dict) else None
    if answer.is_error or (said not in expected and _is_refusal(content)):
        return _refusal(content, answer.number)
    if said in expected or (isinstance(said, str) and not sent_to_be_told(sent)) or reading.profile == "strict":
        return unseal(content, reading, expected)
    return Pong()


def sent_to_be_told(sent: Message) -> bool:
    """A notification: any answer that is no error acknowledges it (R-04)."""
    return EXCHANGES[sent.type].replies[0].endswith("_ACK") and sent.type != "GAME_INVITATION"


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
    content = answer.content if isinstance(answer.content, dict) else {}
    if answer.is_error:
        return _refusal(content, answer.number)
    match_id, attempt, events = _text(content, "match_id"), content.get("attempt"), content.get("events")
    if match_id is None or not is_int(attempt) or not isinstance(events, list):
        return Pong()
    return MatchRecord(match_id, attempt, tuple(one for one in events if isinstance(one, dict)))


def _unreadable(error: PeerError) -> Unsealed:
    return Unsealed(None, None, (Violation(error.code, "", error.detail, "RPC", Stage.TYPE),))


def _is_refusal(content: object) -> bool:
    """R-02 (1): an error in the clothes of a result."""
    if not isinstance(content, dict):
        return False
    return (
        content.get("message_type") in ("LEAGUE_ERROR", "GAME_ERROR")
        or content.get("status") in ("ERROR", "REJECTED")
        or content.get("success") is False
        or content.get("error") is not None
    )


def _refusal(content: object, number: int | None) -> Refusal:
    fields = content if isinstance(content, dict) else {}
    inner = fields.get("error")
    fields = inner if isinstance(inner, dict) else fields
    code, name = _text(fields, "error_code"), _text(fields, "error_name") or _text(fields, "error_description")
    known = read_foreign(code, name, number)
    detail = _text(fields, "error_detail") or _text(fields, "reason") or name or ERRORS[known].when
    return Refusal(known, detail[:500])
