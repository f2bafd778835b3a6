"""One question to one player, the invitation or a call for a choice: the price of failed attempts and wrong answers,
and how the question is settled (spec sections 6.3 to 6.5).

    asked ──▶ a valid answer, or a no: settled
      ├─────▶ no answer: a failed attempt; the engine calls again, until the last attempt is the player's fault
      └─────▶ a wrong answer: called again under the same deadline, three times at most (R-17)

The engine makes the calls, and tells this file how they went. The counts against the player are in the match, so a
restart forgives nothing. What must never happen: a question is settled twice, or a player loses by a fault of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from msgspec import structs

from league.calling.delivery import (
    ANSWERED,
    Attempt,
    Delivery,
    Ending,
    FailedAttempt,
    Interpretation,
    Policy,
    Reaction,
)
from league.calling.line import Line, Purpose
from league.events import (
    AttemptFailed,
    MoveMade,
    PlayerFaulted,
    PlayerJoined,
    WrongAnswer,
)
from league.games.contract import Seat
from league.machine import Address, Content, Failure, Ping, Refusal
from league.protocol.conventions import DOCUMENTED, convention_of
from league.protocol.envelope import Unsealed
from league.protocol.errors import PeerError, Violation
from league.protocol.exchanges import EXCHANGES, ONCE, RetrySchedule
from league.protocol.messages import Message
from league.protocol.parts import Object
from league.referee import referee_messages
from league.referee.answer_reading import (
    Declined,
    MereAcknowledgement,
    Question,
    Refused,
    Valid,
    Wrong,
)
from league.referee.game_errors import GameErrors
from league.referee.match import DECLINED, Match
from league.referee.referee_context import RefereeContext, quotable
from league.referee.referee_messages import Fault

CORRECTIONS: Final = 3
TIMEOUT_CODE: Final = -1
"""The number of E001 in a referee's own record (spec section 10.1)."""
CHOICES: Final = frozenset({"parity_choice", "move_data.choice"})
"""The places of the choice in an answer."""
UNAVAILABLE: Final = "E045"
"""The player declines to choose: the service that thinks for it does not answer (spec section 8.17)."""
NOT_COMPOSED: Final = Ping()
"""Stands for the message of a delivery that was not called yet: each call has its own."""
_ANSWERS: Final = (Valid, Declined)
_INVITATION_S: Final = EXCHANGES["GAME_INVITATION"].limit_s
_UNREAD: Final = frozenset({"E034", "E035"})
_DETAILS: Final = {
    Failure.REFUSED: "the connection was refused",
    Failure.FORBIDDEN: "its address may not be called (spec section 7.5)",
    Failure.BROKEN: "the connection broke, or the answer was not HTTP",
    Failure.NOT_UNDERSTOOD: "the call was not understood",
}


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


class FinalFault(NamedTuple):
    """The fault that settles a question if no valid answer does."""

    code: str
    detail: str


_NO_FAULT: Final = FinalFault("", "")


class Contact:
    """How a player of a match is called: where, in which convention, and which of our tokens it is shown."""

    def __init__(
        self,
        context: RefereeContext,
        match: Match,
        seat: Seat,
        tokens: tuple[str, ...],
    ) -> None:
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


class Asking:
    """The question of one turn to one player. `on_settled` is called when the player has given a valid answer or made
    its final fault."""

    def __init__(
        self,
        context: RefereeContext,
        question: Question,
        contact: Contact,
        errors: GameErrors,
        on_settled: Callable[[Seat, float], None],
    ) -> None:
        match = question.match
        seat = question.seat
        self._context = context
        self._question = question
        self._contact = contact
        self._game_errors = errors
        self._on_settled = on_settled
        self._seated = match.seated[seat]
        self._turn = match.turn
        self._awaited = referee_messages.awaited_type(match)
        self._limit = _INVITATION_S
        if self._turn:
            self._limit = match.taken.move_seconds
        self._answer: Valid | Declined | None = None
        self._fault = _NO_FAULT
        self._has_new_tokens = False
        self._declined = False
        self._delivery = self._prepared(match, question.player_id, match.taken.suspended[seat])

    def _prepared(self, match: Match, player_id: str, is_suspended: bool) -> Delivery:
        turn = self._turn
        phase = "invite"
        delays_s: tuple[float, ...] | None = match.taken.retry_delays_s
        if turn:
            phase = f"turn{turn}"
        elif is_suspended:
            # Nobody waits through retries for a player that has been missing for a while.
            delays_s = None
        return Delivery(
            player_id,
            f"{match.name}/{phase}/{player_id}",
            NOT_COMPOSED,
            _policy(self._limit, delays_s),
            self._contact.address,
            self._ended,
            self._attempt_failed,
            self._interpret,
            self._compose,
            self._line(),
            self._seated.failed,
            attempt=Attempt(is_last=self._seated.wrong > 0),
        )

    def _line(self) -> Line:
        """Open the line for this question."""
        # Only an invitation does no harm when it arrives twice. A choice is asked for in the proven convention,
        # and in another one only after "no such method".
        purpose = Purpose.INVITE
        if self._turn:
            purpose = Purpose.CHOOSE
        return self._context.book.line(self._contact.address(), purpose)

    def _compose(self, delivery: Delivery, now: float) -> Message:
        match = self._question.match
        seat = self._question.seat
        sender = self._context.membership.sender
        if self._turn:
            return referee_messages.call(match, seat, sender, now, delivery.attempt.ends or now)
        return referee_messages.invitation(match, seat, sender, now)

    # --- inputs -------------------------------------------------------------------------------------------------------

    def ask(self, now: float) -> None:
        """Make the first call, or after a restart the one that was open."""
        last = self._seated.last
        calls = self._context.calls
        if last is None:
            calls.deliver([self._delivery], now)
            return
        failed = self._seated.failed
        delay: float | None = 0.0
        if failed:
            delay = self._delivery.policy.retries.delay_before(failed)
        # The crash may have come between the last fault and its consequence.
        if delay is None or (isinstance(last, WrongAnswer) and not last.left):
            self._end_at_fault(last.code, last.detail, now)
        elif delay and not self._seated.wrong:
            calls.deliver_at(self._delivery, min(last.at, now) + delay, now)
        else:
            calls.deliver([self._delivery], now)

    def posted(self, read: Unsealed, now: float) -> PeerError | None:
        """Take an answer that the player sent as a request of its own; return what is wrong with it."""
        question = self._question
        answer = question.read(read, self._awaited)
        deviations = question.deviations(read, self._awaited)
        self._game_errors.tell_deviations(question.seat, deviations, self._called, now)
        if isinstance(answer, _ANSWERS):
            self._answer = answer
            self._context.calls.answered_by_request(self._delivery, now)
            return None
        if not isinstance(answer, Wrong):
            return None
        ends = self._delivery.attempt.ends
        # Between two attempts nobody is asked: a wrong answer then costs nothing.
        if ends is not None and now < ends:
            if self._wrong(answer, now).reaction is Reaction.CORRECTABLE:
                self._context.calls.correct(self._delivery, now)
            else:
                self._context.calls.end(self._delivery, Ending.FAILED, now)
        return PeerError(
            answer.code,
            answer.detail,
            {"field": answer.path},
            answer.requirement,
        )

    def accept_tokens(self, digests: tuple[str, ...], replies: tuple[str, ...]) -> None:
        """Accept answers with these tokens too, because the player is shown another token."""
        self._has_new_tokens = True
        question = self._question
        self._question = structs.replace(
            question,
            digests=(*question.digests, *digests),
            replies=(*question.replies, *replies),
        )

    def drop(self) -> None:
        """Stop asking: the match ends before its time."""
        self._context.calls.drop(self._delivery, cancel=True)

    # --- answers ------------------------------------------------------------------------------------------------------

    def _interpret(self, delivery: Delivery, content: Content, now: float) -> Interpretation:
        """Tell the engine what an answer to a call means."""
        question = self._question
        awaited = self._awaited
        answer = question.read(content, awaited)
        deviations = question.deviations(content, awaited)
        if deviations:
            self._game_errors.tell_deviations(question.seat, deviations, self._called, now)
        if isinstance(answer, _ANSWERS):
            self._answer = answer
            return ANSWERED
        if isinstance(answer, Refused):
            return self._refused(delivery, content, answer)
        if isinstance(answer, MereAcknowledgement):
            return Interpretation(Reaction.ACKNOWLEDGED, is_promise=answer.is_promise)
        reaction = Reaction.WRONG
        if answer.code in _UNREAD and not self._contact.is_proven and not self._turn:
            # An unreadable answer to a first invitation may be the answer to a call that was not understood.
            reaction = Reaction.NOT_UNDERSTOOD
        return Interpretation(
            reaction,
            consequence=lambda then: self._wrong(answer, then),
        )

    def _refused(self, delivery: Delivery, content: Content, answer: Refused) -> Interpretation:
        """Tell the engine what an error means: another token, another form, or a failed attempt."""
        if isinstance(content, Refusal) and content.code == "E012" and self._contact.show_another():
            return Interpretation(Reaction.CALL_AGAIN)
        self._declined = answer.code == UNAVAILABLE
        detail = quotable(f"answered {self._call_in_words(delivery)} with {answer.detail}")
        failed = Interpretation(Reaction.FAILED, detail)
        if answer.understood or (self._turn and not answer.is_unknown):
            return failed
        return Interpretation(
            Reaction.NOT_UNDERSTOOD,
            detail,
            answer.tells_more,
            lambda _: failed,
        )

    def _call_in_words(self, delivery: Delivery) -> str:
        """Name the method and the convention of a call, for the author of a player that did not understand it."""
        to = delivery.attempt.to
        if to is None or isinstance(delivery.message, Ping):
            return "our call"
        names = self._context.book.method_names(to.convention, delivery.message.type)
        return f"{names} ({to.convention.value})"

    def _record_convention(self, now: float) -> None:
        """Record a convention outside the documents, in which the player answered its invitation."""
        convention = self._contact.address().convention
        if convention in DOCUMENTED or self._question.is_strict:
            return
        detail = f"a call is a JSON-RPC request whose method is a verb or a message type, not {convention.value}"
        deviation = Violation("E036", "method", detail, "RPC.method")
        self._context.record(self._question.match, self._question.player_id, [deviation], now)

    def _wrong(self, answer: Wrong, now: float) -> Interpretation:
        """Count a wrong answer; the player may correct it under the same deadline, three times at most (R-17)."""
        nth = self._seated.wrong + 1
        corrections = 0
        if self._is_correctable(answer):
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
        context: Object = {"field": answer.path}
        if self._turn:
            if answer.path in CHOICES:
                context["invalid_choice"] = answer.choice
            context["valid_choices"] = referee_messages.valid_choices(self._question.match, self._question.seat)
        self._fault = FinalFault(answer.code, answer.detail)
        retry = None
        time_remaining = None
        reaction = Reaction.FINALLY_WRONG
        if corrections:
            ends = self._delivery.attempt.ends or now
            retry = nth
            time_remaining = round(ends - now, 3)
            reaction = Reaction.CORRECTABLE
        fault = Fault(
            answer.code,
            answer.detail,
            CORRECTIONS,
            retry,
            time_remaining=time_remaining,
            context=context,
        )
        self._send_error(fault, now)
        return Interpretation(reaction)

    def _is_correctable(self, answer: Wrong) -> bool:
        """May the player answer again?"""
        # The same token would be wrong again, unless the manager has shown us others in the meantime.
        return answer.code != "E012" or self._has_new_tokens

    # --- failed attempts ----------------------------------------------------------------------------------------------

    def _attempt_failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        """Count a failed attempt, and tell the player of it."""
        fault = self._fault_in(delivery, failed)
        self._fault = fault
        self._declined = False
        context = self._timing(now)
        if delivery.attempt.is_last:
            # The wrong answer was counted: that no right one followed is part of it.
            self._send_error(Fault(fault.code, fault.detail, CORRECTIONS, None, context=context), now)
            return
        retry = None
        if failed.retry_at is not None:
            retry = self._seated.failed + 1
        max_retries = len(self._question.match.taken.retry_delays_s)
        timing = {}
        if fault.code == "E001":
            timing = {"rpc_code": TIMEOUT_CODE, "timeout_seconds": self._limit}
        failure = {
            **self._about,
            "code": fault.code,
            "detail": fault.detail,
            "max_retries": max_retries,
            **timing,
        }
        self._context.happened(AttemptFailed(at=now, **failure, retry=retry))
        error = Fault(
            fault.code,
            fault.detail,
            max_retries,
            retry,
            failed.retry_at,
            context=context,
        )
        self._send_error(error, now)

    def _fault_in(self, delivery: Delivery, failed: FailedAttempt) -> FinalFault:
        """Return the fault that a failed attempt would be if it were the last."""
        if failed.failure is not Failure.TIMEOUT:
            detail = failed.detail or _DETAILS[failed.failure]
            if self._declined:
                return FinalFault(UNAVAILABLE, detail)
            return FinalFault("E009", detail)
        awaited = self._awaited
        if delivery.attempt.is_last:
            # It answered, but not well.
            awaited = f"correct {awaited}"
        return FinalFault("E001", f"no {awaited} within {self._limit:g} seconds")

    def _timing(self, now: float) -> Object:
        """Say which attempt failed, and after how long."""
        elapsed = round(max(now - self._delivery.attempt.begun_at, 0.0), 3)
        return {
            "attempt": self._seated.failed + 1,
            "limit_seconds": self._limit,
            "elapsed": elapsed,
        }

    def _send_error(self, fault: Fault, now: float) -> None:
        self._game_errors.send(self._question.seat, fault, self._called, now)

    @property
    def _called(self) -> Address:
        """Where and how the player was called last."""
        return self._delivery.attempt.to or self._contact.address()

    # --- the end ------------------------------------------------------------------------------------------------------

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        """Settle the question. A valid answer counts, to whichever attempt; so does a no."""
        question = self._question
        answer = self._answer
        assignment = question.match.taken
        if outcome is Ending.ANSWERED and not self._turn:
            self._record_convention(now)
        if outcome is not Ending.ANSWERED or answer is None:
            self._end_at_fault(*self._fault, now)
        elif isinstance(answer, Declined):
            self._end_at_fault(DECLINED, "declined the invitation", now)
        elif answer.choice is not None:
            self._context.happened(
                MoveMade(
                    at=now,
                    match_id=assignment.match_id,
                    attempt=assignment.attempt,
                    player_id=question.player_id,
                    turn=self._turn,
                    choice=answer.choice,
                    provenance=answer.provenance,
                )
            )
            self._on_settled(question.seat, now)
        else:
            # The line learned it a moment ago.
            convention = self._contact.address().convention.value
            self._context.happened(
                PlayerJoined(
                    at=now,
                    match_id=assignment.match_id,
                    attempt=assignment.attempt,
                    player_id=question.player_id,
                    convention=convention,
                )
            )
            self._on_settled(question.seat, now)

    def _end_at_fault(self, code: str, detail: str, now: float) -> None:
        self._context.happened(PlayerFaulted(at=now, **self._about, code=code, detail=detail))
        self._on_settled(self._question.seat, now)

    @property
    def _about(self) -> dict[str, Any]:
        """How events name the question (Any: ready to be spread into one)."""
        match = self._question.match
        return {
            **match.named,
            "player_id": self._question.player_id,
            "phase": match.phase,
            "turn": self._turn,
        }
