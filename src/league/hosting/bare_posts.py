"""Pages of others' making, at paths of their own and without JSON-RPC (spec sections 13.1, 13.5): `POST /register` at a
manager, `POST /run_match` at a referee. What is posted becomes the call that it stands for, everything between is as
with any call, and the answer loses its frame again. The profile `strict` has no such pages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from league.hosting.serving import HostedAgent
from league.machine import Ping
from league.protocol import jsonrpc, strict_json
from league.protocol.errors import PeerError
from league.transport import letters
from league.transport.http import Handler, HttpRequest, Response, is_json, refuse

RUN_MATCH: Final = ("/run_match", "/start_match")
NOTHING_HERE: Final = Response(404, b'{"error":"there is nothing at this path"}')
_JSON = msgspec.json.Encoder()

Named = Callable[[dict[str, Any]], tuple[str, dict[str, Any]]]
"""The method and the message that posted fields stand for (Any: JSON of others)."""


def referee_pages(host: HostedAgent) -> Handler:
    """What a referee takes beside messages."""

    async def handle(request: HttpRequest) -> Response:
        if request.path not in RUN_MATCH:
            return NOTHING_HERE
        return await take(host, request, lambda fields: ("start_match", fields))

    return handle


async def take(host: HostedAgent, request: HttpRequest, named: Named) -> Response:
    """Answer what was posted."""
    if host.agent is not None and host.agent.speaker.reading.profile == "strict":
        return NOTHING_HERE
    if host.agent is None:
        return refuse(503, "this server is starting", host.refusal)
    if request.method != "POST":
        return Response(405, b'{"error":"this is sent with POST"}', headers=(("allow", "POST"),))
    if not is_json(request.headers.get(b"content-type", b"")):
        return Response(415, b'{"error":"the media type is application/json"}')
    try:
        return await _answer(host, request, named)
    except asyncio.CancelledError:
        # Only the server cancels, when it ends.
        return refuse(503, "this server is shutting down", host.refusal)


async def _answer(host: HostedAgent, request: HttpRequest, named: Named) -> Response:
    try:
        fields = strict_json.parse(request.body)
        if not isinstance(fields, dict):
            raise PeerError("E035", "what is posted here is a JSON object")
    except PeerError as error:
        asked, agent = letters.Asked(None, Ping()), host.running
        return Response(400, _JSON.encode(letters.error_data(error, asked, agent.speaker, agent.now())))
    method, message = named(fields)
    answer = await host.post(jsonrpc.encode_call(1, method, _JSON.encode(message)), request.address)
    told, is_error = _bare(answer.body)
    refused = 400 if is_error else 409 if told.get("status") == "REJECTED" else answer.status
    # Whoever speaks without JSON-RPC goes by the status.
    return replace(answer, body=_JSON.encode(told), status=refused if answer.status == 200 else answer.status)


def _bare(raw: bytes) -> tuple[dict[str, object], bool]:
    """An answer without its frame: the result, or the message in the error; and whether it is an error."""
    answer = msgspec.json.decode(raw, type=dict[str, object])
    error = answer.get("error")
    found = answer.get("result") if error is None else error.get("data") if isinstance(error, dict) else None
    return found if isinstance(found, dict) else answer, error is not None
