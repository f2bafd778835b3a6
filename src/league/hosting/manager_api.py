"""The manager's HTTP interface beside /mcp: its pages under /api, the operator's orders, and POST /register."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import Any
from urllib.parse import unquote

import msgspec

from league.agent.agent import Agent, Shown
from league.dialects import registrations
from league.events import Event
from league.hosting import admin_api
from league.hosting.background import LatestStatistics, statistics_page
from league.hosting.bare_posts import NOTHING_HERE, take
from league.hosting.serving import HostedAgent
from league.machine import Machine
from league.manager.league import LeagueManager
from league.protocol.exchanges import EXCHANGES
from league.reports import views
from league.reports.journals import letters_beside, records_of
from league.settings import LeagueSettings
from league.storage.reading import JournalReader
from league.transport.http import Answer, Handler, HttpRequest, Response
from league_dashboard.answers import Answering, AnswerLog
from league_dashboard.history import LeagueHistory
from league_dashboard.serving import Dashboard
from league_records.match_facts import MatchFacts, facts_from_pages, with_manager_events

View = Callable[[LeagueManager, int], object]
"""A view of the league at that position of its journal."""

STATISTICS = "/api/statistics"
MATCHES = "/api/matches/"
REGISTER = "/register"
_JSON = msgspec.json.Encoder()
_NOTHING = b"null"


def league_pages(host: HostedAgent, statistics: LatestStatistics) -> dict[str, Callable[[], Awaitable[Response]]]:
    """The pages at fixed paths."""
    pages = {path: partial(_shown, host, view) for path, view in views.PAGES.items()}
    return {**pages, STATISTICS: partial(statistics_page, host, statistics)}


def league_gauges(agent: Agent) -> dict[str, float]:
    """What /metrics of a manager shows beside its counters. Queues are shown of managers alone: those of a referee
    would tell who has answered (S-30)."""
    assert isinstance(agent.machine, LeagueManager)
    queues = {f"queue_{name}": float(count) for name, count in agent.pump.load_of.items()}
    return views.gauges(agent.machine) | queues


def other_pages(host: HostedAgent, dashboard: Dashboard) -> Handler:
    """Everything that has no fixed path, or is no page to read."""

    async def handle(request: HttpRequest) -> Answer:
        if request.path == REGISTER:
            return await take(host, request, _registration)
        if request.path.startswith(admin_api.ADMIN):
            return await admin_api.answer_order(host, request)
        if request.path.startswith(MATCHES):
            return await _match(host, request.method, unquote(request.path.removeprefix(MATCHES)))
        return await dashboard.answer(request) or NOTHING_HERE

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
    if host.agent is None:
        return Response(503, b"{}")
    page = await match_page(host, match_id)
    return Response(404, b'{"error":"there is no such match"}') if page is None else Response(200, page)


async def match_page(host: HostedAgent, match_id: str) -> bytes | None:
    """The page of a match, if there is such a match."""
    answer = await _shown(host, lambda manager, _: views.match(manager, match_id))
    if answer.body == _NOTHING:
        return None
    return answer.body[:-1] + b',"records":' + _JSON.encode(await _records(host, match_id)) + b"}"


async def _records(host: HostedAgent, match_id: str) -> list[dict[str, object]]:
    """What its referees told of a match that is decided; read from the journal, for nobody keeps it in memory."""
    journal = _journal(host)
    if journal is None:
        return []
    found = await asyncio.to_thread(journal.records_of, match_id)
    return [{"referee_id": one.referee_id, "attempt": one.attempt, "events": one.lines} for one in found]


def _journal(host: HostedAgent) -> JournalReader | None:
    """The journal to read from, if the manager has started and keeps one."""
    journal: object = host.agent.journal if host.agent else None
    return journal if isinstance(journal, JournalReader) else None


class LiveLeague:
    """The league of a running manager, for its dashboard."""

    is_live = True

    def __init__(self, host: HostedAgent) -> None:
        self._host = host
        self._seen = -1
        """The position of the journal that was shown last."""
        self._answers = AnswerLog()
        self._one_reads = Lock()
        self._answers_read = 0
        """Up to this position of the journal."""
        self._history: LeagueHistory | None = None

    async def shown(self, show: Callable[[LeagueManager], Shown]) -> Shown | None:
        if self._host.agent is None:
            return None

        def show_at(machine: Machine, journal_seq: int) -> Shown:
            assert isinstance(machine, LeagueManager)
            self._seen = journal_seq
            return show(machine)

        return await self._host.agent.shown(show_at)

    async def facts(self, match_id: str) -> MatchFacts | None:
        def show(manager: LeagueManager) -> tuple[views.Object | None, views.Object, views.Object, LeagueSettings]:
            pages = views.match(manager, match_id), views.league(manager, self._seen), views.agents(manager)
            return *pages, manager.ledger.settings

        match, league, agents, settings = await self.shown(show) or (None, {}, {}, None)
        if match is None or settings is None:
            return None
        facts = facts_from_pages({**match, "records": await _records(self._host, match_id)}, league, agents["agents"])
        journal = _journal(self._host)
        if journal is None:
            return facts
        facts = with_manager_events(facts, await asyncio.to_thread(journal.events_of, match_id), settings)
        if facts.status != "COMPLETED":
            return facts  # nobody learns before the end who has answered
        letters = await asyncio.to_thread(letters_beside, journal.path, facts.league_id, match_id)
        records = {one: replace(told, letters={match_id: letters.get(one, ())}) for one, told in facts.records.items()}
        return replace(facts, records=records)

    async def records(self, player_id: str) -> Sequence[Event]:
        journal = _journal(self._host)
        if journal is None:
            return ()
        found = await asyncio.to_thread(journal.records_with, player_id)
        told = records_of((one.referee_id, one.lines) for one in found)
        return [event for one in told.values() for event in one.events]

    async def answering(self) -> Mapping[str, Answering]:
        journal = _journal(self._host)
        return await asyncio.to_thread(self._read_answers, journal) if journal else {}

    def _read_answers(self, journal: JournalReader) -> Mapping[str, Answering]:
        """Only records that are new are read; by one thread, also if whoever asked before went away meanwhile."""
        with self._one_reads:
            self._answers_read, found = journal.records_after(self._answers_read)
            for one in found:
                for told in records_of([(one.referee_id, one.lines)]).values():
                    self._answers.add(told.events)
            return self._answers.of_players()

    @property
    def position(self) -> int:
        return self._seen if self.history else 0

    @property
    def history(self) -> LeagueHistory | None:
        journal = _journal(self._host)
        if journal is None:
            return None
        if self._history is None or self._history.journal is not journal:
            self._history = LeagueHistory(journal)
        return self._history

    async def changed(self) -> None:
        agent = self._host.running
        if agent.journal_seq == self._seen:
            agent.changed.clear()
            await agent.changed.wait()


# --- POST /register ---------------------------------------------------------------------------------------------------


def _registration(fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The call that a posted registration stands for. Any: JSON of others."""
    message = registrations.registration_of(fields)
    kind = message["message_type"]
    row = EXCHANGES.get(kind) if isinstance(kind, str) else None
    return row.method if row else str(kind), message
