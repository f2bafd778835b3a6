"""A whole league in virtual time: a manager, referees, players, a network, and injected faults. One seed, one run.

Theory of operation. A `World` is made of nodes (node.py), a network between them (network.py) and an agenda of
callbacks in virtual time (agenda.py). Nothing else moves time: `run` takes callbacks from the agenda, one after the
other, until the league is over and its last messages have arrived, or until it counts as stalled. Each node drives the
real pump and the real machine of its role, and speaks in the bytes of the real codec.

Six parts make trouble: `Faults` decides about single calls, writes and processes, `PowerCuts` about whole machines,
`Culprits` lets players misbehave, `Cheats` sends forged requests, `Rogues` lets a referee lie, and `Operator` gives
orders. Each has a source of chance that is seeded, so that one
part can be left out without a change to the others.

What must never happen: a clock, a source of chance or an order of iteration that the seed does not decide; a fault
that is not recorded as one, because the evidence would blame an agent for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import chain
from random import Random

from league.events import (
    AgentRegistered,
    Event,
    LeagueSettings,
    MatchAssigned,
    ResultAccepted,
    ScheduleMade,
    TokenTakenUp,
)
from league.features.audit.promises.grounds.event_log import EventLog
from league.features.audit.promises.grounds.evidence import Evidence, SimulatorFacts
from league.features.lab.simulation.agenda import EPOCH, Agenda
from league.features.lab.simulation.faults import CrashPoint, Faults
from league.features.lab.simulation.foreign import ForeignServer
from league.features.lab.simulation.misconduct.cheats import Cheats
from league.features.lab.simulation.misconduct.culprits import Culprits
from league.features.lab.simulation.misconduct.rogues import Rogues
from league.features.lab.simulation.network import Network
from league.features.lab.simulation.node import Node
from league.features.lab.simulation.power import PowerCuts
from league.features.lab.simulation.simulated_operator import Operator
from league.gateway.book import PeerBook
from league.gateway.giving import METHODS, GatewayGiving
from league.gateway.guest import GatewayGuest
from league.gateway.words import USUAL_PATH
from league.machine import Ask, Machine
from league.manager.league_manager import LeagueManager
from league.player.competitor import Competitor
from league.protocol.conventions import Convention
from league.protocol.message.exchanges import Role
from league.protocol.message.parts import PlayerMeta, RefereeMeta
from league.protocol.signing.tokens import MANAGER
from league.referee.desk import RefereeDesk

ENROLMENT_KEY = "what the manager and its own referees know"
PATIENCE_S = 12 * 3600.0
"""Virtual time after which a league that has not finished counts as stalled."""
LATEST_S = 20.0
"""When the last of the late players comes."""
WITH_MODEL = 0.5
"""The share of players that declare a language model."""
NOT_ASKING = 0.3
"""The share of referees that do not ask before they decide a loss, as third-party ones."""
POSTING = 0.3
"""The share of players that post their answers, among those that speak a dialect."""
TOKENLESS = 0.4
"""The share of agents that show no token, in a league that trusts addresses."""
AFTERMATH_S = 300.0
"""Virtual time for the last messages, once the league is over."""


class World:
    """One simulated league.

    `excluded`: kinds of faults that never occur. `dialects`: the share of players that understand one way of calling
    only (some of them acknowledge with an empty body and post their answers), and of referees that know one way to be
    given a match. `outages`: the probability of power cuts. `cheats`: the share of players that cheat, and the
    probability of a rogue referee; then all processes share one address. `late`: the number of players that come when
    the league may have begun. `rogues`: the probability of a dishonest referee among those that were admitted.
    """

    def __init__(
        self,
        settings: LeagueSettings,
        seed: int,
        rate: float,
        excluded: frozenset[str] = frozenset(),
        dialects: float = 0.0,
        outages: float = 0.0,
        cheats: float = 0.0,
        late: int = 0,
        rogues: float = 0.0,
    ) -> None:
        self.settings = settings
        self.seed = seed
        self._is_one_machine = cheats > 0
        self.agenda = Agenda()
        self.faults = Faults(rate, Random(f"{seed}/fate"), excluded)
        self.network = Network(self)
        self.nodes: dict[str, Node] = {}
        self.culprits = Culprits(self)
        self.manager = self._add("manager", Role.MANAGER, 8000, self._manager)
        self.referees = [
            self.add_referee(f"referee-{number}", 8000 + number, ENROLMENT_KEY)
            for number in range(1, settings.referees + 1)
        ]
        self.players = [
            self._add(
                f"player-{number}",
                Role.PLAYER,
                8100 + number,
                partial(self._player, number),
            )
            for number in range(1, settings.players + late + 1)
        ]
        self._assign_dialects(dialects)
        self._open_foreign_servers(dialects)
        self.rogues = Rogues(self, rogues)
        self.rogues.cast()
        # The cast of cheats may add a referee, so the endpoints are known only after it.
        self.cheats = Cheats(self, cheats)
        self.cheats.cast()
        self._endpoints = {node.endpoint: node for node in self.nodes.values()}
        for player in self.players:
            if _has_no_path(player):
                self._endpoints[player.endpoint + USUAL_PATH] = player
        self.power = PowerCuts(self, outages)

    def _assign_dialects(self, share: float) -> None:
        dice = Random(f"{self.seed}/dialects")
        for player in self.players:
            if dice.random() < share:
                player.habits.speaks = dice.choice(list(Convention))
                player.habits.posts = dice.random() < POSTING
        if self.settings.trust == "class":
            self._hide_tokens(dice)
        for referee in self.referees:
            if dice.random() < share:
                referee.habits.begins_by = dice.choice(METHODS)

    def _hide_tokens(self, dice: Random) -> None:
        """Let some agents show no token. The first referee can prove itself: others have shown a token elsewhere, in
        questions, and then their reports count no more."""
        for player in self.players:
            if dice.random() < TOKENLESS:
                player.habits.posts = True
                player.habits.shows_no_token = True
                # Anybody at its address may answer for it, so nobody promises it anything.
                self.culprits.names.add(player.name)
        for referee in self.referees[1:]:
            referee.habits.shows_no_token = dice.random() < TOKENLESS

    def _open_foreign_servers(self, share: float) -> None:
        """Let some players be called in other words, with or without a convention of their own."""
        dice = Random(f"{self.seed}/words")
        for player in self.players:
            if dice.random() < share:
                player.habits.server = ForeignServer.drawn(dice)
            if _has_no_path(player):
                player.endpoint = player.endpoint.removesuffix(USUAL_PATH)

    # --- nodes --------------------------------------------------------------------------------------------------------

    def _add(
        self,
        name: str,
        role: Role,
        port: int,
        build: Callable[[Node, Mapping[str, str]], Machine],
    ) -> Node:
        host = f"10.0.0.{len(self.nodes) + 1}"
        if self._is_one_machine:
            # Cheats like it.
            host = "127.0.0.1"
        endpoint = f"http://{host}:{port}/mcp"
        chance = Random(f"{self.seed}/{name}")
        node = Node(self, name, role, endpoint, chance.randbytes, build)
        self.nodes[name] = node
        if role is Role.PLAYER:
            self.culprits.cast(name)
        return node

    def add_referee(self, name: str, port: int, key: str | None) -> Node:
        """Add a referee that knows this enrolment key, or none."""
        return self._add(name, Role.REFEREE, port, partial(self._referee, key))

    def _manager(self, node: Node, secrets: Mapping[str, str]) -> Machine:
        return LeagueManager(
            self.settings,
            node.chance,
            {**secrets, "enrolment_key": ENROLMENT_KEY},
            open_book=PeerBook,
            open_giving=GatewayGiving,
        )

    def _referee(self, key: str | None, node: Node, secrets: Mapping[str, str]) -> Machine:
        meta = RefereeMeta(
            display_name=node.name.capitalize(),
            version="1.0.0",
            game_types=[self.settings.game_type],
            contact_endpoint=node.endpoint,
            max_concurrent_matches=2,
            enrolment_key=key,
            trouble=self._declared(node),
            # In every other league nobody declares that it shares its draws, as third-party referees do not.
            draw_scheme=None if self.seed % 2 else "",
        )
        return RefereeDesk(
            meta,
            self.manager.endpoint,
            node.chance,
            secrets,
            open_book=PeerBook,
            open_guest=GatewayGuest,
        )

    def _declared(self, node: Node) -> str | None:
        """Return "" for a referee that does not ask before it decides a loss; under it, an outage may cost a match."""
        dice = Random(f"{self.seed}/{node.name}/asks")
        # Without a token nobody would answer its questions.
        if node.habits.shows_no_token:
            return ""
        if self.faults.rate > 0 and dice.random() < NOT_ASKING:
            return ""
        return None

    def _player(self, number: int, node: Node, secrets: Mapping[str, str]) -> Machine:
        conditions = None
        if Random(f"{self.seed}/{node.name}/model").random() < WITH_MODEL:
            conditions = {"model": "simulated"}
        meta = PlayerMeta(
            display_name=f"Player {number}",
            version="1.0.0",
            game_types=[self.settings.game_type],
            contact_endpoint=node.endpoint,
            conditions=conditions,
        )
        return Competitor(
            meta,
            self.manager.endpoint,
            node.chance,
            secrets,
            open_book=PeerBook,
        )

    def listening(self, endpoint: str) -> Node | None:
        """Return the node at this endpoint."""
        return self._endpoints.get(endpoint)

    # --- the run ------------------------------------------------------------------------------------------------------

    def run(self) -> Evidence:
        """Play the league to its end, or until it counts as stalled."""
        dice = self.faults.dice
        in_time = self.players[: self.settings.players]
        late = self.players[self.settings.players :]
        for node in (self.manager, *self.referees, *in_time):
            self.agenda.after(dice.uniform(0, 5), partial(self.power.boot, node))
        for node in late:
            self.agenda.after(
                dice.uniform(5, LATEST_S),
                partial(self.power.boot, node),
            )
        Operator(self).start()
        self.cheats.start()
        self.power.start()
        until = EPOCH + PATIENCE_S
        was_finished = False
        while self.agenda.step(until):
            is_finished = self.league.is_finished
            if is_finished and not was_finished:
                until = self.agenda.now + AFTERMATH_S
            elif was_finished and not is_finished:
                # A match is played again after the end.
                until = EPOCH + PATIENCE_S
            was_finished = is_finished
        return self.evidence()

    @property
    def league(self) -> LeagueManager:
        machine = self.manager.machine
        assert isinstance(machine, LeagueManager)
        return machine

    def evidence(self) -> Evidence:
        """Return the evidence by which the promises are judged."""
        history = self.manager.history
        ids = agents_by_endpoint(history)
        agents = {node.name: ids[node.endpoint] for node in self.nodes.values() if node.endpoint in ids}
        agents[self.manager.name] = MANAGER
        return Evidence(
            manager=EventLog(history),
            referees={agents[node.name]: EventLog(node.history) for node in self.referees if node.name in agents},
            players={agents[node.name]: EventLog(node.history) for node in self.players if node.name in agents},
            agents=agents,
            traffic=self.network.traffic(self.agenda.now),
            finished=self.league.is_finished,
            simulator=self._facts(agents),
        )

    def _facts(self, agents: Mapping[str, str]) -> SimulatorFacts:
        def ids(names: Iterable[str]) -> frozenset[str]:
            return frozenset(agents[name] for name in names if name in agents)

        return SimulatorFacts(
            faulted=ids(self.culprits.all()) | unknown_to_referees(self.manager.history),
            impostors=ids(self.cheats.impostors),
            dishonest=ids(self.rogues.kinds),
            recoveries=[recovery for node in self.nodes.values() for recovery in node.log.recoveries],
            downtimes={agents[name]: times for name, times in self.power.downtimes().items() if name in agents},
            # The operator here ends every named state of waiting, so nothing excuses a league that does not end.
            stalled=not self.league.is_finished,
            bounds=self._bounds(),
        )

    def _bounds(self) -> dict[str, tuple[int, int]]:
        """Return the largest load of each kind, and the largest that is allowed."""
        allowed = 50 + 10 * len(self.nodes)
        bounds = {}
        for node in self.nodes.values():
            for kind, most in node.log.most.items():
                bounds[f"{node.name} {kind}"] = (most, allowed)
        return bounds

    @property
    def digest(self) -> str:
        """The digest of all journals, which is the same for the same seed and inputs."""
        digest = hashlib.sha256()
        for name, node in sorted(self.nodes.items()):
            digest.update(name.encode())
            for line in node.journal.lines():
                digest.update(line)
        return digest.hexdigest()

    # --- faults -------------------------------------------------------------------------------------------------------

    def may_be_killed(self, node: Node, moment: CrashPoint) -> bool:
        """Kill this process by chance, and return whether it died."""
        if not self.faults.kills(moment):
            return False
        node.kill()
        return True

    def may_freeze(self, node: Node) -> None:
        """Freeze this process by chance."""
        # A frozen player would be at fault, and there are slow ones already.
        if node.role is not Role.PLAYER and self.faults.freezes():
            node.freeze(self.faults.dice.uniform(1, 15))

    def died(self, node: Node) -> None:
        """Break the connections of a process that died, and start it again unless it died for good."""
        self.network.reset(node)
        self.power.went_down(node)
        if node.role is Role.PLAYER:
            self.culprits.names.add(node.name)
        longest_s = 8
        if node in self.referees:
            longest_s = 40
            # Somebody must be left to play the matches whose reports count.
            has_substitute = any(
                other is not node and not other.gone and not other.habits.shows_no_token for other in self.referees
            )
            if has_substitute and self.faults.dies_for_good():
                node.gone = True
                return
        node.offset += self.faults.clock_jump()
        seconds = self.faults.dice.uniform(0.2, longest_s)
        self.agenda.after(seconds, partial(self.power.boot, node))

    def strategy(self, node: Node, ask: Ask) -> tuple[float, object]:
        """Return how long a player takes to choose, and its choice."""
        dice = self.faults.dice
        request = getattr(ask.call, "move_request", None)
        options = request.valid_options if request is not None else ["even", "odd"]
        seconds = dice.uniform(0.01, 2.0)
        choice = dice.choice(options)
        return seconds, self.rogues.tip(node, ask) or choice

    def sync_time(self) -> float:
        """Return how long a write takes until it is durable."""
        return self.faults.dice.uniform(0.0005, 0.01)


def _has_no_path(player: Node) -> bool:
    server = player.habits.server
    return server is not None and server.has_no_path


def agents_by_endpoint(history: Iterable[Event]) -> dict[str, str]:
    """Return the agent ids that the manager gave, by endpoint."""
    return {event.endpoint: event.agent_id for event in history if isinstance(event, AgentRegistered)}


def unknown_to_referees(history: Iterable[Event]) -> frozenset[str]:
    """Return the players that took up another token while a referee that is not told of it played their match."""
    players: dict[str, tuple[str, str]] = {}
    asking: set[str] = set()
    playing: dict[str, tuple[str, str]] = {}
    unknown: set[str] = set()
    for event in history:
        if isinstance(event, AgentRegistered) and event.asks_before_losses:
            asking.add(event.agent_id)
        elif isinstance(event, ScheduleMade):
            for pairing in chain.from_iterable(event.rounds):
                players[pairing.match_id] = (pairing.player_a, pairing.player_b)
        elif isinstance(event, MatchAssigned) and event.referee_id not in asking:
            playing[event.match_id] = players[event.match_id]
        elif isinstance(event, ResultAccepted):
            playing.pop(event.match_id, None)
        elif isinstance(event, TokenTakenUp) and event.agent_id in chain.from_iterable(playing.values()):
            unknown.add(event.agent_id)
    return frozenset(unknown)
