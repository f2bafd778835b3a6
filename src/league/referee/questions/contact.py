"""How a player of a match is called: where, in which convention, and which of our tokens it is shown."""

from __future__ import annotations

from league.calling.delivery import Delivery
from league.calling.line import Line, Purpose
from league.games.contract import Seat
from league.machine import Address, Ping
from league.protocol.conventions import DOCUMENTED, convention_of
from league.protocol.errors import Violation
from league.referee.match import Match
from league.referee.referee_context import RefereeContext


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
