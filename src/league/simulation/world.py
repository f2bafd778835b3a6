"""A whole league in virtual time: a manager, referees, players, a network, and the hand of fate. One seed, one run."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from random import Random
from typing import Any

from league.events import AgentRegistered, Event, LeagueSettings, MatchTaken
from league.machine import Ask, Machine
from league.manager.league import LeagueManager
from league.player.competitor import Competitor
from league.promises.evidence import Evidence
from league.protocol.conventions import Convention
from league.protocol.exchanges import Role
from league.protocol.parts import PlayerMeta, RefereeMeta
from league.protocol.tokens import MANAGER
from league.referee.desk import RefereeDesk
from league.simulation.agenda import EPOCH, Agenda
from league.simulation.faults import Faults, Moment, Travel
from league.simulation.misbehaviour import MATCH_CALLS, MISBEHAVIOURS, Twisted, forgeries, honest
from league.simulation.network import Network, Record
from league.simulation.node import Node
from league.simulation.operator import Operator

PATIENCE_S = 12 * 3600.0
"""Virtual time after which a league that has not finished counts as stalled."""
AFTERMATH_S = 300.0
"""Virtual time for the last messages, once the league is over."""


class World:
    """Everything that exists while one league is simulated. `dialects` is the share of players that understand only
    one way of calling."""

    def __init__(
        self,
        settings: LeagueSettings,
        seed: int,
        rate: float,
        spared: frozenset[str] = frozenset(),
        dialects: float = 0.0,
    ) -> None:
        self.settings, self.seed = settings, seed
        self.agenda = Agenda()
        self.faults = Faults(rate, Random(f"{seed}/fate"), spared)
        self.network = Network(self)
        self.nodes: dict[str, Node] = {}
        self.faulted: set[str] = set()
        self.suffered: Counter[tuple[str, str, str]] = Counter()
        self._twists: dict[str, str] = {}
        self.manager = self._add("manager", Role.MANAGER, 8000, self._manager)
        self.referees = [
            self._add(f"referee-{n}", Role.REFEREE, 8000 + n, partial(self._referee, n))
            for n in range(1, settings.referees + 1)
        ]
        self.players = [
            self._add(f"player-{n}", Role.PLAYER, 8100 + n, partial(self._player, n))
            for n in range(1, settings.players + 1)
        ]
        tongues = Random(f"{seed}/dialects")
        for player in self.players:
            if tongues.random() < dialects:
                player.speaks = tongues.choice(list(Convention))
        self._endpoints = {node.endpoint: node for node in self.nodes.values()}
        self.operator = Operator(self)

    # --- who there is -------------------------------------------------------------------------------------------------

    def _add(self, name: str, role: Role, port: int, build: Callable[[Node, Mapping[str, str]], Machine]) -> Node:
        # Each process has an address of its own: who sends from where matters to some of the rules.
        endpoint = f"http://10.0.0.{len(self.nodes) + 1}:{port}/mcp"
        chance = Random(f"{self.seed}/{name}")
        node = Node(self, name, role, endpoint, chance.randbytes, build)
        self.nodes[name] = node
        if role is Role.PLAYER and self.faults.strikes(1.0, "misbehaviour"):
            self._twists[name] = self.faults.dice.choice(sorted(MISBEHAVIOURS))
            self.faulted.add(name)
        return node

    def _manager(self, node: Node, secrets: Mapping[str, str]) -> Machine:
        return LeagueManager(self.settings, node.chance, secrets)

    def _referee(self, number: int, node: Node, secrets: Mapping[str, str]) -> Machine:
        meta = RefereeMeta(
            display_name=f"Referee {number}",
            version="1.0.0",
            game_types=[self.settings.game_type],
            contact_endpoint=node.endpoint,
            max_concurrent_matches=2,
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
        """Play the league to its end, or until patience ends."""
        for node in self.nodes.values():
            self.agenda.after(self.faults.dice.uniform(0, 5), node.boot)
        self.operator.start()
        until = EPOCH + PATIENCE_S
        finished = False
        while self.agenda.step(until):
            if not finished and self.league.is_finished:
                finished, until = True, self.agenda.now + AFTERMATH_S
        return self.evidence()

    @property
    def league(self) -> LeagueManager:
        machine = self.manager.machine
        assert isinstance(machine, LeagueManager)
        return machine

    def evidence(self) -> Evidence:
        """What was seen, for the promises to be judged by."""
        history = self.manager.history
        ids = agents_by_endpoint(history)
        agents = {node.name: ids[node.endpoint] for node in self.nodes.values() if node.endpoint in ids}
        agents[self.manager.name] = MANAGER
        return Evidence(
            manager=history,
            referees={agents[node.name]: node.history for node in self.referees if node.name in agents},
            players={agents[node.name]: node.history for node in self.players if node.name in agents},
            agents=agents,
            traffic=[record.over(self.agenda.now) for record in self.network.records],
            faulted=frozenset(agents[name] for name in self._at_fault() if name in agents),
            survivals=[one for node in self.nodes.values() for one in node.survivals],
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
            for (name, match_id, _), times in self.suffered.items()
            if times >= (1 if (self.nodes[name].endpoint, match_id) in suspended else 4)
        }
        return self.faulted | links

    def _bounds(self) -> dict[str, tuple[int, int]]:
        agents = len(self.nodes)
        allowed = 50 + 10 * agents
        return {
            f"{node.name} {what}": (most, allowed) for node in self.nodes.values() for what, most in node.most.items()
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

    # --- fate ---------------------------------------------------------------------------------------------------------

    def may_suffer(self, node: Node, moment: Moment) -> bool:
        """Does this process die right here?"""
        if not self.faults.kills(moment):
            return False
        node.kill()
        return True

    def may_freeze(self, node: Node) -> None:
        """Does this process fall asleep right here? A player that does is at fault: there are slow ones already."""
        if node.role is not Role.PLAYER and self.faults.freezes():
            node.freeze(self.faults.dice.uniform(1, 15))

    def died(self, node: Node) -> None:
        """Connections break; the process comes back, unless it is a referee that is never seen again."""
        self.network.reset(node)
        if node.role is Role.PLAYER:
            self.faulted.add(node.name)
        others = [one for one in self.referees if one is not node and not one.gone]
        if node in self.referees and others and self.faults.dies_for_good():
            node.gone = True
            return
        node.offset += self.faults.clock_jump()
        self.agenda.after(self.faults.dice.uniform(0.2, 40 if node in self.referees else 8), node.boot)

    def link_suffered(self, record: Record) -> None:
        """A call of a match travelled badly: remember against which player's link."""
        kind = record.message.get("message_type", "")
        if kind in MATCH_CALLS and record.travel is not Travel.TWICE and record.receiver in self.nodes:
            turn = record.message.get("move_request", {}).get("context", {}).get("turn", 1)
            self.suffered[record.receiver, record.message["match_id"], f"{kind} {turn}"] += 1

    def twist(self, receiver: Node, message: dict[str, Any], raw: bytes) -> Twisted | None:
        """What a player makes of its honest answer."""
        kind = message.get("message_type", "")
        name = self._twists.get(receiver.name)
        if name == "thieving" and kind == "GAME_INVITATION":
            for addressee, forged in forgeries(message):
                # A forged decline must come before the true answer, a forged choice while one is awaited.
                wait = 0.02 if forged["message_type"] == "GAME_JOIN_ACK" else 3.0
                self.agenda.after(self.faults.dice.uniform(0, wait), partial(self._forge, receiver, addressee, forged))
        twist = MISBEHAVIOURS[name] if name else honest
        return twist(kind, raw, self.faults.dice)

    def _forge(self, thief: Node, addressee: str, message: dict[str, Any]) -> None:
        known = {one.machine.agent_id: one for one in self.referees if isinstance(one.machine, RefereeDesk)}
        receiver = self.manager if addressee == MANAGER else known.get(addressee)
        if receiver is not None:
            self.network.inject(thief, receiver, message)

    def strategy(self, node: Node, ask: Ask) -> tuple[float, object]:
        """How long a player thinks, and what it says then."""
        dice = self.faults.dice
        options = getattr(ask.call, "move_request", None)
        choices = options.valid_options if options is not None else ["even", "odd"]
        return dice.uniform(0.01, 2.0), dice.choice(choices)

    def sync_time(self) -> float:
        """How long a write takes until it is durable."""
        return self.faults.dice.uniform(0.0005, 0.01)


def agents_by_endpoint(history: Iterable[Event]) -> dict[str, str]:
    """Which id the manager gave to whoever listens where."""
    return {event.endpoint: event.agent_id for event in history if isinstance(event, AgentRegistered)}
