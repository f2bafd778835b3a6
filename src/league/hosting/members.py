"""What referees and players share as processes: several in one, on following ports, until the league is over."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, cast

from league.agent import sources
from league.agent.agent import Agent, Setup, Tell
from league.agent.thinking import Think
from league.events import Event
from league.hosting import serving
from league.hosting.bare_posts import referee_pages
from league.hosting.narration import ErrorLines, Narrator, Sentence
from league.hosting.options import MemberOptions
from league.hosting.serving import Door, HostedAgent, Ready, trusted
from league.machine import Machine
from league.protocol import jsonrpc
from league.protocol.endpoints import EndpointPolicy, parse
from league.protocol.envelope import Reading
from league.protocol.exchanges import Role
from league.terminal import console
from league.terminal.addresses import is_own
from league.transport.http import OTHER_PATHS, App
from league.transport.http_client import DEFAULT_LIMITS, HttpClient, PoolLimits
from league.transport.letters import Speaker
from league.transport.resolving import Resolver

if TYPE_CHECKING:  # a process of one role does not load the other
    from league.player.competitor import Competitor
    from league.referee.desk import RefereeDesk

LIMIT = jsonrpc.MANAGER_LIMIT
"""A member takes what its manager sends, and that may be large (R-24)."""
REMIND_S = 30.0
"""Whoever waits says so, and what for, as often as this."""


@dataclass(frozen=True, slots=True)
class HostedMember:
    """A referee or player to be: what makes its machine from endpoint and secrets, what thinks for it, and what is told
    its news. `on_stopping` is waited for while it still answers."""

    build: Callable[[str, Mapping[str, str]], Machine]
    think: Think | None = None
    tell: Tell = lambda _: None
    on_started: Callable[[Agent], None] | None = None
    on_stopping: Callable[[], Awaitable[None]] | None = None
    tools: object | None = None
    """What else it offers MCP clients."""


class MemberProcess:
    """Serves as many members of a role as `--count` says; `member` makes each by its number, from 0."""

    def __init__(
        self,
        options: MemberOptions,
        role: Role,
        member: Callable[[int], HostedMember],
        sentences: Mapping[type[Event], Sentence],
        ready: Ready,
    ) -> None:
        self._options, self._role, self._member = options, role, member
        self._sentences, self._ready = sentences, ready
        self._shared = serving.open_shared(options.shared)
        self._door = Door.of(options, LIMIT)
        self._client = HttpClient(
            resolver=Resolver(EndpointPolicy(origin_rule="loopback", is_own=is_own), named_by=parse(options.manager)),
            limits=PoolLimits(per_endpoint=DEFAULT_LIMITS.per_endpoint * options.count),
            tls=trusted(options),
        )
        self._hosts: list[HostedAgent] = []
        self._members: list[HostedMember] = []

    async def serve(self, stop: asyncio.Event) -> int:
        """Until their league is over, or they are stopped; the exit status."""
        serving.say_if_too_few_files(self._options.count)
        registering: list[asyncio.Task[None]] = []
        port = self._options.first_port
        try:
            while len(self._hosts) < self._options.count and not stop.is_set():
                host = await self._bring_up(len(self._hosts), port)
                self._hosts.append(host)
                registering.append(asyncio.create_task(_report_obstacles(host)))
                port = host.port + 1 if port else 0
            agents = [host.running for host in self._hosts]
            is_done = _is_refused if self._options.until_stdin_closes else _is_over
            await serving.until(stop, serving.all_over(agents, is_done))
            await asyncio.gather(*(one.on_stopping() for one in self._members if one.on_stopping is not None))
        finally:
            for task in registering:
                task.cancel()
            await asyncio.gather(*(host.stop() for host in self._hosts))
            await self._client.close()
        return 1 if any(_is_refused(host.running) for host in self._hosts) else 0

    async def _bring_up(self, number: int, port: int) -> HostedAgent:
        """One member: its port, its machine, its journal."""
        options = self._options
        member = self._member(number)
        host = HostedAgent()
        host.tools = member.tools
        app = App(
            post=host.respond,
            get=host.basic_pages(),
            refusal=host.refusal,
            rest=referee_pages(host) if self._role is Role.REFEREE else None,
            other_paths=OTHER_PATHS if options.profile == "compat" else frozenset(),
            mcp=host.mcp,
        )
        await host.listen(self._door, port, app, next_free=number > 0 or options.port is None)
        setup = Setup(
            partial(member.build, host.endpoint),
            partial(_speaker, self._role, Reading(options.profile)),
            self._client,
            sources.Clock(options.time_scale),
            think=member.think,
            tell=member.tell,
            show=console.complain,
            show_error=ErrorLines(),
            happened=self._narrator(host),
            log=serving.open_log(numbered(options.log, number, options.count)),
            limit=LIMIT,
            answer_limit=LIMIT,
        )
        journal = partial(
            serving.open_journal,
            location=numbered(options.journal, number, options.count),
            identity={"role": self._role.value},
            transcript=options.transcript,
        )
        agent = await host.start(setup, journal, self._shared)
        if _machine(agent).is_asking and not options.quiet:
            console.say(f"the league of this journal is over; asking {options.manager} for another one")
        self._members.append(member)
        self._ready(host)
        if member.on_started is not None:
            member.on_started(agent)
        return host

    def _narrator(self, host: HostedAgent) -> Narrator | None:
        """What is said about a member; its id comes first where there are several."""

        def prefix() -> str:
            return f"{_machine(host.running).agent_id}: " if self._options.count > 1 else ""

        return None if self._options.quiet else Narrator(self._sentences, prefix)


# --- registration -----------------------------------------------------------------------------------------------------


def _machine(agent: Agent) -> Competitor | RefereeDesk:
    return cast("Competitor | RefereeDesk", agent.machine)


def _is_refused(agent: Agent) -> bool:
    return _machine(agent).rejected is not None


def _is_over(agent: Agent) -> bool:
    """Its league is over, and it does not ask for another one."""
    machine = _machine(agent)
    return (machine.state == "SHUTDOWN" and not machine.is_asking) or machine.rejected is not None


async def _report_obstacles(host: HostedAgent) -> None:
    """Tell whoever started us what keeps this member from registering, a referee from playing its matches, and anybody
    from hearing of its league, until it is refused; now and again, as long as it lasts."""
    agent, loop = host.running, asyncio.get_running_loop()
    told: dict[str, float] = {}
    while not _is_refused(agent):
        agent.changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(REMIND_S):
                await agent.changed.wait()
        obstacle = _obstacle(_machine(agent), host.endpoint)
        if obstacle and loop.time() - told.get(obstacle, -math.inf) >= REMIND_S:
            told[obstacle] = loop.time()
            console.complain(obstacle)
    if (refusal := _machine(agent).rejected) is not None:
        said = f"{refusal.code} {refusal.detail}".strip()
        console.complain(f"the manager refused {host.endpoint}: {said}")


def _obstacle(machine: Competitor | RefereeDesk, endpoint: str) -> str:
    """What this member waits for, in a sentence, if it does not just take its time."""
    if machine.pending is not None:
        return f"{endpoint} is no member yet and keeps trying: {machine.pending.detail}"
    does = "waits" if machine.agent_id else "cannot register yet"
    return f"{endpoint} {does}: {machine.trouble}; trying again" if machine.trouble else ""


def _speaker(role: Role, reading: Reading, machine: Machine) -> Speaker:
    return _speaker_called(role, getattr(machine, "agent_id", "") or "unregistered", reading)


@lru_cache(maxsize=1024)  # asked for with every letter
def _speaker_called(role: Role, name: str, reading: Reading) -> Speaker:
    return Speaker(role, f"{role.value}:{name}", reading)


# --- several in one process -------------------------------------------------------------------------------------------


def numbered(name: str, number: int, count: int) -> str:
    """A file for each of several members: journal.db, journal-2.db, …"""
    if not name or count == 1 or number == 0:
        return name
    stem, dot, ending = name.rpartition(".")
    return f"{stem}-{number + 1}{dot}{ending}" if stem else f"{name}-{number + 1}"


def numbered_id(first: str, number: int) -> str:
    """The id to wish for: the one given, and for several those that follow (P03, P04, …)."""
    head = first.rstrip("0123456789")
    digits = first[len(head) :]
    return f"{head}{int(digits) + number:0{len(digits)}}" if digits else first


def numbered_name(name: str, number: int, count: int) -> str:
    """The name to register under, for several members one each."""
    return f"{name} {number + 1}" if name and count > 1 else name


def made_up_name(kind: str, endpoint: str, wished_id: str = "") -> str:
    """For a member without a name: one from its id, or its port."""
    return f"{kind} {wished_id or endpoint.rpartition(':')[2].partition('/')[0]}"
