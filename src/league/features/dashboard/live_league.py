"""The league of a running manager, as its pages need it.

State is read between two inputs of the machine (`Agent.shown`), the journal in threads: the manager waits for neither.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from threading import Lock

import msgspec

from league.agent.agent import Shown
from league.events import Event, MatchRecordKept
from league.features.dashboard.league_history import LeagueHistory
from league.features.dashboard.views.answer_times import AnswerLog, AnswerSummary
from league.features.records.live_facts import live_facts
from league.features.records.match_facts import MatchFacts
from league.hosting.manager.manager_api import journal_of, watched
from league.hosting.serving import HostedAgent
from league.machine import Machine
from league.manager.league_manager import LeagueManager
from league.reading.journals import records_of
from league.storage.reading import JournalReader


class LiveLeague:
    """What the dashboard asks of a running manager."""

    is_live = True

    def __init__(self, host: HostedAgent) -> None:
        self._host = host
        self._shown_position = -1
        """The position of the journal at which the league was shown last."""
        self._shown_sights = -1
        self._answers = AnswerLog()
        self._answers_lock = Lock()
        self._answers_position = 0
        """Answers are read up to this position of the journal."""
        self._history: LeagueHistory | None = None

    @property
    def address(self) -> str:
        return self._host.endpoint

    async def shown(self, show: Callable[[LeagueManager], Shown]) -> Shown | None:
        if self._host.agent is None:
            return None

        def show_at(machine: Machine, journal_seq: int) -> Shown:
            assert isinstance(machine, LeagueManager)
            self._shown_position = journal_seq
            self._shown_sights = journal_seq + machine.sights
            return show(machine)

        return await self._host.agent.shown(show_at)

    async def facts(self, match_id: str) -> MatchFacts | None:
        return await live_facts(self._host, match_id)

    async def records(self, player_id: str) -> Sequence[Event]:
        journal = journal_of(self._host)
        if journal is None:
            return ()
        # A record that names the player may be of a match between others; the page looks for its id once more.
        records = await asyncio.to_thread(journal.of_kind, MatchRecordKept, msgspec.json.encode(player_id))
        by_referee = records_of((record.referee_id, record.lines) for _, record in records)
        events: list[Event] = []
        for record in by_referee.values():
            events += record.events
        return events

    async def answering(self) -> Mapping[str, AnswerSummary]:
        journal = journal_of(self._host)
        if journal is None:
            return {}
        return await asyncio.to_thread(self._read_answers, journal)

    def _read_answers(self, journal: JournalReader) -> Mapping[str, AnswerSummary]:
        """Read the records that are new."""
        # A viewer that is gone leaves its thread behind, so two of them may read at the same time.
        with self._answers_lock:
            for seq, record in journal.of_kind(MatchRecordKept, after=self._answers_position):
                self._answers_position = seq
                by_referee = records_of([(record.referee_id, record.lines)])
                for whole in by_referee.values():
                    self._answers.add(whole.events)
            return self._answers.of_players()

    @property
    def position(self) -> int:
        if self.history is None:
            return 0
        return self._shown_position

    @property
    def history(self) -> LeagueHistory | None:
        journal = journal_of(self._host)
        if journal is None:
            return None
        # A manager that recovers from a failed disk has another journal.
        if self._history is None or self._history.journal is not journal:
            self._history = LeagueHistory(journal)
        return self._history

    async def watch(self, match_id: str) -> None:
        if self._host.agent is not None:
            await watched(self._host, match_id)

    async def changed(self) -> None:
        agent = self._host.running
        # What happened since it was shown last needs no waiting.
        if agent.sights == self._shown_sights:
            agent.changed.clear()
            await agent.changed.wait()
