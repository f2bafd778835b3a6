"""Power cuts of a simulated league: whole machines go dark at once, and come back tens of seconds later: the players'
half or all of them, with or without the manager and referees; or all referees, and nobody else."""

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
FIRST_S, BETWEEN_S, DARK_S, STARTING_S = (5.0, 60.0), (5.0, 200.0), (8.0, 90.0), (0.0, 3.0)
"""When the first comes, how long until the next, how long it is dark, how long a process takes to start again."""


class PowerCuts:
    """Switches processes off and on. `probability`: that there is any."""

    def __init__(self, world: World, probability: float) -> None:
        self._world, self._probability = world, probability
        self._dice = Random(f"{world.seed}/power")
        self._dark_until: dict[str, float] = {}
        self._down: dict[str, list[tuple[float, float]]] = {}

    def start(self) -> None:
        """Decide whether there are any, and when."""
        if self._dice.random() >= self._probability or KIND in self._world.faults.excluded:
            return
        at = self._dice.uniform(*FIRST_S)
        for _ in range(self._dice.randint(1, MOST_CUTS)):
            self._world.agenda.after(at, self._cut)
            at += self._dice.uniform(*BETWEEN_S)

    def _cut(self) -> None:
        dice, world = self._dice, self._world
        affected = world.referees if dice.random() < REFEREES_ALONE else self._affected()
        until = world.agenda.now + dice.uniform(*DARK_S)
        world.faults.seen[KIND] += 1
        for node in affected:
            self._dark_until[node.name] = until + dice.uniform(*STARTING_S)
        for node in affected:
            node.kill()

    def _affected(self) -> list[Node]:
        dice, world = self._dice, self._world
        players = list(world.players)
        affected = players if dice.random() < 0.5 else dice.sample(players, math.ceil(len(players) / 2))
        if dice.random() < 0.5:
            affected = [*affected, world.manager]
        if dice.random() < 0.5:
            affected = [*affected, *dice.sample(world.referees, dice.randint(1, len(world.referees)))]
        return affected

    # --- processes ----------------------------------------------------------------------------------------------------

    def boot(self, node: Node) -> None:
        """Start a process, or when there is power again."""
        dark_until = self._dark_until.get(node.name, 0.0)
        if self._world.agenda.now < dark_until:
            self._world.agenda.at(dark_until, partial(self.boot, node))
            return
        down = self._down.get(node.name)
        if down and not node.gone:
            down[-1] = (down[-1][0], self._world.agenda.now)
        node.boot()

    def went_down(self, node: Node) -> None:
        self._down.setdefault(node.name, []).append((self._world.agenda.now, math.inf))

    def downtimes(self) -> dict[str, list[tuple[float, float]]]:
        """By name: from when to when it did not run."""
        return self._down
