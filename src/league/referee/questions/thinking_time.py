"""How long a player may take for its answer, and what that costs it in a game with clocks."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

from league.calling.delivery import Policy, Reaction
from league.protocol.message.exchanges import EXCHANGES, ONCE, RetrySchedule
from league.referee.match import Match, Seated

SHORTEST_S: Final = 1.0
"""The time for a choice of a player whose clock has run down."""
_INVITATION_S: Final = EXCHANGES["GAME_INVITATION"].limit_s


@lru_cache(maxsize=64)
def _policy(limit_s: float, retry_delays_s: tuple[float, ...] | None) -> Policy:
    """Return the policy of a question. Without delays a player is asked once."""
    retries = ONCE
    if retry_delays_s is not None:
        retries = RetrySchedule(retry_delays_s)
    return Policy(
        limit_s,
        retries,
        if_not_understood=Reaction.FAILED,
        accepts_late_answers=True,
    )


class ThinkingTime:
    """How long the player may take: the limit of an attempt, and the clock of a game that has one."""

    def __init__(self, match: Match, seated: Seated) -> None:
        self.limit_s = _INVITATION_S
        self.asked_at: float | None = None
        self._clock_s = match.game.clock_s(match.taken.move_seconds)
        self._match = match
        self._seated = seated
        if match.turn:
            self.limit_s = match.taken.move_seconds
            if self._clock_s is not None:
                self.limit_s = min(self.limit_s, self._left_s(self._clock_s))

    def _left_s(self, clock_s: float) -> float:
        """Return what the player has left of its time for the match: at least a moment, in which it may answer."""
        return max(clock_s - self._seated.spent, SHORTEST_S)

    def policy(self, *, is_single: bool) -> Policy:
        """Return the limit of an attempt, and the pauses between the attempts if there is more than a single one."""
        delays_s = self._match.taken.retry_delays_s
        attempts = self._attempts()
        if is_single:
            return _policy(self.limit_s, None)
        if self._match.turn and attempts is not None:
            delays_s = delays_s[: attempts - 1]
        return _policy(self.limit_s, delays_s)

    def _attempts(self) -> int | None:
        """How many attempts can begin before the player's time for the whole match is over; None without a clock."""
        if self._clock_s is None:
            return None
        return math.ceil(self._left_s(self._clock_s) / self.limit_s)

    def took(self, now: float) -> float:
        """Return what a choice costs on the player's clock: the time since we asked, not that of our own restarts."""
        if self._clock_s is None or self.asked_at is None:
            return 0.0
        return round(max(now - self.asked_at, 0.0), 3)
