"""Referees and players as processes: several in one process, on consecutive ports, until the league is over.

Theory of operation. Members are brought up one after the other: port, machine, journal, in this order, because a
member's endpoint is part of its registration. All of them share one HTTP client. From then on each works by itself, and
a task of its own reports what keeps it from registering or playing. The process ends when every member's league is
over, when a manager has refused one of them, or when it is stopped. It exits with status 1 only after a refusal.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from league.agent import sources
from league.agent.agent import Agent, Setup, Tell
from league.agent.thinking import Think
from league.events import Event
from league.hosting import serving
from league.hosting.manager.bare_posts import referee_pages
from league.hosting.member.outbound import UNCALLED_S, OutboundMembers, machine_of
from league.hosting.narration import ErrorLines, Narrator, Sentence
from league.hosting.serving import Door, HostedAgent, Ready
from league.hosting.settings.options import MemberOptions
from league.letters import Speaker
from league.machine import Machine
from league.membership import MemberMachine
from league.protocol.endpoints import EndpointPolicy, parse
from league.protocol.message.envelope import Reading
from league.protocol.message.exchanges import Role
from league.protocol.wire import jsonrpc
from league.storage.notices import JournalInUseError
from league.storage.urls import Place
from league.terminal import USAGE, CommandError, console
from league.terminal.addresses import first_of, is_loopback, is_own
from league.transport.http import OTHER_PATHS, App
from league.transport.http_client import DEFAULT_LIMITS, HttpClient, PoolLimits
from league.transport.resolving import Resolver

if TYPE_CHECKING:  # a process of one role does not load the other
    from league.player.competitor import Competitor

LIMIT = jsonrpc.MANAGER_LIMIT
"""A manager's messages to its members may be large (R-24)."""
JOINED_S = 1.0
"""How long the second of several players waits for the registration of the first."""
REMIND_S = 30.0
"""The time between two notices about the same obstacle."""


class HostedMember(Struct, frozen=True):
    """A referee or player before it serves."""

    build: Callable[[str, Mapping[str, str]], Machine]
    """Makes its machine from its endpoint and its secrets."""
    think: Think | None = None
    """Makes its choices."""
    tell: Tell = lambda _: None
    """Called with its news."""
    on_started: Callable[[Agent], None] | None = None
    on_stopping: Callable[[], Awaitable[None]] | None = None
    """Awaited before it stops, while it still answers."""
    tools: object | None = None
    """The tools that it offers MCP clients beside its messages."""


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
        self._options = options
        self._role = role
        self._member = member
        self._sentences = sentences
        self._ready = ready
        self._shared = serving.open_shared(options.shared)
        self._door = Door.of(options, LIMIT)
        self._client = self._new_client()
        self._outbound = OutboundMembers(options.manager.split(","), self._new_client)
        self._hosts: list[HostedAgent] = []
        self._members: list[HostedMember] = []

    def _new_client(self) -> HttpClient:
        endpoints = EndpointPolicy(origin_rule="loopback", is_own=is_own)
        return HttpClient(
            resolver=Resolver(endpoints, named_by=parse(first_of(self._options.manager))),
            # All members call the same manager, and must not wait for each other.
            limits=PoolLimits(per_endpoint=DEFAULT_LIMITS.per_endpoint * self._options.count),
        )

    async def serve(self, stop: asyncio.Event) -> int:
        """Serve until the league of every member is over or `stop` is set; return the exit status."""
        serving.say_if_too_few_files(self._options.count)
        if self._options.standby and not self._options.journal:
            raise CommandError("--standby needs --journal: a standby goes on with the journal of another", USAGE)
        registering: list[asyncio.Task[None]] = []
        in_order = self._role is Role.PLAYER
        port = self._options.first_port
        try:
            # A process of many members takes a while to start, so it can be stopped meanwhile.
            while len(self._hosts) < self._options.count and not stop.is_set():
                host = await self._bring_up(len(self._hosts), port, stop)
                if host is None:
                    break
                self._hosts.append(host)
                registering.append(asyncio.create_task(self._report_obstacles(host)))
                if port and not self._options.outbound:
                    port = host.port + 1
                if in_order:
                    in_order = await self._joins_as_guest(host)
            hosts = {host.running: host for host in self._hosts}
            await serving.until(stop, serving.all_over(hosts, lambda agent: self._is_done(hosts[agent])))
            # Members still answer here: an author's code may have something left to say.
            stopping = [member.on_stopping() for member in self._members if member.on_stopping is not None]
            await asyncio.gather(*stopping)
        finally:
            for task in registering:
                task.cancel()
            await self._outbound.close()
            await asyncio.gather(*(host.stop() for host in self._hosts))
            await self._client.close()
        if self._outbound.has_failed or any(_is_refused(host.running) for host in self._hosts):
            return 1
        return 0

    async def _joins_as_guest(self, host: HostedAgent) -> bool:
        """Wait a moment until a player is registered, unless something is in its way; True if its manager is
        third-party. Such managers give ids in the order of registrations, and referees call P01 at the first port."""
        player = cast("Competitor", host.running.machine)
        with suppress(TimeoutError):
            async with asyncio.timeout(JOINED_S):
                while not player.agent_id and player.rejected is None and not _obstacle(player, host.endpoint):
                    host.running.changed.clear()
                    await host.running.changed.wait()
        return bool(player.agent_id) and player.is_guest

    def _is_done(self, host: HostedAgent) -> bool:
        if self._outbound.is_open_question(host):
            return False
        if host in self._outbound.closed:
            return True
        return (_is_refused if self._options.until_stdin_closes else _is_over)(host.running)

    async def _bring_up(self, number: int, port: int, stop: asyncio.Event) -> HostedAgent | None:
        """Open the port of a member, build its machine, and replay its journal; None if a standby is stopped before it
        may begin."""
        options = self._options
        member = self._member(number)
        host = HostedAgent()
        host.tools = member.tools
        if options.outbound:
            self._outbound.begin(host, self._app(host))
        else:
            # Only the first member must have the port that was asked for.
            next_free = number > 0 or options.port is None
            await host.listen(self._door, port, self._app(host), next_free)
        place = self._journal_place(number)
        journal = partial(
            serving.open_journal,
            place=place,
            identity={"role": self._role.value},
            transcript=options.transcript,
        )
        setup = self._setup(member, host, number)
        agent = None
        while agent is None:
            if options.standby and place is not None and not await serving.stand_by(host, place, stop):
                await host.stop()
                return None
            try:
                agent = await host.start(setup, journal, self._shared)
            except JournalInUseError as error:
                if not options.standby:
                    await host.stop(grace_s=0)
                    raise CommandError(str(error)) from error
        if machine_of(agent).is_asking and not options.quiet:
            console.say(f"the league in this journal is over; asking {options.manager} for another one")
        self._members.append(member)
        if options.outbound:
            self._outbound.read(host)
        self._ready(host)
        if member.on_started is not None:
            member.on_started(agent)
        return host

    def _journal_place(self, number: int) -> Place | None:
        if not self._options.journal:
            return None
        place = serving.journal_place(self._options.journal)
        return place.numbered(number + 1) if number else place

    def _app(self, host: HostedAgent) -> App:
        return App(
            post=host.respond,
            get=host.basic_pages(partial(self._shown, host)),
            refusal=host.refusal,
            rest=referee_pages(host) if self._role is Role.REFEREE else None,
            other_paths=OTHER_PATHS if self._options.profile == "compat" else frozenset(),
            mcp=host.mcp,
        )

    def _shown(self, host: HostedAgent) -> dict[str, object]:
        if host.agent is None or self._role is not Role.PLAYER:
            return {}
        player = cast("Competitor", host.agent.machine)
        return {"games": player.games, "registered_as": player.agent_id}

    def _setup(self, member: HostedMember, host: HostedAgent, number: int) -> Setup:
        options = self._options
        return Setup(
            # It may have another endpoint when its machine is built again.
            lambda secrets: member.build(host.endpoint, secrets),
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

    def _narrator(self, host: HostedAgent) -> Narrator | None:
        """Prints what happens to a member. If there are several, each line begins with the member's id."""
        if self._options.quiet:
            return None
        if self._options.count == 1:
            return Narrator(self._sentences)
        return Narrator(self._sentences, lambda: f"{machine_of(host.running).agent_id}: ")

    async def _report_obstacles(self, host: HostedAgent) -> None:
        """Print what keeps a member from registering, from playing its matches, or from hearing of its league; if it
        is that nobody can call it, have it play through a mailbox.

        An obstacle that stays is printed from time to time. The end is a refusal by the manager, which is printed too.
        """
        agent = host.running
        loop = asyncio.get_running_loop()
        printed_at: dict[str, float] = {}
        uncalled_since = loop.time()
        while not _is_refused(agent) or self._outbound.is_open_question(host):
            agent.changed.clear()
            is_waiting = machine_of(agent).state == "REGISTERED" and not host.was_called
            if not is_waiting:
                uncalled_since = loop.time()
            # An obstacle may come and go without an event, so it is looked at from time to time.
            with suppress(TimeoutError):
                async with asyncio.timeout(UNCALLED_S if is_waiting else REMIND_S):
                    await agent.changed.wait()
            self._see_if_called(host, loop.time() - uncalled_since)
            obstacle = _obstacle(machine_of(agent), host.endpoint)
            kind = obstacle.partition("; next try")[0]
            if obstacle and loop.time() - printed_at.get(kind, -math.inf) >= REMIND_S:
                printed_at[kind] = loop.time()
                console.complain(obstacle)
        refusal = machine_of(agent).rejected
        if refusal is not None:
            console.complain(f"the manager refused {host.endpoint}: {refusal.in_words()}")

    def _see_if_called(self, host: HostedAgent, uncalled_s: float) -> None:
        """Turn to a mailbox if the manager refuses the endpoint of a member, or cannot call it."""
        if self._outbound.plays_through(host):
            return
        machine = machine_of(host.running)
        if self._outbound.is_open_question(host) and machine.rejected is not None:
            self._outbound.fall_back(
                host, self._app(host), f"nobody can call {host.endpoint} ({machine.rejected.in_words()})"
            )
        elif uncalled_s >= UNCALLED_S and machine.state == "REGISTERED" and not host.was_called:
            self._outbound.fall_back(
                host, self._app(host), f"nobody has called {host.endpoint} for {uncalled_s:.0f} seconds"
            )


# --- registration -----------------------------------------------------------------------------------------------------


def _is_refused(agent: Agent) -> bool:
    return machine_of(agent).rejected is not None


def _is_over(agent: Agent) -> bool:
    """True if its league is over and it does not ask for another one, or if the manager refused it."""
    machine = machine_of(agent)
    if machine.rejected is not None:
        return True
    return machine.state == "SHUTDOWN" and not machine.is_asking


def _obstacle(machine: MemberMachine, endpoint: str) -> str:
    """A sentence about what keeps this member waiting; empty if nothing is wrong."""
    if machine.pending is not None:
        return f"{endpoint} is not a member yet; it keeps trying: {machine.pending.detail}"
    if not machine.trouble:
        return ""
    if machine.agent_id:
        return f"{endpoint} waits: {machine.trouble}"
    return f"{endpoint} cannot register yet: {machine.trouble}"


def _speaker(role: Role, reading: Reading, machine: Machine) -> Speaker:
    name = getattr(machine, "agent_id", "") or "unregistered"
    return _speaker_called(role, name, reading)


@lru_cache(maxsize=1024)  # needed for every letter
def _speaker_called(role: Role, name: str, reading: Reading) -> Speaker:
    return Speaker(role, f"{role.value}:{name}", reading)


# --- several in one process -------------------------------------------------------------------------------------------


def numbered(name: str, number: int, count: int) -> str:
    """The name of a member's file; several members have one each: journal.db, journal-2.db, …"""
    if not name or count == 1 or number == 0:
        return name
    stem, dot, ending = name.rpartition(".")
    if not stem:
        return f"{name}-{number + 1}"
    return f"{stem}-{number + 1}{dot}{ending}"


def numbered_id(first: str, number: int) -> str:
    """The id to ask for; several members count up from the first one (P03, P04, …)."""
    head = first.rstrip("0123456789")
    digits = first[len(head) :]
    if not digits:
        return first
    return f"{head}{int(digits) + number:0{len(digits)}}"


def wished_id(options: MemberOptions, prefix: str, number: int, endpoint: str) -> str:
    """The id to ask for. On this machine a port of the documents tells the id (D1, D3): 8101 is P01, 8001 is REF01.

    Some third-party managers take a member's id from the sender of its registration.
    """
    address = parse(endpoint)
    place = address.port - options.usual_port + 1
    if options.id or not is_loopback(address.host) or not 0 < place < 100:
        return numbered_id(options.id, number)
    return f"{prefix}{place:02}"


def name_of(options: MemberOptions, name: str, kind: str, number: int, endpoint: str) -> str:
    """The name to register under; several members get a number behind it. Without a name one is made up."""
    if not name:
        return made_up_name(kind, endpoint, numbered_id(options.id, number))
    return name if options.count == 1 else f"{name} {number + 1}"


def made_up_name(kind: str, endpoint: str, wished_id: str = "") -> str:
    """A name for a member without one, made from its id or its port; beyond this machine also from its host.

    It has no blanks: third-party managers read ids out of names and senders.
    """
    mailbox = endpoint.partition("/mailbox/")[2][:6]
    if mailbox:
        return f"{'-'.join(kind.split())}-{wished_id or mailbox}"
    address = parse(endpoint)
    place = wished_id or str(address.port)
    if not is_loopback(address.host):
        place = f"{address.host.replace(':', '-')}-{place}"
    return f"{'-'.join(kind.split())}-{place}"
