"""How the league stands, asked of the manager every 30 s while an agent has nothing to do (GET_STATUS; section 7.2).

So it learns what it was not told: that it was withdrawn, that its league is over, and that the manager was started anew
with another league, which does not know our token: then we register again (membership.py). Only a manager that derives
its tokens is asked, since only of that one is it known what its answers mean. Nothing here survives a crash.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from league.calling.delivery import Delivery, Ending, FailedAttempt, Interpretation, Policy, Reaction
from league.calling.role import Context
from league.events import LeagueEnded, Withdrawn
from league.machine import Content, Refusal
from league.membership import Membership
from league.protocol.envelope import Unsealed
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import LeagueQuery, LeagueQueryResponse
from league.protocol.parts import QueryParams
from league.protocol.tokens import MANAGER

POLL_S: Final = 30.0
SHOW_TOKEN_S: Final = 60.0
"""Not more often than this we show the manager which token we go by."""
_ROW: Final = EXCHANGES["LEAGUE_QUERY"]
_POLICY: Final = Policy(_ROW.limit_s, _ROW.retries, if_not_understood=Reaction.FAILED)


class StatusPoll:
    """One question at a time. `is_idle`: nothing else keeps us in touch with the league; `on_ended` is told that it is
    over for us."""

    def __init__(
        self,
        context: Context,
        membership: Membership,
        is_idle: Callable[[], bool],
        on_ended: Callable[[LeagueEnded | Withdrawn, float], None],
    ) -> None:
        self.trouble = ""
        """Why the last question came to nothing, for people."""
        self._context, self._membership = context, membership
        self._is_idle, self._on_ended = is_idle, on_ended
        self._delivery: Delivery | None = None
        self._asked = 0
        self._token_shown_until = -math.inf
        self._is_stopped = False

    @property
    def is_asking(self) -> bool:
        return self._delivery is not None

    def begin(self, now: float) -> None:
        """We have become a member, or are one again."""
        self._is_stopped, self.trouble = False, ""
        if self._membership.derived_tokens:
            self._context.timers.set(self, now + POLL_S, self._poll)

    def stop(self) -> None:
        """The league is over for us."""
        self._is_stopped = True
        self._context.timers.clear(self)
        if self._delivery is not None:
            self._context.calls.drop(self._delivery)
            self._delivery = None

    def ask(self, now: float) -> None:
        """Ask now, whatever we are doing."""
        if self._membership.derived_tokens and self._delivery is None:
            self._delivery = self._question(now)
            self._context.calls.deliver([self._delivery], now)

    def show_token(self, now: float) -> None:
        """A registration that was delivered twice leaves the manager with a newer token than ours: what it shows us
        then is not what we know. Any request tells it which one we go by (R-36)."""
        if now >= self._token_shown_until and not self._is_stopped:
            self._token_shown_until = now + SHOW_TOKEN_S
            self.ask(now)

    def _poll(self, now: float) -> None:
        self._context.timers.set(self, now + POLL_S, self._poll)
        if self._is_idle():
            self.ask(now)

    def _question(self, now: float) -> Delivery:
        self._asked += 1
        us = self._membership
        message = LeagueQuery(
            **us.sealed(now, f"conv-{us.agent_id}-status-{self._asked}".lower()),
            league_id=us.league_id,
            query_type="GET_STATUS",
            query_params=QueryParams(),
        )
        return Delivery(
            MANAGER,
            f"status/{self._asked}",
            message,
            _POLICY,
            address=lambda: us.manager,
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
        if outcome is Ending.ANSWERED:
            self.trouble = ""
            ended = _end_in(_data_in(delivery.answer), now)
            if ended is not None:
                self._on_ended(ended, now)


def _data_in(answer: Content | None) -> Mapping[str, Any]:
    message = answer.message if isinstance(answer, Unsealed) else None
    return (message.data if isinstance(message, LeagueQueryResponse) else None) or {}


def _end_in(status: Mapping[str, Any], now: float) -> LeagueEnded | Withdrawn | None:
    """Is the league over for us? As long as the manager means to tell us more, it is not."""
    if status.get("your_state") != "SHUTDOWN":
        return None
    if status.get("withdrawn") is True:
        return Withdrawn(at=now)
    champion = status.get("champion")
    return LeagueEnded(at=now, champion=champion) if isinstance(champion, str) else None
