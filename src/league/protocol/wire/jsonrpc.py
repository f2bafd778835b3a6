"""The JSON-RPC 2.0 codec: any bytes become a request, an answer, or an error of the catalogue.

A request is read in two steps. `decode_call` parses it, finds out by which convention it wraps its message, and takes
the message out of its wrapping. `read_call` then judges the message, which must fit the method and the role.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeGuard

import msgspec
from msgspec import Struct, structs

from league.protocol.conventions import Convention
from league.protocol.errors import (
    ERRORS,
    Family,
    PeerError,
    Stage,
    Violation,
)
from league.protocol.message.envelope import Reading, Unsealed, unseal
from league.protocol.message.exchanges import EXCHANGES, REPLY_TYPES, Role, message_type_of
from league.protocol.message.judge import json_name
from league.protocol.message.messages import MESSAGES, Message
from league.protocol.wire.strict_json import parse

Id = int | str | None

MESSAGE_LIMIT = 10_240
MANAGER_LIMIT = 1024 * 1024
"""R-24: agents accept this much from the manager. MESSAGE_LIMIT is for requests to manager and referee, and replies."""

REQUEST_FORMAT = "one JSON-RPC 2.0 request object"
TOOLS_CALL = "tools/call"
ENVELOPED = "league.handle"
"""The method that accepts a message in two halves: `envelope` and `payload` (NESTED)."""
NESTED_METHODS = ("handle_message", "protocol/message", "mcp_message", ENVELOPED)
"""Methods that accept any message (NESTED)."""

ONE_WAY = ("LEAGUE_ERROR",)
"""Nobody waits for an answer to these, so they may come without an id, as a JSON-RPC notification."""

_ENCODER = msgspec.json.Encoder()


class _Success(Struct, gc=False, tag_field="jsonrpc", tag="2.0"):
    """An answer, in the order in which it is written."""

    id: Id
    result: Message | dict[str, Any]


class RpcCall(Struct, frozen=True):
    """A decoded request.

    `id` is None if the caller sent none (R-27); it is answered with null and recorded. A message without JSON-RPC
    around it (BARE) has neither id nor method.
    """

    id: Id
    method: str
    params: object
    without_id: bool = False
    convention: Convention = Convention.SPEC
    is_halved: bool = False
    """The message came as `envelope` and `payload`."""


class RpcAnswer(Struct, frozen=True):
    """A decoded answer: its content, and the JSON-RPC error number if it was an error."""

    content: object
    number: int | None = None
    is_error: bool = False
    deviations: tuple[Violation, ...] = ()
    """Oddities of its shape."""
    is_tool_error: bool = False
    """A tool of an MCP server was called, and reported that it failed."""
    message: str = ""
    """The sentence of a JSON-RPC error."""


class BadRequestError(Exception):
    """A request that cannot even be dispatched, with the id to answer it under."""

    def __init__(self, id: Id, error: PeerError) -> None:  # noqa: A002 - JSON-RPC calls it so
        super().__init__(id, error)
        self.id = id
        self.error = error


def decode_call(raw: bytes, limit: int = MESSAGE_LIMIT) -> RpcCall:
    """Read a request body."""
    try:
        value = _parse(raw, limit, "SIZE.requests")
    except PeerError as error:
        raise BadRequestError(None, error) from None
    if not isinstance(value, dict):
        raise _not_an_object(value)
    # A message without a frame; with half a frame, it is a broken request instead.
    if "jsonrpc" not in value and "method" not in value and isinstance(value.get("message_type"), str):
        return RpcCall(None, "", value, convention=Convention.BARE)
    request_id = value.get("id")
    if "id" in value and not isinstance(request_id, str) and not is_int(request_id):
        raise _invalid(None, "id", "RPC.id", "id must be a string or a whole number")
    if value.get("jsonrpc") != "2.0":
        raise _invalid(request_id, "jsonrpc", "RPC.object", 'jsonrpc must be "2.0"')
    method = value.get("method")
    if not isinstance(method, str) or not method:
        raise _invalid(request_id, "method", "RPC.method", "method must be a string")
    return _unwrapped(RpcCall(request_id, method, value.get("params", {}), "id" not in value))


def _parse(raw: bytes, limit: int, clause: str) -> object:
    if len(raw) > limit:
        raise too_large(len(raw), limit, clause)
    return parse(raw)


def too_large(size: int, limit: int, clause: str) -> PeerError:
    """E037. Only messages from the manager are read with the manager's limit, which tells the clause."""
    requirement = "SIZE.from_the_manager" if limit == MANAGER_LIMIT else clause
    return PeerError("E037", f"{size} bytes; at most {limit} are accepted", requirement=requirement)


def _not_an_object(value: object) -> BadRequestError:
    clause = "RPC.object"
    detail = f"a request must be one JSON-RPC 2.0 object, not {json_name(value)}"
    if isinstance(value, list):
        clause = "RPC.batch"
        detail = "a request must be one JSON-RPC 2.0 object; batches are not accepted"
    return BadRequestError(None, PeerError("E035", detail, {"expected_format": REQUEST_FORMAT}, clause))


def _invalid(request_id: Id, member: str, clause: str, detail: str) -> BadRequestError:
    context = {"field": member, "expected_format": REQUEST_FORMAT}
    return BadRequestError(request_id, PeerError("E035", detail, context, clause))


def _unwrapped(call: RpcCall) -> RpcCall:
    """The call with the message taken out of its wrapping, and the convention that the wrapping shows (R-01)."""
    params = call.params
    if not isinstance(params, dict):
        return call
    if call.method == TOOLS_CALL:
        name = params.get("name")
        method = name if isinstance(name, str) else ""
        # The arguments of a tool may wrap the message once more.
        return _unwrapped(
            structs.replace(call, method=method, params=params.get("arguments", {}), convention=Convention.TOOLS)
        )
    whole = joined_halves(params)
    if call.method in NESTED_METHODS or whole is not None:
        inner = params.get("message", params) if whole is None else whole
        convention = call.convention
        if convention is Convention.SPEC:
            convention = Convention.NESTED
        return structs.replace(call, params=inner, convention=convention, is_halved=whole is not None)
    if call.convention is Convention.TOOLS and "message_type" not in params and len(params) == 1:
        # A tool with a single parameter for the whole message. A registration's `player_meta` is not one.
        ((name, inner),) = params.items()
        if isinstance(inner, dict) and not name.endswith("_meta"):
            return structs.replace(call, params=inner)
    elif call.convention is Convention.SPEC and call.method.upper() in MESSAGES:
        convention = Convention.LOWER if call.method.islower() else Convention.TYPE
        return structs.replace(call, convention=convention)
    return call


def joined_halves(content: object) -> dict[str, Any] | None:
    """Join a message that came as `envelope` and `payload`; None if it did not. Any: third-party JSON."""
    if not isinstance(content, dict) or "message_type" in content:
        return None
    envelope = content.get("envelope")
    payload = content.get("payload")
    if not isinstance(envelope, dict) or not isinstance(payload, dict):
        return None
    return {**payload, **envelope}


def read_call(call: RpcCall, reading: Reading, role: Role | None = None) -> Unsealed:
    """The message of a request: its method must exist (for that role) and fit the message type (R-01)."""
    message_type = message_type_of(call.method)
    content = call.params
    content_type = str(content.get("message_type")) if isinstance(content, dict) else ""
    if call.convention is Convention.BARE and _accepts(role, content_type):
        return _with(unseal(content, reading), _not_a_request(), reading)
    if message_type is not None and _accepts(role, message_type):
        unsealed = unseal(content, reading, (message_type,))
    elif message_type is None and content_type in MESSAGES and _accepts(role, content_type):
        # The method says nothing, but the message does.
        unsealed = _with(unseal(content, reading), _unknown_method(call.method, lenient=True), reading)
    else:
        unsealed = Unsealed(None, None, (_unknown_method(call.method, lenient=False),))
    if call.without_id and unsealed.message_type not in ONE_WAY:
        detail = "a request must have an id, so that its answer can be recognised"
        violation = Violation(
            "E035",
            "id",
            detail,
            "RPC.id",
            Stage.TYPE,
            lenient=True,
        )
        unsealed = _with(unsealed, violation, reading)
    return unsealed


def _not_a_request() -> Violation:
    detail = "a message must be sent in a JSON-RPC 2.0 request"
    return Violation(
        "E035",
        "jsonrpc",
        detail,
        "RPC.object",
        Stage.TYPE,
        lenient=True,
    )


def _accepts(role: Role | None, message_type: str) -> bool:
    if role is None:
        return True
    row = EXCHANGES.get(message_type)
    if row is not None:
        return role in row.receivers
    return role is Role.REFEREE and message_type in REPLY_TYPES


def _unknown_method(method: str, lenient: bool) -> Violation:
    return Violation(
        "E036",
        "method",
        f"there is no method {method[:80]!r} here",
        "RPC.method",
        Stage.TYPE,
        lenient,
    )


def _with(unsealed: Unsealed, violation: Violation, reading: Reading) -> Unsealed:
    """Put a violation by the request before those by its message."""
    if violation.lenient and reading.profile == "compat":
        return structs.replace(unsealed, deviations=(violation, *unsealed.deviations))
    return structs.replace(unsealed, message=None, violations=(violation, *unsealed.violations))


def decode_answer(raw: bytes, limit: int = MESSAGE_LIMIT) -> RpcAnswer:
    """Read an answer body by JSON-RPC 2.0."""
    return answer_in(parse_answer(raw, limit))


def parse_answer(raw: bytes, limit: int) -> object:
    """Parse the JSON of an answer body."""
    return _parse(raw, limit, "SIZE.replies")


def answer_in(value: object) -> RpcAnswer:
    """Read a JSON-RPC result or error. `"error": null` beside a result is a result."""
    if not isinstance(value, dict):
        detail = f"an answer must be a JSON-RPC 2.0 object, not {json_name(value)}"
        raise PeerError("E035", detail, requirement="RPC.object")
    if value.get("jsonrpc") != "2.0":
        raise PeerError("E035", 'jsonrpc must be "2.0"', {"field": "jsonrpc"}, "RPC.object")
    error = value.get("error")
    if error is not None:
        if not isinstance(error, dict) or not is_int(error.get("code")):
            detail = "error must be an object with a whole number as its code"
            raise PeerError("E035", detail, {"field": "error"}, "RPC.error_shape")
        return error_answer(error, error["code"])
    if "result" not in value:
        raise PeerError("E035", "an answer must have a result or an error", {"field": "result"}, "RPC.one_answer")
    return RpcAnswer(value["result"])


def error_answer(error: Mapping[str, Any], number: int | None) -> RpcAnswer:
    """Read the error of an answer: the error of the documents is its `data`. Any: JSON of others."""
    message = str(error.get("message") or "")
    data = error.get("data")
    content: object = data
    if isinstance(data, str) and data:
        # Often the sentence that matters: JSON-RPC's own says no more than "Invalid params".
        message = f"{message}: {data}".removeprefix(": ")
    if not data or not isinstance(data, dict):
        content = {"message": message}
    return RpcAnswer(content, number, is_error=True, message=message)


def is_int(value: object) -> TypeGuard[int]:
    """Whether this is a whole number; true is not 1."""
    return isinstance(value, int) and not isinstance(value, bool)


def encode_body(message: Message) -> bytes:
    """Encode the message alone; a broadcast encodes it once."""
    return _ENCODER.encode(message)


# Written by hand, because a broadcast puts the same encoded message into many requests.
def encode_call(request_id: int, method: str, body: bytes) -> bytes:
    """Encode a request around an encoded message."""
    return b'{"jsonrpc":"2.0","id":%d,"method":%s,"params":%s}' % (request_id, _quoted(method), body)


_quoted = lru_cache(maxsize=256)(_ENCODER.encode)
"""Encodes the name of a method."""


def encode_result(request_id: Id, result: Message | dict[str, Any]) -> bytes:
    """Encode a success."""
    return _ENCODER.encode(_Success(request_id, result))


def encode_error(
    request_id: Id,
    code: str,
    family: Family,
    data: Message | dict[str, Any],
) -> bytes:
    """Encode a failure: the catalogue's number and name, and the whole error message as data."""
    row = ERRORS[code]
    error = {"code": row.number(family), "message": row.name, "data": data}
    return _ENCODER.encode({"jsonrpc": "2.0", "id": request_id, "error": error})
