"""Power cuts of a simulated league: whole machines go dark at once, and come back tens of seconds later.

A cut affects a third of the players, half of them or all of them, with or without the manager and some referees; or
all players of one machine; or all referees and nobody else.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from league_lab.simulation.node import Node
    from league_lab.simulation.world import World

KIND = "power cut"
MOST_CUTS = 3
REFEREES_ALONE = 0.25
"""Probability that a cut affects the referees and nobody else."""
ONE_MACHINE = 0.5
"""Probability that a cut affects one machine, where several players share one."""
FEWEST_OF_SHARE = 3
MOST_CUTS_OF_MACHINE = 2
FIRST_S = (5.0, 60.0)
"""Range of the time until the first cut."""
BETWEEN_S = (5.0, 200.0)
"""Range of the time between two cuts."""
DARK_S = (8.0, 90.0)
"""Range of the length of a cut."""
STARTING_S = (0.0, 3.0)
"""Range of the time that a process takes to start again."""


class PowerCuts:
    """Switches processes off and on. `probability` is that of any cut at all."""

    def __init__(self, world: World, probability: float) -> None:
        self._world = world
        self._probability = probability
        self._dice = Random(f"{world.seed}/power")
        self._dark_until: dict[str, float] = {}
        self._cut_hosts: Counter[str] = Counter()
        self._downtimes: dict[str, list[tuple[float, float]]] = {}

    def start(self) -> None:
        """Decide whether there are any cuts, and when."""
        # The cuts have dice of their own: with or without them, the other faults of a seed are the same.
        if self._dice.random() >= self._probability or KIND in self._world.faults.excluded:
            return
        moment = self._dice.uniform(*FIRST_S)
        for _ in range(self._dice.randint(1, MOST_CUTS)):
            self._world.agenda.after(moment, self._cut)
            moment += self._dice.uniform(*BETWEEN_S)

    def _cut(self) -> None:
        dice = self._dice
        world = self._world
        nodes = world.referees
        if dice.random() >= REFEREES_ALONE:
            nodes = self._affected()
        until = world.agenda.now + dice.uniform(*DARK_S)
        world.faults.counts[KIND] += 1
        # All are dark before the first one dies: a process that dies is started again at once if it has power.
        for node in nodes:
            self._dark_until[node.name] = until + dice.uniform(*STARTING_S)
        for node in nodes:
            node.kill()

    def _affected(self) -> list[Node]:
        dice = self._dice
        world = self._world
        nodes = list(world.players)
        if world.hosts.are_shared and dice.random() < ONE_MACHINE:
            neighbours = self._one_machine(nodes)
            if neighbours:
                return neighbours
        share = dice.choice((1, 1, 2, 3))
        if share > 1:
            # Fewer than three are an outage only if they are half of the league.
            count = max(math.ceil(len(nodes) / share), FEWEST_OF_SHARE)
            nodes = dice.sample(nodes, min(count, len(nodes)))
        if dice.random() < 0.5:
            nodes.append(world.manager)
        if dice.random() < 0.5:
            nodes += dice.sample(world.referees, dice.randint(1, len(world.referees)))
        return nodes

    def _one_machine(self, players: list[Node]) -> list[Node]:
        """Return the players of one machine; none if too few share it, or it was dark too often."""
        host = self._dice.choice(players).host
        neighbours = [player for player in players if player.host == host]
        self._cut_hosts[host] += 1
        if len(neighbours) < FEWEST_OF_SHARE or self._cut_hosts[host] > MOST_CUTS_OF_MACHINE:
            return []
        return neighbours

    # --- processes ----------------------------------------------------------------------------------------------------

    def boot(self, node: Node) -> None:
        """Start a process, as soon as it has power."""
        now = self._world.agenda.now
        dark_until = self._dark_until.get(node.name, 0.0)
        if now < dark_until:
            self._world.agenda.at(dark_until, partial(self.boot, node))
            return
        downtimes = self._downtimes.get(node.name)
        if downtimes and not node.gone:
            began, _ = downtimes[-1]
            downtimes[-1] = (began, now)
        node.boot()

    def went_down(self, node: Node) -> None:
        """Note that a process does not run from now on."""
        self._downtimes.setdefault(node.name, []).append((self._world.agenda.now, math.inf))

    def went_dark(self, node: Node, until: float) -> None:
        """Note that a process cannot be reached until then, though it runs."""
        self._downtimes.setdefault(node.name, []).insert(0, (self._world.agenda.now, until))

    def downtimes(self) -> dict[str, list[tuple[float, float]]]:
        """Return from when to when each process did not run, by its name."""
        return self._downtimes
