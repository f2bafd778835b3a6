"""What the long-running commands share: an agent behind an open port, its journal, and a clean end."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import TYPE_CHECKING, Any, Protocol

from league import features
from league.agent.agent import Agent, Setup
from league.agent.log import Log
from league.agent.recovery import LiveJournal
from league.features import DoorRow, FollowerRow
from league.hosting import system
from league.hosting.options import RoleOptions
from league.machine import Machine
from league.storage import urls
from league.storage.files import damaged
from league.storage.formats import FORMAT
from league.storage.notices import JournalError, UnfitEventError
from league.storage.sqlite import Settings, SqliteJournal
from league.storage.transcript import Mode
from league.storage.volatile import VolatileJournal
from league.terminal import USAGE, CommandError, console
from league.terminal.addresses import endpoint_at, names_at
from league.transport import letters, mcp_door
from league.transport.http import (
    AccessPolicy,
    App,
    HttpRequest,
    Limits,
    McpHandler,
    Response,
    loop_factory,
    plain_refusal,
)
from league.transport.http_server import PortTakenError, Server, serve
from league.transport.http_tls import CertificateError, client_context, server_context

if TYPE_CHECKING:
    from league.hosting.background import Background
    from league.mcp_tables import McpCaller, MemberTools

GRACE_S = 2.0
PORTS_TO_TRY = 400
HIGHEST_PORT = 65535
FILES = 10_000
"""Sockets are files: a hundred players in one process need more than the usual 1,024, or macOS's 256."""
FILES_ANYWAY, FILES_PER_AGENT = 64, 6
"""What a process holds open whoever it talks to, and for each agent: calls of both sides, and its own journal."""


@dataclass(frozen=True, slots=True)
class Door:
    """Where and how an agent is to be reached."""

    host: str
    limit: int
    """The largest message, in bytes."""
    names: tuple[str, ...] = ()
    """What else it is called."""
    tls: ssl.SSLContext | None = None

    @classmethod
    def of(cls, options: RoleOptions, limit: int) -> Door:
        """As a role was told."""
        if options.tls_key and not options.tls_cert:
            raise CommandError("--tls-key needs --tls-cert", USAGE)
        tls = None
        if options.tls_cert:
            with _clear_errors():
                tls = server_context(Path(options.tls_cert), Path(options.tls_key) if options.tls_key else None)
        return cls(options.host, limit, options.allow_host, tls)


def trusted(options: RoleOptions) -> ssl.SSLContext | None:
    """What the calls of a role trust; None: what the system trusts."""
    if not options.tls_ca:
        return None
    with _clear_errors():
        return client_context(Path(options.tls_ca))


@contextmanager
def _clear_errors() -> Iterator[None]:
    try:
        yield
    except CertificateError as error:
        raise CommandError(str(error), USAGE) from error


class McpDoor(McpHandler, Protocol):
    """Answers the MCP clients of an agent; a feature brings it (`league.features.DoorRow`)."""

    is_open: bool
    """True while the agent works: after its start, and until it is about to end."""

    async def own_answer(self, raw: bytes, caller: McpCaller) -> Response | None:
        """The answer to a plain request about the agent's own tools; None for any other request."""

    async def close(self) -> None:
        """End all sessions and streams."""


class Follower(Protocol):
    """Writes files while one agent works."""

    def release_journal(self) -> None:
        """Leave the journal alone: it will be closed."""

    async def finish(self) -> None:
        """Write the last files, now that the journal is closed."""


class Followers(Protocol):
    """Writes files for all agents of a process (`league.features.FollowerRow`)."""

    def follow(self, machine: Callable[[], Machine], journal: LiveJournal) -> Follower:
        """Keep the files of one more agent."""


class HostedAgent:
    """An agent behind a port. The port is opened first: until the agent has started, callers are asked to try later."""

    def __init__(self) -> None:
        self.agent: Agent | None = None
        self.endpoint = ""
        """Where others find it, once it listens."""
        self.gauges: Callable[[Agent], Mapping[str, float]] = lambda _: {}
        """What else /metrics shows."""
        self.views: Mapping[str, Background] = {}
        """A manager's views that take long, by name."""
        self.tools: MemberTools | None = None
        """What a member offers MCP clients beside its messages."""
        self.mcp = _open_mcp_door(self)
        self._server: Server | None = None
        self._follower: Follower | None = None

    @property
    def running(self) -> Agent:
        """The agent, which has started."""
        assert self.agent is not None
        return self.agent

    @property
    def port(self) -> int:
        assert self._server is not None, "it listens"
        return self._server.port

    def respond(self, raw: bytes, origin: str) -> Response | Awaitable[Response]:
        """A request to /mcp; the answer itself where it is there at once."""
        if self.agent is not None and self.tools is None:
            return self.agent.respond(raw, origin)
        return self.post(raw, origin)

    async def post(self, raw: bytes, origin: str, authorization: str = "", *, is_mcp: bool = False) -> Response:
        """A request to /mcp; `is_mcp`: its caller speaks MCP."""
        if self.agent is None:
            return Response(503, b"{}", headers=(("retry-after", "1"),))
        if self.tools is not None and self.mcp is not None:
            from league.mcp_tables import McpCaller  # most agents have no tools of their own

            answer = await self.mcp.own_answer(raw, McpCaller(origin, authorization))
            if answer is not None:
                return answer
        return await self.agent.post(raw, origin, is_mcp=is_mcp)

    async def answer_plainly(self, request: HttpRequest) -> Response:
        """The answer to a request that is not for the MCP door after all."""
        return await self.post(request.body, request.address, _authorization(request))

    async def answer_mcp(self, request: HttpRequest) -> Response:
        """The answer to a caller that speaks MCP, where the official package does not serve it."""
        version = request.headers.get(mcp_door.VERSION_HEADER, b"").decode("latin-1").strip()
        return mcp_door.refusal(request.body, version) or await self.post(
            request.body, request.address, _authorization(request), is_mcp=True
        )

    def refusal(self, status: int, code: str | None, detail: str) -> bytes:
        """The body of what HTTP itself refuses: the role's whole error, where the catalogue has a row for it."""
        if self.agent is None or code is None:
            return plain_refusal(status, code, detail)
        return letters.write_refusal(code, detail, self.agent.speaker, self.agent.now())

    async def listen(self, door: Door, port: int, app: App, next_free: bool = False) -> None:
        """Open the port; when it is taken, the `next_free` one if that will do."""
        self._server = await _open_port(door, port, app, next_free and port > 0)
        self.endpoint = endpoint_at(door.host, self._server.port, "https" if door.tls else "http")

    async def start(
        self, setup: Setup, journal: Callable[[Agent], LiveJournal], followers: Followers | None = None
    ) -> Agent:
        """From an open port to an agent at work."""
        agent = Agent(setup)
        try:
            opened = journal(agent)
            _replay(agent, opened)
        except BaseException:
            await self.stop(grace_s=0)
            raise
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
        if self._follower is not None:
            self._follower.release_journal()
        if self.agent is not None:
            await self.agent.stop()
        if self._follower is not None:
            await self._follower.finish()

    def basic_pages(self) -> dict[str, Callable[[], Response]]:
        """What every role serves beside /mcp."""
        return {
            "/healthz": lambda: Response(200, b'{"status":"ok"}'),
            "/readyz": self._ready,
            "/metrics": self._metrics,
        }

    def _ready(self) -> Response:
        is_ready = self.agent is not None and not self.agent.pump.storage_down
        return Response(200, b'{"status":"ready"}') if is_ready else Response(503, b'{"status":"not ready"}')

    def _metrics(self) -> Response:
        text = self.agent.meter.prometheus(self.gauges(self.agent)) if self.agent else ""
        return Response(200, text.encode(), "text/plain; version=0.0.4")


def _open_mcp_door(host: HostedAgent) -> McpDoor | None:
    row = next(features.own(DoorRow), None)
    if row is None:
        return None
    open_door: Callable[[HostedAgent], McpDoor] = features.load(row.open)
    return open_door(host)


def _authorization(request: HttpRequest) -> str:
    return request.headers.get(b"authorization", b"").decode("latin-1")


def _replay(agent: Agent, journal: LiveJournal) -> None:
    try:
        agent.start(journal)
    except JournalError as error:
        journal.close()
        if isinstance(error, UnfitEventError) and isinstance(journal, SqliteJournal):
            raise CommandError(damaged(journal.path, error)) from error
        raise CommandError(str(error)) from error


async def _open_port(door: Door, port: int, app: App, next_free: bool) -> Server:
    host, policy = door.host, AccessPolicy.known_as((*names_at(door.host), *door.names))
    last = min(port + PORTS_TO_TRY - 1, HIGHEST_PORT) if next_free else port
    for one in range(port, last + 1):
        try:
            return await serve(host, one, app, Limits(body=door.limit), policy, door.tls)
        except PortTakenError:
            continue
        except OSError as error:
            raise CommandError(f"cannot listen at {host}:{one}: {error.strerror or error}") from error
    if next_free:
        raise CommandError(f"no port of {host} from {port} to {last} is free; choose others with --port")
    raise CommandError(f"port {port} of {host} is taken by another program; choose another with --port")


# --- what an agent writes ---------------------------------------------------------------------------------------------


def default_journal(league_id: str) -> str:
    """Where a league's journal is when nobody says otherwise."""
    try:
        return str(urls.default(league_id).path)
    except JournalError as error:
        raise CommandError(str(error)) from error


def open_journal(agent: Agent, location: str, identity: Mapping[str, str], transcript: Mode) -> LiveJournal:
    """The journal an agent keeps, or none."""
    if not location:
        return VolatileJournal()
    try:
        path = urls.parse(location).path
        journal = SqliteJournal(path, agent.notice, identity=identity, settings=Settings(transcript=transcript))
    except JournalError as error:
        raise CommandError(str(error)) from error
    if journal.upgrade is not None:
        console.complain(
            f"{path} was in format {journal.upgrade.old_format} of an older version, and is in format {FORMAT} now; "
            f"{journal.upgrade.backup} is a copy of it as it was"
        )
    return journal


def open_shared(folder: str | None, beside: str = "") -> Followers | None:
    """Where the agents of this process write their shared files, if they do: in this folder, or (None) beside the
    journal, where they are written only if that is possible."""
    row = next(features.own(FollowerRow), None)
    if folder == "" or row is None:
        return None
    open_followers: Callable[..., Followers] = features.load(row.open)
    return open_followers(folder, _journal_path(beside).parent if folder is None else None, console.complain)


def _journal_path(location: str) -> Path:
    try:
        return urls.parse(location).path
    except JournalError as error:
        raise CommandError(str(error)) from error


def open_log(name: str) -> Log:
    """The log an agent writes, or none."""
    return Log(Path(name) if name else None, console.complain)


Ready = Callable[[HostedAgent], None]
"""Is told of each agent as soon as it serves."""


def say_ready(host: HostedAgent) -> None:
    """Tell whoever started us where an agent serves."""
    console.say(f"ready: {host.endpoint}")


# --- how a command ends -----------------------------------------------------------------------------------------------


async def all_over(agents: Iterable[Agent], is_over: Callable[[Agent], bool]) -> None:
    """Wait until every agent's work is over; CommandError if the journal of one is lost."""
    await asyncio.gather(*(_over(one, is_over) for one in agents))


async def _over(agent: Agent, is_over: Callable[[Agent], bool]) -> None:
    while not is_over(agent):
        if agent.journal_lost:
            raise CommandError(f"the journal is lost: {agent.journal_lost}")
        agent.changed.clear()
        await agent.changed.wait()


async def until(stop: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Do this, but only until we are told to stop; whether it was finished."""
    working, stopped = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
        return working.done()
    finally:
        working.cancel()
        stopped.cancel()
        await asyncio.gather(working, stopped, return_exceptions=True)


Main = Callable[[asyncio.Event], Coroutine[Any, Any, int]]
"""What a long-running command does; it ends soon after the event is set."""


def run_loop(main: Main, until_stdin_closes: bool = False) -> int:
    """Run a command on the fastest loop there is. SIGINT and SIGTERM tell it to stop, unless this is a thread."""
    system.allow_files(FILES)
    if current_thread() is main_thread():
        system.collect_garbage_seldom()
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            return runner.run(_told_to_stop(main, until_stdin_closes))
    finally:
        console.flush()


def files_needed(agents: int) -> int:
    """About so many open files a process needs that talks to so many agents, or hosts them."""
    return FILES_ANYWAY + FILES_PER_AGENT * agents


def say_if_too_few_files(agents: int) -> None:
    """Better at the start than in the middle of a league."""
    limit, _ = system.file_limits()
    needed = files_needed(agents)
    if limit < needed:
        console.complain(
            f"this process may open {limit} files only, and will need about {needed} for {agents} agents: calls will "
            f"fail; raise the limit with 'ulimit -Hn {needed}' as root, or take fewer"
        )


async def _told_to_stop(main: Main, until_stdin_closes: bool) -> int:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    if until_stdin_closes:
        Thread(target=_wait_for_end_of_stdin, args=(loop, stop), daemon=True).start()
    with system.stop_signals(stop.set):
        return await main(stop)


def _wait_for_end_of_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Whoever started us holds the other end of the pipe: however it ends, the system closes it. That works everywhere
    and cannot be forgotten, unlike asking who our parent is."""
    while os.read(0, 4096):
        pass
    if not loop.is_closed():
        loop.call_soon_threadsafe(stop.set)
