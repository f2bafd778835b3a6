"""Friendly matches: the real referee and real opponents in one process, around a player that runs elsewhere and need
not be registered anywhere. Everybody talks over HTTP, as in a league.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import msgspec

from league.agent import sources
from league.agent.agent import Agent, Setup
from league.agent.recovery import LiveJournal
from league.events import Event
from league.hosting import players, referees, serving
from league.hosting.options import PlayerOptions, RefereeOptions, defaults
from league.hosting.players import Entrant, Seeding, StrategyRunner
from league.hosting.serving import Door, HostedAgent
from league.machine import Address, Failure, Machine
from league.player.strategies import BuiltIn
from league.protocol import jsonrpc
from league.protocol.envelope import Profile, Reading
from league.protocol.exchanges import Role
from league.protocol.tokens import MANAGER
from league.referee.desk import RefereeDesk
from league.terminal import USAGE, CommandError
from league.transport.http import App
from league.transport.http_client import CallFailed, HttpClient
from league.transport.letters import Speaker
from league_workshop.sparring_manager import REFEREE_ID, Fixtures, SparringManager

LIMIT = jsonrpc.MANAGER_LIMIT
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PROBE_S = 3.0
NO_PAGE = (404, 405)
MOST_MATCHES = 1000


class SparringWatcher:
    """Whoever looks on; this one keeps silent."""

    def begun(self) -> None:
        """The guest is there."""

    def happened(self, event: Event) -> None:
        """Something has become true in the match that is being played."""

    def ended(self, place: int, events: Sequence[Event]) -> None:
        """A match is over: its place, from 1, and all that happened in it."""


@dataclass(frozen=True, slots=True)
class SparringPlan:
    """What was asked for. `journal` is where the referee keeps its account of the matches."""

    fixtures: Fixtures
    entrants: tuple[Entrant, ...]
    journal: str
    profile: Profile = "compat"
    seed: int | None = None
    host: str = "127.0.0.1"
    time_scale: float = 1.0

    @property
    def guest(self) -> Address:
        return self.fixtures.guest

    @property
    def names(self) -> dict[str, str]:
        """What the opponents are called, by their ids."""
        return dict(zip(self.fixtures.opponents, (one.title for one in self.entrants), strict=True))


async def probe(url: str, client: HttpClient, limit_s: float) -> None:
    """Refuse an address where nobody listens, or no player does; everything else the matches will show."""
    try:
        reply = await client.post(url, PING, limit_s, jsonrpc.MESSAGE_LIMIT)
    except CallFailed as failed:
        if failed.failure is Failure.REFUSED:
            detail = f"nobody can be reached at {url} ({failed.detail}): is the player running, and at this address?"
            raise CommandError(detail, USAGE) from failed
        return
    if reply.status in NO_PAGE and _is_of_the_framework(reply.body):
        raise CommandError(
            f"the server at {url} answers POST with HTTP status {reply.status}: it serves no player at this path"
        )


def _is_of_the_framework(body: bytes) -> bool:
    """Is this a web server's or FastAPI's own answer to an unknown path? A player may answer an unknown method with 404
    too, but then in words of its own."""
    try:
        said = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return True
    return said in ({"detail": "Not Found"}, {"detail": "Method Not Allowed"})


async def spar(plan: SparringPlan, watcher: SparringWatcher, stop: asyncio.Event) -> SparringManager:
    """Play until all is played, the guest has lost too often by its own fault, or somebody stops us."""
    client = HttpClient()
    session = SparringSession(plan, client)
    try:
        await probe(plan.guest.endpoint, client, PROBE_S / plan.time_scale)
        watcher.begun()
        await session.open()
        await serving.until(stop, session.follow(watcher))
        if session.manager.refusal is not None:
            raise CommandError(f"the referee cannot play such a match: {session.manager.refusal.detail}")
        return session.manager
    finally:
        await session.close()
        await client.close()


class SparringSession:
    """Manager, referee and opponents, each at a port of its own."""

    def __init__(self, plan: SparringPlan, client: HttpClient) -> None:
        self._plan = plan
        self._client = client
        self._clock = sources.Clock(plan.time_scale)
        self._hosts: dict[str, HostedAgent] = {}
        self._runners: list[StrategyRunner] = []
        self._changed = asyncio.Event()
        """Set after every step of manager or referee."""

    @property
    def manager(self) -> SparringManager:
        machine = self._hosts[MANAGER].running.machine
        assert isinstance(machine, SparringManager)
        return machine

    @property
    def _desk(self) -> RefereeDesk:
        machine = self._hosts[REFEREE_ID].running.machine
        assert isinstance(machine, RefereeDesk)
        return machine

    async def open(self) -> None:
        """All ports first, so that everybody's address is known before anybody speaks."""
        for name in (MANAGER, REFEREE_ID, *self._plan.names):
            host = self._hosts[name] = HostedAgent()
            await host.listen(Door(self._plan.host, LIMIT), 0, App(post=host.respond))
        endpoints = [host.endpoint for name, host in self._hosts.items() if name != MANAGER]
        manager = partial(SparringManager, self._plan.fixtures, endpoints, sources.chance)
        await self._start(MANAGER, Role.MANAGER, manager)
        await self._start(REFEREE_ID, Role.REFEREE, self._referee)
        for name, entrant in zip(self._plan.names, self._plan.entrants, strict=True):
            runner = StrategyRunner(entrant, self._seeding(entrant))
            self._runners.append(runner)
            runner.start(await self._start(name, Role.PLAYER, partial(self._opponent, name, entrant), runner))

    async def close(self) -> None:
        for host in self._hosts.values():
            await host.stop()
        await asyncio.gather(*(one.stop() for one in self._runners))

    async def follow(self, watcher: SparringWatcher) -> None:
        """Tell all that happens in each match, until the last is over."""
        told = seen = 0
        while not self.manager.is_over or told < len(self.manager.completed):
            self._changed.clear()
            match = self._desk.matches.get((self._plan.fixtures.match_id(told), 1))
            events = match.events if match else []
            for event in events[seen:]:
                watcher.happened(event)
            seen = len(events)
            if match is not None and match.ended is not None:
                told, seen = told + 1, 0
                watcher.ended(told, tuple(events))
            else:
                await self._changed.wait()

    # --- putting it together ------------------------------------------------------------------------------------------

    def _seeding(self, entrant: Entrant) -> Seeding | None:
        """With a seed a built-in opponent makes the same choices each time: match ids change, but their order does not.
        What an author's own opponent does with chance is the author's affair."""
        seed, fixtures = self._plan.seed, self._plan.fixtures
        if seed is None or not isinstance(entrant.strategy, BuiltIn):
            return None
        return lambda _, turn: f"{seed}/{fixtures.meetings_before(turn.match_id)}/{turn.number}"

    async def _start(
        self, name: str, role: Role, build: Callable[[Mapping[str, str]], Machine], runner: StrategyRunner | None = None
    ) -> Agent:
        sender = MANAGER if role is Role.MANAGER else f"{role.value}:{name}"
        speaker = Speaker(role, sender, Reading(self._plan.profile))
        setup = Setup(build, lambda _: speaker, self._client, self._clock, limit=LIMIT, answer_limit=LIMIT)
        if runner is not None:
            setup.think, setup.tell = runner.think, runner.tell
        return await self._hosts[name].start(setup, partial(self._journal, role))

    def _journal(self, role: Role, agent: Agent) -> LiveJournal:
        """Only the referee keeps one."""
        if role is not Role.PLAYER:
            agent.changed = self._changed
        return serving.open_journal(
            agent, self._plan.journal if role is Role.REFEREE else "", {"role": role.value}, "full"
        )

    def _referee(self, secrets: Mapping[str, str]) -> Machine:
        options = replace(
            defaults(RefereeOptions),
            manager=self._hosts[MANAGER].endpoint,
            name="Sparring referee",
            game=self._plan.fixtures.game_type,
            profile=self._plan.profile,
            max_concurrent_matches=1,
        )
        return referees.build(options, 0, self._hosts[REFEREE_ID].endpoint, secrets)

    def _opponent(self, agent_id: str, entrant: Entrant, secrets: Mapping[str, str]) -> Machine:
        options = replace(
            defaults(PlayerOptions),
            manager=self._hosts[MANAGER].endpoint,
            name=f"Opponent {agent_id[1:]}",
            game=self._plan.fixtures.game_type,
            id=agent_id,
        )
        return players.build(options, 0, entrant, self._hosts[agent_id].endpoint, secrets)
