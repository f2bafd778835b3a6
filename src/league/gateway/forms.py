"""The form of calls and answers (spec section 13.1): a message wrapped in each calling convention, and answers of every
shape unwrapped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import structs

from league.gateway.readers import tools
from league.gateway.readers.foreign_json import as_object
from league.gateway.readers.normalise import OTHER_TYPES
from league.gateway.readers.registrations import META_FIELDS
from league.gateway.readers.tools import Session, Tool
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError, Stage, Violation
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.judge import ENVELOPE
from league.protocol.message.messages import Message
from league.protocol.wire import jsonrpc
from league.protocol.wire.jsonrpc import (
    ENVELOPED,
    NESTED_METHODS,
    TOOLS_CALL,
    RpcAnswer,
    is_int,
    joined_halves,
)

JOINED_BY_TOOLS: dict[str, Any] = {"joined_by": "tools/list"}
"""The answer of a server that has a tool for the choice, and none for the invitation (T-12). Any: JSON."""
_NESTED = (*NESTED_METHODS[:2], ENVELOPED)
_ENVELOPE = frozenset((*ENVELOPE, "auth_token"))
_OUTSIDE = _ENVELOPE | {"league_id", "round_id", "match_id"}


# --- calls ------------------------------------------------------------------------------------------------------------


def spellings(convention: Convention, message_type: str) -> tuple[str, ...]:
    """Return the names that the method or the tool may have, the likeliest first."""
    if convention is Convention.NESTED:
        return _NESTED
    verbs = tools.verbs(message_type)
    if convention not in (Convention.TYPE, Convention.LOWER):
        return verbs
    names = (message_type, *OTHER_TYPES.get(message_type, ()))
    if convention is Convention.LOWER:
        names = tuple(map(str.lower, names))
    if message_type in EXCHANGES:
        return names
    # A message of no document has no type either: everybody may go by its verb.
    return tuple(dict.fromkeys((*names, *verbs)))


def at_path(endpoint: str, path: str) -> str:
    """Return the address of another path on the same server."""
    scheme, _, rest = endpoint.partition("://")
    host = rest.partition("/")[0].partition("?")[0]
    return f"{scheme}://{host}{path}"


def retyped(message: Message, body: bytes, name: str) -> bytes:
    """Return the message under the type that it has at an agent whose method for it has that name."""
    if name.upper() not in OTHER_TYPES.get(message.type, ()):
        return body
    return body.replace(b'"%b"' % message.type.encode(), b'"%b"' % name.upper().encode(), 1)


def halved(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as `envelope` and `payload`. Any: JSON."""
    envelope = {name: value for name, value in fields.items() if name in _OUTSIDE}
    payload = {name: value for name, value in fields.items() if name not in _ENVELOPE}
    return {"envelope": envelope, "payload": payload}


def frame(
    convention: Convention,
    request_id: int,
    tool: Tool,
    body: bytes,
    session: Session = tools.NO_SESSION,
) -> bytes:
    """Put a request around an encoded message. Whatever the frame, the message carries its type, unless a tool declares
    others of its fields alone."""
    if convention is Convention.BARE:
        return body
    if convention is Convention.TOOLS:
        arguments = tools.arguments(tool, msgspec.json.decode(body))
        params = session.params({"name": tool.name, "arguments": arguments})
        return jsonrpc.encode_call(request_id, TOOLS_CALL, msgspec.json.encode(params))
    if convention is Convention.NESTED:
        body = _nested(tool, body)
    return jsonrpc.encode_call(request_id, tool.name, body)


def _nested(tool: Tool, body: bytes) -> bytes:
    """Put a message one level deeper, or in halves."""
    if tool.name == ENVELOPED:
        return msgspec.json.encode(halved(msgspec.json.decode(body)))
    return b'{"message":' + body + b"}"


def with_flat_meta(message: Message, body: bytes) -> bytes:
    """Say the meta fields of a bare registration twice: some take no message at all, only these (REST)."""
    meta = getattr(message, META_FIELDS.get(message.type, ""), None)
    if meta is None:
        return body
    return body[:-1] + b"," + msgspec.json.encode(meta)[1:]


# --- answers ----------------------------------------------------------------------------------------------------------


def answer_in(value: object) -> RpcAnswer:
    """Return the content of an answer of any shape (R-02): `result`, `params` or the body itself, then MCP content."""
    try:
        return _unwrapped(jsonrpc.answer_in(value))
    except PeerError as problem:
        if not isinstance(value, dict):
            raise
        return _unwrapped(_loosely(value, problem))


def _loosely(value: Mapping[str, Any], problem: PeerError) -> RpcAnswer:
    """Read an answer that is no JSON-RPC 2.0 response, with the clause it breaks. Any: JSON of others."""
    clause = problem.requirement or "RPC.object"
    broken = Violation(problem.code, "", problem.detail, clause, Stage.TYPE, lenient=True)
    if "message_type" in value:
        return RpcAnswer(value, deviations=(broken,))
    if value.get("error") is not None:
        return _error(value["error"], broken)
    for name in ("result", "params"):
        if name in value:
            return RpcAnswer(value[name], deviations=(broken,))
    if "jsonrpc" in value:
        raise problem
    return RpcAnswer(value, deviations=(broken,))


def _error(error: object, broken: Violation) -> RpcAnswer:
    fields: dict[str, Any] = {"error_detail": str(error)}
    if isinstance(error, dict):
        fields = error
    number = fields.get("code")
    if not is_int(number):
        number = None
    if "data" in fields:
        return structs.replace(jsonrpc.error_answer(fields, number), deviations=(broken,))
    return RpcAnswer(fields, number, True, (broken,), message=str(fields.get("message") or ""))


def _unwrapped(answer: RpcAnswer) -> RpcAnswer:
    """Unwrap MCP: the message is in `structuredContent`, or written down as text in `content`. Elsewhere it is in
    halves."""
    content = answer.content
    whole = joined_halves(content)
    if whole is not None:
        return structs.replace(answer, content=whole)
    if not isinstance(content, dict) or not ("content" in content or "structuredContent" in content):
        return answer
    # A message of the documents may have a field called `content`, too.
    if "message_type" in content:
        return answer
    has_failed = content.get("isError") is True
    is_error = answer.is_error or has_failed
    return structs.replace(
        answer,
        content=returned(content),
        is_error=is_error,
        is_tool_error=has_failed,
    )


def returned(content: Mapping[str, Any]) -> object:
    """Return a tool's result: a message, if it is one; a lone text under `text`; any other lone value under
    `result`."""
    structured = content.get("structuredContent")
    if isinstance(structured, dict):
        return _structured(structured)
    parts = content.get("content")
    if not isinstance(parts, list) or not parts:
        return content
    text = as_object(parts[0]).get("text")
    if not isinstance(text, str):
        return content
    return _read_text(text)


def _structured(structured: Mapping[str, Any]) -> object:
    # Libraries put anything that is no object under `result`, alone.
    if len(structured) != 1:
        return structured
    result = structured.get("result")
    if isinstance(result, str):
        return _read_text(result)
    if isinstance(result, dict | list):
        return result
    return structured


def _read_text(text: str) -> object:
    try:
        value = jsonrpc.parse_answer(text.encode(errors="replace"), jsonrpc.MANAGER_LIMIT)
    except PeerError:
        return {"text": text}
    if isinstance(value, dict | list):
        return value
    if isinstance(value, str):
        return {"text": value}
    return {"result": value}


def event_data(body: bytes) -> bytes:
    """Return the data of the last event in a server-sent stream: the answer, as MCP's streamable HTTP sends it."""
    text = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    last = b""
    for event in text.split(b"\n\n"):
        lines = [line for line in event.split(b"\n") if line.startswith(b"data:")]
        if lines:
            data = (line.removeprefix(b"data:").removeprefix(b" ") for line in lines)
            last = b"\n".join(data)
    return last


def tool_result(result: Message | dict[str, Any], *, beside: bool = True) -> dict[str, Any]:
    """Return the result of a `tools/call` as MCP has it, with `beside` also as the plain fields of the message. Any:
    JSON."""
    plain = msgspec.to_builtins(result)
    text = msgspec.json.encode(plain).decode()
    content = [{"type": "text", "text": text}]
    wrapped = {
        "content": content,
        "structuredContent": plain,
        "isError": False,
    }
    if beside:
        return {**plain, **wrapped}
    return wrapped
