"""Members that play through mailboxes at their manager.

A member that nobody can call plays *outbound*: with `--outbound` from the beginning, otherwise as soon as that is
found out. It is found out when the manager refuses its endpoint (E025, E026), or does not call it although its league
is about to start. Then the member's mailbox at the manager is its endpoint, and it registers again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from league.agent.agent import Agent
from league.agent.sources import chance
from league.hosting.serving import HostedAgent
from league.membership import MemberMachine
from league.storage.notices import JournalError, JournalInUseError
from league.terminal import console
from league.transport.http import App
from league.transport.http_client import HttpClient

if TYPE_CHECKING:  # most members play through no mailbox
    from league.mailbox.reader import ClosedError, Reader
    from league.storage.files.file_lock import FileLock

UNCALLED_S = 10.0
"""A manager of ours calls whoever waits for the start every few seconds."""
UNREACHABLE = ("E025", "E026")
SECRETS = Path("league-data", "mailboxes")
MOST_SECRETS = 400


class OutboundMembers:
    """The members of a process that play through mailboxes. `open_client` makes the client that they share."""

    def __init__(self, managers: Sequence[str], open_client: Callable[[], HttpClient]) -> None:
        self._managers = managers
        self._open_client = open_client
        self._client: HttpClient | None = None
        self._readers: dict[HostedAgent, Reader] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._opening: dict[HostedAgent, str] = {}
        """Members that asked for a mailbox and don't know yet whether there are any, with the reason why they did."""
        self._locks: list[FileLock] = []
        self.closed: dict[HostedAgent, ClosedError] = {}
        """Members whose mailbox can't be read any more: their league is over."""

    @property
    def has_failed(self) -> bool:
        """True if a mailbox was closed although its owner takes part."""
        return not all(closed.is_withdrawn for closed in self.closed.values())

    def plays_through(self, host: HostedAgent) -> bool:
        """True if this member plays outbound, or tried to."""
        return host in self._readers

    def is_open_question(self, host: HostedAgent) -> bool:
        """True for a refused member that may yet come in by its mailbox."""
        if host in self._readers:
            return host in self._opening
        refusal = machine_of(host.running).rejected
        return refusal is not None and refusal.code in UNREACHABLE

    def begin(self, host: HostedAgent, app: App) -> None:
        """Give a member its mailbox before it starts."""
        reader = self._readers[host] = self._reader(host, app)
        host.endpoint = reader.endpoint

    def read(self, host: HostedAgent) -> None:
        """Begin to fetch letters."""
        self._tasks.append(asyncio.create_task(self._read(host)))

    def fall_back(self, host: HostedAgent, app: App, why: str) -> None:
        """Have a member play through a mailbox that cannot be called at its endpoint, if its manager has mailboxes."""
        reader = self._readers[host] = self._reader(host, app)
        reader.endpoint = ""  # so that the first answer tells where it is
        self._opening[host] = why
        self.read(host)

    def _reader(self, host: HostedAgent, app: App) -> Reader:
        from league.mailbox.reader import Reader

        if self._client is None:
            self._client = self._open_client()

        def managers() -> Sequence[str]:
            return self._managers if host.agent is None else machine_of(host.running).managers

        def moved(endpoint: str) -> None:
            agent = host.running
            why = self._opening.pop(host, "")
            if why:
                console.complain(f"{why}; it plays through a mailbox at the manager, as with --outbound")
            host.endpoint = endpoint
            agent.prompt(lambda _: machine_of(host.running).moved(endpoint, agent.now()))

        return Reader(self._client, app, managers, moved, self._secret())

    def _secret(self) -> str:
        """Take the first secret that is kept here and that no other process uses, as others take the first free port:
        so an agent without a journal has its mailbox again when it is started again."""
        for number in range(1, MOST_SECRETS):
            try:
                secret, lock = _kept(SECRETS / str(number))
            except JournalInUseError:
                continue
            except (JournalError, OSError):
                break  # nothing can be kept here
            self._locks.append(lock)
            return secret
        return chance(32).hex()

    async def _read(self, host: HostedAgent) -> None:
        from league.mailbox.reader import ClosedError

        reader = self._readers[host]
        try:
            await reader.read()
        except ClosedError as closed:
            if self._opening.pop(host, None) is None:
                console.complain(f"the mailbox {host.endpoint} is closed: {closed}")
                self.closed[host] = closed
            host.running.changed.set()

    async def close(self) -> None:
        """Read no more."""
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if self._client is not None:
            await self._client.close()
        for lock in self._locks:
            lock.release()


def _kept(path: Path) -> tuple[str, FileLock]:
    from league.storage.files.file_lock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    secret = path.read_text("ascii").strip()
    if not secret:
        secret = chance(32).hex()
        path.write_text(secret, "ascii")
    return secret, lock


def machine_of(agent: Agent) -> MemberMachine:
    """Return the machine of a referee or player."""
    machine = agent.machine
    assert isinstance(machine, MemberMachine)
    return machine
