"""Power cuts of a simulated league: whole machines go dark at once, and come back tens of seconds later.

A cut affects half of the players or all of them, with or without the manager and some referees; or all referees and
nobody else.
"""

from __future__ import annotations

import math
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
        if dice.random() >= 0.5:
            nodes = dice.sample(nodes, math.ceil(len(nodes) / 2))
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

    def downtimes(self) -> dict[str, list[tuple[float, float]]]:
        """Return from when to when each process did not run, by its name."""
        return self._downtimes
