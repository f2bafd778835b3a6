"""Asks the manager every 30 s how the league stands, while an agent has nothing to do (GET_STATUS; section 7.2).

So an agent learns what no message told it: that it was withdrawn, that its league is over, or that the manager was
started with another league. Such a manager does not know our token, and we register again (membership.py). Only
managers that derive their tokens are asked: the answers of others may mean anything. Nothing here survives a crash.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from league.calling.delivery import (
    Delivery,
    Ending,
    FailedAttempt,
    Interpretation,
    Policy,
    Reaction,
)
from league.calling.role import Context
from league.events import LeagueEnded
from league.machine import Content, Refusal
from league.membership import Membership
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import LeagueQuery, LeagueQueryResponse
from league.protocol.message.parts import QueryParams
from league.protocol.signing.tokens import MANAGER

POLL_S: Final = 30.0
SHOW_TOKEN_S: Final = 60.0
"""Minimum time between two requests that only show the manager our token."""
_ROW: Final = EXCHANGES["LEAGUE_QUERY"]
_POLICY: Final = Policy(_ROW.limit_s, _ROW.retries, if_not_understood=Reaction.FAILED)


class StatusPoll:
    """Asks one question at a time.

    `is_idle` returns True while nothing else keeps us in touch with the league; `on_ended` is called when the league is
    over for us.
    """

    def __init__(
        self,
        context: Context,
        membership: Membership,
        is_idle: Callable[[], bool],
        on_ended: Callable[[LeagueEnded, float], None],
    ) -> None:
        self.trouble = ""
        """Why the last question failed, for people."""
        self._context = context
        self._membership = membership
        self._is_idle = is_idle
        self._on_ended = on_ended
        self._delivery: Delivery | None = None
        self._count = 0
        self._token_shown_until = -math.inf
        self._is_stopped = False

    @property
    def is_asking(self) -> bool:
        return self._delivery is not None

    def begin(self, now: float) -> None:
        """Begin to ask: we have become a member, or are one again."""
        self._is_stopped = False
        self.trouble = ""
        if self._membership.agreement.derived_tokens:
            self._context.timers.set(self, now + POLL_S, self._poll)

    def stop(self) -> None:
        """Stop asking: the league is over for us."""
        self._is_stopped = True
        self._context.timers.clear(self)
        if self._delivery is not None:
            self._context.calls.drop(self._delivery)
            self._delivery = None

    def ask(self, now: float) -> None:
        """Ask now, even if we are busy."""
        if self._membership.agreement.derived_tokens and self._delivery is None:
            self._delivery = self._question(now)
            self._context.calls.deliver([self._delivery], now)

    def show_token(self, now: float) -> None:
        """Show the manager which token we go by, by any request (R-36)."""
        # After a registration that arrived twice, the manager goes by a newer token than we do, and shows one to match.
        if now >= self._token_shown_until and not self._is_stopped:
            self._token_shown_until = now + SHOW_TOKEN_S
            self.ask(now)

    def _poll(self, now: float) -> None:
        self._context.timers.set(self, now + POLL_S, self._poll)
        if self._is_idle():
            self.ask(now)

    def _question(self, now: float) -> Delivery:
        self._count += 1
        membership = self._membership
        conversation_id = f"conv-{membership.agent_id}-status-{self._count}".lower()
        message = LeagueQuery(
            **membership.sealed(now, conversation_id),
            league_id=membership.league_id,
            query_type="GET_STATUS",
            query_params=QueryParams(),
        )
        return Delivery(
            MANAGER,
            f"status/{self._count}",
            message,
            _POLICY,
            address=lambda: membership.manager,
            on_end=self._ended,
            on_attempt_failed=self._attempt_failed,
            interpret=self._interpret,
        )

    # --- answers ------------------------------------------------------------------------------------------------------

    def _interpret(self, _: Delivery, content: Content, now: float) -> Interpretation:
        registration = self._membership.registration
        if isinstance(content, Refusal):
            registration.request_refused(content.code, now)
            return Interpretation(Reaction.REFUSED, content.detail)
        registration.request_accepted()
        return Interpretation(Reaction.ANSWERED)

    def _attempt_failed(self, _: Delivery, failed: FailedAttempt, now: float) -> None:
        self.trouble = f"{self._membership.endpoint}: {failed.in_words}"
        if failed.retry_at is None:
            self._delivery = None

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._delivery = None
        if outcome is not Ending.ANSWERED:
            return
        self.trouble = ""
        end = _end_in(_data_in(delivery.answer), now)
        if end is not None:
            self._on_ended(end, now)


def _data_in(answer: Content | None) -> Mapping[str, Any]:
    if isinstance(answer, Unsealed) and isinstance(answer.message, LeagueQueryResponse):
        return answer.message.data or {}
    return {}


def _end_in(status: Mapping[str, Any], now: float) -> LeagueEnded | None:
    """Return the end of the league for us, if this status says so."""
    # A manager that has more to tell us does not call us SHUTDOWN.
    if status.get("your_state") != "SHUTDOWN":
        return None
    if status.get("withdrawn") is True:
        return LeagueEnded(at=now, withdrawn=True)
    champion = status.get("champion")
    if not isinstance(champion, str):
        return None
    return LeagueEnded(at=now, champion=champion)
