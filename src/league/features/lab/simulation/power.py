"""Power cuts of a simulated league: whole machines go dark at once, and come back tens of seconds later.

A cut affects a third of the players, half of them or all of them, with or without the manager and some referees; or
all referees and nobody else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from league.features.lab.simulation.node import Node
    from league.features.lab.simulation.world import World

KIND = "power cut"
MOST_CUTS = 3
REFEREES_ALONE = 0.25
"""Probability that a cut affects the referees and nobody else."""
FEWEST = 2
"""A cut affects at least so many players, because a single one is no outage."""
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
        self.cut(nodes, dice.uniform(*DARK_S))

    def cut(self, nodes: Sequence[Node], dark_s: float) -> None:
        """Cut the power of these processes for so long."""
        until = self._world.agenda.now + dark_s
        self._world.faults.counts[KIND] += 1
        # All are dark before the first one dies: a process that dies is started again at once if it has power.
        for node in nodes:
            self._dark_until[node.name] = until + self._dice.uniform(*STARTING_S)
        for node in nodes:
            node.kill()

    def _affected(self) -> list[Node]:
        dice = self._dice
        world = self._world
        nodes = list(world.players)
        share = dice.choice((1, 1, 2, 3))
        if share > 1:
            count = max(math.ceil(len(nodes) / share), FEWEST)
            nodes = dice.sample(nodes, min(count, len(nodes)))
        if dice.random() < 0.5:
            nodes.append(world.manager)
        if dice.random() < 0.5:
            nodes += dice.sample(world.referees, dice.randint(1, len(world.referees)))
        return nodes

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
