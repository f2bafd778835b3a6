"""Requests without JSON-RPC, which third-party agents send (spec sections 13.1, 13.5): `POST /register` at a manager,
`POST /run_match` at a referee.

The posted fields are put into a JSON-RPC call, the call is answered like any other, and its answer is taken out of the
JSON-RPC frame. The profile `strict` has no such pages.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from league import letters
from league.hosting.serving import HostedAgent
from league.machine import Ping
from league.protocol.errors import PeerError
from league.protocol.wire import jsonrpc, strict_json
from league.transport.http import Handler, HttpRequest, Response, is_json, refuse

RUN_MATCH: Final = ("/run_match", "/start_match")
NOTHING_HERE: Final = Response(404, b'{"error":"there is nothing at this path"}')
_JSON = msgspec.json.Encoder()

Named = Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]
"""Returns the method and the message that posted fields stand for (Any: third-party JSON)."""


def referee_pages(host: HostedAgent) -> Handler:
    """The pages of a referee at other paths than /mcp."""

    async def handle(request: HttpRequest) -> Response:
        if request.path not in RUN_MATCH:
            return NOTHING_HERE
        return await take(host, request, lambda fields: ("start_match", fields))

    return handle


async def take(host: HostedAgent, request: HttpRequest, named: Named) -> Response:
    """Answer a request without JSON-RPC."""
    if host.agent is None:
        return refuse(503, "this server is starting", host.refusal)
    if host.agent.speaker.reading.profile == "strict":
        return NOTHING_HERE
    if request.method != "POST":
        return Response(
            405,
            b'{"error":"this is sent with POST"}',
            headers=(("allow", "POST"),),
        )
    if not is_json(request.headers.get(b"content-type", b"")):
        return Response(415, b'{"error":"the media type must be application/json"}')
    try:
        return await _answer(host, request, named)
    except asyncio.CancelledError:
        # Only the server cancels, when it ends.
        return refuse(503, "this server is shutting down", host.refusal)


async def _answer(host: HostedAgent, request: HttpRequest, named: Named) -> Response:
    try:
        fields = strict_json.parse(request.body)
        if not isinstance(fields, dict):
            raise PeerError("E035", "the body must be a JSON object")
    except PeerError as error:
        agent = host.running
        asked = letters.Asked(None, Ping())
        data = letters.error_data(error, asked, agent.speaker, agent.now())
        return Response(400, _JSON.encode(data))
    method, message = named(fields)
    call = jsonrpc.encode_call(1, method, _JSON.encode(message))
    answer = await host.post(call, request.address)
    bare = _without_frame(answer.body)
    status = answer.status
    # JSON-RPC reports errors with status 200, but a caller without JSON-RPC looks at the status.
    if status == 200 and bare.is_error:
        status = 400
    elif status == 200 and bare.content.get("status") == "REJECTED":
        status = 409
    return replace(answer, body=_JSON.encode(bare.content), status=status)


class BareAnswer(NamedTuple):
    """An answer without its JSON-RPC frame: the result, or the message in the error."""

    content: dict[str, object]
    is_error: bool


def _without_frame(raw: bytes) -> BareAnswer:
    answer = msgspec.json.decode(raw, type=dict[str, object])
    error = answer.get("error")
    content = answer.get("result")
    if isinstance(error, dict):
        content = error.get("data")
    if not isinstance(content, dict):
        content = answer
    return BareAnswer(content, error is not None)
