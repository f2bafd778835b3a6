"""A whole league in virtual time: a manager, referees, players, a network, and injected faults. One seed, one run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from random import Random
from typing import Any

from league.events import AgentRegistered, Event, LeagueSettings, MatchTaken
from league.machine import Ask, Machine
from league.manager.dispatch import METHODS
from league.manager.league import LeagueManager
from league.player.competitor import Competitor
from league.protocol.conventions import Convention
from league.protocol.exchanges import Role
from league.protocol.parts import PlayerMeta, RefereeMeta
from league.protocol.tokens import MANAGER
from league.referee.desk import RefereeDesk
from league_lab.promises.evidence import Evidence
from league_lab.simulation.agenda import EPOCH, Agenda
from league_lab.simulation.cheats import Cheats
from league_lab.simulation.faults import Faults, Moment, Travel
from league_lab.simulation.misbehaviour import MATCH_CALLS, MISBEHAVIOURS, Misanswer, forgeries, honest
from league_lab.simulation.network import CallRecord, Network
from league_lab.simulation.node import Node
from league_lab.simulation.operator import Operator
from league_lab.simulation.power import PowerCuts

ENROLMENT_KEY = "what the manager and its own referees know"
PATIENCE_S = 12 * 3600.0
"""Virtual time after which a league that has not finished counts as stalled."""
LATEST_S = 20.0
"""When the last of the late players comes."""
POSTING = 0.3
"""The share of players that post their answers, of those that speak a dialect."""
AFTERMATH_S = 300.0
"""Virtual time for the last messages, once the league is over."""


class World:
    """One simulated league. `excluded` are kinds of faults that are left out, `dialects` the share of players that
    understand only one way of calling (some of them acknowledge with an empty body and post their answers) and of
    referees that know one way to be given a match, `outages` the probability of power cuts, `cheats` the share of
    players that cheat and the probability of a rogue referee (then all processes share one address), `late` how many
    players come when the league may have begun."""

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
    ) -> None:
        self.settings, self.seed = settings, seed
        self._one_machine = cheats > 0
        self.agenda = Agenda()
        self.faults = Faults(rate, Random(f"{seed}/fate"), excluded)
        self.network = Network(self)
        self.nodes: dict[str, Node] = {}
        self.faulted: set[str] = set()
        self.link_failures: Counter[tuple[str, str, str]] = Counter()
        self._misbehaviours: dict[str, str] = {}
        self.manager = self._add("manager", Role.MANAGER, 8000, self._manager)
        self.referees = [
            self.add_referee(f"referee-{n}", 8000 + n, ENROLMENT_KEY) for n in range(1, settings.referees + 1)
        ]
        self.players = [
            self._add(f"player-{n}", Role.PLAYER, 8100 + n, partial(self._player, n))
            for n in range(1, settings.players + late + 1)
        ]
        convention_dice = Random(f"{seed}/dialects")
        for player in self.players:
            if convention_dice.random() < dialects:
                player.speaks = convention_dice.choice(list(Convention))
                player.posts = convention_dice.random() < POSTING
        for referee in self.referees:
            if convention_dice.random() < dialects:
                referee.begins_by = convention_dice.choice(METHODS)
        self.cheats = Cheats(self, cheats)
        self.cheats.cast()
        self._endpoints = {node.endpoint: node for node in self.nodes.values()}
        self.operator = Operator(self)
        self.power = PowerCuts(self, outages)

    # --- who there is -------------------------------------------------------------------------------------------------

    def _add(self, name: str, role: Role, port: int, build: Callable[[Node, Mapping[str, str]], Machine]) -> Node:
        # Who sends from where matters to some of the rules. Where nobody cheats each process has an address of its own.
        host = "127.0.0.1" if self._one_machine else f"10.0.0.{len(self.nodes) + 1}"
        endpoint = f"http://{host}:{port}/mcp"
        chance = Random(f"{self.seed}/{name}")
        node = Node(self, name, role, endpoint, chance.randbytes, build)
        self.nodes[name] = node
        if role is Role.PLAYER and self.faults.occurs(1.0, "misbehaviour"):
            self._misbehaviours[name] = self.faults.dice.choice(sorted(MISBEHAVIOURS))
            self.faulted.add(name)
        return node

    def add_referee(self, name: str, port: int, key: str | None) -> Node:
        """A referee that knows this enrolment key, or none."""
        return self._add(name, Role.REFEREE, port, partial(self._referee, key))

    def _manager(self, node: Node, secrets: Mapping[str, str]) -> Machine:
        return LeagueManager(self.settings, node.chance, {**secrets, "enrolment_key": ENROLMENT_KEY})

    def _referee(self, key: str | None, node: Node, secrets: Mapping[str, str]) -> Machine:
        meta = RefereeMeta(
            display_name=node.name.capitalize(),
            version="1.0.0",
            game_types=[self.settings.game_type],
            contact_endpoint=node.endpoint,
            max_concurrent_matches=2,
            enrolment_key=key,
        )
        return RefereeDesk(meta, self.manager.endpoint, node.chance, secrets)

    def _player(self, number: int, node: Node, secrets: Mapping[str, str]) -> Machine:
        meta = PlayerMeta(
            display_name=f"Player {number}",
            version="1.0.0",
            game_types=[self.settings.game_type],
            contact_endpoint=node.endpoint,
        )
        return Competitor(meta, self.manager.endpoint, node.chance, secrets)

    def listening(self, endpoint: str) -> Node | None:
        return self._endpoints.get(endpoint)

    # --- the run ------------------------------------------------------------------------------------------------------

    def run(self) -> Evidence:
        """Play the league to its end, or until it counts as stalled."""
        in_time, late = self.players[: self.settings.players], self.players[self.settings.players :]
        for node in (self.manager, *self.referees, *in_time):
            self.agenda.after(self.faults.dice.uniform(0, 5), partial(self.power.boot, node))
        for node in late:
            self.agenda.after(self.faults.dice.uniform(5, LATEST_S), partial(self.power.boot, node))
        self.operator.start()
        self.cheats.start()
        self.power.start()
        until = EPOCH + PATIENCE_S
        finished = False
        while self.agenda.step(until):
            if finished != self.league.is_finished:
                finished = not finished
                until = self.agenda.now + AFTERMATH_S if finished else EPOCH + PATIENCE_S
        return self.evidence()

    @property
    def league(self) -> LeagueManager:
        machine = self.manager.machine
        assert isinstance(machine, LeagueManager)
        return machine

    def evidence(self) -> Evidence:
        """What the promises are judged by."""
        history = self.manager.history
        ids = agents_by_endpoint(history)
        agents = {node.name: ids[node.endpoint] for node in self.nodes.values() if node.endpoint in ids}
        agents[self.manager.name] = MANAGER
        return Evidence(
            manager=history,
            referees={agents[node.name]: node.history for node in self.referees if node.name in agents},
            players={agents[node.name]: node.history for node in self.players if node.name in agents},
            agents=agents,
            traffic=[record.finished(self.agenda.now) for record in self.network.records],
            faulted=frozenset(agents[name] for name in self._at_fault() if name in agents),
            impostors=frozenset(agents[name] for name in self.cheats.impostors if name in agents),
            downtimes={agents[name]: times for name, times in self.power.downtimes().items() if name in agents},
            recoveries=[one for node in self.nodes.values() for one in node.log.recoveries],
            finished=self.league.is_finished,
            # The operator here ends every named state of waiting, so nothing excuses a league that does not end.
            stalled=not self.league.is_finished,
            bounds=self._bounds(),
        )

    def _at_fault(self) -> set[str]:
        """Players with a fault of their own, and those whose link failed as often as it takes to lose a match: each of
        four attempts of a phase, or the only one a suspended player gets."""
        suspended = {
            (event.endpoints[seat], event.match_id)
            for node in self.referees
            for event in node.history
            if isinstance(event, MatchTaken)
            for seat in (0, 1)
            if event.suspended[seat]
        }
        links = {
            name
            for (name, match_id, _), times in self.link_failures.items()
            if times >= (1 if (self.nodes[name].endpoint, match_id) in suspended else 4)
        }
        return self.faulted | links

    def _bounds(self) -> dict[str, tuple[int, int]]:
        agents = len(self.nodes)
        allowed = 50 + 10 * agents
        return {
            f"{node.name} {what}": (most, allowed)
            for node in self.nodes.values()
            for what, most in node.log.most.items()
        }

    @property
    def digest(self) -> str:
        """Of all journals: the same seed and inputs give the same."""
        seen = hashlib.sha256()
        for name, node in sorted(self.nodes.items()):
            seen.update(name.encode())
            for line in node.journal.lines():
                seen.update(line)
        return seen.hexdigest()

    # --- faults -------------------------------------------------------------------------------------------------------

    def may_be_killed(self, node: Node, moment: Moment) -> bool:
        """Kill this process here, by chance."""
        if not self.faults.kills(moment):
            return False
        node.kill()
        return True

    def may_freeze(self, node: Node) -> None:
        """Freeze this process here, by chance. Not players: a frozen one would be at fault, and there are slow ones."""
        if node.role is not Role.PLAYER and self.faults.freezes():
            node.freeze(self.faults.dice.uniform(1, 15))

    def died(self, node: Node) -> None:
        """Connections break; the process comes back, unless it is a referee that died for good."""
        self.network.reset(node)
        self.power.went_down(node)
        if node.role is Role.PLAYER:
            self.faulted.add(node.name)
        others = [one for one in self.referees if one is not node and not one.gone]
        if node in self.referees and others and self.faults.dies_for_good():
            node.gone = True
            return
        node.offset += self.faults.clock_jump()
        later = self.faults.dice.uniform(0.2, 40 if node in self.referees else 8)
        self.agenda.after(later, partial(self.power.boot, node))

    def link_failed(self, record: CallRecord) -> None:
        """The network failed a call of a match: count it for the player's link."""
        kind = record.message.get("message_type", "")
        if kind in MATCH_CALLS and record.travel is not Travel.TWICE and record.receiver_node in self.nodes:
            turn = record.message.get("move_request", {}).get("context", {}).get("turn", 1)
            self.link_failures[record.receiver_node, record.message["match_id"], f"{kind} {turn}"] += 1

    def misbehave(self, receiver: Node, caller: Node, message: dict[str, Any], raw: bytes) -> Misanswer | None:
        """What a player sends in place of its honest answer; None: nothing."""
        kind = message.get("message_type", "")
        if kind == "GAME_INVITATION" and caller in self.referees:
            self.cheats.invited(receiver, message)
        name = self._misbehaviours.get(receiver.name)
        if name == "thieving" and kind == "GAME_INVITATION":
            for addressee, forged in forgeries(message):
                # A forged decline must come before the true answer, a forged choice while one is awaited.
                wait = 0.02 if forged["message_type"] == "GAME_JOIN_ACK" else 3.0
                self.agenda.after(self.faults.dice.uniform(0, wait), partial(self._forge, receiver, addressee, forged))
        behaviour = MISBEHAVIOURS[name] if name else honest
        return behaviour(kind, raw, self.faults.dice)

    def _forge(self, thief: Node, addressee: str, message: dict[str, Any]) -> None:
        known = {one.machine.agent_id: one for one in self.referees if isinstance(one.machine, RefereeDesk)}
        receiver = self.manager if addressee == MANAGER else known.get(addressee)
        if receiver is not None:
            self.network.inject(thief, receiver, message)

    def strategy(self, node: Node, ask: Ask) -> tuple[float, object]:
        """How long a player takes to choose, and its choice."""
        dice = self.faults.dice
        options = getattr(ask.call, "move_request", None)
        choices = options.valid_options if options is not None else ["even", "odd"]
        return dice.uniform(0.01, 2.0), dice.choice(choices)

    def sync_time(self) -> float:
        """How long a write takes until it is durable."""
        return self.faults.dice.uniform(0.0005, 0.01)


def agents_by_endpoint(history: Iterable[Event]) -> dict[str, str]:
    """The agent ids that the manager gave, by endpoint."""
    return {event.endpoint: event.agent_id for event in history if isinstance(event, AgentRegistered)}
