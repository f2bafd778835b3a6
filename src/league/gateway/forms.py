"""The form of calls and answers (spec section 13.1): a message wrapped in each calling convention, and answers of every
shape unwrapped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from league.gateway import tools
from league.gateway.normalise import OTHER_TYPES
from league.gateway.registrations import META_FIELDS
from league.gateway.tools import Session, Tool
from league.protocol import jsonrpc
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError, Stage, Violation
from league.protocol.exchanges import EXCHANGES
from league.protocol.jsonrpc import ENVELOPED, NESTED_METHODS, TOOLS_CALL, RpcAnswer, is_int, joined_halves
from league.protocol.judge import ENVELOPE
from league.protocol.messages import Message

# --- calls ------------------------------------------------------------------------------------------------------------


def spellings(convention: Convention, message_type: str) -> tuple[str, ...]:
    """What the method or the tool may be called, the likeliest first."""
    verbs = tools.verbs(message_type)
    if convention in (Convention.TYPE, Convention.LOWER):
        kinds = (message_type, *OTHER_TYPES.get(message_type, ()))
        kinds = kinds if convention is Convention.TYPE else tuple(map(str.lower, kinds))
        # What is in no document has no type either: everybody may go by its verb.
        return kinds if message_type in EXCHANGES else tuple(dict.fromkeys((*kinds, *verbs)))
    return _NESTED if convention is Convention.NESTED else verbs


_NESTED = (*NESTED_METHODS[:2], ENVELOPED)


def retyped(message: Message, body: bytes, name: str) -> bytes:
    """The message under the type that it goes by at an agent whose method for it has that name."""
    if name.upper() not in OTHER_TYPES.get(message.type, ()):
        return body
    return body.replace(b'"%b"' % message.type.encode(), b'"%b"' % name.upper().encode(), 1)


def halved(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A message as `envelope` and `payload`. Any: JSON."""
    envelope = {name: value for name, value in fields.items() if name in _OUTSIDE}
    payload = {name: value for name, value in fields.items() if name not in _ENVELOPE}
    return {"envelope": envelope, "payload": payload}


_ENVELOPE = frozenset((*ENVELOPE, "auth_token"))
_OUTSIDE = _ENVELOPE | {"league_id", "round_id", "match_id"}


def frame(
    convention: Convention, request_id: int, tool: Tool, body: bytes, session: Session = tools.NO_SESSION
) -> bytes:
    """A request around an encoded message. Whatever the frame, the message carries its type, unless a tool declares
    others of its fields alone."""
    if convention is Convention.BARE:
        return body
    if convention is Convention.NESTED and tool.name == ENVELOPED:
        body = msgspec.json.encode(halved(msgspec.json.decode(body)))
    elif convention is Convention.NESTED:
        body = b'{"message":' + body + b"}"
    elif convention is Convention.TOOLS:
        given = tools.arguments(tool, msgspec.json.decode(body))
        params = session.params({"name": tool.name, "arguments": given})
        return jsonrpc.encode_call(request_id, TOOLS_CALL, msgspec.json.encode(params))
    return jsonrpc.encode_call(request_id, tool.name, body)


def with_flat_meta(message: Message, body: bytes) -> bytes:
    """A bare registration says its meta fields twice: some take no message at all, only these (REST)."""
    meta = getattr(message, META_FIELDS.get(message.type, ""), None)
    return body if meta is None else body[:-1] + b"," + msgspec.json.encode(meta)[1:]


# --- answers ----------------------------------------------------------------------------------------------------------


def answer_in(value: object) -> RpcAnswer:
    """What an answer says, in whatever shape (R-02): `result`, or `params`, or the body itself; then MCP content."""
    try:
        return _unwrapped(jsonrpc.answer_in(value))
    except PeerError as problem:
        if not isinstance(value, dict):
            raise
        return _unwrapped(_loosely(value, problem))


def _loosely(value: Mapping[str, Any], problem: PeerError) -> RpcAnswer:
    """An answer that is no JSON-RPC 2.0 response, with the clause it breaks. Any: JSON of others."""
    broken = Violation(problem.code, "", problem.detail, problem.requirement or "RPC.object", Stage.TYPE, lenient=True)
    if "message_type" in value:
        return RpcAnswer(value, deviations=(broken,))
    error = value.get("error")
    if error is not None:
        said = error if isinstance(error, dict) else {"error_detail": str(error)}
        number = said.get("code")
        data = said.get("data")
        return RpcAnswer(data if isinstance(data, dict) else said, number if is_int(number) else None, True, (broken,))
    for name in ("result", "params"):
        if name in value:
            return RpcAnswer(value[name], deviations=(broken,))
    if "jsonrpc" in value:
        raise problem
    return RpcAnswer(value, deviations=(broken,))


def _unwrapped(answer: RpcAnswer) -> RpcAnswer:
    """MCP: the message is in `structuredContent`, or written down as text in `content`. Elsewhere it is in halves."""
    content = answer.content
    whole = joined_halves(content)
    if whole is not None:
        return replace(answer, content=whole)
    if not isinstance(content, dict) or not ("content" in content or "structuredContent" in content):
        return answer
    if "message_type" in content:
        return answer
    failed = content.get("isError") is True
    return replace(answer, content=returned(content), is_error=answer.is_error or failed, is_tool_error=failed)


def returned(content: Mapping[str, Any]) -> object:
    """What a tool returned: a message, if it is one; a lone text under `text`, any other lone value under `result`."""
    structured = content.get("structuredContent")
    if isinstance(structured, dict):
        inner = structured.get("result") if len(structured) == 1 else None
        return _read_text(inner) if isinstance(inner, str) else inner if isinstance(inner, dict | list) else structured
    parts = content.get("content")
    first = parts[0] if isinstance(parts, list) and parts else None
    text = first.get("text") if isinstance(first, dict) else None
    return _read_text(text) if isinstance(text, str) else content


def _read_text(text: str) -> object:
    try:
        value = jsonrpc.parse_answer(text.encode(errors="replace"), jsonrpc.MANAGER_LIMIT)
    except PeerError:
        return {"text": text}
    return value if isinstance(value, dict | list) else {"text": value} if isinstance(value, str) else {"result": value}


def event_data(body: bytes) -> bytes:
    """The data of the last event in a server-sent stream: the answer, as MCP's streamable HTTP sends it."""
    events = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n")
    found = b""
    for event in events:
        lines = [line[5:].removeprefix(b" ") for line in event.split(b"\n") if line.startswith(b"data:")]
        found = b"\n".join(lines) if lines else found
    return found


def tool_result(result: Message | dict[str, Any], *, beside: bool = True) -> dict[str, Any]:
    """The result of a `tools/call`: as MCP has it, and `beside` it plain as anybody else does. Any: JSON."""
    plain = msgspec.to_builtins(result)
    text = msgspec.json.encode(plain).decode()
    content = [{"type": "text", "text": text}]
    return {**(plain if beside else {}), "content": content, "structuredContent": plain, "isError": False}
