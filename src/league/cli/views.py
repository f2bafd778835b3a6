"""What the manager shows over HTTP as JSON, beside /mcp."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from league.machine import Machine
from league.manager.league import LeagueManager
from league.reports import views
from league.transport.http import ASGIApp, ASGIReceive, ASGIScope, ASGISend, Response

if TYPE_CHECKING:
    from league.hosting.serving import Door

View = Callable[[LeagueManager, int], object]
"""A view of the league at that position of its journal."""

MATCHES = "/api/matches/"
_JSON = msgspec.json.Encoder()
_NOTHING = b"null"


def league_pages(door: Door) -> dict[str, Callable[[], Awaitable[Response]]]:
    """The fixed paths of the API."""
    shown: dict[str, View] = {
        "/api/league": views.league,
        "/api/standings": lambda manager, _: views.standings(manager),
        "/api/schedule": lambda manager, _: views.schedule(manager),
        "/api/agents": lambda manager, _: views.agents(manager),
    }

    def page(view: View) -> Callable[[], Awaitable[Response]]:
        async def serve() -> Response:
            return await _shown(door, view)

        return serve

    return {path: page(view) for path, view in shown.items()}


def match_pages(door: Door) -> ASGIApp:
    """`/api/matches/{id}`, and nothing anywhere else."""

    async def serve(scope: ASGIScope, _receive: ASGIReceive, send: ASGISend) -> None:
        path: str = scope["path"]
        if not path.startswith(MATCHES):
            answer = Response(404, b'{"error":"there is nothing at this path"}')
        elif scope["method"] not in ("GET", "HEAD"):
            answer = Response(405, b'{"error":"this page is read with GET"}', headers=(("allow", "GET, HEAD"),))
        else:
            match_id = unquote(path.removeprefix(MATCHES))
            answer = await _shown(door, lambda manager, _: views.match(manager, match_id))
            if answer.body == _NOTHING:
                answer = Response(404, b'{"error":"there is no such match"}')
        await _send(answer, send)

    return serve


async def _shown(door: Door, view: View) -> Response:
    if door.agent is None:
        return Response(503, b"{}")

    def show(machine: Machine, journal_seq: int) -> bytes:
        assert isinstance(machine, LeagueManager)
        return _JSON.encode(view(machine, journal_seq))

    return Response(200, await door.agent.shown(show))


async def _send(answer: Response, send: ASGISend) -> None:
    headers = [("content-type", answer.content_type), ("content-length", str(len(answer.body))), *answer.headers]
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": encoded})
    await send({"type": "http.response.body", "body": answer.body})
