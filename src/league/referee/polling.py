"""Asking for matches where the manager gives none by itself (spec section 13.5): `get_assigned_matches`. Never under
our manager, which announces, and never again where somebody else's did.

What is asked and answered is lost in a crash; the matches that were taken are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from league.calling.delivery import Delivery, Ending, FailedAttempt, Interpretation, Policy, Reaction
from league.dialects import assignments as foreign
from league.dialects.assignments import Assignee, Fields, GetAssignedMatches
from league.machine import Content, Failure, Information, Refusal
from league.protocol.errors import PeerError, Violation
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import Message, RoundAnnouncement
from league.protocol.tokens import MANAGER
from league.referee import assignments
from league.referee.context import RefereeContext

POLL_AFTER_S: Final = 3.0
"""So long a new member waits for matches before it asks for them."""
POLL_S: Final = 3.0
IN_VAIN: Final = 10
"""After so many questions in a row that brought nothing, the next is asked later."""
POLL_SLOWLY_S: Final = 15.0
_METHOD: Final = "get_assigned_matches"


class Polling:
    """One call at a time, and none while a match is played. `take` opens what was found like any announcement."""

    def __init__(self, context: RefereeContext, take: Callable[[RoundAnnouncement, float, str], None]) -> None:
        self._context, self._take = context, take
        self._polls = 0
        self._in_vain = 0
        self._delivery: Delivery | None = None

    def begin(self, now: float) -> None:
        """We have become a member, or are one again."""
        self.end()
        membership, settings = self._context.membership, self._context.settings
        is_guest = membership.is_registered and not membership.derived_tokens
        if is_guest and not settings.is_strict and self._context.docket.state != "SHUTDOWN":
            self._in_vain = 0
            self._context.timers.set(self, now + POLL_AFTER_S, self._poll)

    def end(self) -> None:
        """Matches come by themselves, or none will come: ask no more in this membership."""
        self._context.timers.clear(self)
        if self._delivery is not None:
            self._context.calls.drop(self._delivery, cancel=True)
            self._delivery = None

    # --- calls --------------------------------------------------------------------------------------------------------

    def _poll(self, now: float) -> None:
        if any(match.is_located for match in self._context.docket.open.values()):
            self._poll_later(now)
            return
        self._polls += 1
        self._in_vain += 1
        membership = self._context.membership
        message = GetAssignedMatches(
            **self._envelope(now), referee_id=membership.agent_id, league_id=membership.league_id or None
        )
        self._call(f"assigned/{self._polls}", message, now)

    def _envelope(self, now: float) -> dict[str, Any]:
        """Any: as `seal` has it."""
        membership = self._context.membership
        return membership.sealed(now, f"conv-{membership.agent_id}-poll-{self._polls}".lower())

    def _call(self, label: str, message: Message, now: float) -> None:
        membership = self._context.membership
        self._delivery = Delivery(
            MANAGER,
            label,
            message,
            Policy(EXCHANGES["LEAGUE_QUERY"].limit_s, if_not_understood=Reaction.FAILED),
            address=lambda: membership.manager,
            on_end=self._ended,
            on_attempt_failed=self._failed,
            interpret=self._interpret,
        )
        self._context.calls.deliver([self._delivery], now)

    def _poll_later(self, now: float, at_least: float = 0.0) -> None:
        delay = POLL_SLOWLY_S if self._in_vain >= IN_VAIN else POLL_S
        self._context.timers.set(self, now + max(delay, at_least), self._poll)

    # --- answers ------------------------------------------------------------------------------------------------------

    def _interpret(self, delivery: Delivery, content: Content, now: float) -> Interpretation:
        if isinstance(content, Refusal) and not content.understood:
            return Interpretation(Reaction.NOT_UNDERSTOOD, content.detail)
        return Interpretation(Reaction.ANSWERED)

    def _failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        """A manager that does not know the question is not asked again."""
        self._delivery = None
        if failed.failure is not Failure.NOT_UNDERSTOOD:
            self._poll_later(now)

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        if outcome is Ending.FAILED:
            if self._delivery is delivery:  # busy: it asked for time
                self._delivery = None
                self._poll_later(now, delivery.busy_s)
            return
        self._delivery = None
        content, registration = delivery.answer, self._context.membership.registration
        answer = content.data if isinstance(content, Information) else {}
        if isinstance(content, Information):
            registration.request_accepted()
        elif isinstance(content, Refusal):
            registration.request_refused(content.code, now)
        self._look_at(foreign.matches_in(answer), now)
        self._poll_later(now)

    def _look_at(self, listed: list[Fields], now: float) -> None:
        """Take what is new and ours; of what we have, where its players live."""
        membership = self._context.membership
        for one in listed:
            try:
                if foreign.is_wanted(one, membership.agent_id):
                    self._take_listed(one, now)
            except PeerError as error:
                clause = error.requirement or "ROUND_ANNOUNCEMENT.matches"
                deviation = Violation(error.code, "matches", error.detail, clause, lenient=True)
                membership.record((deviation,), now)

    def _take_listed(self, given: Fields, now: float) -> None:
        """PeerError for what nobody could play."""
        read = foreign.announcement_in(given, assignee(self._context), now)
        announcement = read.open()
        assert isinstance(announcement, RoundAnnouncement)
        (match,) = announcement.matches
        is_new, held = assignments.is_new(match, self._context), self._context.docket.open.get(match.match_id)
        if is_new or (held is not None and not held.is_located):
            self._take(announcement, now, read.round_name)
        if is_new:
            self._in_vain = 0
            self._context.membership.record((foreign.deviation(_METHOD),), now)


def assignee(context: RefereeContext) -> Assignee:
    """Us, as a match is given to us."""
    membership = context.membership
    return Assignee(membership.agent_id, membership.meta.contact_endpoint, membership.league_id)
