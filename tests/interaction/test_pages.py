"""What pages show is durable: nobody is shown what a crash could take back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from league.agent import sources
from league.agent.agent import Agent, Setup
from league.events import LeagueSettings
from league.letters import Speaker
from league.machine import Entry, Machine
from league.manager.league_manager import LeagueManager
from league.protocol.message.envelope import Reading
from league.protocol.message.exchanges import Role
from league.storage.journal import MemoryJournal
from league.storage.notices import Durable, WriteFailed
from league.storage.transcripts.transcript import LetterNote
from league.transport.http_client import HttpClient

WATCHDOG_S = 60.0


class Slow(MemoryJournal):
    """A journal whose disk waits until the test lets it go on."""

    is_full = keeps_letters = is_volatile = False
    head = None

    def __init__(self, notify: Callable[[Durable | WriteFailed], None]) -> None:
        super().__init__()
        self._notify = notify
        self._can_write = True

    def enqueue(self, entry: Entry) -> None:
        if self._can_write:
            self.append(entry)

    def wake_writer(self) -> None: ...

    def go_on(self) -> None:
        self._notify(Durable(0, self.sync()))

    def refuse(self) -> None:
        self.fail()
        self._can_write = False
        self._notify(WriteFailed(0, "the disk is full"))

    def try_again(self, failed: WriteFailed) -> bool:
        return self._can_write

    def note(self, letter: LetterNote) -> None: ...

    def close(self) -> None: ...


def show(machine: Machine, seq: int) -> bytes:
    assert isinstance(machine, LeagueManager)
    return f"{machine.ledger.settings.league_id} {seq}".encode()


def started() -> tuple[Agent, Slow, HttpClient]:
    client = HttpClient()
    settings = LeagueSettings(league_id="cup")
    speaker = Speaker(Role.MANAGER, "league_manager", Reading())
    agent = Agent(Setup(lambda secrets: LeagueManager(settings, sources.chance, secrets), lambda _: speaker, client))
    journal = Slow(agent.notice)
    agent.start(journal)
    return agent, journal, client


def run(test: Callable[[Agent, Slow], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        agent, journal, client = started()
        try:
            async with asyncio.timeout(WATCHDOG_S):
                await test(agent, journal)
        finally:
            await agent.stop()
            await client.close()

    asyncio.run(whole())


def test_a_page_waits_until_what_it_shows_is_stored() -> None:
    async def test(agent: Agent, journal: Slow) -> None:
        page = asyncio.create_task(agent.shown(show))
        await asyncio.wait((page,), timeout=0)
        await asyncio.wait((page,), timeout=0)
        assert not page.done()
        journal.go_on()
        assert await page == b"cup 1"
        assert await agent.shown(show) == b"cup 1"
        assert agent.journal_seq == 1

    run(test)


def test_when_a_write_fails_a_page_shows_what_is_left() -> None:
    async def test(agent: Agent, journal: Slow) -> None:
        page = asyncio.create_task(agent.shown(show))
        await asyncio.wait((page,), timeout=0)
        journal.refuse()
        assert await page == b"cup 0"

    run(test)
