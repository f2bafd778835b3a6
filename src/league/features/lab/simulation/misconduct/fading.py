"""Players that go dark together whenever one of them is behind: the attempt to escape a lost position.

They are honest in everything else. All of them are unreachable for some seconds, for referees and manager alike, as if
a machine had lost its network. They must gain nothing by it: the match goes on where it was.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from league.features.lab.simulation.node import Node
    from league.features.lab.simulation.world import World

NAME: Final = "fading"
"""How the misbehaviour is called."""
DARK_S: Final = (5.0, 20.0)
"""Range of the time for which they are dark."""
MOST_OFTEN: Final = 30
"""How often in a league; without a limit its matches might never end."""


class Fading:
    """Decides when the players that fade are dark."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._dice = Random(f"{world.seed}/fading")
        self._dark_until = 0.0
        self._times = 0
        self._escaped: set[tuple[str, int]] = set()
        """The matches and turns in which somebody has gone dark already."""

    def is_dark(self, node: Node, message: dict[str, Any]) -> bool:
        """Return whether this call finds nobody. A call that shows a player its defeat makes all of them fade."""
        if self._world.culprits.misbehaviours.get(node.name) != NAME:
            return False
        if self._shows_defeat(message) and self._times < MOST_OFTEN:
            self._fade()
        return self._world.agenda.now < self._dark_until

    def _shows_defeat(self, message: dict[str, Any]) -> bool:
        context = message.get("move_request", {}).get("context", {})
        won = context.get("won")
        if not isinstance(won, dict) or won["you"] >= won["opponent"]:
            return False
        question = (str(message["match_id"]), int(context["turn"]))
        is_new = question not in self._escaped
        self._escaped.add(question)
        return is_new

    def _fade(self) -> None:
        world = self._world
        self._times += 1
        now = world.agenda.now
        self._dark_until = max(self._dark_until, now + self._dice.uniform(*DARK_S))
        world.faults.counts["gone dark"] += 1
        for name, misbehaviour in world.culprits.misbehaviours.items():
            if misbehaviour == NAME:
                world.power.went_dark(world.nodes[name], self._dark_until)
