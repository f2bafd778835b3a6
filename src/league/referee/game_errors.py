"""GAME_ERROR to the players of a match: beside the match, once each, and always before its GAME_OVER (spec section
5.16)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from league.calling.delivery import Delivery, Policy
from league.games.contract import SEATS, Seat
from league.machine import Address
from league.protocol.errors import REFUSED_BY_STRICT, Violation
from league.protocol.exchanges import EXCHANGES
from league.referee import messages
from league.referee.context import RefereeContext, quotable
from league.referee.match import Match
from league.referee.messages import Fault

LAST_WORD_S: Final = 2.0
"""So long GAME_OVER waits at most for the answer to a GAME_ERROR before it."""
NO_CONSEQUENCE: Final = "none in this league; strict leagues refuse it"
_LIMIT_S: Final = EXCHANGES["GAME_ERROR"].limit_s


class GameErrors:
    """The errors of one match."""

    def __init__(self, context: RefereeContext, match: Match) -> None:
        self._context, self._match = context, match
        self._under_way: dict[Seat, tuple[Delivery, float]] = {}
        """The newest to each player, and when it was sent."""
        self._held: dict[Seat, Delivery] = {}
        """GAME_OVER, while it waits."""
        self._count = 0

    def send(self, seat: Seat, fault: Fault, to: Address, now: float) -> None:
        """Nobody but GAME_OVER waits for its answer."""
        self._count += 1
        match, player_id = self._match, self._match.taken.players[seat]
        delivery = Delivery(
            player_id,
            f"{match.name}/error/{player_id}/{match.turn}/{self._count}",
            messages.game_error(match, seat, fault, self._context.membership.sender, now),
            Policy(_LIMIT_S, is_waited_for=False),
            address=lambda: to,
            on_end=lambda ended, _, then: self._ended(seat, ended, then),
        )
        self._under_way[seat] = delivery, now
        self._context.calls.deliver([delivery], now)

    def tell_deviations(self, seat: Seat, found: Iterable[Violation], to: Address, now: float) -> None:
        """What `compat` let pass for the first time is recorded; what `strict` leagues refuse the player is told, once
        per kind and league."""
        player_id = self._match.taken.players[seat]
        here = {code for who, code, _ in self._context.docket.deviations if who == player_id}
        told = here.union(self._match.taken.told[seat])
        for one in self._context.record(self._match, player_id, found, now):
            if one.code in REFUSED_BY_STRICT - told:
                told.add(one.code)
                context = {"field": one.path, "requirement": one.requirement}
                fault = Fault(one.code, quotable(one.detail), 0, 0, context=context, consequence=NO_CONSEQUENCE)
                self.send(seat, fault, to, now)

    def deliver_after(self, deliveries: Iterable[Delivery], now: float) -> None:
        """GAME_OVER, to each player when its last error was answered or given up, and soon in any case."""
        for seat, one in zip(SEATS, deliveries, strict=True):
            error = self._under_way.get(seat)
            if error is None:
                self._context.calls.deliver([one], now)
            else:
                self._held[seat] = one
                _, sent_at = error
                self._context.calls.deliver_at(one, sent_at + LAST_WORD_S, now)

    def _ended(self, seat: Seat, delivery: Delivery, now: float) -> None:
        newest = self._under_way.get(seat)
        if newest is not None and newest[0] is delivery:
            del self._under_way[seat]
            held = self._held.pop(seat, None)
            if held is not None:
                self._context.calls.hasten(held, now)
