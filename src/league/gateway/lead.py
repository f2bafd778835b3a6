"""Matches of a third-party schedule wait for their time (spec section 13.5): nobody plays ahead of the manager.

A manager may publish its schedule before all players have registered, and announce rounds to players alone, at least a
minute before their matches (D4 4.1). A referee that hears of no announcement holds the matches of a round back:

    held ──▶ the manager calls the round current, or announces it ──▶ due
      └────▶ all players of the round answer a ping, and nothing happens for LEAD_S ──▶ due

What must never happen: a match that is held for ever, so both ways end without the manager's help once its players are
there. Nothing here is journalled: after a restart matches that were held are due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from league.calling.delivery import Delivery, Ending, FailedAttempt, Policy
from league.machine import Address, Failure, Ping
from league.referee.match import Match
from league.referee.referee_context import RefereeContext

LEAD_S: Final = 60.0
LOOK_S: Final = 3.0
_PING: Final = Policy(limit_s=3.0, is_waited_for=False)
_IS_THERE: Final = (Failure.BUSY, Failure.NOT_UNDERSTOOD, Failure.SERVER_ERROR, Failure.UNUSABLE, Failure.ERROR)
"""Failures that show that somebody answered the ping, if not as the documents do."""


def look_for(player: str, endpoint: str, label: str, then: Callable[[Delivery, bool, float], None]) -> Delivery:
    """Ping a player; `then` gets whether anybody answered."""
    answered = []

    def failed(_: Delivery, attempt: FailedAttempt, __: float) -> None:
        if attempt.failure in _IS_THERE:
            answered.append(attempt)

    def ended(delivery: Delivery, outcome: Ending, now: float) -> None:
        then(delivery, bool(answered) or outcome is not Ending.FAILED, now)

    address = Address(player, endpoint)
    return Delivery(player, label, Ping(), _PING, lambda: address, on_end=ended, on_attempt_failed=failed)


class Lead:
    """The matches that are held. `on_due` begins those that are not any more."""

    def __init__(self, context: RefereeContext, on_due: Callable[[float], None]) -> None:
        self.heard_at = 0.0
        """When the manager last sent us a message."""
        self._context = context
        self._on_due = on_due
        self._held: set[str] = set()
        self._seen: dict[str, float] = {}
        """When each player first answered."""
        self._pings: dict[str, Delivery] = {}

    def hold(self, match_ids: Iterable[str], now: float) -> None:
        self._held.update(match_ids)
        self._context.timers.set(self, now + LOOK_S, self._look)

    def holds(self, match: Match) -> bool:
        return match.match_id in self._held

    def end(self) -> None:
        """Hold nothing any more."""
        self._held.clear()
        self._context.timers.clear(self)
        for ping in self._pings.values():
            self._context.calls.drop(ping, cancel=True)
        self._pings.clear()

    def release(self, now: float) -> None:
        if self._held:
            self.end()
            self._on_due(now)

    def is_early(self, player: str, now: float) -> bool:
        """True if a player that was never seen may not have begun yet."""
        first = None
        for match in self._context.docket.matches.values():
            if player not in match.taken.players:
                continue
            if match.seated[match.taken.players.index(player)].joined:
                return False
            first = first or match
        return first is not None and now < first.taken.at + LEAD_S

    def _look(self, now: float) -> None:
        """Ping the players that were not seen, and see whether the manager has been silent for long enough."""
        held = [match for match in self._context.docket.open.values() if self.holds(match)]
        players: dict[str, str] = {}
        for match in held:
            players.update(zip(match.taken.players, match.taken.endpoints, strict=True))
        unseen = players.keys() - self._seen.keys()
        if not unseen:
            happened = (match.events[-1].at for match in self._context.docket.matches.values() if match.events)
            seen_at = (self._seen[player] for player in players)
            if now >= max((self.heard_at, *happened, *seen_at)) + LEAD_S:
                self.release(now)
                return
        for player in unseen - self._pings.keys():
            if players[player]:
                self._pings[player] = look_for(player, players[player], "lead", self._looked)
                self._context.calls.deliver([self._pings[player]], now)
        self._context.timers.set(self, now + LOOK_S, self._look)

    def _looked(self, delivery: Delivery, is_there: bool, now: float) -> None:
        del self._pings[delivery.peer]
        if is_there:
            self._seen[delivery.peer] = now
