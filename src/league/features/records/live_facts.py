"""The facts of a match in a running league: from the manager's state and its journal."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from league.events import Event, ResultAccepted
from league.features.records.match_facts import FactSource, MatchFacts, bare_facts, with_accounts
from league.hosting.manager.manager_api import journal_of
from league.hosting.serving import HostedAgent
from league.machine import Machine
from league.manager.league_manager import LeagueManager
from league.reading.journals import Journals, RefereeJournal, letters_beside, players_beside, records_of
from league.storage.reading import JournalReader


async def live_facts(host: HostedAgent, match_id: str) -> MatchFacts | None:
    """What the manager and its referees know about a match; None if there is no such match."""
    if host.agent is None:
        return None

    def look(machine: Machine, _journal_seq: int) -> MatchFacts | None:
        assert isinstance(machine, LeagueManager)
        bare = bare_facts(match_id, machine.ledger)
        return None if bare is None else replace(bare, live=machine.live.seen.get(match_id))

    facts = await host.agent.shown(look)
    if facts is None:
        return None
    journal = journal_of(host)
    if journal is None:
        # The result alone is known without a journal; the course of the match is not.
        facts = replace(facts, source=FactSource(has_manager_journal=False))
        if isinstance(facts.result, ResultAccepted):
            facts = replace(facts, manager=[facts.result])
        return facts
    return await asyncio.to_thread(_with_journal, facts, journal)


def _with_journal(facts: MatchFacts, journal: JournalReader) -> MatchFacts:
    """The match with what its manager and its referees recorded about it; read in a thread of its own."""
    match_id = facts.match_id
    kept = journal.records_of(match_id)
    referees = records_of((record.referee_id, record.lines) for record in kept)
    players: Mapping[str, Sequence[Event]] = {}
    # Before the end nobody may learn which player has answered.
    if facts.status == "COMPLETED":
        letters = letters_beside(journal.place, facts.league_id, match_id)
        referees = {
            referee_id: RefereeJournal(record.events, {match_id: letters.get(referee_id, ())})
            for referee_id, record in referees.items()
        }
        players = players_beside(journal.place, facts.league_id, match_id)
    return with_accounts(facts, Journals(journal.events_of(match_id), referees, players=players))
