"""Friendly matches: a manager, a referee and opponents in one process, around players that run elsewhere.

Theory of operation. A `SparringSession` opens a port for each of its own agents before any of them starts, because each
must know the addresses of the others. They talk to each other and to the guests over HTTP, and a guest can't tell the
matches from those of a league. Only the referee keeps a journal: the report is made from its account of the matches.

`next_match` waits for steps of the manager or the referee, passes events on to a watcher, and returns those of the
match when it is over. It returns None when the manager has no match left to give out. The session must be closed in any
case: it holds open ports and the processes and threads of strategies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import partial

from league.agent import sources
from league.agent.agent import Agent, Setup
from league.agent.probing import probe
from league.agent.recovery import LiveJournal
from league.cli.pages import Pages
from league.events import Event
from league.features.workshop.sparring_manager import REFEREE_ID, Fixtures, SparringManager
from league.games import registry
from league.hosting import serving
from league.hosting.member import players, referees
from league.hosting.member.players import USUAL_GAME, Entrant, Seeding, StrategyRunner
from league.hosting.serving import Door, HostedAgent
from league.hosting.settings.options import defaults
from league.hosting.settings.player_options import PlayerOptions
from league.hosting.settings.referee_options import RefereeOptions
from league.letters import Speaker
from league.machine import Address, Machine
from league.player.strategies import BuiltIn
from league.protocol.message.envelope import Profile, Reading
from league.protocol.message.exchanges import Role
from league.protocol.message.fields import RULES
from league.protocol.message.findings import Findings
from league.protocol.signing.tokens import MANAGER
from league.protocol.wire import jsonrpc
from league.referee.desk import RefereeDesk
from league.referee.match import Match
from league.terminal import USAGE, CommandError
from league.terminal.addresses import agent_url
from league.transport.http import App
from league.transport.http_client import HttpClient

LIMIT = jsonrpc.MANAGER_LIMIT
PING_S = 3.0
MOST_MATCHES = 1000
REGISTERED = (
    "is registered, so it listens only to the referees of its league; spar with a copy of it by naming its class, as "
    "in league spar ./first.py:First"
)


class SparringWatcher:
    """Watches friendly matches. This one keeps silent."""

    def begun(self, findings: str) -> None:
        """The guest answers, and the matches begin. `findings`: what its probe found out, in words."""

    def happened(self, event: Event) -> None:
        """Something has become true in the current match."""

    def ended(self, place: int, events: Sequence[Event]) -> None:
        """A match is over. `place` counts from 1; `events` are all events of the match."""


@dataclass(frozen=True, slots=True)
class SparringPlan:
    """The matches that were ordered. `journal` is the location of the referee's journal; empty if none is kept."""

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
        """The names of the opponents, by their ids."""
        titles = [entrant.title for entrant in self.entrants]
        return dict(zip(self.fixtures.opponents, titles, strict=True))


def player_endpoint(url: str) -> str:
    """Return the address at which a player takes messages. CommandError if this is not an address."""
    with suppress(ValueError):
        endpoint = agent_url(url)
        if RULES["url"](endpoint) is None:
            return endpoint
    raise CommandError(f"{url!r} is not an http address; try http://127.0.0.1:8101/mcp", USAGE)


def game_of(endpoint: str) -> str:
    """Return the game that the player at this address names first; only players of this package say so.

    CommandError if the agent is no player, or is registered: it would refuse every match.
    """
    health: object = None
    with suppress(CommandError), closing(Pages(endpoint)) as pages:
        health = pages.json("/healthz")
    if not isinstance(health, dict):
        return USUAL_GAME
    role, _, agent_id = str(health.get("sender", "player")).partition(":")
    if role != "player":
        raise CommandError(f"{endpoint}: this is {role} {agent_id}".rstrip() + ", not a player", USAGE)
    if health.get("registered_as"):
        raise CommandError(f"{endpoint} {REGISTERED}", USAGE)
    games = health.get("games")
    if isinstance(games, list):
        for game in games:
            if isinstance(game, str) and registry.find(game) is not None:
                return game
    return USUAL_GAME


async def probe_guest(plan: SparringPlan, guest: Address, client: HttpClient) -> Findings:
    """Ask a guest how it wants to be spoken to."""
    return await probe(guest.endpoint, client, PING_S / plan.time_scale, game=plan.fixtures.game_type)


async def require_player(plan: SparringPlan, client: HttpClient) -> str:
    """Refuse an address without a player. Return what else a probe found out; the matches will show the rest."""
    findings = await probe_guest(plan, plan.guest, client)
    if findings.is_refused:
        raise CommandError(findings.in_words(), USAGE)
    if findings.is_elsewhere:
        raise CommandError(findings.in_words())
    return findings.in_words()


async def spar(plan: SparringPlan, watcher: SparringWatcher, stop: asyncio.Event) -> SparringManager:
    """Play until all matches are played, the guest has lost too often by its own fault, or `stop` is set."""
    client = HttpClient()
    session = SparringSession(plan, client)
    try:
        findings = await require_player(plan, client)
        watcher.begun(findings)
        await session.open()
        await serving.until(stop, session.follow(watcher))
        return session.manager
    finally:
        await session.close()
        await client.close()


class SparringSession:
    """Manager, referee and opponents, each at its own port."""

    def __init__(self, plan: SparringPlan, client: HttpClient) -> None:
        self._plan = plan
        self._client = client
        self._clock = sources.Clock(plan.time_scale)
        self._hosts: dict[str, HostedAgent] = {}
        self._runners: list[StrategyRunner] = []
        self._changed = asyncio.Event()
        """Set after every step of the manager or the referee."""
        self._ended = 0
        """The number of matches that are over."""

    @property
    def manager(self) -> SparringManager:
        machine = self._hosts[MANAGER].running.machine
        assert isinstance(machine, SparringManager)
        return machine

    async def open(self) -> None:
        """Start all agents."""
        # All ports first, so that every address is known before anybody speaks.
        for name in (MANAGER, REFEREE_ID, *self._plan.names):
            host = HostedAgent()
            self._hosts[name] = host
            await host.listen(Door(self._plan.host, LIMIT), 0, App(post=host.respond))
        endpoints = [host.endpoint for name, host in self._hosts.items() if name != MANAGER]
        manager = partial(SparringManager, self._plan.fixtures, endpoints, sources.chance)
        await self._start(MANAGER, Role.MANAGER, manager)
        await self._start(REFEREE_ID, Role.REFEREE, self._referee)
        for name, entrant in zip(self._plan.names, self._plan.entrants, strict=True):
            runner = StrategyRunner(entrant, self._seeding(entrant))
            self._runners.append(runner)
            opponent = partial(self._opponent, name, entrant)
            agent = await self._start(name, Role.PLAYER, opponent, runner)
            runner.start(agent)

    async def close(self) -> None:
        for host in self._hosts.values():
            await host.stop()
        await asyncio.gather(*(runner.stop() for runner in self._runners))

    async def follow(self, watcher: SparringWatcher) -> None:
        """Tell the watcher everything that happens in each match, until the last one is over."""
        while await self.next_match(watcher) is not None:
            pass

    async def next_match(self, watcher: SparringWatcher) -> tuple[Event, ...] | None:
        """Wait until the next match is over, and return its events; None if there is none. The watcher hears of each.

        CommandError if our own referee cannot play such a match.
        """
        reported = 0
        while not self.manager.is_over or self._ended < len(self.manager.completed):
            self._changed.clear()
            match = self._match_at(self._ended)
            events = match.events if match else []
            for event in events[reported:]:
                watcher.happened(event)
            reported = len(events)
            if match is None or match.ended is None:
                await self._changed.wait()
                continue
            self._ended += 1
            watcher.ended(self._ended, tuple(events))
            return tuple(events)
        refusal = self.manager.refusal
        if refusal is not None:
            raise CommandError(f"the referee cannot play such a match: {refusal.detail}")
        return None

    def _match_at(self, place: int) -> Match | None:
        desk = self._hosts[REFEREE_ID].running.machine
        assert isinstance(desk, RefereeDesk)
        first_attempt = (self._plan.fixtures.match_id(place), 1)
        return desk.matches.get(first_attempt)

    # --- putting it together ------------------------------------------------------------------------------------------

    def _seeding(self, entrant: Entrant) -> Seeding | None:
        """Return what a built-in opponent draws its random choices from, if they are to be repeated."""
        # Match ids change from run to run, but their order does not. Authors seed their own opponents themselves.
        seed = self._plan.seed
        fixtures = self._plan.fixtures
        if seed is None or not isinstance(entrant.strategy, BuiltIn):
            return None
        return lambda _, turn: f"{seed}/{fixtures.meetings_before(turn.match_id)}/{turn.number}"

    async def _start(
        self,
        name: str,
        role: Role,
        build: Callable[[Mapping[str, str]], Machine],
        runner: StrategyRunner | None = None,
    ) -> Agent:
        sender = MANAGER if role is Role.MANAGER else f"{role.value}:{name}"
        speaker = Speaker(role, sender, Reading(self._plan.profile))
        setup = Setup(
            build,
            lambda _: speaker,
            self._client,
            self._clock,
            limit=LIMIT,
            answer_limit=LIMIT,
        )
        if runner is not None:
            setup.think = runner.think
            setup.tell = runner.tell
        return await self._hosts[name].start(setup, partial(self._journal, role))

    async def _journal(self, role: Role, agent: Agent) -> LiveJournal:
        if role is not Role.PLAYER:
            agent.changed = self._changed
        # Only the referee's journal is kept on disk: the report is made from it.
        place = None
        if role is Role.REFEREE and self._plan.journal:
            place = serving.journal_place(self._plan.journal)
        return await serving.open_journal(agent, place, {"role": role.value}, "full")

    def _referee(self, secrets: Mapping[str, str]) -> Machine:
        options = replace(
            defaults(RefereeOptions),
            manager=self._hosts[MANAGER].endpoint,
            name="Sparring referee",
            game=self._plan.fixtures.game_type,
            profile=self._plan.profile,
            max_concurrent_matches=1,
        )
        return referees.build(options, 0, self._hosts[REFEREE_ID].endpoint, secrets, self._plan.fixtures.opening)

    def _opponent(self, agent_id: str, entrant: Entrant, secrets: Mapping[str, str]) -> Machine:
        options = replace(
            defaults(PlayerOptions),
            manager=self._hosts[MANAGER].endpoint,
            # Not its title: a league refuses some names, and two opponents may have the same title.
            name=f"Opponent {agent_id.removeprefix('P')}",
            game=self._plan.fixtures.game_type,
            id=agent_id,
        )
        return players.build(options, 0, entrant, self._hosts[agent_id].endpoint, secrets)
