"""The players of a simulated league that have a fault of their own: what they do, and who they are in the end."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from league.events import MatchTaken
from league.features.lab.simulation.faults import Travel
from league.features.lab.simulation.misconduct.fading import Fading
from league.features.lab.simulation.misconduct.misbehaviour import (
    MATCH_CALLS,
    MISBEHAVIOURS,
    Forgery,
    Misanswer,
    bare_reports,
    forgeries,
    honest,
)
from league.protocol.signing.tokens import MANAGER
from league.referee.desk import RefereeDesk

if TYPE_CHECKING:
    from league.features.lab.simulation.network import CallRecord
    from league.features.lab.simulation.node import Node
    from league.features.lab.simulation.world import World

ATTEMPTS = 4
"""Number of failed calls that lose a phase of a match."""


class Culprits:
    """The players that may lose a match without a fault of the league: they misbehave, died, or have a bad link."""

    def __init__(self, world: World) -> None:
        self.names: set[str] = set()
        """The nodes that have a fault of their own."""
        self.misbehaviours: dict[str, str] = {}
        """The names of misbehaviours, by node."""
        self.fading = Fading(world)
        self._world = world
        self._link_failures: Counter[tuple[str, str, str]] = Counter()

    def cast(self, name: str) -> None:
        """Decide whether a player misbehaves, and how."""
        faults = self._world.faults
        if faults.occurs(1.0, "misbehaviour"):
            self.misbehaviours[name] = faults.dice.choice(sorted(MISBEHAVIOURS))
            self.names.add(name)

    def link_failed(self, record: CallRecord) -> None:
        """Count a call of a match that the network failed for the player's link."""
        name = record.receiver_node
        kind = record.message.get("message_type", "")
        # A call that arrives twice has arrived.
        if kind in MATCH_CALLS and record.travel is not Travel.TWICE and name in self._world.nodes:
            turn = record.message.get("move_request", {}).get("context", {}).get("turn", 1)
            self._link_failures[name, record.message["match_id"], f"{kind} {turn}"] += 1

    def all(self) -> set[str]:
        """Return all culprits, with those whose link failed as often as it takes to lose a match."""
        suspended = set()
        for node in self._world.referees:
            for event in node.history:
                if isinstance(event, MatchTaken):
                    for endpoint, is_suspended in zip(event.endpoints, event.suspended, strict=True):
                        if is_suspended:
                            suspended.add((endpoint, event.match_id))
        culprits = set(self.names)
        for (name, match_id, _), times in self._link_failures.items():
            endpoint = self._world.nodes[name].endpoint
            # A suspended player gets one attempt only.
            if times >= ATTEMPTS or (endpoint, match_id) in suspended:
                culprits.add(name)
        return culprits

    def misbehave(
        self,
        player: Node,
        message: dict[str, Any],
        raw: bytes,
    ) -> Misanswer | None:
        """Return what a player sends in place of its honest answer; None if it sends nothing."""
        dice = self._world.faults.dice
        kind = message.get("message_type", "")
        name = self.misbehaviours.get(player.name)
        if name is None:
            return honest(kind, raw, dice)
        if name == "forging" and kind == "GAME_INVITATION":
            for forgery in bare_reports(message, dice):
                self._forge_later(player, forgery, longest_s=4.0)
        if name == "thieving" and kind == "GAME_INVITATION":
            for forgery in forgeries(message):
                # A forged decline must come before the true answer, a forged choice while one is awaited.
                is_decline = forgery.message["message_type"] == "GAME_JOIN_ACK"
                self._forge_later(player, forgery, longest_s=0.02 if is_decline else 3.0)
        return MISBEHAVIOURS[name](kind, raw, dice)

    def _forge_later(self, thief: Node, forgery: Forgery, longest_s: float) -> None:
        seconds = self._world.faults.dice.uniform(0, longest_s)
        self._world.agenda.after(seconds, partial(self._forge, thief, forgery))

    def _forge(self, thief: Node, forgery: Forgery) -> None:
        if forgery.receiver == MANAGER:
            self._world.network.inject(thief, self._world.manager, forgery.message)
            return
        for referee in self._world.referees:
            if isinstance(referee.machine, RefereeDesk) and referee.machine.agent_id == forgery.receiver:
                self._world.network.inject(thief, referee, forgery.message)
                return
