"""Friendly matches: the real referee and real opponents in one process, around a player that runs elsewhere and need
not be registered anywhere. Everybody talks over HTTP, as in a league.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import msgspec

from league.agent import sources
from league.agent.agent import Agent, LiveJournal, Setup, Think
from league.events import Event
from league.hosting import CommandError, serving
from league.hosting.addresses import endpoint_at
from league.hosting.players import Entrant, Mind
from league.hosting.serving import Door, Served
from league.hosting.sparring_host import ATTEMPT, REFEREE_ID, Card, SparringHost, opponent_ids
from league.machine import Address, Failure, Machine
from league.player.competitor import Competitor
from league.player.strategies import BuiltIn, Turn
from league.protocol.envelope import Profile, Reading
from league.protocol.exchanges import Role
from league.protocol.parts import PlayerMeta, RefereeMeta
from league.protocol.tokens import MANAGER
from league.referee.desk import RefereeDesk
from league.referee.office import RefereeSettings
from league.storage.unkept import UnkeptJournal
from league.transport import jsonrpc
from league.transport.http import App
from league.transport.http_client import CallFailed, HttpClient
from league.transport.http_server import Server
from league.transport.letters import Speaker

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
PROBE_S = 3.0
NO_PAGE = (404, 405)
VERSION = "1.0.0"
MOST_MATCHES = 1000
NUMBERS = 100_000_000
"""So many numbers of matches there are: one for each millisecond of a day and more. Since a match takes longer than a
millisecond, those of one call of the command end before those of the next begin."""

Build = Callable[[Mapping[str, str]], Machine]


class Watch(Protocol):
    """Whoever looks on."""

    def begun(self) -> None:
        """The guest is there."""

    def happened(self, event: Event) -> None:
        """Something has become true in the match that is being played."""

    def ended(self, place: int, events: Sequence[Event]) -> None:
        """A match is over: its place, from 1, and all that happened in it."""


@dataclass(frozen=True, slots=True)
class Sparring:
    """What was asked for. `journal` is where the referee keeps its account of the matches."""

    guest: Address
    league_id: str
    game_type: str
    opponents: tuple[Entrant, ...]
    matches: int
    journal: str
    move_seconds: float | None = None
    profile: Profile = "compat"
    seed: int | None = None
    host: str = "127.0.0.1"
    time_scale: float = 1.0

    @property
    def names(self) -> dict[str, str]:
        """What the opponents are called, by their ids."""
        titles = (one.title for one in self.opponents)
        return dict(zip(opponent_ids(len(self.opponents)), titles, strict=True))


async def probe(url: str, client: HttpClient, limit_s: float) -> None:
    """Is anybody there? Only what no match could show better is an error here."""
    try:
        reply = await client.post(url, PING, limit_s, jsonrpc.MESSAGE_LIMIT)
    except CallFailed as failed:
        if failed.failure is Failure.REFUSED:
            detail = f"nobody can be reached at {url} ({failed.detail}): is the player running, and at this address?"
            raise CommandError(detail) from failed
        return
    if reply.status in NO_PAGE and _is_of_the_framework(reply.body):
        raise CommandError(
            f"the server at {url} answers POST with HTTP status {reply.status}: it serves no player at this path"
        )


def _is_of_the_framework(body: bytes) -> bool:
    """A page of a web server, or what FastAPI says of a path nobody serves. A player may answer an unknown method with
    404 too, but then it says so in words of its own."""
    try:
        said = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return True
    return said in ({"detail": "Not Found"}, {"detail": "Method Not Allowed"})


async def spar(plan: Sparring, watch: Watch, stop: asyncio.Event) -> SparringHost:
    """Play until the card is played, the guest has lost too often by its own fault, or somebody stops us."""
    client = HttpClient()
    ring = Ring(plan, client)
    try:
        await probe(plan.guest.endpoint, client, PROBE_S / plan.time_scale)
        watch.begun()
        await ring.open()
        await _until(stop, ring.follow(watch))
        if ring.host.refused is not None:
            raise CommandError(f"the referee cannot play such a match: {ring.host.refused.detail}")
        return ring.host
    finally:
        await ring.close()
        await client.close()


async def _until(stop: asyncio.Event, work: Coroutine[None, None, None]) -> None:
    working, stopped = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((working, stopped), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        working.cancel()
        stopped.cancel()
        await asyncio.gather(working, stopped, return_exceptions=True)


class Ring:
    """Host, referee and opponents, each at a port of its own."""

    def __init__(self, plan: Sparring, client: HttpClient) -> None:
        self._plan = plan
        self._client = client
        self._clock = sources.Clock(plan.time_scale)
        self._doors: dict[str, tuple[Door, Server]] = {}
        self._served: dict[str, Served] = {}
        self._minds: list[Mind] = []
        self._changed = asyncio.Event()
        """Set after every step of host or referee."""

    @property
    def host(self) -> SparringHost:
        machine = self._served[MANAGER].agent.machine
        assert isinstance(machine, SparringHost)
        return machine

    @property
    def desk(self) -> RefereeDesk:
        machine = self._served[REFEREE_ID].agent.machine
        assert isinstance(machine, RefereeDesk)
        return machine

    async def open(self) -> None:
        """All ports first, so that everybody's address is known before anybody speaks."""
        for name in (MANAGER, REFEREE_ID, *self._plan.names):
            door = Door()
            app = App(post=door.post)
            server = await serving.open_port(self._plan.host, 0, app, jsonrpc.MANAGER_LIMIT, others=False)
            self._doors[name] = (door, server)
        card = self._card()
        self._start(MANAGER, Role.MANAGER, lambda secrets: SparringHost(card, sources.chance, secrets))
        self._start(REFEREE_ID, Role.REFEREE, self._referee)
        for name, entrant in zip(self._plan.names, self._plan.opponents, strict=True):
            mind = Mind(_repeatable(entrant, self._plan.seed))
            self._minds.append(mind)
            self._start(name, Role.PLAYER, partial(self._competitor, name, entrant), mind.think)
            mind.work_for(self._served[name].agent)

    async def close(self) -> None:
        for name, (_, server) in self._doors.items():
            served = self._served.get(name)
            await (served.stop() if served else server.close(0))
        await asyncio.gather(*(mind.rest() for mind in self._minds))

    async def follow(self, watch: Watch) -> None:
        """Tell all that happens in each match, until the last is over."""
        told = seen = 0
        while not self.host.is_over or told < len(self.host.results):
            self._changed.clear()
            match = self.desk.matches.get((self.host.card.match_id(told), ATTEMPT))
            events = match.events if match else []
            for event in events[seen:]:
                watch.happened(event)
            seen = len(events)
            if match is not None and match.settled is not None:
                told, seen = told + 1, 0
                watch.ended(told, tuple(events))
            else:
                await self._changed.wait()

    # --- putting it together ------------------------------------------------------------------------------------------

    def _endpoint(self, name: str) -> str:
        return endpoint_at(self._plan.host, self._doors[name][1].port)

    def _card(self) -> Card:
        plan = self._plan
        return Card(
            league_id=plan.league_id,
            game_type=plan.game_type,
            guest=plan.guest,
            opponents=tuple(plan.names),
            endpoints={name: self._endpoint(name) for name in self._doors if name != MANAGER},
            matches=plan.matches,
            first=int(self._clock.now() * 1000) % NUMBERS + 1,
            move_seconds=plan.move_seconds,
        )

    def _start(self, name: str, role: Role, build: Build, think: Think | None = None) -> None:
        door, server = self._doors[name]
        limit = jsonrpc.MANAGER_LIMIT
        sender = MANAGER if role is Role.MANAGER else f"{role.value}:{name}"
        speaker = Speaker(role, sender, Reading(self._plan.profile))
        setup = Setup(build, lambda _: speaker, self._client, self._clock, think, limit=limit, answer_limit=limit)
        agent = Agent(setup)
        if role is not Role.PLAYER:
            agent.changed = self._changed
        agent.start(self._journal(agent, role))
        door.agent = agent
        self._served[name] = Served(agent, server, self._endpoint(name))

    def _journal(self, agent: Agent, role: Role) -> LiveJournal:
        if role is not Role.REFEREE:
            return UnkeptJournal(agent.notice_here)
        return serving.open_journal(agent, self._plan.journal, {"role": role.value}, "full")

    def _referee(self, secrets: Mapping[str, str]) -> Machine:
        meta = RefereeMeta(
            display_name="Sparring referee",
            version=VERSION,
            game_types=[self._plan.game_type],
            contact_endpoint=self._endpoint(REFEREE_ID),
            max_concurrent_matches=1,
        )
        settings = RefereeSettings(profile=self._plan.profile)
        return RefereeDesk(meta, self._endpoint(MANAGER), sources.chance, secrets, settings)

    def _competitor(self, name: str, entrant: Entrant, secrets: Mapping[str, str]) -> Machine:
        meta = PlayerMeta(
            display_name=entrant.title,
            version=VERSION,
            game_types=[self._plan.game_type],
            contact_endpoint=self._endpoint(name),
        )
        return Competitor(meta, self._endpoint(MANAGER), sources.chance, secrets, wished_id=name)


def _repeatable(entrant: Entrant, seed: int | None) -> Entrant:
    """With a seed a built-in opponent makes the same choices each time: matches are numbered anew, but the place in
    the history repeats. What an author's own opponent does with chance is the author's affair."""
    strategy = entrant.strategy
    if seed is None or not isinstance(strategy, BuiltIn):
        return entrant

    def choosing(turn: Turn) -> str:
        known = f"{seed}/{len(turn.history)}/{turn.number}"
        return strategy.choosing(replace(turn, chance=hashlib.sha256(known.encode()).digest()))

    return replace(entrant, strategy=replace(strategy, choosing=choosing))
