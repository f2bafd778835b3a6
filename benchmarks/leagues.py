"""Whole leagues in one process: a manager, referees and players as agents with HTTP on loopback, all on one loop, so
that one clock sees all of it. Everything is on: the gate, tokens, machines, the durable journals of manager and
referees with their transcripts, logs and metrics. A `Way` leaves some of it out, to see what it costs.
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
from typing import Any

from league.agent import sources
from league.agent.agent import Agent, Setup
from league.agent.log import Log
from league.agent.recovery import LiveJournal
from league.agent.thinking import Think
from league.events import LeagueSettings, MoveMade, PlayerJoined
from league.features import ViewRow, every
from league.hosting.background import Background
from league.hosting.manager_api import other_pages
from league.hosting.serving import HostedAgent
from league.hosting.system import allow_files
from league.machine import Ask, Machine, Operate
from league.manager.league import LeagueManager
from league.player import strategies
from league.player.competitor import Competitor
from league.protocol import jsonrpc
from league.protocol.envelope import Reading
from league.protocol.exchanges import Role
from league.protocol.parts import PlayerMeta, RefereeMeta
from league.protocol.tokens import MANAGER
from league.referee.context import RefereeSettings
from league.referee.desk import RefereeDesk
from league.storage.sqlite import Settings, SqliteJournal
from league.storage.transcript import Mode
from league.storage.volatile import VolatileJournal
from league.transport.http import App, Limits
from league.transport.http_client import DEFAULT_LIMITS, HttpClient, PoolLimits
from league.transport.http_server import serve
from league.transport.letters import Speaker
from league_dashboard.serving import open_dashboard

LOST_S = 600.0
"""A league that takes longer than this has lost something."""
FILES_PER_PLAYER = 10
COMPAT = Reading("compat")
"""The usual profile: `strict` takes no tables of more than 100 rows (S-21)."""


@dataclass(frozen=True, slots=True)
class Size:
    """A league. A player plays one match in a round, so half as many matches as players are played at once, if the
    referees have room for them."""

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
class Way:
    """What is on."""

    is_durable: bool = True
    transcript: Mode = "full"
    is_logged: bool = True


EVERYTHING = Way()


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one match: CPU and clock time in seconds, what the threads of journals have of the CPU time, and the calls it
    took by kind; of the whole league, how long each choice took."""

    cpu: float
    clock: float
    storing: float
    kinds: Mapping[str, float]
    choices: Sequence[float] = ()

    @property
    def calls(self) -> float:
        return sum(self.kinds.values())


class Stopwatch:
    """CPU and clock time from here on, with the garbage collector on."""

    def __init__(self) -> None:
        gc.collect()
        self._took: float | None = None
        self._cpu, self._loop, self._clock = time.process_time(), time.thread_time(), time.perf_counter()

    def stop_clock(self) -> None:
        if self._took is None:
            self._took = time.perf_counter() - self._clock

    def stop(self, matches: int, calls: Mapping[str, int]) -> Cost:
        cpu, loop = time.process_time() - self._cpu, time.thread_time() - self._loop
        self.stop_clock()
        assert self._took is not None
        kinds = {kind: count / matches for kind, count in calls.items()}
        return Cost(cpu / matches, self._took / matches, (cpu - loop) / matches, kinds)


async def play(
    size: Size,
    way: Way = EVERYTHING,
    watch: Callable[[], Stopwatch] = Stopwatch,
    beside: Callable[[int], AbstractAsyncContextManager[object]] = nullcontext,
) -> Cost:
    """A league from the operator's start until everybody knows that it is over. Its clock stops with the last result:
    what follows waits for the next standings update, which costs no CPU. `beside` is what else happens from before
    the start until after the end, at the manager's port."""
    allow_files(1000 + FILES_PER_PLAYER * size.players)
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            place = Place(Path(folder), way, stack)
            agents = await _bring_up(size, place)
            manager = agents[0]
            async with asyncio.timeout(LOST_S):
                await _until(manager, lambda machine: len(machine.player_ids) == size.players)
                await asyncio.gather(*(_until(one, lambda machine: bool(machine.agent_id)) for one in agents[1:]))
                await _until(manager, lambda _: manager.meter.totals().sent["ping", "answered"] >= len(agents) - 1)
                async with beside(place.ports[0]):
                    before, since = _calls(agents), watch()
                    await manager.operate(Operate("start", "start"))
                    await _until(manager, lambda machine: machine.is_finished)
                    since.stop_clock()
                    await _until(manager, lambda machine: machine.has_notified_everybody)
                    cost = since.stop(size.matches, _calls(agents) - before)
            _check(manager, size)
            return replace(cost, choices=sorted(_choices(agents)))


def _check(manager: Agent, size: Size) -> None:
    machine: Any = manager.machine
    played = [machine.ledger.matches[one].result for one in machine.completed]
    if len(played) != size.matches or any(one.status == "TECHNICAL_LOSS" for one in played):
        raise RuntimeError(f"{len(played)} of {size.matches} matches were played, or some were not played properly")


def _calls(agents: list[Agent]) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for agent in agents:
        for (kind, _), count in agent.meter.totals().sent.items():
            kinds[kind] += count
    return kinds


def _choices(agents: list[Agent]) -> Iterator[float]:
    """Seconds from the call for each choice, which leaves when both have joined, until it is made."""
    desks = (agent.machine for agent in agents)
    for match in (match for desk in desks if isinstance(desk, RefereeDesk) for match in desk.matches.values()):
        asked_at = max(one.at for one in match.events if isinstance(one, PlayerJoined))
        yield from (one.at - asked_at for one in match.events if isinstance(one, MoveMade))


async def _until(agent: Agent, holds: Callable[[Any], bool]) -> None:
    while not holds(agent.machine):
        agent.changed.clear()
        await agent.changed.wait()


async def _bring_up(size: Size, here: Place) -> list[Agent]:
    """The manager, the referees and the players, each role with a client of its own but on this loop, as if each were
    hosted in one process."""
    clients = {role: _client(count) for role, count in _counts(size).items()}
    for client in clients.values():
        here.stack.push_async_callback(client.close)
    at_once = max(size.at_once // size.referees, 10)
    door, home = await here.open_door(shows_pages=True)
    agents = [here.start("manager", _manager(size, at_once, clients[Role.MANAGER]), door)]
    for number in range(size.referees):
        door, endpoint = await here.open_door()
        meta = RefereeMeta(**_meta(f"Referee {number}", endpoint), max_concurrent_matches=at_once)
        desk = partial(RefereeDesk, meta, home, sources.chance, settings=RefereeSettings(profile="compat"))
        agents.append(here.start(f"referee{number}", _member(Role.REFEREE, desk, clients[Role.REFEREE]), door))
    for number in range(size.players):
        door, endpoint = await here.open_door()
        player_meta = PlayerMeta(**_meta(f"Player {number}", endpoint))
        player = partial(Competitor, player_meta, home, sources.chance, profile="compat")
        setup = _member(Role.PLAYER, player, clients[Role.PLAYER], partial(_think, door))
        agents.append(here.start("", setup, door))
    return agents


def _counts(size: Size) -> Mapping[Role, int]:
    return {Role.MANAGER: 1, Role.REFEREE: size.referees, Role.PLAYER: size.players}


def _client(count: int) -> HttpClient:
    """Of so many agents hosted together."""
    return HttpClient(limits=PoolLimits(per_endpoint=DEFAULT_LIMITS.per_endpoint * count))


@dataclass(frozen=True, slots=True)
class Place:
    """Where agents listen, and keep what they keep."""

    folder: Path
    way: Way
    stack: AsyncExitStack
    ports: list[int] = field(default_factory=list)

    async def open_door(self, *, shows_pages: bool = False) -> tuple[HostedAgent, str]:
        door = HostedAgent()
        dashboard = open_dashboard(door, {row.name: Background(row) for row in every(ViewRow)})
        app = App(door.respond, rest=other_pages(door, [dashboard]) if shows_pages else None)
        server = await serve("127.0.0.1", 0, app, Limits(body=jsonrpc.MANAGER_LIMIT))
        self.ports.append(server.port)
        self.stack.push_async_callback(server.close, 0.0)
        self.stack.callback(dashboard.close)
        return door, f"http://127.0.0.1:{server.port}/mcp"

    def start(self, name: str, setup: Setup, door: HostedAgent) -> Agent:
        """An agent; one without a name keeps nothing, as players of a script do."""
        if name and self.way.is_logged:
            setup.log = Log(self.folder / f"{name}.log")
        agent = door.agent = Agent(setup)
        agent.start(self._journal(name, agent))
        self.stack.push_async_callback(agent.stop)
        return agent

    def _journal(self, name: str, agent: Agent) -> LiveJournal:
        if not name or not self.way.is_durable:
            return VolatileJournal()
        path, settings = self.folder / f"{name}.db", Settings(transcript=self.way.transcript)
        return SqliteJournal(path, agent.notice, identity={"role": name}, settings=settings)


def _manager(size: Size, at_once: int, client: HttpClient) -> Setup:
    reading = Reading("compat", at_once)
    settings = LeagueSettings(
        league_id="league_bench",
        players=size.players,
        referees=size.referees,
        max_referees=size.referees,
        double=True,
        rounds=size.rounds,
        start="manual",
        profile="compat",
        max_concurrent_matches_limit=at_once,
    )
    return Setup(
        lambda secrets: LeagueManager(settings, sources.chance, secrets),
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
    return _speaker_called(role, machine.agent_id or "unregistered")


@lru_cache
def _speaker_called(role: Role, name: str) -> Speaker:
    return Speaker(role, f"{role.value}:{name}", COMPAT)


async def _think(door: HostedAgent, ask: Ask) -> object:
    strategy = strategies.find("random")
    assert strategy is not None
    assert door.agent is not None
    machine = door.agent.machine
    assert isinstance(machine, Competitor)
    return strategy.choose(machine.turn(ask))
