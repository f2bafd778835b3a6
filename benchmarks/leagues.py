"""Plays whole leagues in one process: a manager, referees and players with HTTP on loopback, all on one loop, so that
one clock sees all of it. Everything is on: the gate, tokens, machines, the durable journals of manager and referees
with their transcripts, logs and metrics. `Features` turn some of it off, to see what it costs.

A league comes up first: everybody registers and answers a ping. Only then does the clock start, and the operator starts
the league. The measurement ends when everybody knows that the league is over.
"""

from __future__ import annotations

import asyncio
import gc
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from league.agent import sources
from league.agent.agent import Agent, Setup
from league.agent.log import Log
from league.agent.recovery import LiveJournal
from league.agent.thinking import Think
from league.events import MoveMade, PlayerJoined
from league.features.dashboard.dashboard_server import open_dashboard
from league.hosting.background import open_views
from league.hosting.manager.manager_api import other_pages
from league.hosting.serving import HostedAgent
from league.hosting.system import allow_files
from league.letters import Speaker
from league.machine import Ask, Machine, Operate
from league.manager.league_manager import LeagueManager
from league.player import strategies
from league.player.competitor import Competitor
from league.protocol.message.envelope import Reading
from league.protocol.message.exchanges import Role
from league.protocol.message.parts import PlayerMeta, RefereeMeta
from league.protocol.signing.tokens import MANAGER
from league.protocol.wire import jsonrpc
from league.referee.desk import RefereeDesk
from league.referee.referee_context import RefereeSettings
from league.settings import HouseRules, LeagueSettings
from league.storage import urls
from league.storage.opening import open_for_writing
from league.storage.transcripts.transcript import Mode
from league.storage.volatile import VolatileJournal
from league.storage.write_queue import Settings
from league.transport.http import App, Limits
from league.transport.http_client import DEFAULT_LIMITS, HttpClient, PoolLimits
from league.transport.http_server import serve

WATCHDOG_S = 600.0
"""A league that takes longer than this has lost a message."""
FILES_PER_PLAYER = 10
COMPAT = Reading("compat")
"""The usual profile: `strict` takes no tables of more than 100 rows (S-21)."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a league. Each player plays one match in a round, so there are half as many matches at once as there
    are players, if the referees have room for them."""

    players: int
    rounds: int
    referees: int = 1

    @property
    def at_once(self) -> int:
        return self.players // 2

    @property
    def matches(self) -> int:
        return self.at_once * self.rounds


@dataclass(frozen=True, slots=True)
class Features:
    """The parts of a league that can be turned off."""

    is_durable: bool = True
    transcript: Mode = "full"
    is_logged: bool = True
    new_journal: Callable[[], str] | None = None
    """Names a journal in a database; without it, journals are files."""


EVERYTHING = Features()


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one match in seconds, and its calls by kind of message. `storing` is the part of the CPU time that
    the threads of journals spend; `choices` are the seconds that each choice of the league took."""

    cpu: float
    clock: float
    storing: float
    kinds: Mapping[str, float]
    choices: Sequence[float] = ()

    @property
    def calls(self) -> float:
        return sum(self.kinds.values())


class Stopwatch:
    """Measures CPU and clock time from its creation on, with the garbage collector on."""

    def __init__(self) -> None:
        gc.collect()
        self._clock: float | None = None
        self._cpu_start = time.process_time()
        self._loop_start = time.thread_time()
        self._clock_start = time.perf_counter()

    def stop_clock(self) -> None:
        if self._clock is None:
            self._clock = time.perf_counter() - self._clock_start

    def stop(self, matches: int, calls: Mapping[str, int]) -> Cost:
        cpu = time.process_time() - self._cpu_start
        loop = time.thread_time() - self._loop_start
        self.stop_clock()
        assert self._clock is not None
        kinds = {kind: count / matches for kind, count in calls.items()}
        return Cost(cpu / matches, self._clock / matches, (cpu - loop) / matches, kinds)


async def play(
    size: Size,
    features: Features = EVERYTHING,
    watch: Callable[[], Stopwatch] = Stopwatch,
    beside: Callable[[int], AbstractAsyncContextManager[object]] = nullcontext,
) -> Cost:
    """Play a league and measure it. `beside` is something else that happens at the manager's port, from before the
    start until after the end."""
    # Both ends of all connections are in this process.
    allow_files(1000 + FILES_PER_PLAYER * size.players)
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            place = Place(Path(folder), features, stack)
            agents = await _bring_up(size, place)
            manager = agents[0]
            members = agents[1:]
            async with asyncio.timeout(WATCHDOG_S):
                # The start of a league would otherwise wait for members that have not answered yet.
                await _until(manager, lambda machine: len(machine.player_ids) == size.players)
                await asyncio.gather(*(_until(member, lambda machine: bool(machine.agent_id)) for member in members))
                await _until(manager, lambda _: manager.meter.sent["ping", "answered"] >= len(members))
                async with beside(place.ports[0]):
                    cost = await _measured(size, agents, watch)
            _check(manager, size)
            return replace(cost, choices=sorted(_choices(members)))


async def _measured(size: Size, agents: list[Agent], watch: Callable[[], Stopwatch]) -> Cost:
    manager = agents[0]
    calls_before = _calls(agents)
    stopwatch = watch()
    await manager.operate(Operate("start", "start"))
    await _until(manager, lambda machine: machine.is_finished)
    # What follows waits for the next standings update. That takes time on the clock, but no CPU.
    stopwatch.stop_clock()
    await _until(manager, lambda machine: machine.has_notified_everybody)
    return stopwatch.stop(size.matches, _calls(agents) - calls_before)


# A league with lost matches would look fast.
def _check(manager: Agent, size: Size) -> None:
    machine: Any = manager.machine
    results = [machine.ledger.matches[match_id].result for match_id in machine.completed]
    if len(results) != size.matches or any(result.status == "TECHNICAL_LOSS" for result in results):
        raise RuntimeError(f"{len(results)} of {size.matches} matches were played, or some were not played properly")


def _calls(agents: list[Agent]) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for agent in agents:
        for (kind, _), count in agent.meter.sent.items():
            kinds[kind] += count
    return kinds


def _choices(agents: list[Agent]) -> Iterator[float]:
    """Yield the seconds from the call for each choice, which leaves when both players have joined, to the choice."""
    for agent in agents:
        if not isinstance(agent.machine, RefereeDesk):
            continue
        for match in agent.machine.matches.values():
            called_at = max(event.at for event in match.events if isinstance(event, PlayerJoined))
            for event in match.events:
                if isinstance(event, MoveMade):
                    yield event.at - called_at


async def _until(agent: Agent, holds: Callable[[Any], bool]) -> None:
    while not holds(agent.machine):
        agent.changed.clear()
        await agent.changed.wait()


async def _bring_up(size: Size, place: Place) -> list[Agent]:
    """Start the manager, the referees and the players. Each role has its own client, as if it were hosted in its own
    process."""
    manager_client = _client(1, place)
    referee_client = _client(size.referees, place)
    player_client = _client(size.players, place)
    at_once = min(max(size.at_once // size.referees, 10), 64)
    door = await place.open_manager_door()
    home = door.endpoint
    agents = [place.start("manager", _manager(size, manager_client), door)]
    for number in range(size.referees):
        door = await place.open_door()
        meta = RefereeMeta(**_meta(f"Referee {number}", door.endpoint), max_concurrent_matches=at_once)
        desk = partial(RefereeDesk, meta, home, sources.chance, settings=RefereeSettings(profile="compat"))
        agents.append(place.start(f"referee{number}", _member(Role.REFEREE, desk, referee_client), door))
    for number in range(size.players):
        door = await place.open_door()
        player_meta = PlayerMeta(**_meta(f"Player {number}", door.endpoint))
        player = partial(Competitor, player_meta, home, sources.chance, profile="compat")
        setup = _member(Role.PLAYER, player, player_client, partial(_think, door.hosted))
        agents.append(place.start("", setup, door))
    return agents


def _client(agents: int, place: Place) -> HttpClient:
    """Make the client of agents that are hosted together."""
    client = HttpClient(limits=PoolLimits(per_endpoint=DEFAULT_LIMITS.per_endpoint * agents))
    place.stack.push_async_callback(client.close)
    return client


class Door(NamedTuple):
    """Where one agent is served."""

    hosted: HostedAgent
    endpoint: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where agents listen and keep their files."""

    folder: Path
    features: Features
    stack: AsyncExitStack
    ports: list[int] = field(default_factory=list)

    async def open_door(self) -> Door:
        hosted = HostedAgent()
        return await self._serve(hosted, App(hosted.respond))

    async def open_manager_door(self) -> Door:
        """Open a door that serves the pages of a manager too."""
        hosted = HostedAgent()
        dashboard = open_dashboard(hosted, open_views())
        door = await self._serve(hosted, App(hosted.respond, rest=other_pages(hosted, [dashboard])))
        # The stack ends the feeds before it closes the server.
        self.stack.callback(dashboard.close)
        return door

    async def _serve(self, hosted: HostedAgent, app: App) -> Door:
        server = await serve("127.0.0.1", 0, app, Limits(body=jsonrpc.MANAGER_LIMIT))
        self.ports.append(server.port)
        self.stack.push_async_callback(server.close, 0.0)
        return Door(hosted, f"http://127.0.0.1:{server.port}/mcp")

    def start(self, name: str, setup: Setup, door: Door) -> Agent:
        """Start an agent. An agent without a name stores nothing, like a player in a script."""
        if name and self.features.is_logged:
            setup.log = Log(self.folder / f"{name}.log")
        agent = Agent(setup)
        door.hosted.agent = agent
        agent.start(self._journal(name, agent))
        self.stack.push_async_callback(agent.stop)
        return agent

    def _journal(self, name: str, agent: Agent) -> LiveJournal:
        if not name or not self.features.is_durable:
            return VolatileJournal()
        settings = Settings(transcript=self.features.transcript)
        location = str(self.folder / f"{name}.db")
        if self.features.new_journal is not None:
            location = self.features.new_journal()
        return open_for_writing(urls.parse(location), agent.notice, identity={"role": name}, settings=settings)


def _manager(size: Size, client: HttpClient) -> Setup:
    reading = Reading("compat")
    settings = LeagueSettings(
        league_id="league_bench",
        players=size.players,
        referees=size.referees,
        double=True,
        rounds=size.rounds,
        start="manual",
        profile="compat",
    )
    return Setup(
        lambda secrets: LeagueManager(settings, sources.chance, secrets, house=HouseRules(max_referees=size.referees)),
        lambda _: Speaker(Role.MANAGER, MANAGER, reading),
        client,
    )


def _meta(name: str, endpoint: str) -> dict[str, Any]:
    return {"display_name": name, "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": endpoint}


def _member(role: Role, build: Callable[..., Machine], client: HttpClient, think: Think | None = None) -> Setup:
    def make(secrets: Mapping[str, str]) -> Machine:
        return build(secrets=secrets)

    limit = jsonrpc.MANAGER_LIMIT
    return Setup(make, partial(_speaker, role), client, think=think, limit=limit, answer_limit=limit)


def _speaker(role: Role, machine: Any) -> Speaker:
    return _named_speaker(role, machine.agent_id or "unregistered")


# The shell asks for the speaker with every letter, and keeps no copy.
@lru_cache
def _named_speaker(role: Role, name: str) -> Speaker:
    return Speaker(role, f"{role.value}:{name}", COMPAT)


async def _think(hosted: HostedAgent, ask: Ask) -> object:
    strategy = strategies.find("random")
    assert strategy is not None
    assert hosted.agent is not None
    machine = hosted.agent.machine
    assert isinstance(machine, Competitor)
    return strategy.choose(machine.turn(ask))
