"""Sends GAME_ERROR to the players of a match (spec section 5.16).

The match does not wait for its answers, with one exception: GAME_OVER is the last word. So while the newest error to a
player is under way, GAME_OVER is held back for that player: until the error is answered or given up, and no longer than
`LAST_WORD_S`. Nothing is retried, and all of it is lost in a crash."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from league.calling.delivery import Delivery, Policy
from league.games.contract import SEATS, Seat
from league.machine import Address
from league.protocol.errors import REFUSED_BY_STRICT, Violation
from league.protocol.message.exchanges import EXCHANGES
from league.referee import referee_messages
from league.referee.match import Match
from league.referee.referee_context import RefereeContext, quotable
from league.referee.referee_messages import Fault

LAST_WORD_S: Final = 2.0
"""The longest time that GAME_OVER waits for the answer to a GAME_ERROR."""
NO_CONSEQUENCE: Final = "none in this league; strict leagues refuse it"
_LIMIT_S: Final = EXCHANGES["GAME_ERROR"].limit_s


class _SentError(NamedTuple):
    """A GAME_ERROR on its way."""

    delivery: Delivery
    sent_at: float


class GameErrors:
    """The errors of one match."""

    def __init__(self, context: RefereeContext, match: Match) -> None:
        self._context = context
        self._match = match
        self._under_way: dict[Seat, _SentError] = {}
        """The newest to each player."""
        self._held: dict[Seat, Delivery] = {}
        """GAME_OVER, while it waits."""
        self._count = 0

    def send(self, seat: Seat, fault: Fault, to: Address, now: float) -> None:
        """Send an error; nobody but GAME_OVER waits for its answer."""
        self._count += 1
        match = self._match
        player_id = match.taken.players[seat]
        delivery = Delivery(
            player_id,
            f"{match.name}/error/{player_id}/{match.turn}/{self._count}",
            referee_messages.game_error(match, seat, fault, self._context.membership.sender, now),
            Policy(_LIMIT_S, is_waited_for=False),
            address=lambda: to,
            on_end=lambda ended, _, then: self._ended(seat, ended, then),
        )
        self._under_way[seat] = _SentError(delivery, now)
        self._context.calls.deliver([delivery], now)

    def tell_deviations(
        self,
        seat: Seat,
        deviations: Iterable[Violation],
        to: Address,
        now: float,
    ) -> None:
        """Record deviations that `compat` accepted for the first time; tell the player, once per kind and league, what
        `strict` leagues refuse."""
        player_id = self._match.taken.players[seat]
        # Other referees may have told it: the manager says so.
        told_codes = set(self._match.taken.told[seat])
        for agent_id, code, _ in self._context.docket.deviations:
            if agent_id == player_id:
                told_codes.add(code)
        for deviation in self._context.record(self._match, player_id, deviations, now):
            if deviation.code not in REFUSED_BY_STRICT or deviation.code in told_codes:
                continue
            told_codes.add(deviation.code)
            context = {
                "field": deviation.path,
                "requirement": deviation.requirement,
            }
            fault = Fault(
                deviation.code,
                quotable(deviation.detail),
                0,
                0,
                context=context,
                consequence=NO_CONSEQUENCE,
            )
            self.send(seat, fault, to, now)

    def deliver_after(self, deliveries: Iterable[Delivery], now: float) -> None:
        """Deliver GAME_OVER to each player when its last error was answered or given up, and soon in any case."""
        for seat, delivery in zip(SEATS, deliveries, strict=True):
            error = self._under_way.get(seat)
            if error is None:
                self._context.calls.deliver([delivery], now)
            else:
                self._held[seat] = delivery
                self._context.calls.deliver_at(delivery, error.sent_at + LAST_WORD_S, now)

    def _ended(self, seat: Seat, delivery: Delivery, now: float) -> None:
        newest = self._under_way.get(seat)
        # An older error holds nothing back any more.
        if newest is not None and newest.delivery is delivery:
            del self._under_way[seat]
            held = self._held.pop(seat, None)
            if held is not None:
                self._context.calls.hasten(held, now)
