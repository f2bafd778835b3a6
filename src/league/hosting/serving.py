"""The parts that all long-running commands share: an agent behind an open port, its journal, and a clean end.

Theory of operation. A hosted agent goes through four states, always in this order:

- closed: nothing listens, and the journal is not open;
- listening: `listen` has opened the port, so the endpoint is known, which the machine is built from. Callers get 503.
  A standby stays in this state until nobody else writes its journal (`stand_by`);
- serving: `start` has opened the journal and replayed it. Callers get answers;
- stopped: `stop` closes the port first, then the journal, then writes the last shared files.

A request must never reach an agent that has not replayed its journal, and the journal must never be closed while
requests can still change the agent.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct, structs

from league import letters, rows
from league.agent.agent import Agent, Setup
from league.agent.log import Log
from league.agent.recovery import LiveJournal
from league.hosting import system
from league.hosting.settings.options import RoleOptions
from league.machine import Machine
from league.rows import DoorRow, FollowerRow
from league.storage import urls
from league.storage.notices import JournalError, JournalInUseError, UnfitEventError
from league.storage.transcripts.transcript import Mode
from league.storage.urls import Place
from league.storage.volatile import VolatileJournal
from league.terminal import USAGE, CommandError, console
from league.terminal.addresses import endpoint_at, names_at
from league.transport.http import (
    DEFAULT_LIMITS,
    AccessPolicy,
    App,
    Limits,
    McpHandler,
    Response,
    loop_factory,
    plain_refusal,
)
from league.transport.http_server import PortTakenError, Server, serve
from league.transport.http_tls import CertificateError, server_context

if TYPE_CHECKING:
    from league.hosting.background import Background

GRACE_S = 2.0
STAND_BY_S = 0.25
"""How often a standby looks whether the journal is free."""
PORTS_TO_TRY = 400
HIGHEST_PORT = 65535
FILES = 10_000
"""Sockets are files: a hundred players in one process need more than the usual 1,024, or macOS's 256."""
FILES_ANYWAY = 64
"""Files that a process holds open even if it talks to no agent."""
FILES_PER_AGENT = 6
"""Files that a process holds open for each agent: calls in both directions, and the agent's journal."""


class Door(Struct, frozen=True):
    """Where and how an agent can be reached."""

    host: str
    limit: int
    """The largest message, in bytes."""
    names: tuple[str, ...] = ()
    """Other names of this server."""
    tls: ssl.SSLContext | None = None
    limits: Limits = DEFAULT_LIMITS

    @classmethod
    def of(cls, options: RoleOptions, limit: int, names: tuple[str, ...] = ()) -> Door:
        """The door that a role's options describe."""
        return cls(options.host, limit, names, _server_tls(options))


def _server_tls(options: RoleOptions) -> ssl.SSLContext | None:
    if not options.tls_cert:
        if options.tls_key:
            raise CommandError("--tls-key needs --tls-cert", USAGE)
        return None
    key = Path(options.tls_key) if options.tls_key else None
    with _clear_errors():
        return server_context(Path(options.tls_cert), key)


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except CertificateError as error:
        raise CommandError(str(error), USAGE) from error


class McpEntrance(McpHandler, Protocol):
    """Answers the MCP clients of an agent; a feature brings it (`league.rows.DoorRow`)."""

    is_open: bool
    """True while the agent works: after its start, and until it is about to end."""

    async def answer(self, raw: bytes, address: str, authorization: str) -> Response | None:
        """Answer a request that is no message of the protocol; None if it is not about MCP either."""

    async def close(self) -> None:
        """End all sessions and streams."""


class FileFollower(Protocol):
    """Writes shared files while one agent works."""

    def release_journal(self) -> None:
        """Stop reading the journal, which will be closed."""

    async def finish(self) -> None:
        """Write the last files, now that the journal is closed."""


class FileFollowers(Protocol):
    """Writes files for all agents of a process (`league.rows.FollowerRow`)."""

    def follow(self, machine: Callable[[], Machine], journal: LiveJournal) -> FileFollower:
        """Keep the files of one more agent."""


class HostedAgent:
    """An agent behind a port. The port is opened first: until the agent has started, callers are asked to try later."""

    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.endpoint = ""
        """The URL that others call, once the port is open."""
        self.was_called = False
        """True if anything came to the port."""
        self.gauges: Callable[[Agent], Mapping[str, float]] = lambda _: {}
        """The role's own gauges, shown at /metrics."""
        self.views: Mapping[str, Background] = {}
        """A manager's views that take long, by name."""
        self.state: Path | None = None
        """The folder where a manager keeps its secrets."""
        self.tools: object | None = None
        """The tools that a member offers MCP clients beside its messages."""
        self.mcp = _open_mcp_door(self)
        self._server: Server | None = None
        self._follower: FileFollower | None = None

    @property
    def running(self) -> Agent:
        """The agent, which has started."""
        assert self.agent is not None
        return self.agent

    @property
    def port(self) -> int:
        assert self._server is not None, "the port is open"
        return self._server.port

    def respond(self, raw: bytes, origin: str) -> Response | Awaitable[Response]:
        """Answer a request to /mcp; at once if that is possible, otherwise with an awaitable."""
        self.was_called = True
        if self.agent is not None:
            return self.agent.respond(raw, origin)
        return self.post(raw, origin)

    async def post(
        self,
        raw: bytes,
        origin: str,
        authorization: str = "",
        *,
        is_mcp: bool = False,
    ) -> Response:
        """Answer a request to /mcp. `is_mcp` is true for a message by a caller that speaks MCP."""
        if self.agent is None:
            # The port is open, but the journal is still being replayed.
            body = plain_refusal(503, "E042", "the journal is still being read")
            return Response(503, body, headers=(("retry-after", "1"),))
        return await self.agent.post(raw, origin, authorization, is_mcp=is_mcp)

    def refusal(self, status: int, code: str | None, detail: str) -> bytes:
        """The body of a response by which HTTP itself rejects a request: a full error if the catalogue has its code."""
        if self.agent is None or code is None:
            return plain_refusal(status, code, detail)
        return letters.write_refusal(code, detail, self.agent.speaker, self.agent.now())

    async def listen(
        self,
        door: Door,
        port: int,
        app: App,
        next_free: bool = False,
    ) -> None:
        """Open the port. If it is taken and `next_free` is true, open the next free one instead."""
        self._server = await _open_port(door, port, app, next_free and port > 0)
        scheme = "https" if door.tls else "http"
        self.endpoint = endpoint_at(door.host, self._server.port, scheme)

    async def start(
        self,
        setup: Setup,
        journal: Callable[[Agent], Awaitable[LiveJournal]],
        followers: FileFollowers | None = None,
    ) -> Agent:
        """Replay the journal and let the agent work behind the open port. JournalInUseError if somebody else writes the
        journal: then the port stays open."""
        if self.mcp is not None:
            setup.offer = self.mcp.answer
        agent = Agent(setup)
        try:
            opened = await journal(agent)
            _replay(agent, opened)
        except JournalInUseError:
            raise
        except BaseException:
            # Nobody was served yet, so nobody needs time to finish.
            await self.stop(grace_s=0)
            raise
        # Only now: from here on, requests reach the agent.
        self.agent = agent
        if self.mcp is not None:
            self.mcp.is_open = True
        if followers is not None:
            self._follower = followers.follow(lambda: agent.machine, opened)
        return agent

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """Take no more requests, then close the journal, then write the last shared files."""
        if self.mcp is not None:
            await self.mcp.close()
        if self._server is not None:
            await self._server.close(grace_s)
        # The order matters: a follower must not read a closed journal, and its last files need all events.
        if self._follower is not None:
            self._follower.release_journal()
        if self.agent is not None:
            await self.agent.stop()
        if self._follower is not None:
            await self._follower.finish()

    def basic_pages(self, shown: Callable[[], dict[str, object]] = dict) -> dict[str, Callable[[], Response]]:
        """The pages that every role serves beside /mcp; `shown` is what it says of itself beside who it is."""
        return {
            "/healthz": lambda: Response(200, msgspec.json.encode({"status": "ok"} | self._named() | shown())),
            "/readyz": self._ready,
            "/metrics": self._metrics,
        }

    def _named(self) -> dict[str, str]:
        return {} if self.agent is None else {"sender": self.agent.speaker.sender}

    def _ready(self) -> Response:
        # The lock is looked at with each call: a process that stood still may have lost it.
        if self.agent is None or self.agent.pump.storage_down or not self.agent.journal.is_confirmed:
            return Response(503, b'{"status":"not ready"}')
        return Response(200, b'{"status":"ready"}')

    def _metrics(self) -> Response:
        text = ""
        if self.agent is not None:
            text = self.agent.meter.prometheus(self.gauges(self.agent))
        return Response(200, text.encode(), "text/plain; version=0.0.4")


def _open_mcp_door(host: HostedAgent) -> McpEntrance | None:
    row = next(rows.own(DoorRow), None)
    if row is None:
        return None  # a distribution without the MCP feature
    open_door: Callable[[HostedAgent], McpEntrance] = rows.load(row.open)
    return open_door(host)


def _replay(agent: Agent, journal: LiveJournal) -> None:
    try:
        agent.start(journal)
    except JournalError as error:
        journal.close()
        from league.storage import damage
        from league.storage.group_commit import KeptJournal

        # A damaged journal gets a sentence that says how to repair it.
        if isinstance(error, UnfitEventError) and isinstance(journal, KeptJournal):
            raise CommandError(damage.unfit(journal.place, error)) from error
        raise CommandError(str(error)) from error


async def _open_port(door: Door, port: int, app: App, next_free: bool) -> Server:
    host = door.host
    policy = AccessPolicy.known_as((*names_at(host), *door.names))
    limits = structs.replace(door.limits, body=door.limit)
    last_port = port
    if next_free:
        last_port = min(port + PORTS_TO_TRY - 1, HIGHEST_PORT)
    for candidate in range(port, last_port + 1):
        try:
            return await serve(host, candidate, app, limits, policy, door.tls)
        except PortTakenError:
            continue  # another member of this process, or another program
        except OSError as error:
            raise CommandError(f"cannot listen at {host}:{candidate}: {error.strerror or error}") from error
    if next_free:
        raise CommandError(f"{host} has no free port from {port} to {last_port}; choose another with --port")
    raise CommandError(f"port {port} of {host} is taken by another program; choose another with --port")


# --- files that an agent writes ---------------------------------------------------------------------------------------


def default_journal(league_id: str) -> str:
    """The location of a league's journal unless an option names another."""
    try:
        return str(urls.default(league_id))
    except JournalError as error:
        raise CommandError(str(error)) from error


def journal_place(location: str) -> Place:
    """Where a journal is."""
    try:
        return urls.parse(location)
    except JournalError as error:
        raise CommandError(str(error)) from error


async def open_journal(
    agent: Agent,
    place: Place | None,
    identity: Mapping[str, str],
    transcript: Mode,
) -> LiveJournal:
    """Open an agent's journal; without a place, one that lives in memory only. JournalInUseError if somebody else
    writes it."""
    if place is None:
        return VolatileJournal()
    # Imported here because a player without a journal of its own needs no database.
    from league.storage.formats import FORMAT
    from league.storage.opening import open_for_writing
    from league.storage.write_queue import Settings

    settings = Settings(transcript=transcript)
    try:
        # In a thread: it is read to the end, and a server may be slow.
        journal = await asyncio.to_thread(open_for_writing, place, agent.notice, identity=identity, settings=settings)
    except JournalInUseError:
        raise
    except JournalError as error:
        raise CommandError(str(error)) from error
    if journal.upgrade is not None:
        console.complain(
            f"{place} was in format {journal.upgrade.old_format} of an older version, and is in format {FORMAT} now; "
            f"{journal.upgrade.backup} is a copy of it as it was"
        )
    return journal


async def stand_by(host: HostedAgent, place: Place, stop: asyncio.Event) -> bool:
    """Wait until nobody else writes a journal; False if the process is stopped before."""
    from league.storage.opening import watch_hold

    try:
        with watch_hold(place) as watch:
            is_told = False
            while await asyncio.to_thread(watch.is_held):
                if not is_told:
                    is_told = True
                    console.complain(f"standing by at {host.endpoint}: another process writes {place}")
                with suppress(TimeoutError):
                    async with asyncio.timeout(STAND_BY_S):
                        await stop.wait()
                if stop.is_set():
                    return False
    except JournalError as error:
        raise CommandError(str(error)) from error
    return True


def open_shared(folder: str | None, beside: Place | None = None) -> FileFollowers | None:
    """Get ready to write the shared files of this process's agents; None if there are none to write.

    They go into `folder`. If it is None, they go beside the journal, and only if that folder is writable; there is no
    such folder if the journal is in a database.
    """
    row = next(rows.own(FollowerRow), None)
    if folder == "" or row is None:
        return None
    open_followers: Callable[..., FileFollowers] = rows.load(row.open)
    journal_folder = None
    if folder is None:
        journal_folder = beside.folder if beside is not None else None
        if journal_folder is None:
            return None
    return open_followers(folder, journal_folder, console.complain)


def open_log(name: str) -> Log:
    """Open the log of an agent; without a name, one that writes nothing."""
    return Log(Path(name) if name else None, console.complain)


Ready = Callable[[HostedAgent], None]
"""Called with each agent as soon as it serves."""


def say_ready(host: HostedAgent) -> None:
    """Print the address of an agent that serves now."""
    console.say(f"ready: {host.endpoint}")


# --- how a command ends -----------------------------------------------------------------------------------------------


async def all_over(agents: Iterable[Agent], is_over: Callable[[Agent], bool]) -> None:
    """Wait until every agent's work is over; CommandError if an agent loses its journal."""
    await asyncio.gather(*(_over(agent, is_over) for agent in agents))


async def _over(agent: Agent, is_over: Callable[[Agent], bool]) -> None:
    while not is_over(agent):
        if agent.journal_lost:
            raise CommandError(f"the journal is lost: {agent.journal_lost}")
        # Cleared before waiting: a change between the check and the wait must not be lost.
        agent.changed.clear()
        await agent.changed.wait()


async def until(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Do some work until `stop` is set; True if it was finished before."""
    working = asyncio.create_task(work)
    stopped = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()  # raises what the work raised
        return working.done()
    finally:
        working.cancel()
        stopped.cancel()
        await asyncio.gather(working, stopped, return_exceptions=True)


Main = Callable[[asyncio.Event], Coroutine[Any, Any, int]]
"""The work of a long-running command; it ends soon after the event is set."""


def run_agents(main: Main, until_stdin_closes: bool) -> int:
    """Run a command that serves agents until it is stopped. Its lines may be read much later, so they have times."""
    if not until_stdin_closes:  # the program that holds our stdin reads our lines as they come
        console.stamp_lines()
    return run_loop(main, until_stdin_closes)


def run_loop(main: Main, until_stdin_closes: bool = False) -> int:
    """Run a command on the fastest loop available. In the main thread, SIGINT and SIGTERM stop it."""
    system.allow_files(FILES)
    # In another thread, the process belongs to somebody else, who decides about its garbage.
    if current_thread() is main_thread():
        system.collect_garbage_seldom()
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(_run_until_stopped(main, until_stdin_closes))
    finally:
        console.flush()


def files_needed(agents: int) -> int:
    """About how many open files a process needs to talk to this many agents, or to host them."""
    return FILES_ANYWAY + FILES_PER_AGENT * agents


def say_if_too_few_files(agents: int) -> None:
    """Warn at the start about a limit that would make calls fail in the middle of a league."""
    limit, _ = system.file_limits()
    needed = files_needed(agents)
    if limit < needed:
        console.complain(
            f"this process may open only {limit} files and will need about {needed} for {agents} agents, so calls will "
            f"fail; raise the limit with 'ulimit -Hn {needed}' as root, or run fewer agents"
        )


async def _run_until_stopped(main: Main, until_stdin_closes: bool) -> int:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    if until_stdin_closes:
        watcher = Thread(target=_wait_for_end_of_stdin, args=(loop, stop), daemon=True)
        watcher.start()
    with system.stop_signals(stop.set):
        return await main(stop)


def _wait_for_end_of_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Stop when stdin ends. The parent process holds the other end of the pipe, and the system closes it however the
    parent ends. This works on every system, and a parent cannot forget it."""
    while os.read(0, 4096):
        pass  # input has no meaning, only its end
    if not loop.is_closed():
        loop.call_soon_threadsafe(stop.set)
