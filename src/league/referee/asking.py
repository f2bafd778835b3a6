"""One question to one player, the invitation or a call for a choice: what failed attempts and wrong answers cost, and
how it is settled in the end (spec sections 6.3 to 6.5).

What counts against the player is in the match. Corrections are what is special here: after a wrong answer the player is
called again under the same deadline, three times at most (R-17).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

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
from league.referee import messages
from league.referee.answers import (
    Declined,
    MereAcknowledgement,
    Question,
    Refused,
    Valid,
    Wrong,
)
from league.referee.context import RefereeContext, quotable
from league.referee.game_errors import GameErrors
from league.referee.match import DECLINED, Match
from league.referee.messages import Fault

CORRECTIONS: Final = 3
TIMEOUT_CODE: Final = -1
"""What a referee's own record calls E001 (spec section 10.1)."""
CHOICES: Final = frozenset({"parity_choice", "move_data.choice"})
"""Where an answer says what was chosen."""
UNAVAILABLE: Final = "E045"
"""The player declines to choose: the service that thinks for it does not answer (spec section 8.17)."""
NOT_COMPOSED: Final = Ping()
"""Stands for the message of a delivery that was not called yet: each call has its own."""
_ANSWERS: Final = (Valid, Declined)
_INVITATION_S: Final = EXCHANGES["GAME_INVITATION"].limit_s
_UNREAD: Final = frozenset({"E034", "E035"})
_DETAILS: Final = {
    Failure.REFUSED: "the connection was refused",
    Failure.FORBIDDEN: "no agent is called at its address (spec section 7.5)",
    Failure.BROKEN: "the connection broke, or the answer was no HTTP",
    Failure.NOT_UNDERSTOOD: "the call was not understood",
}


@lru_cache(maxsize=64)
def _policy(limit_s: float, retry_delays_s: tuple[float, ...] | None) -> Policy:
    """Without delays a player is asked once."""
    retries = ONCE if retry_delays_s is None else RetrySchedule(retry_delays_s)
    return Policy(
        limit_s,
        retries,
        if_not_understood=Reaction.FAILED,
        accepts_late_answers=True,
    )


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
        convention = self._conventions.get(endpoint) or convention_of(assignment.conventions[seat])
        token = tokens[self._refused % len(tokens)] if tokens else None
        return Address(assignment.players[seat], endpoint, token, convention)

    def show(self, tokens: tuple[str, ...]) -> bool:
        """Show it these from the next call on. True if they are others than before."""
        are_new = tokens != self._tokens
        self._tokens = tokens
        self._refused = 0
        return are_new

    def show_another(self) -> bool:
        """It refused our token: it may go by another of its registrations. False when it has seen them all."""
        self._refused += 1
        return bool(self._tokens) and self._refused % len(self._tokens) != 0


class Asking:
    """`on_settled` is called when the player has given a valid answer or made its final fault."""

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
        self._awaited = messages.awaited_type(match)
        self._limit = match.taken.move_seconds if self._turn else _INVITATION_S
        self._answer: Valid | Declined | None = None
        self._fault = ("", "")
        self._has_new_tokens = False
        self._declined = False
        self._delivery = self._prepared(match, question.player_id, match.taken.suspended[seat])

    def _prepared(self, match: Match, player_id: str, is_suspended: bool) -> Delivery:
        turn = self._turn
        delays_s = None if is_suspended and not turn else match.taken.retry_delays_s
        phase = f"turn{turn}" if turn else "invite"
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
        """Only an invitation is harmless when it was understood after all (R-02). A choice is asked for in the proven
        convention; in another only after "no such method"."""
        purpose = Purpose.CHOOSE if self._turn else Purpose.INVITE
        return self._context.book.line(self._contact.address(), purpose)

    def _compose(self, delivery: Delivery, now: float) -> Message:
        match = self._question.match
        seat = self._question.seat
        sender = self._context.membership.sender
        if self._turn:
            return messages.call(match, seat, sender, now, delivery.attempt.ends or now)
        return messages.invitation(match, seat, sender, now)

    # --- inputs -------------------------------------------------------------------------------------------------------

    def ask(self, now: float) -> None:
        """Make the first call, or after a restart the one that was open."""
        last = self._seated.last
        calls = self._context.calls
        if last is None:
            calls.deliver([self._delivery], now)
            return
        failed = self._seated.failed
        delay = self._delivery.policy.retries.delay_before(failed) if failed else 0.0
        if delay is None or (isinstance(last, WrongAnswer) and not last.left):
            self._end_at_fault(last.code, last.detail, now)
        elif delay and not self._seated.wrong:
            calls.deliver_at(self._delivery, min(last.at, now) + delay, now)
        else:
            calls.deliver([self._delivery], now)

    def posted(self, read: Unsealed, now: float) -> PeerError | None:
        """The answer came as a request of its own, from the player."""
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
        """The player is shown another token, or answers with these are right too."""
        self._has_new_tokens = True
        question = self._question
        self._question = structs.replace(
            question,
            digests=(*question.digests, *digests),
            replies=(*question.replies, *replies),
        )

    def drop(self) -> None:
        """The match is over before its time."""
        self._context.calls.drop(self._delivery, cancel=True)

    # --- answers ------------------------------------------------------------------------------------------------------

    def _interpret(self, delivery: Delivery, content: Content, now: float) -> Interpretation:
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
        if answer.code in _UNREAD and not self._contact.is_proven and not self._turn:
            return Interpretation(
                Reaction.NOT_UNDERSTOOD,
                consequence=lambda then: self._wrong(answer, then),
            )
        return Interpretation(Reaction.WRONG, consequence=lambda then: self._wrong(answer, then))

    def _refused(self, delivery: Delivery, content: Content, answer: Refused) -> Interpretation:
        if isinstance(content, Refusal) and content.code == "E012" and self._contact.show_another():
            return Interpretation(Reaction.CALL_AGAIN)
        self._declined = answer.code == UNAVAILABLE
        failed = Interpretation(
            Reaction.FAILED,
            quotable(f"answered {self._call_in_words(delivery)} with {answer.detail}"),
        )
        if answer.understood or (self._turn and not answer.is_unknown):
            return failed
        return Interpretation(
            Reaction.NOT_UNDERSTOOD,
            failed.detail,
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
        """The player answered an invitation: record a convention that the documents do not have."""
        convention = self._contact.address().convention
        if convention in DOCUMENTED or self._question.is_strict:
            return
        detail = f"a call is a JSON-RPC request whose method is a verb or a message type, not {convention.value}"
        deviation = Violation("E036", "method", detail, "RPC.method")
        self._context.record(self._question.match, self._question.player_id, [deviation], now)

    def _wrong(self, answer: Wrong, now: float) -> Interpretation:
        """R-17: another call under the same deadline, three times at most."""
        nth = self._seated.wrong + 1
        corrections = max(CORRECTIONS + 1 - nth, 0) if self._is_correctable(answer) else 0
        wrong = {
            "code": answer.code,
            "detail": answer.detail,
            "path": answer.path,
            "requirement": answer.requirement,
        }
        self._context.happened(WrongAnswer(at=now, **self._about | wrong, left=corrections))
        context: Object = {"field": answer.path}
        if self._turn:
            if answer.path in CHOICES:
                context["invalid_choice"] = answer.given
            context["valid_choices"] = messages.valid_choices(self._question.match, self._question.seat)
        self._fault = (answer.code, answer.detail)
        if not corrections:
            self._send_error(
                Fault(
                    answer.code,
                    answer.detail,
                    CORRECTIONS,
                    None,
                    context=context,
                ),
                now,
            )
            return Interpretation(Reaction.FINALLY_WRONG)
        seconds_left = round((self._delivery.attempt.ends or now) - now, 3)
        self._send_error(
            Fault(
                answer.code,
                answer.detail,
                CORRECTIONS,
                nth,
                None,
                seconds_left,
                context,
            ),
            now,
        )
        return Interpretation(Reaction.CORRECTABLE)

    def _is_correctable(self, answer: Wrong) -> bool:
        """The same token would be wrong again, unless the manager has shown us others in the meantime."""
        return answer.code != "E012" or self._has_new_tokens

    # --- failed attempts ----------------------------------------------------------------------------------------------

    def _attempt_failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        if failed.failure is Failure.TIMEOUT:
            code = "E001"
            awaited = f"right {self._awaited}" if delivery.attempt.is_last else self._awaited
            detail = f"no {awaited} within {self._limit:g} seconds"
        else:
            code = UNAVAILABLE if self._declined else "E009"
            detail = failed.detail or _DETAILS[failed.failure]
        self._fault = (code, detail)
        self._declined = False
        context = self._timing(now)
        if delivery.attempt.is_last:
            self._send_error(Fault(code, detail, CORRECTIONS, None, context=context), now)
            return
        retry = None if failed.retry_at is None else self._seated.failed + 1
        most = len(self._question.match.taken.retry_delays_s)
        timed = {"rpc_code": TIMEOUT_CODE, "timeout_seconds": self._limit} if code == "E001" else {}
        failure = {
            **self._about,
            "code": code,
            "detail": detail,
            "max_retries": most,
            **timed,
        }
        self._context.happened(AttemptFailed(at=now, **failure, retry=retry))
        self._send_error(
            Fault(code, detail, most, retry, failed.retry_at, context=context),
            now,
        )

    def _timing(self, now: float) -> Object:
        """Which attempt failed, and after how long."""
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
        """A valid answer counts, to whichever attempt; so does a no."""
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
            convention = self._contact.address().convention.value  # as it was learned a moment ago
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
