"""`POST /register`: how some agents by others register (spec section 13.1). The body is the meta data alone, the answer
the registration's own, both without JSON-RPC; everything between is as with any registration.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from league.cli.ordering import send_whole
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError
from league.transport import dialects, jsonrpc, strict_json
from league.transport.http import ASGIApp, ASGIReceive, ASGIScope, ASGISend, Response, is_json, plain_refusal, refuse
from league.transport.http_door import read_body

if TYPE_CHECKING:
    from league.hosting.serving import Door

REGISTER = "/register"
_JSON = msgspec.json.Encoder()


def register_page(door: Door) -> ASGIApp:
    """The page at /register, which `strict` does not have."""

    async def serve(scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
        try:
            answer = _refusal(door, scope) or await _register(door, scope, receive)
        except asyncio.CancelledError:
            # Only the server cancels, when it ends; whoever registers again gets the same id.
            answer = refuse(503, "this server is shutting down", plain_refusal)
        await send_whole(answer, send)

    return serve


def _refusal(door: Door, scope: ASGIScope) -> Response | None:
    if door.agent is not None and door.agent.speaker.reading.profile == "strict":
        return Response(404, b'{"error":"there is nothing at this path"}')
    if scope["method"] != "POST":
        return Response(405, b'{"error":"registrations are sent with POST"}', headers=(("allow", "POST"),))
    if not is_json(dict(scope["headers"]).get(b"content-type", b"application/json")):
        return Response(415, b'{"error":"the media type of a registration is application/json"}')
    return None


async def _register(door: Door, scope: ASGIScope, receive: ASGIReceive) -> Response:
    client = scope["client"]
    try:
        call = _call(await read_body(receive) or b"")
    except PeerError as error:
        said = {"message_type": "LEAGUE_ERROR", "error_code": error.code, "error_description": error.row.name}
        return Response(400, _JSON.encode({**said, "error_name": error.row.name, "error_detail": error.detail}))
    answer = await door.post(call, client[0] if client else "")
    told, is_error = _bare(answer.body)
    refused = 400 if is_error else 409 if told.get("status") == "REJECTED" else answer.status
    # Whoever speaks without JSON-RPC goes by the status.
    return replace(answer, body=_JSON.encode(told), status=refused if answer.status == 200 else answer.status)


def _call(raw: bytes) -> bytes:
    """What was posted, as the call that it stands for."""
    fields = strict_json.parse(raw)
    if not isinstance(fields, dict):
        raise PeerError("E035", "a registration is a JSON object")
    message = dialects.registration_of(fields)
    method = dialects.spellings(Convention.SPEC, message["message_type"])[0]
    return jsonrpc.encode_call(1, method, _JSON.encode(message))


def _bare(raw: bytes) -> tuple[dict[str, object], bool]:
    """An answer without its frame: the result, or the message in the error; and whether it is an error."""
    answer = msgspec.json.decode(raw, type=dict[str, object])
    error = answer.get("error")
    found = answer.get("result") if error is None else error.get("data") if isinstance(error, dict) else None
    return found if isinstance(found, dict) else answer, error is not None
