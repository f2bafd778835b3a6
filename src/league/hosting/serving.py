"""What the long-running commands share: put an agent together, serve it, say that it is ready, and end cleanly."""

from __future__ import annotations

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from league.agent.agent import Agent, LiveJournal, Setup
from league.agent.watch import Log
from league.hosting import CommandError
from league.storage import urls
from league.storage.notices import JournalError
from league.storage.sqlite import Settings, SqliteJournal
from league.storage.unkept import UnkeptJournal
from league.transport.http import App, Limits, Response, loop_factory
from league.transport.http_server import PortTakenError, Server, serve

if TYPE_CHECKING:
    from league.hosting.sharing import SharedFiles, Sharing

GRACE_S = 2.0
PORTS_TO_TRY = 400
HIGHEST_PORT = 65535
SOCKETS = 10_000


@dataclass(slots=True)
class Served:
    """An agent, its server, and the address others find it at."""

    agent: Agent
    server: Server
    endpoint: str
    sharing: Sharing | None = None

    async def stop(self) -> None:
        await self.server.close(GRACE_S)
        if self.sharing is not None:
            self.sharing.let_go()
        await self.agent.stop()
        if self.sharing is not None:
            await self.sharing.finish()


class Door:
    """Takes requests from the moment the port is open; until the agent stands behind it, "try later"."""

    def __init__(self) -> None:
        self.agent: Agent | None = None

    async def post(self, raw: bytes, origin: str) -> Response:
        if self.agent is None:
            return Response(503, b"{}", headers=(("retry-after", "1"),))
        return await self.agent.post(raw, origin)


async def open_port(host: str, port: int, app: App, limit: int, others: bool) -> Server:
    """Listen; when the port is taken, the next free one if `others` are welcome."""
    for one in range(port, min(port + PORTS_TO_TRY, HIGHEST_PORT + 1) if others and port else port + 1):
        try:
            return await serve(host, one, app, Limits(body=limit))
        except PortTakenError:
            continue
        except OSError as error:
            raise CommandError(f"cannot listen at {host}:{one}: {error.strerror or error}") from error
    if others and port:
        raise CommandError(f"no port of {host} from {port} to {one} is free; choose others with --port")
    raise CommandError(f"port {port} of {host} is taken by another program; choose another with --port")


def basic_pages(door: Door, gauges: Callable[[], Mapping[str, float]]) -> dict[str, Callable[[], Response]]:
    """What every role serves beside /mcp."""

    def health() -> Response:
        return Response(200, b'{"status":"ok"}')

    def readiness() -> Response:
        ready = door.agent is not None and not door.agent.pump.storage_down
        return Response(200, b'{"status":"ready"}') if ready else Response(503, b'{"status":"not ready"}')

    def metrics() -> Response:
        text = door.agent.meter.prometheus(gauges()) if door.agent else ""
        return Response(200, text.encode(), "text/plain; version=0.0.4")

    return {"/healthz": health, "/readyz": readiness, "/metrics": metrics}


def default_journal(league_id: str) -> str:
    """Where a league's journal is when nobody says otherwise."""
    try:
        return str(urls.default(league_id).path)
    except JournalError as error:
        raise CommandError(str(error)) from error


def open_journal(agent: Agent, location: str, identity: Mapping[str, str], transcript: str) -> LiveJournal:
    """The journal an agent keeps, or none."""
    if not location:
        return UnkeptJournal(agent.notice_here)
    try:
        path = urls.parse(location).path
        mode: Any = transcript
        return SqliteJournal(path, agent.notice, identity=identity, settings=Settings(transcript=mode))
    except JournalError as error:
        raise CommandError(str(error)) from error


async def bring_up(
    setup: Setup,
    door: Door,
    server: Server,
    endpoint: str,
    journal: Callable[[Agent], LiveJournal],
    shared: SharedFiles | None = None,
) -> Served:
    """From an open port to an agent at work."""
    agent = Agent(setup)
    try:
        opened = journal(agent)
        agent.start(opened)
    except BaseException:
        await server.close(0)
        raise
    door.agent = agent
    sharing = shared.follow(lambda: agent.machine, opened) if shared else None
    print(f"ready: {endpoint}", flush=True)
    return Served(agent, server, endpoint, sharing)


def open_shared(folder: str) -> SharedFiles | None:
    """Where the agents of this process write their shared files, if they do."""
    if not folder:
        return None
    from league.hosting.sharing import SharedFiles  # knows all three roles: only who shares pays for it

    return SharedFiles(Path(folder), complain)


def open_log(name: str) -> Log:
    """The log an agent writes, or none."""
    try:
        return Log(Path(name) if name else None)
    except OSError as error:
        raise CommandError(f"{name} cannot be written: {error.strerror or error}") from error


async def until_over(agents: Iterable[Served], is_over: Callable[[Agent], bool], stop: asyncio.Event) -> None:
    """Wait until every agent's work is over, or until we are told to stop."""
    over = asyncio.create_task(_all_over(agents, is_over))
    stopped = asyncio.create_task(stop.wait())
    await asyncio.wait((over, stopped), return_when=asyncio.FIRST_COMPLETED)
    over.cancel()
    stopped.cancel()
    await asyncio.gather(over, stopped, return_exceptions=True)


async def _all_over(agents: Iterable[Served], is_over: Callable[[Agent], bool]) -> None:
    for served in agents:
        while not is_over(served.agent):
            served.agent.changed.clear()
            await served.agent.changed.wait()


Main = Callable[[asyncio.Event], Coroutine[Any, Any, int]]
"""What a long-running command does; it ends soon after the event is set."""


def run_loop(main: Main, until_stdin_closes: bool = False) -> int:
    """Run a command on the fastest loop there is. SIGINT and SIGTERM tell it to stop."""
    _allow_many_sockets()
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_told_to_stop(main, until_stdin_closes))


def _allow_many_sockets() -> None:
    """As many as the system grants: a hundred players in one process need more than the usual 1,024, or macOS's 256."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = SOCKETS if hard == resource.RLIM_INFINITY else min(SOCKETS, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # some systems grant less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


async def _told_to_stop(main: Main, until_stdin_closes: bool) -> int:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, stop.set)
    if until_stdin_closes:
        Thread(target=_wait_for_end_of_stdin, args=(loop, stop), daemon=True).start()
    return await main(stop)


def _wait_for_end_of_stdin(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Whoever started us holds the other end of the pipe: however it ends, the system closes it. That works everywhere
    and cannot be forgotten, unlike asking who our parent is."""
    while os.read(0, 4096):
        pass
    if not loop.is_closed():
        loop.call_soon_threadsafe(stop.set)


def complain(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
