"""Trouble: before a player loses because it did not answer, the manager is asked (spec section 8.15).

    the last attempt failed ──▶ asking the manager ── decide ──▶ the fault is final
                                   ▲        └── wait ──▶ pausing, 5 seconds ──▶ the player is asked again
                                   └────────────────────── no answer ──────────────┘       └── answer ──▶ settled

`Asking` begins this with the fault that would be final, and makes the calls to the player; this file asks the manager
and keeps the pause. The match does not change meanwhile: same attempt, same turn, same position, and nobody else hears
of it. Nothing here survives a crash. After a restart the last failed attempt is in the journal, so the manager is
asked again; the manager's own journal knows how long the match may wait. If this referee or the manager was away, the
player may be back before its loss is allowed: then it is asked once more first.

What must never happen: a loss by one of these faults that the manager did not allow, if both sides declared that it is
asked; a second question to a player while the first is open; a pause that ends without an answer or another question.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from league.calling.delivery import ANSWERED, Delivery, Ending, Interpretation, Policy, Reaction
from league.events import PlayerAwaited
from league.games.contract import Seat
from league.machine import Content
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import MatchTrouble, MatchTroubleResponse, Message
from league.protocol.signing.tokens import MANAGER
from league.referee.match import Match
from league.referee.referee_context import RefereeContext, error_in, quotable

MAY_WAIT: Final = frozenset({"E001", "E009", "E045"})
"""Faults of a player that gave no answer: somebody else may be the cause."""
ASK_AGAIN_S: Final = 5.0
OUTDATED_S: Final = 15.0
"""An attempt that failed longer ago says little about the player."""
_TO_MANAGER: Final = Policy(
    EXCHANGES["MATCH_TROUBLE"].limit_s,
    EXCHANGES["MATCH_TROUBLE"].retries,
    if_not_understood=Reaction.REFUSED,
)
_KNOWN_LATER: Final = frozenset({"E010", "E011", "E012", "E041", "E099"})
"""Refusals that say nothing about the match: the question is repeated."""


class Trouble:
    """The question to the manager about one player and one question of a match.

    `on_decided` makes the fault final; `on_ask_again` asks the player once more.
    """

    def __init__(
        self,
        context: RefereeContext,
        match: Match,
        seat: Seat,
        on_decided: Callable[[float], None],
        on_ask_again: Callable[[float], None],
    ) -> None:
        self._context = context
        self._match = match
        self._seat = seat
        self._on_decided = on_decided
        self._on_ask_again = on_ask_again
        self._code = ""
        self._failed_at = 0.0
        self._is_confirmed = False
        """True if an outdated failure was followed by another attempt."""
        self._endpoint = ""
        """Where the player was when the attempt failed: it may have another address by now."""
        self._delivery: Delivery | None = None

    def begin(self, code: str, failed_at: float, now: float) -> None:
        """Ask the manager about a fault that would be final, until it answers."""
        self._code = code
        self._failed_at = failed_at
        self._endpoint = self._match.taken.endpoints[self._seat]
        player_id = self._match.taken.players[self._seat]
        membership = self._context.membership
        if not membership.agreement.asks_before_losses:
            self._await_start(player_id, now)
            return
        self._delivery = Delivery(
            MANAGER,
            f"{self._match.name}/trouble/{player_id}",
            self._question(now),
            _TO_MANAGER,
            address=lambda: membership.manager,
            on_end=self._answered,
            interpret=self._interpret,
            compose=lambda _, then: self._question(then),
            line=membership.line(),
        )
        self._context.calls.deliver([self._delivery], now)

    def drop(self) -> None:
        """Stop: the player has answered, or the match ends before its time."""
        self._context.timers.clear(self)
        if self._delivery is not None:
            self._context.calls.drop(self._delivery, cancel=True)
            self._delivery = None

    def _await_start(self, player_id: str, now: float) -> None:
        """Wait for a player that may not have begun yet; nobody is asked."""
        if self._context.guest.awaits(player_id, now):
            self._note("it has not begun to listen", now)
            self._context.timers.set(self, now + ASK_AGAIN_S, self._on_ask_again)
        else:
            self._on_decided(now)

    def _question(self, now: float) -> Message:
        match = self._match
        return MatchTrouble(
            **self._context.membership.sealed(now, match.conversation_id),
            league_id=match.taken.league_id,
            **match.named,
            turn=match.turn,
            player_id=match.taken.players[self._seat],
            code=self._code,
            behind=match.is_behind(self._seat) or None,
        )

    def _interpret(self, delivery: Delivery, content: Content, now: float) -> Interpretation:
        """Tell the engine what the manager's answer means. A refusal about the match leaves the decision to us."""
        registration = self._context.membership.registration
        code = error_in(content)
        if code is not None and code in _KNOWN_LATER:
            registration.request_refused(code, now)
            return Interpretation(Reaction.FAILED, code)
        registration.request_accepted()
        return ANSWERED

    def _answered(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._delivery = None
        answer = delivery.answer
        response = answer.message if isinstance(answer, Unsealed) else None
        if not isinstance(response, MatchTroubleResponse) or response.decision == "decide":
            has_moved = self._match.taken.endpoints[self._seat] != self._endpoint
            is_outdated = has_moved or now >= self._failed_at + OUTDATED_S
            if self._is_confirmed or not is_outdated:
                self._on_decided(now)
            else:
                self._is_confirmed = True
                self._on_ask_again(now)
            return
        self._note(response.reason or "", now)
        self._context.timers.set(self, now + ASK_AGAIN_S, self._on_ask_again)

    def _note(self, why: str, now: float) -> None:
        """Record the pause, once for each question to the player."""
        match = self._match
        if match.seated[self._seat].is_awaited:
            return
        self._context.happened(
            PlayerAwaited(
                at=now,
                **match.asked(match.taken.players[self._seat]),
                code=self._code,
                why=quotable(why),
            )
        )
