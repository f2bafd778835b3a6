"""What counts against a player if no valid answer comes: its failed attempts, its wrong answers, and its final fault.

The player is told of each by GAME_ERROR. The counts are in the match, so a restart forgives nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from league.calling.delivery import Delivery, FailedAttempt, Interpretation, Reaction
from league.events import AttemptFailed, PlayerFaulted, WrongAnswer
from league.machine import Failure
from league.protocol.errors import Violation
from league.protocol.message.experiment import Provenance
from league.protocol.message.parts import Object
from league.referee import referee_messages
from league.referee.match import ANSWERED_EMPTY, REFUSED_BECAUSE
from league.referee.questions.answer_reading import Question, Wrong
from league.referee.questions.by_address import AnswerByAddress, is_empty
from league.referee.questions.contact import Contact, ThinkingTime
from league.referee.questions.game_errors import GameErrors
from league.referee.questions.trouble import MAY_WAIT
from league.referee.referee_context import RefereeContext, quotable
from league.referee.referee_messages import Fault

CORRECTIONS: Final = 3
TIMEOUT_CODE: Final = -1
"""The number of E001 in a referee's own record (spec section 10.1)."""
CHOICES: Final = frozenset({"parity_choice", "move_data.choice"})
"""The places of the choice in an answer."""
UNAVAILABLE: Final = "E045"
"""The player declines to choose: the service that thinks for it does not answer (spec section 8.17)."""
WITHOUT_TOKEN: Final = frozenset({"E011", "E012"})
"""Without the token that a player is held to, an answer is nobody's."""
FALLBACK: Final = "E046"
"""The player's language model did not choose, and the league accepts no fallback (spec section 8.17)."""
_DETAILS: Final = {
    Failure.REFUSED: "the connection was refused",
    Failure.FORBIDDEN: "its address may not be called (spec section 7.5)",
    Failure.BROKEN: "the connection broke, or the answer was not HTTP",
    Failure.SERVER_ERROR: "answered with an HTTP status of 500 or more",
    Failure.UNUSABLE: "answered with something that is too large or compressed",
    Failure.NOT_UNDERSTOOD: "the call was not understood",
}
_UNLESS_POSTED: Final = (
    "technical loss, unless a valid answer comes as a request of your own before the deadline; there is no other call"
)

_UNCOUNTED: Final = (
    "it came as a request of its own without a token, "
    "which counts only if the call itself is answered with an empty 2xx"
)


class FinalFault(NamedTuple):
    """The fault that settles a question if no valid answer does."""

    code: str
    detail: str
    reached: bool = False
    """True if the player answered, if only with an error."""


class Charges:
    """What counts against one player in one question."""

    def __init__(
        self,
        context: RefereeContext,
        question: Question,
        contact: Contact,
        errors: GameErrors,
        time: ThinkingTime,
        by_address: AnswerByAddress,
    ) -> None:
        match = question.match
        self.fault = FinalFault("", "")
        """What the player would lose by now."""
        self.refused_with = ""
        """The code of the error with which the player answered in this attempt."""
        self.is_waiting = False
        """True from the first time that the manager is asked about a loss."""
        self.has_new_tokens = False
        """True if the manager named more tokens of the player since it was asked."""
        self._context = context
        self._match = match
        self._seat = question.seat
        self._contact = contact
        self._errors = errors
        self._time = time
        self._by_address = by_address
        self._seated = match.seated[question.seat]
        self._awaited = referee_messages.awaited_type(match)
        self._unsent_error: Fault | None = None
        """The GAME_ERROR about a loss that the manager is asked about; it is sent when the loss is decided."""
        self._about = match.asked(question.player_id)

    def count_wrong(self, answer: Wrong, delivery: Delivery, now: float) -> Interpretation:
        """Count a wrong answer; the player may correct it under the same deadline, three times at most (T-09)."""
        nth = self._seated.wrong + 1
        ends = delivery.attempt.ends or now
        corrections = 0
        retry_at = now + self._pause_before(nth)
        is_correctable = self._is_correctable(answer)
        if is_correctable and retry_at < ends:
            corrections = max(CORRECTIONS + 1 - nth, 0)
        self._context.happened(
            WrongAnswer(
                at=now,
                **self._about,
                code=answer.code,
                detail=answer.detail,
                path=answer.path,
                requirement=answer.requirement,
                left=corrections,
            )
        )
        self.fault = FinalFault(answer.code, answer.detail, reached=True)
        context = self._about_wrong(answer)
        # While the match waits for a token, the player is asked again anyway.
        is_waiting = self.is_waiting and answer.code in WITHOUT_TOKEN
        if not is_correctable or is_waiting:
            self._send_error(Fault(answer.code, answer.detail, CORRECTIONS, None, context=context), delivery, now)
            return Interpretation(Reaction.FINALLY_WRONG)
        fault = Fault(
            answer.code,
            answer.detail,
            CORRECTIONS,
            nth,
            retry_at,
            time_remaining=round(ends - now, 3),
            context=context,
        )
        if corrections:
            self._send_error(fault, delivery, now)
            return Interpretation(Reaction.CORRECTABLE, pause_s=retry_at - now)
        self._send_error(replace(fault, retry=None, retry_at=None, consequence=_UNLESS_POSTED), delivery, now)
        return Interpretation(Reaction.EXHAUSTED)

    def _about_wrong(self, answer: Wrong) -> Object:
        """Say what is wrong with an answer, and what would be right."""
        context: Object = {"field": answer.path}
        if self._match.turn:
            if answer.path in CHOICES:
                context["invalid_choice"] = answer.choice
            context["valid_choices"] = referee_messages.valid_choices(self._match, self._seat)
        return context

    def _pause_before(self, nth: int) -> float:
        """Return the time between the nth wrong answer and the call that asks for a correction."""
        delays_s = self._match.taken.retry_delays_s
        if not delays_s:
            return 0.0
        return delays_s[min(nth, len(delays_s)) - 1]

    def _is_correctable(self, answer: Wrong) -> bool:
        """May the player answer again?"""
        # The same token would be wrong again, unless the manager has shown us others in the meantime.
        return answer.code != "E012" or self.has_new_tokens

    def count_failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        """Count a failed attempt, and tell the player of it."""
        if self._seated.is_finally_wrong:
            # The last wrong answer was the fault, and the player was told.
            return
        fault = self._fault_in(delivery, failed)
        self.fault = fault
        self.refused_with = ""
        # While the match waits, only an answer counts.
        if self.is_waiting:
            return
        context = self._timing(delivery, now)
        if delivery.attempt.is_last:
            # The wrong answer was counted: that no right one followed is part of it.
            self._tell(Fault(fault.code, fault.detail, CORRECTIONS, None, context=context), delivery, now)
            return
        retry = None
        if failed.retry_at is not None:
            retry = self._seated.failed + 1
        max_retries = len(self._match.taken.retry_delays_s)
        timing = {}
        if fault.code == "E001":
            timing = {"rpc_code": TIMEOUT_CODE, "timeout_seconds": self._time.limit_s}
        failure = {
            **self._about,
            "code": fault.code,
            "detail": fault.detail,
            "max_retries": max_retries,
            **timing,
        }
        self._context.happened(AttemptFailed(at=now, **failure, retry=retry, reached=fault.reached))
        error = Fault(
            fault.code,
            fault.detail,
            max_retries,
            retry,
            failed.retry_at,
            context=context,
        )
        self._tell(error, delivery, now)

    def _tell(self, error: Fault, delivery: Delivery, now: float) -> None:
        """Tell the player what went wrong. That it has lost is told when that is decided."""
        if error.retry is None and self._may_wait(error.code, self.fault.reached):
            self._unsent_error = error
        else:
            self._send_error(error, delivery, now)

    def _fault_in(self, delivery: Delivery, failed: FailedAttempt) -> FinalFault:
        """Return the fault that a failed attempt would be if it were the last."""
        if failed.failure is not Failure.TIMEOUT:
            detail = failed.detail or _DETAILS[failed.failure]
            if self.refused_with == UNAVAILABLE:
                return FinalFault(UNAVAILABLE, detail, reached=True)
            return FinalFault("E009", detail, failed.is_reached)
        awaited = self._awaited
        if delivery.attempt.is_last:
            # It answered, but not well.
            awaited = f"correct {awaited}"
        detail = f"no {awaited} within {self._time.limit_s:g} seconds"
        refused = self._seated.refused
        if refused is not None:
            detail = quotable(f"{detail}; {REFUSED_BECAUSE}{refused.detail} ({refused.code})")
        elif self._by_address.answer is not None:
            detail = f"{detail}; {REFUSED_BECAUSE}{_UNCOUNTED}"
        elif failed.is_reached and is_empty(delivery.answer):
            detail = f"{detail}; {ANSWERED_EMPTY}"
        return FinalFault("E001", detail, failed.is_reached)

    def _timing(self, delivery: Delivery, now: float) -> Object:
        """Say which attempt failed, and after how long."""
        elapsed = round(max(now - delivery.attempt.begun_at, 0.0), 3)
        return {
            "attempt": self._seated.failed + 1,
            "limit_seconds": self._time.limit_s,
            "elapsed": elapsed,
        }

    def tell_deviations(self, deviations: Sequence[Violation], delivery: Delivery, now: float) -> None:
        """Tell the player what it did that was not of the documents, and was accepted."""
        self._errors.tell_deviations(self._seat, deviations, self._contact.called(delivery), now)

    def _send_error(self, fault: Fault, delivery: Delivery, now: float) -> None:
        address = self._contact.called(delivery)
        if fault.code == "E001" and not self._seated.wrong:
            # The last call may have been in a form that the player does not know.
            address = delivery.line.likeliest(address)
        self._errors.send(self._seat, fault, address, now)

    def _may_wait(self, code: str, is_reached: bool) -> bool:
        """True if the manager has a say before a fault of this kind is final, or the player may not have begun yet."""
        if self._context.membership.agreement.asks_before_losses:
            return code in MAY_WAIT
        return code == "E009" and not is_reached

    def blame(self, fault: FinalFault) -> bool:
        """Let this be the fault that the player loses by. False if it is final, and the manager has no say."""
        if fault.code in WITHOUT_TOKEN and self._may_wait("E001", True):
            # It may have no token yet: then the answer to its registration was lost, which is not its fault.
            detail = f"no {self._awaited} with its token; {REFUSED_BECAUSE}{fault.detail} ({fault.code})"
            fault = FinalFault("E001", quotable(detail), reached=True)
        self.fault = fault
        return self._may_wait(fault.code, fault.reached)

    def refuse_fallback(self, provenance: Provenance, delivery: Delivery, now: float) -> None:
        """Let the player lose whose language model did not choose: this league accepts no other choice."""
        detail = "its language model did not choose"
        if provenance.fallback_reason:
            detail += f" ({quotable(provenance.fallback_reason)})"
        self._send_error(Fault(FALLBACK, detail, CORRECTIONS, None), delivery, now)
        self.fault = FinalFault(FALLBACK, detail, reached=True)
        self.settle(delivery, now, provenance)

    def settle(self, delivery: Delivery, now: float, provenance: Provenance | None = None) -> None:
        """Let the player lose by its fault."""
        if self._unsent_error is not None:
            self._send_error(self._unsent_error, delivery, now)
        fault = self.fault
        self._context.happened(
            PlayerFaulted(
                at=now,
                **self._about,
                code=fault.code,
                detail=fault.detail,
                reached=fault.reached,
                provenance=provenance,
            )
        )
