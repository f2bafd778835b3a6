"""The operator of a simulated league: has matches replayed that are parked, or that the terminal says should be, and by
chance pauses, voids or withdraws.

An order is sent again under the same key until it is answered, as a person would press the button again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from league.machine import Failure, Operate
from league.manager.season.rounds import FEWEST_PLAYERS

if TYPE_CHECKING:
    from league.features.lab.simulation.world import World

LOOK_S = 120.0
AGAIN_S = 15.0
HINTS_S = 40.0
HINT = "league replay-match"


class Operator:
    """A person who looks at the league every two minutes."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._orders = 0

    def start(self) -> None:
        """Decide by chance which orders to give, and begin to look."""
        faults = self.world.faults
        after = self.world.agenda.after
        after(LOOK_S, self._look)
        after(HINTS_S, self._follow_hints)
        # Each order has a chance of its own, so that they also meet.
        if faults.occurs(1.0, "operator"):
            pause = faults.dice.uniform(5, 60)
            after(pause, partial(self.order, "pause"))
            after(
                pause + faults.dice.uniform(1, 100),
                partial(self.order, "resume"),
            )
        if faults.occurs(1.0, "operator"):
            after(faults.dice.uniform(5, 200), self._void_some_match)
        if faults.occurs(0.5, "operator"):
            after(faults.dice.uniform(5, 200), self._withdraw_somebody)
        if faults.occurs(0.5, "operator"):
            after(LOOK_S, self._void_after_the_end)

    def order(self, name: str, target: str = "") -> None:
        """Give an order, and repeat it until it is answered."""
        self._orders += 1
        self._give(Operate(name, f"order-{self._orders}", target), answered=[])

    def _give(self, order: Operate, answered: list[bool]) -> None:
        if answered or (self.world.league.is_finished and order.order != "replay-match"):
            return

        def heard(_answer: bytes, failure: Failure | None) -> None:
            if failure is None:
                answered.append(True)

        self.world.agenda.after(AGAIN_S, partial(self._give, order, answered))
        self.world.manager.operate(order, heard)

    def _look(self) -> None:
        """End every state in which the league waits for its operator."""
        if self.world.league.is_finished:
            return
        league = self.world.league
        if league.ledger.settings.enrolment == "approve":
            for applicant in league.ledger.roster.applicants.waiting:
                self.order("approve", applicant.applicant_id)
        if league.waiting == "WAITING_FOR_REGISTRATIONS":
            self.order("start")
        if league.waiting == "PAUSED":
            self.order("resume")
        for match_id in league.parked:
            self.order("replay-match", match_id)
        self.world.agenda.after(LOOK_S, self._look)

    def _follow_hints(self) -> None:
        """Have the matches replayed that the terminal says should be."""
        for match in self.world.league.ledger.matches.values():
            if match.basis is not None and HINT in match.basis.doubt:
                self.order("replay-match", match.match_id)
        self.world.agenda.after(HINTS_S, self._follow_hints)

    def _void_some_match(self) -> None:
        self._pick("replay-match", list(self.world.league.completed))

    def _void_after_the_end(self) -> None:
        """Void a match soon after the league is over; then it ends once more."""
        if self.world.league.is_finished:
            self._void_some_match()
            self.world.agenda.after(LOOK_S, self._look)
        else:
            self.world.agenda.after(AGAIN_S, self._void_after_the_end)

    def _withdraw_somebody(self) -> None:
        league = self.world.league
        # A league that has not started needs two players, and nobody would take the place of this one.
        if league.waiting != "WAITING_FOR_REGISTRATIONS" or len(self.world.players) > FEWEST_PLAYERS:
            self._pick("withdraw", list(league.player_ids))

    def _pick(self, order: str, choices: list[str]) -> None:
        if choices:
            self.order(order, self.world.faults.dice.choice(choices))
