"""How a player of a match is called, and how long it may take for its answer."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

from league.calling.delivery import Delivery, Policy, Reaction
from league.calling.line import Line, Purpose
from league.games.contract import Seat
from league.machine import Address, Ping
from league.protocol.conventions import DOCUMENTED, convention_of
from league.protocol.errors import Violation
from league.protocol.message.exchanges import EXCHANGES, ONCE, RetrySchedule
from league.referee.match import Match, Seated
from league.referee.referee_context import RefereeContext

SHORTEST_S: Final = 1.0
"""The time for a choice of a player whose clock has run down."""
_INVITATION_S: Final = EXCHANGES["GAME_INVITATION"].limit_s


class Contact:
    """How a player of a match is called: where, in which convention, and which of our tokens it is shown."""

    def __init__(
        self,
        context: RefereeContext,
        match: Match,
        seat: Seat,
        tokens: tuple[str, ...],
    ) -> None:
        self._context = context
        self._conventions = context.book.conventions
        self._match = match
        self._seat = seat
        self._tokens = tokens
        self._refused = 0

    @property
    def is_proven(self) -> bool:
        """Did somebody at this endpoint answer an invitation before?"""
        return self._conventions.get(self._match.taken.endpoints[self._seat]) is not None

    def address(self) -> Address:
        assignment = self._match.taken
        seat = self._seat
        tokens = self._tokens
        endpoint = assignment.endpoints[seat]
        # A convention that we learned ourselves counts more than the manager's word.
        convention = self._conventions.get(endpoint) or convention_of(assignment.conventions[seat])
        token = None
        if tokens:
            token = tokens[self._refused % len(tokens)]
        return Address(assignment.players[seat], endpoint, token, convention)

    def show(self, tokens: tuple[str, ...]) -> bool:
        """Show the player these tokens from the next call on. True if they have changed."""
        are_new = tokens != self._tokens
        self._tokens = tokens
        self._refused = 0
        return are_new

    def show_another(self) -> bool:
        """Show the player another token, because it refused the last one. False when it has seen them all."""
        # It may have registered several times, and go by an earlier registration.
        self._refused += 1
        return bool(self._tokens) and self._refused % len(self._tokens) != 0

    def line(self) -> Line:
        """Open the line for the question of this turn."""
        # Only an invitation does no harm when it arrives twice. A choice is asked for in the proven convention,
        # and in another one only after "no such method".
        purpose = Purpose.INVITE
        if self._match.turn:
            purpose = Purpose.CHOOSE
        return self._context.book.line(self.address(), purpose)

    def call_in_words(self, delivery: Delivery) -> str:
        """Name the method and the convention of a call, for the author of a player that did not understand it."""
        to = delivery.attempt.to
        if to is None or isinstance(delivery.message, Ping):
            return "our call"
        names = self._context.book.method_names(to.convention, delivery.message.type)
        return f"{names} ({to.convention.value})"

    def record_convention(self, now: float) -> None:
        """Record a convention outside the documents, in which the player answered its invitation."""
        convention = self.address().convention
        if convention in DOCUMENTED or self._context.settings.is_strict:
            return
        detail = f"a call is a JSON-RPC request whose method is a verb or a message type, not {convention.value}"
        deviation = Violation("E036", "method", detail, "RPC.method")
        self._context.record(self._match, self._match.taken.players[self._seat], [deviation], now)

    def called(self, delivery: Delivery) -> Address:
        """Return where and how the player was called last."""
        return delivery.attempt.to or self.address()


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
