"""The manager's HTTP interface beside /mcp: its pages under /api, the operator's orders, and POST /register."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from urllib.parse import unquote

import msgspec

from league.dialects import forms, normalise
from league.hosting import admin_api
from league.hosting.serving import HostedAgent
from league.machine import Machine
from league.manager.league import LeagueManager
from league.protocol import jsonrpc, strict_json
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError
from league.reports import views
from league.storage.reading import JournalReader
from league.transport.http import Handler, HttpRequest, Response, is_json, plain_refusal, refuse

View = Callable[[LeagueManager, int], object]
"""A view of the league at that position of its journal."""

PAGES: Mapping[str, View] = {
    "/api/league": views.league,
    "/api/standings": lambda manager, _: views.standings(manager),
    "/api/schedule": lambda manager, _: views.schedule(manager),
    "/api/agents": lambda manager, _: views.agents(manager),
}
MATCHES = "/api/matches/"
REGISTER = "/register"
_JSON = msgspec.json.Encoder()
_NOTHING = b"null"


def league_pages(host: HostedAgent) -> dict[str, Callable[[], Awaitable[Response]]]:
    """The pages at fixed paths."""

    def page(view: View) -> Callable[[], Awaitable[Response]]:
        return lambda: _shown(host, view)

    return {path: page(view) for path, view in PAGES.items()}


def other_pages(host: HostedAgent) -> Handler:
    """Everything that has no fixed path, or is no page to read."""

    async def handle(request: HttpRequest) -> Response:
        if request.path == REGISTER:
            return await _registration(host, request)
        if request.path.startswith(admin_api.ADMIN):
            return await admin_api.answer_order(host, request)
        if request.path.startswith(MATCHES):
            return await _match(host, request.method, unquote(request.path.removeprefix(MATCHES)))
        return Response(404, b'{"error":"there is nothing at this path"}')

    return handle


# --- pages ------------------------------------------------------------------------------------------------------------


async def _shown(host: HostedAgent, view: View) -> Response:
    if host.agent is None:
        return Response(503, b"{}")

    def show(machine: Machine, journal_seq: int) -> bytes:
        assert isinstance(machine, LeagueManager)
        return _JSON.encode(view(machine, journal_seq))

    return Response(200, await host.agent.shown(show))


async def _match(host: HostedAgent, method: str, match_id: str) -> Response:
    """A match, with what its referees told of it."""
    if method not in ("GET", "HEAD"):
        return Response(405, b'{"error":"this page is read with GET"}', headers=(("allow", "GET, HEAD"),))
    answer = await _shown(host, lambda manager, _: views.match(manager, match_id))
    if answer.body == _NOTHING:
        return Response(404, b'{"error":"there is no such match"}')
    if answer.status != 200:
        return answer
    records = _JSON.encode(await _records(host, match_id))
    return Response(200, answer.body[:-1] + b',"records":' + records + b"}")


async def _records(host: HostedAgent, match_id: str) -> list[dict[str, object]]:
    """What its referees told of a match that is decided; read from the journal, for nobody keeps it in memory."""
    journal: object = host.running.journal
    if not isinstance(journal, JournalReader):
        return []
    found = await asyncio.to_thread(journal.records_of, match_id)
    return [{"referee_id": one.referee_id, "attempt": one.attempt, "events": one.record} for one in found]


# --- POST /register ---------------------------------------------------------------------------------------------------
# How some agents by others register (spec section 13.1). The body is the meta data alone, the answer the registration's
# own, both without JSON-RPC; everything between is as with any registration. The profile `strict` has no such page.


async def _registration(host: HostedAgent, request: HttpRequest) -> Response:
    if host.agent is not None and host.agent.speaker.reading.profile == "strict":
        return Response(404, b'{"error":"there is nothing at this path"}')
    if request.method != "POST":
        return Response(405, b'{"error":"registrations are sent with POST"}', headers=(("allow", "POST"),))
    if not is_json(request.headers.get(b"content-type", b"application/json")):
        return Response(415, b'{"error":"the media type of a registration is application/json"}')
    try:
        return await _register(host, request)
    except asyncio.CancelledError:
        # Only the server cancels, when it ends; whoever registers again gets the same id.
        return refuse(503, "this server is shutting down", plain_refusal)


async def _register(host: HostedAgent, request: HttpRequest) -> Response:
    try:
        call = _call(request.body)
    except PeerError as error:
        said = {"message_type": "LEAGUE_ERROR", "error_code": error.code, "error_description": error.row.name}
        return Response(400, _JSON.encode({**said, "error_name": error.row.name, "error_detail": error.detail}))
    answer = await host.post(call, request.address)
    told, is_error = _bare(answer.body)
    refused = 400 if is_error else 409 if told.get("status") == "REJECTED" else answer.status
    # Whoever speaks without JSON-RPC goes by the status.
    return replace(answer, body=_JSON.encode(told), status=refused if answer.status == 200 else answer.status)


def _call(raw: bytes) -> bytes:
    """What was posted, as the call that it stands for."""
    fields = strict_json.parse(raw)
    if not isinstance(fields, dict):
        raise PeerError("E035", "a registration is a JSON object")
    message = normalise.registration_of(fields)
    method = forms.spellings(Convention.SPEC, message["message_type"])[0]
    return jsonrpc.encode_call(1, method, _JSON.encode(message))


def _bare(raw: bytes) -> tuple[dict[str, object], bool]:
    """An answer without its frame: the result, or the message in the error; and whether it is an error."""
    answer = msgspec.json.decode(raw, type=dict[str, object])
    error = answer.get("error")
    found = answer.get("result") if error is None else error.get("data") if isinstance(error, dict) else None
    return found if isinstance(found, dict) else answer, error is not None
