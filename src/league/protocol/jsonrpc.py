"""The JSON-RPC 2.0 codec: whatever the bytes, a request, an answer, or an error of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct, structs

from league.protocol.conventions import Convention
from league.protocol.envelope import Reading, Unsealed, unseal
from league.protocol.errors import ERRORS, Family, PeerError, Stage, Violation
from league.protocol.exchanges import EXCHANGES, REPLY_TYPES, Role, message_type_of
from league.protocol.judge import json_name
from league.protocol.messages import MESSAGES, Message
from league.protocol.strict_json import parse

Id = int | str | None

MESSAGE_LIMIT = 10_240
MANAGER_LIMIT = 1024 * 1024
"""R-24: what binds requests to manager and referee and replies of agents; what agents accept from the manager."""

REQUEST_FORMAT = "one JSON-RPC 2.0 request object"
TOOLS_CALL = "tools/call"
ENVELOPED = "league.handle"
"""The method that takes a message in two halves: `envelope` and `payload` (NESTED)."""
NESTED_METHODS = ("handle_message", "protocol/message", "mcp_message", ENVELOPED)
"""Methods that take any message (NESTED)."""

ONE_WAY = ("LEAGUE_ERROR",)
"""Nobody waits for an answer to these: as a JSON-RPC notification, without an id, they are as good as a request."""

_ENCODER = msgspec.json.Encoder()


class _Success(Struct, gc=False, tag_field="jsonrpc", tag="2.0"):
    """An answer as it is written."""

    id: Id
    result: Message | dict[str, Any]


@dataclass(frozen=True, slots=True)
class RpcCall:
    """A read request. `id` is None when the caller sent none (R-27): it is answered with null, and recorded.
    A message without JSON-RPC around it (BARE) has neither id nor method."""

    id: Id
    method: str
    params: object
    without_id: bool = False
    convention: Convention = Convention.SPEC
    is_halved: bool = False
    """The message came as `envelope` and `payload`."""


@dataclass(frozen=True, slots=True)
class RpcAnswer:
    """A read answer: its content, and the JSON-RPC error number if it was an error."""

    content: object
    number: int | None = None
    is_error: bool = False
    deviations: tuple[Violation, ...] = ()
    """What is odd about its shape."""
    is_tool_error: bool = False
    """A tool of an MCP server says so: it was called, and failed."""


@dataclass(frozen=True, slots=True, eq=False)
class BadRequestError(Exception):
    """A request that cannot even be dispatched, with the id to answer it under."""

    id: Id
    error: PeerError


def decode_call(raw: bytes, limit: int = MESSAGE_LIMIT) -> RpcCall:
    """Read a request body."""
    try:
        value = _parse(raw, limit, "SIZE.requests")
    except PeerError as error:
        raise BadRequestError(None, error) from None
    if not isinstance(value, dict):
        raise _not_an_object(value)
    if "jsonrpc" not in value and "method" not in value and isinstance(value.get("message_type"), str):
        return RpcCall(None, "", value, convention=Convention.BARE)
    given = value.get("id")
    known = given if isinstance(given, str | int) and not isinstance(given, bool) else None
    if "id" in value and known is None:
        raise _invalid(None, "id", "RPC.id", "id must be a string or a whole number")
    if value.get("jsonrpc") != "2.0":
        raise _invalid(known, "jsonrpc", "RPC.object", 'jsonrpc must be "2.0"')
    method = value.get("method")
    if not isinstance(method, str) or not method:
        raise _invalid(known, "method", "RPC.method", "method must be a string")
    return _unwrapped(RpcCall(known, method, value.get("params", {}), "id" not in value))


def _parse(raw: bytes, limit: int, clause: str) -> object:
    if len(raw) > limit:
        raise too_large(len(raw), limit, clause)
    return parse(raw)


def too_large(size: int, limit: int, clause: str) -> PeerError:
    """E037; whoever reads with the manager's limit reads what the manager says."""
    broken = "SIZE.from_the_manager" if limit == MANAGER_LIMIT else clause
    return PeerError("E037", f"{size} bytes; at most {limit} are taken", requirement=broken)


def _not_an_object(value: object) -> BadRequestError:
    batch = isinstance(value, list)
    detail = f"a request is one JSON-RPC 2.0 object; {'a batch is not taken' if batch else f'not {json_name(value)}'}"
    clause = "RPC.batch" if batch else "RPC.object"
    return BadRequestError(None, PeerError("E035", detail, {"expected_format": REQUEST_FORMAT}, clause))


def _invalid(request_id: Id, member: str, clause: str, detail: str) -> BadRequestError:
    context = {"field": member, "expected_format": REQUEST_FORMAT}
    return BadRequestError(request_id, PeerError("E035", detail, context, clause))


def _unwrapped(call: RpcCall) -> RpcCall:
    """The message out of its frame (R-01): arguments of an MCP `tools/call`, or the one thing a method takes that is
    there for everything."""
    params = call.params
    if not isinstance(params, dict):
        return call
    if call.method == TOOLS_CALL:
        name = params.get("name")
        method = name if isinstance(name, str) else ""
        return _unwrapped(replace(call, method=method, params=params.get("arguments", {}), convention=Convention.TOOLS))
    whole = joined_halves(params)
    if call.method in NESTED_METHODS or whole is not None:
        inner = params.get("message", params) if whole is None else whole
        wrap = Convention.NESTED if call.convention is Convention.SPEC else call.convention
        return replace(call, params=inner, convention=wrap, is_halved=whole is not None)
    if call.convention is Convention.TOOLS and "message_type" not in params and len(params) == 1:
        ((name, inner),) = params.items()
        return replace(call, params=inner) if isinstance(inner, dict) and not name.endswith("_meta") else call
    if call.convention is not Convention.SPEC or call.method.upper() not in MESSAGES:
        return call
    return replace(call, convention=Convention.LOWER if call.method.islower() else Convention.TYPE)


def joined_halves(content: object) -> dict[str, Any] | None:
    """The message in `envelope` and `payload`; None if it is not in halves. Any: JSON of others."""
    if not isinstance(content, dict) or "message_type" in content:
        return None
    envelope, payload = content.get("envelope"), content.get("payload")
    return {**payload, **envelope} if isinstance(envelope, dict) and isinstance(payload, dict) else None


def read_call(call: RpcCall, reading: Reading, role: Role | None = None) -> Unsealed:
    """The message of a request: the method must be known (to that role) and fit the message type (R-01)."""
    message_type = message_type_of(call.method)
    content = call.params
    said = content.get("message_type") if isinstance(content, dict) else None
    if call.convention is Convention.BARE and _takes(role, str(said)):
        return _with(unseal(content, reading), _not_a_request(), reading)
    if message_type is not None and _takes(role, message_type):
        read = unseal(content, reading, (message_type,))
    elif message_type is None and isinstance(said, str) and said in MESSAGES and _takes(role, said):
        read = _with(unseal(content, reading), _unknown_method(call.method, lenient=True), reading)
    else:
        read = Unsealed(None, None, (_unknown_method(call.method, lenient=False),))
    if call.without_id and read.message_type not in ONE_WAY:
        detail = "a request carries an id, so that its answer can be told apart"
        missing = Violation("E035", "id", detail, "RPC.id", Stage.TYPE, lenient=True)
        read = _with(read, missing, reading)
    return read


def _not_a_request() -> Violation:
    return Violation("E035", "jsonrpc", "a message travels in a JSON-RPC 2.0 request", "RPC.object", Stage.TYPE, True)


def _takes(role: Role | None, message_type: str) -> bool:
    if role is None:
        return True
    row = EXCHANGES.get(message_type)
    return role in row.receivers if row else role is Role.REFEREE and message_type in REPLY_TYPES


def _unknown_method(method: str, lenient: bool) -> Violation:
    return Violation("E036", "method", f"there is no method {method[:80]!r} here", "RPC.method", Stage.TYPE, lenient)


def _with(read: Unsealed, one: Violation, reading: Reading) -> Unsealed:
    """What is wrong with the request comes before what is wrong with its message."""
    if one.lenient and reading.profile == "compat":
        return structs.replace(read, deviations=(one, *read.deviations))
    return structs.replace(read, message=None, violations=(one, *read.violations))


def decode_answer(raw: bytes, limit: int = MESSAGE_LIMIT) -> RpcAnswer:
    """Read an answer body as JSON-RPC 2.0 has it."""
    return answer_in(parse_answer(raw, limit))


def parse_answer(raw: bytes, limit: int) -> object:
    """The JSON of an answer body."""
    return _parse(raw, limit, "SIZE.replies")


def answer_in(value: object) -> RpcAnswer:
    """A JSON-RPC result or error. `"error": null` beside a result is a result."""
    if not isinstance(value, dict):
        raise PeerError("E035", f"an answer is a JSON-RPC 2.0 object, not {json_name(value)}", requirement="RPC.object")
    if value.get("jsonrpc") != "2.0":
        raise PeerError("E035", 'jsonrpc must be "2.0"', {"field": "jsonrpc"}, "RPC.object")
    error = value.get("error")
    if error is not None:
        if not isinstance(error, dict) or not is_int(error.get("code")):
            detail = "error must be an object with a whole number as code"
            raise PeerError("E035", detail, {"field": "error"}, "RPC.error_shape")
        # Without data all that is said is the line of JSON-RPC itself.
        return RpcAnswer(error.get("data") or {"message": error.get("message")}, error["code"], is_error=True)
    if "result" not in value:
        raise PeerError("E035", "an answer carries result or error", {"field": "result"}, "RPC.one_answer")
    return RpcAnswer(value["result"])


def is_int(value: object) -> TypeGuard[int]:
    """A whole number; true is not 1."""
    return isinstance(value, int) and not isinstance(value, bool)


def encode_body(message: Message) -> bytes:
    """The message alone; a broadcast encodes it once."""
    return _ENCODER.encode(message)


def encode_call(request_id: int, method: str, body: bytes) -> bytes:
    """A request around an encoded message."""
    return b'{"jsonrpc":"2.0","id":%d,"method":%s,"params":%s}' % (request_id, _quoted(method), body)


_quoted = lru_cache(maxsize=256)(_ENCODER.encode)
"""A method's name, as JSON."""


def encode_result(request_id: Id, result: Message | dict[str, Any]) -> bytes:
    """A success."""
    return _ENCODER.encode(_Success(request_id, result))


def encode_error(request_id: Id, code: str, family: Family, data: Message | dict[str, Any]) -> bytes:
    """A failure: the catalogue's number and name, the whole error message as data."""
    row = ERRORS[code]
    error = {"code": row.number(family), "message": row.name, "data": data}
    return _ENCODER.encode({"jsonrpc": "2.0", "id": request_id, "error": error})
