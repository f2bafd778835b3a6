"""The facts of a match in a running league, from the manager's pages and journal."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import NamedTuple

from league.hosting.manager_api import journal_of, match_records
from league.hosting.serving import HostedAgent
from league.machine import Machine
from league.manager.league import LeagueManager
from league.reports import views
from league.reports.journals import letters_beside
from league.settings import LeagueSettings
from league_records.match_facts import MatchFacts, facts_from_pages, with_manager_events


class _Pages(NamedTuple):
    """The pages of a manager that tell of a match."""

    match: views.Object | None
    league: views.Object
    agents: views.Object
    settings: LeagueSettings


async def live_facts(host: HostedAgent, match_id: str) -> MatchFacts | None:
    """What the manager and its referees know of a match; None if there is no such match."""
    if host.agent is None:
        return None

    def show(machine: Machine, journal_seq: int) -> _Pages:
        assert isinstance(machine, LeagueManager)
        match = views.match(machine, match_id)
        return _Pages(match, views.league(machine, journal_seq), views.agents(machine), machine.ledger.settings)

    pages = await host.agent.shown(show)
    if pages.match is None:
        return None
    match = {**pages.match, "records": await match_records(host, match_id)}
    facts = facts_from_pages(match, pages.league, pages.agents["agents"])
    journal = journal_of(host)
    if journal is None:
        return facts
    facts = with_manager_events(facts, await asyncio.to_thread(journal.events_of, match_id), pages.settings)
    if facts.status != "COMPLETED":
        return facts  # before the end nobody learns which player has answered
    letters = await asyncio.to_thread(letters_beside, journal.path, facts.league_id, match_id)
    records = {
        referee_id: replace(record, letters={match_id: letters.get(referee_id, ())})
        for referee_id, record in facts.records.items()
    }
    return replace(facts, records=records)
