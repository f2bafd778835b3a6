"""The manager's HTTP interface beside /mcp: its pages under /api, the operator's orders, and POST /register."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol
from urllib.parse import unquote

import msgspec

from league.agent.agent import Agent
from league.gateway.readers import registrations
from league.hosting.background import Background, view_page
from league.hosting.manager import admin_api
from league.hosting.manager.bare_posts import NOTHING_HERE, take
from league.hosting.serving import HostedAgent
from league.machine import Machine
from league.manager.league_manager import LeagueManager
from league.protocol.message.exchanges import EXCHANGES
from league.reading import views
from league.storage.reading import JournalReader
from league.transport.http import Answer, Handler, HttpRequest, Response

View = Callable[[LeagueManager, int], object]
"""A view of the league at a position of its journal."""

MATCHES = "/api/matches/"
REGISTER = "/register"
FIRST_NEWS_S = 0.7
"""How long the page of a match waits for what its referee tells first."""
_JSON = msgspec.json.Encoder()
_NOTHING = b"null"


class FeaturePages(Protocol):
    """Pages that a feature serves beside ours."""

    async def answer(self, request: HttpRequest) -> Answer | None:
        """The answer to a request; None if nothing is served there."""

    def close(self) -> None:
        """End whatever is still being sent."""


def league_pages(
    host: HostedAgent, live_views: Mapping[str, Background]
) -> dict[str, Callable[[], Awaitable[Response]]]:
    """The pages at fixed paths."""
    pages: dict[str, Callable[[], Awaitable[Response]]] = {}
    for path, view in views.PAGES.items():
        pages[path] = partial(_shown, host, view)
    for name, live_view in live_views.items():
        pages[f"/api/{name}"] = partial(view_page, host, live_view)
    return pages


def league_gauges(agent: Agent) -> dict[str, float]:
    """The gauges that a manager's /metrics shows beside its counters.

    Only managers show queues: a referee's would reveal which player has answered (S-30).
    """
    assert isinstance(agent.machine, LeagueManager)
    gauges = views.gauges(agent.machine)
    for name, count in agent.pump.load_of.items():
        gauges[f"queue_{name}"] = float(count)
    return gauges


def other_pages(host: HostedAgent, features: list[FeaturePages]) -> Handler:
    """Everything without a fixed path, and everything that is not a page to read."""

    async def handle(request: HttpRequest) -> Answer:
        if request.path == REGISTER:
            return await take(host, request, _registration)
        if request.path.startswith(admin_api.ADMIN):
            return await admin_api.answer_order(host, request)
        if request.path.startswith(MATCHES):
            return await _match(host, request.method, unquote(request.path.removeprefix(MATCHES)))
        # Our own pages come first, so that no feature can take their place.
        for pages in features:
            answer = await pages.answer(request)
            if answer is not None:
                return answer
        return NOTHING_HERE

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
    """A match, with the records of its referees."""
    if method not in ("GET", "HEAD"):
        return Response(
            405,
            b'{"error":"this page is read with GET"}',
            headers=(("allow", "GET, HEAD"),),
        )
    if host.agent is None:
        return Response(503, b"{}")
    page = await match_page(host, match_id)
    if page is None:
        return Response(404, b'{"error":"there is no such match"}')
    return Response(200, page)


async def match_page(host: HostedAgent, match_id: str) -> bytes | None:
    """The page of a match; None if there is no such match."""
    answer = await _shown(host, lambda manager, _: views.match(manager, match_id))
    if answer.body == _NOTHING:
        return None
    live = await watched(host, match_id)
    records = await match_records(host, match_id)
    # The page is JSON text already: the rest goes in before its closing brace.
    return b'%b,"live":%b,"records":%b}' % (answer.body[:-1], _JSON.encode(live), _JSON.encode(records))


async def watched(host: HostedAgent, match_id: str) -> dict[str, object] | None:
    """What is to be seen of a match that is being played; somebody looks at it. None if its referee does not tell."""
    manager = watch(host, [match_id])
    if manager.live.is_awaited(match_id):
        # The referee was asked this very moment.
        with suppress(TimeoutError):
            async with asyncio.timeout(FIRST_NEWS_S):
                while manager.live.is_awaited(match_id):
                    host.running.changed.clear()
                    await host.running.changed.wait()
    live = manager.live.seen.get(match_id)
    if live is None:
        return None
    return {
        "joined": live.joined,
        "answered": live.answered,
        "moves": [{"player_id": player, "move": move} for turn in live.turns for player, move in turn.items()],
        "clock": live.clock or None,
        "board": live.board,
    }


def watch(host: HostedAgent, match_ids: Sequence[str]) -> LeagueManager:
    """Somebody looks at these matches: they are watched for a while."""
    agent = host.running
    manager = agent.machine
    assert isinstance(manager, LeagueManager)
    agent.prompt(lambda _: manager.watch(match_ids, agent.now()))
    return manager


async def match_records(host: HostedAgent, match_id: str) -> list[dict[str, object]]:
    """The records of a decided match, one for each referee and attempt."""
    journal = journal_of(host)
    if journal is None:
        return []
    # Records are too large to be kept in memory, and reading them takes too long for the loop.
    records = await asyncio.to_thread(journal.records_of, match_id)
    return [
        {
            "referee_id": record.referee_id,
            "attempt": record.attempt,
            "events": record.lines,
        }
        for record in records
    ]


def journal_of(host: HostedAgent) -> JournalReader | None:
    """The journal to read from, if the manager has started and keeps one."""
    if host.agent is None:
        return None
    journal: object = host.agent.journal
    return journal if isinstance(journal, JournalReader) else None


# --- POST /register ---------------------------------------------------------------------------------------------------


def _registration(fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The call that a posted registration stands for (Any: third-party JSON)."""
    message = registrations.registration_of(fields)
    kind = message["message_type"]
    method = str(kind)
    if isinstance(kind, str) and kind in EXCHANGES:
        method = EXCHANGES[kind].method
    return method, message
