"""The report of one match to the manager: sent, word for word the same each time, until an answer ends it.

What must never happen: a result that the manager did not take counts as reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from league.calling.delivery import ANSWERED, Delivery, Ending, FailedAttempt, Interpretation, Policy, Reaction
from league.events import ReportSettled
from league.machine import Acknowledged, Content, Refusal
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import MatchResultAck, Message
from league.protocol.signing.tokens import MANAGER
from league.referee import referee_messages
from league.referee.match import Match
from league.referee.referee_context import GuestReport, RefereeContext, error_in, quotable

ENDS_REPORTING: Final = frozenset({"E014", "E016", "E017", "E039", "E040"})
"""Errors after which a report is not repeated."""
MOST_CORRECTIONS: Final = 8
TO_MANAGER: Final = Policy(
    EXCHANGES["MATCH_RESULT_REPORT"].limit_s,
    EXCHANGES["MATCH_RESULT_REPORT"].retries,
    if_not_understood=Reaction.FAILED,
)


class ManagerReport:
    """The report of one match. `on_reported` is called when the manager has the result."""

    def __init__(self, context: RefereeContext, match: Match, on_reported: Callable[[Match], None]) -> None:
        self._context = context
        self._match = match
        self._on_reported = on_reported
        self._delivery: Delivery | None = None
        self._guest_report: GuestReport | None = None
        self._is_dropped = False

    def send(self, now: float) -> None:
        """Send the report, word for word the same each time, until the manager's answer ends it."""
        if self._delivery is not None or self._guest_report is not None:
            return
        report = referee_messages.report(self._match, self._context.membership.sender)
        # A third-party manager may count a match as often as it is reported, and have a word of its own for a draw.
        guest_report = self._context.guest.report(report, self._match.taken.round_name)
        if guest_report is None:
            self._send(report, now)
        else:
            self._guest_report = guest_report
            guest_report.begin(lambda later: self._send(guest_report.message(), later), now)

    def _send(self, message: Message, now: float) -> None:
        if self._is_dropped:
            return
        membership = self._context.membership
        delivery = Delivery(
            MANAGER,
            f"{self._match.name}/report",
            message,
            TO_MANAGER,
            address=lambda: membership.manager,
            on_end=self._reported,
            on_attempt_failed=self._report_failed,
            interpret=self._read_answer,
            line=membership.line(),
        )
        guest_report = self._guest_report
        if guest_report is not None:
            delivery.policy = guest_report.policy
            delivery.compose = lambda *_: guest_report.message()
        self._delivery = delivery
        self._context.calls.deliver([delivery], now)

    def _read_answer(self, delivery: Delivery, content: Content, now: float) -> Interpretation:
        """Tell the engine what the manager's answer to a report means."""
        code = error_in(content)
        guest_report = self._guest_report
        if guest_report is not None and code is None:
            guest_report.accepted()
        elif guest_report is not None and guest_report.is_refused_for_winner(content):
            return Interpretation(Reaction.CALL_AGAIN)
        return interpret_answer(self._context, content, now)

    def _report_failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        """Tell our operator that the result is not stored yet, and why."""
        trouble = f"the manager has not answered the report of {self._match.match_id} ({failed.in_words})"
        if failed.detail == "E012":
            trouble = (
                f"the manager refused the report of {self._match.match_id} (E012), so this referee registers again"
            )
        self._context.report_troubles[self._match.name] = trouble
        if self._guest_report is not None:
            self._guest_report.failure = failed.failure

    def _reported(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._delivery = None
        guest_report = self._guest_report
        if guest_report is not None and outcome is Ending.FAILED:
            guest_report.failed(
                delivery.busy_s,
                lambda later: self._settle_report(guest_report.outcome or "ACCEPTED", later),
                lambda later: self._send(guest_report.message(), later),
                now,
            )
        else:
            answer = error_in(delivery.answer)
            if guest_report is None or answer is not None:
                self._settle_report(answer or "ACCEPTED", now, _corrections_in(delivery.answer))
                return
            guest_report.verify(
                lambda wrong, later: self._settle_report(guest_report.outcome or "ACCEPTED", later, wrong),
                now,
            )

    def _settle_report(self, answer: str, now: float, corrected: tuple[str, ...] = ()) -> None:
        match = self._match
        self._end()
        self._context.happened(
            ReportSettled(
                at=now,
                **match.named,
                answer=answer,
                corrected=corrected,
            )
        )
        self._on_reported(match)

    def drop(self) -> None:
        """Stop: a newer attempt was given out, or the league is over."""
        self._is_dropped = True
        if self._delivery is not None:
            self._context.calls.drop(self._delivery, cancel=True)
        self._end()

    def _end(self) -> None:
        self._context.report_troubles.pop(self._match.name, None)
        if self._guest_report is not None:
            self._guest_report.end()


def interpret_answer(context: RefereeContext, content: Content, now: float) -> Interpretation:
    """Tell the engine what the manager's answer about a match means."""
    registration = context.membership.registration
    code = error_in(content)
    if isinstance(content, Acknowledged):
        context.membership.record(content.deviations, now)
    if code is None or code in ENDS_REPORTING:
        # The manager read the report: it knows us and our token.
        registration.request_accepted()
        return ANSWERED
    registration.request_refused(code, now)
    if isinstance(content, Refusal) and not content.understood:
        return Interpretation(Reaction.NOT_UNDERSTOOD, content.detail)
    return Interpretation(Reaction.FAILED, code)


def _corrections_in(content: Content | None) -> tuple[str, ...]:
    """Return what the manager changed in the report, by its acknowledgement."""
    if not isinstance(content, Unsealed) or not isinstance(content.message, MatchResultAck):
        return ()
    corrections = content.message.corrected or ()
    return tuple(quotable(f"{correction.field}: {correction.reason}") for correction in corrections[:MOST_CORRECTIONS])
