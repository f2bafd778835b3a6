"""The draws of one match: of our seed alone, or of our seed and the share of the manager (spec section 6)."""

from __future__ import annotations

from collections.abc import Callable

from league.calling.delivery import Delivery, Ending
from league.events import DrawRequested, MatchDropped, NumberDrawn, ShareReceived
from league.games import draw
from league.protocol.message.envelope import Unsealed
from league.protocol.message.messages import DrawResponse
from league.protocol.signing.tokens import MANAGER
from league.referee import referee_messages
from league.referee.manager_report import TO_MANAGER, interpret_answer
from league.referee.match import Match
from league.referee.referee_context import RefereeContext, error_in


class Drawing:
    """Draws numbers. `on_drawn` is called when the match can go on, `on_dropped` when it is not ours any more."""

    def __init__(
        self,
        context: RefereeContext,
        match: Match,
        on_drawn: Callable[[float], None],
        on_dropped: Callable[[float], None],
    ) -> None:
        self._context = context
        self._match = match
        self._on_drawn = on_drawn
        self._on_dropped = on_dropped
        self._request: Delivery | None = None

    def drop(self) -> None:
        """Stop: the match ends before its time."""
        if self._request is not None:
            self._context.calls.drop(self._request, cancel=True)

    def draw(self, now: float) -> None:
        """Draw until somebody is to move or the game is over."""
        assignment = self._match.taken
        match_id = assignment.match_id
        attempt = assignment.attempt
        seed = bytes.fromhex(assignment.seed)
        if assignment.share_commitment:
            if self._match.draws.share is None:
                self._ask_for_share(now)
                return
            seed = draw.mixed(seed, bytes.fromhex(self._match.draws.share))
        # A game may draw many times in a row, as when cards are dealt.
        while self._match.next_step == "DRAW":
            index = len(self._match.draws.numbers)
            weights = self._match.course.to_move.weights
            number = draw.event(seed, assignment.league_id, match_id, attempt, index, weights)
            self._context.happened(NumberDrawn(at=now, match_id=match_id, attempt=attempt, number=number))
        self._on_drawn(now)

    def _ask_for_share(self, now: float) -> None:
        """Hand in the choices so far and our seed, until the manager answers with its share. We never draw alone."""
        if self._request is not None:
            return
        if not self._match.draws.is_requested:
            # Choices need not be durable to be counted, but they must be before anybody learns them.
            self._context.happened(DrawRequested(at=now, **self._match.named))
        membership = self._context.membership
        self._request = Delivery(
            MANAGER,
            f"{self._match.name}/draw",
            referee_messages.draw_request(self._match, membership.sender, now),
            TO_MANAGER,
            address=lambda: membership.manager,
            on_end=self._share_came,
            interpret=lambda _, content, then: interpret_answer(self._context, content, then),
            line=membership.line(),
        )
        self._context.calls.deliver([self._request], now)

    def _share_came(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._request = None
        answer = delivery.answer
        response = answer.message if isinstance(answer, Unsealed) else None
        if isinstance(response, DrawResponse):
            named = self._match.named
            self._context.happened(ShareReceived(at=now, **named, share=response.draw_share))
            self._on_drawn(now)
            return
        # The match is not ours any more, or the manager decides it.
        why = f"the manager gave no share of the draw ({error_in(answer) or 'an answer without one'})"
        self._context.happened(MatchDropped(at=now, **self._match.named, why=why))
        self._on_dropped(now)
