"""What the manager shows over HTTP as JSON, beside /mcp."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from league.cli.ordering import ADMIN, order_pages, send_whole
from league.cli.registering import REGISTER, register_page
from league.machine import Machine
from league.manager.league import LeagueManager
from league.reports import views
from league.storage.reading import JournalReader
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


def other_pages(door: Door) -> ASGIApp:
    """Everything that has no fixed path."""
    matches, orders, register = match_pages(door), order_pages(door), register_page(door)

    async def serve(scope: ASGIScope, receive: ASGIReceive, send: ASGISend) -> None:
        path: str = scope["path"]
        page = register if path == REGISTER else orders if path.startswith(ADMIN) else matches
        await page(scope, receive, send)

    return serve


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
            elif answer.status == 200:
                records = _JSON.encode(await _records(door, match_id))
                answer = Response(200, answer.body[:-1] + b',"records":' + records + b"}")
        await send_whole(answer, send)

    return serve


async def _records(door: Door, match_id: str) -> list[dict[str, object]]:
    """What its referees told of a match that is decided; read from the journal, for nobody keeps it in memory."""
    journal: object = door.agent.journal if door.agent is not None else None
    if not isinstance(journal, JournalReader):
        return []
    found = await asyncio.to_thread(journal.records_of, match_id)
    return [{"referee_id": one.referee_id, "attempt": one.attempt, "events": one.record} for one in found]


async def _shown(door: Door, view: View) -> Response:
    if door.agent is None:
        return Response(503, b"{}")

    def show(machine: Machine, journal_seq: int) -> bytes:
        assert isinstance(machine, LeagueManager)
        return _JSON.encode(view(machine, journal_seq))

    return Response(200, await door.agent.shown(show))
