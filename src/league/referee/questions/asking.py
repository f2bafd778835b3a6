"""One question to one player, the invitation or a call for a choice: the price of failed attempts and wrong answers,
and how the question is settled (spec sections 6.3 to 6.5).

    asked ──▶ a valid answer, or a no: settled
      ├─────▶ no answer: a failed attempt; the engine calls again, until the last attempt is the player's fault, unless
      │       the manager, which is asked first, has the match wait (trouble.py)
      ├─────▶ a wrong answer: called again under the same deadline after a pause, three times at most; after that only a
      │       request of the player's own may still bring a valid answer, until the deadline (T-09)
      └─────▶ an answer that only its address shows to be the player's (`--trust class`): it counts if the call was
              answered with an empty 2xx (T-04)

The engine makes the calls, and tells this file how they went. The counts against the player are in the match, so a
restart forgives nothing. What must never happen: a question is settled twice, or a player loses by a fault of ours.
A choice that was legal is final: nothing here asks for another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from msgspec import structs

from league.calling.delivery import (
    ANSWERED,
    CallAttempt,
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
from league.machine import Acknowledged, Address, Content, Failure, Ping, Refusal
from league.protocol.conventions import DOCUMENTED, Convention, convention_of
from league.protocol.errors import PeerError, Violation
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import EXCHANGES, ONCE, RetrySchedule
from league.protocol.message.experiment import Provenance
from league.protocol.message.messages import Message
from league.protocol.message.parts import Object
from league.referee import referee_messages
from league.referee.match import ANSWERED_EMPTY, DECLINED, REFUSED_BECAUSE, Match, Seated
from league.referee.questions.answer_reading import (
    Declined,
    MereAcknowledgement,
    Question,
    Refused,
    Valid,
    Wrong,
)
from league.referee.questions.game_errors import GameErrors
from league.referee.questions.trouble import MAY_WAIT, Trouble
from league.referee.referee_context import RefereeContext, quotable
from league.referee.referee_messages import Fault

CORRECTIONS: Final = 3
SHORTEST_S: Final = 1.0
"""The time for a choice of a player whose clock has run down."""
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
NOT_COMPOSED: Final = Ping()
"""Stands for the message of a delivery that was not called yet: each call has its own."""
_ANSWERS: Final = (Valid, Declined)
_INVITATION_S: Final = EXCHANGES["GAME_INVITATION"].limit_s
_PROBING: Final = Policy(limit_s=20.0, is_waited_for=False)
"""How long it may take to find out how a player is spoken to. Nothing of it counts against the player."""
_UNREAD: Final = frozenset({"E034", "E035"})
_DETAILS: Final = {
    Failure.REFUSED: "the connection was refused",
    Failure.FORBIDDEN: "its address may not be called (spec section 7.5)",
    Failure.BROKEN: "the connection broke, or the answer was not HTTP",
    Failure.SERVER_ERROR: "answered with an HTTP status of 500 or more",
    Failure.UNUSABLE: "answered with something that is too large or compressed",
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
    reached: bool = False
    """True if the player answered, if only with an error."""


_NO_FAULT: Final = FinalFault("", "")
_UNLESS_POSTED: Final = (
    "technical loss, unless a valid answer comes as a request of your own before the deadline; there is no other call"
)

_UNCOUNTED: Final = (
    "it came as a request of its own without a token, "
    "which counts only if the call itself is answered with an empty 2xx"
)


class Charges:
    """What counts against the player if no valid answer comes."""

    def __init__(self) -> None:
        self.fault = _NO_FAULT
        self.is_unavailable = False
        """True if the service that thinks for the player did not answer in this attempt."""
        self.unsent_error: Fault | None = None
        """The GAME_ERROR about a loss that the manager is asked about; it is sent when the loss is decided."""


class ThinkingTime:
    """How long the player may take: the limit of an attempt, and the clock of a game that has one."""

    def __init__(self, match: Match, seated: Seated) -> None:
        self.limit_s = _INVITATION_S
        self.asked_at: float | None = None
        self._clock_s = match.game.clock_s(match.taken.move_seconds)
        self._seated = seated
        if match.turn:
            self.limit_s = match.taken.move_seconds
            if self._clock_s is not None:
                self.limit_s = min(self.limit_s, self._left_s(self._clock_s))

    def _left_s(self, clock_s: float) -> float:
        """Return what the player has left of its time for the match: at least a moment, in which it may answer."""
        return max(clock_s - self._seated.spent, SHORTEST_S)

    @property
    def attempts(self) -> int | None:
        """How many attempts can begin before the player's time for the whole match is over; None without a clock."""
        if self._clock_s is None:
            return None
        return math.ceil(self._left_s(self._clock_s) / self.limit_s)

    def took(self, now: float) -> float:
        """Return what a choice costs on the player's clock: the time since we asked, not that of our own restarts."""
        if self._clock_s is None or self.asked_at is None:
            return 0.0
        return round(max(now - self.asked_at, 0.0), 3)


class AnswerByAddress(NamedTuple):
    """An answer that only its address shows to be the player's."""

    answer: Valid
    deviations: Sequence[Violation]
    """Those of the answer. They are recorded if it counts."""
    convention: Convention
    """The convention in which it came."""


def _as_error(answer: Wrong) -> PeerError:
    return PeerError(
        answer.code,
        answer.detail,
        {"field": answer.path},
        answer.requirement,
    )


def _is_empty(content: Content | None) -> bool:
    """True for an empty 2xx, by which a player says that its answer comes as a request."""
    return isinstance(content, Acknowledged) and content.is_empty


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
        self._time = ThinkingTime(match, self._seated)
        self._answer: Valid | Declined | None = None
        self._charges = Charges()
        self._by_address: AnswerByAddress | None = None
        self._counts_by_address = False
        """True when that answer settles the question."""
        self._probe: Delivery | None = None
        self._trouble: Trouble | None = None
        self._delivery = self._prepared(self._delays(), self._line())

    def _delays(self) -> tuple[float, ...] | None:
        """Return the pauses between the attempts; None for a single attempt."""
        assignment = self._question.match.taken
        if not self._turn:
            # Nobody waits through retries for a player that has been missing for a while.
            return None if assignment.suspended[self._question.seat] else assignment.retry_delays_s
        attempts = self._time.attempts
        if attempts is None:
            return assignment.retry_delays_s
        return assignment.retry_delays_s[: attempts - 1]

    def _prepared(self, delays_s: tuple[float, ...] | None, line: Line) -> Delivery:
        match = self._question.match
        player_id = self._question.player_id
        phase = f"turn{self._turn}" if self._turn else "invite"
        return Delivery(
            player_id,
            f"{match.name}/{phase}/{player_id}",
            NOT_COMPOSED,
            policy=_policy(self._time.limit_s, delays_s),
            address=self._contact.address,
            on_end=self._ended,
            on_attempt_failed=self._attempt_failed,
            interpret=self._interpret,
            compose=self._compose,
            line=line,
            failures=self._seated.failed,
            attempt=CallAttempt(is_last=self._seated.wrong > 0),
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
        """Make the first call, or after a restart the one that was open. If it must be found out first how the player
        is spoken to, that happens on our time."""
        contact = self._contact
        if self._turn or not self._context.book.must_probe(contact.address()):
            self._call(now)
            return
        player_id = self._question.player_id
        probe = self._context.book.probe("player", self._question.match.taken.game_type)
        self._probe = Delivery(
            player_id,
            f"{self._question.match.name}/probe/{player_id}",
            probe,
            _PROBING,
            contact.address,
            lambda *_: self._call(_[-1]),
        )
        self._context.calls.deliver([self._probe], now)

    def _call(self, now: float) -> None:
        # The player may have answered, without being asked, while it was probed.
        if self._delivery.is_over:
            return
        last = self._seated.last
        calls = self._context.calls
        self._time.asked_at = now
        if last is None:
            calls.deliver([self._delivery], now)
            return
        failed = self._seated.failed
        delay: float | None = 0.0
        if failed:
            delay = self._delivery.policy.retries.delay_before(failed)
        # The crash may have come between the last fault and its consequence.
        if delay is None or self._seated.is_finally_wrong:
            is_reached = isinstance(last, WrongAnswer) or last.reached
            self._lose(FinalFault(last.code, last.detail, is_reached), now, failed_at=last.at)
        elif delay and not self._seated.wrong:
            calls.deliver_at(self._delivery, min(last.at, now) + delay, now)
        else:
            calls.deliver([self._delivery], now)

    def posted(self, read: Unsealed, convention: Convention, now: float) -> PeerError | None:
        """Take an answer that the player sent as a request of its own; return what is wrong with it."""
        question = self._question
        answer = question.read(read, self._awaited)
        deviations = question.deviations(read, self._awaited)
        self._game_errors.tell_deviations(question.seat, deviations, self._called, now)
        if isinstance(answer, _ANSWERS):
            self._answer = answer
            if self._delivery.is_over:
                # The manager is being asked, or has the match wait: this is what it waits for.
                self._ended(self._delivery, Ending.ANSWERED, now)
            else:
                self._context.calls.answered_by_request(self._delivery, convention, now)
            return None
        if not isinstance(answer, Wrong):
            return None
        ends = self._delivery.attempt.ends
        # Between two attempts nobody is asked, and after the last correction nothing is left to lose: a wrong answer
        # then costs nothing.
        if ends is not None and now < ends and self._seated.wrong <= CORRECTIONS:
            self._context.calls.wrong_by_request(self._delivery, convention, self._wrong(answer, now), now)
        return _as_error(answer)

    # --- answers by their address -------------------------------------------------------------------------------------

    def posted_by_address(self, read: Unsealed, convention: Convention, now: float) -> PeerError | None:
        """Take an answer that only its address shows to be the player's; return why it does not count."""
        question = self._question
        answer = question.read(read, self._awaited)
        if isinstance(answer, Wrong):
            return _as_error(answer)
        if not isinstance(answer, Valid):
            return PeerError("E012", "it shows no token, and only a join or a choice may come without one")
        first = self._by_address
        if first is not None and first.answer.choice != answer.choice:
            return PeerError(
                "E012", f"it shows no token, and {question.player_id}'s address gave another answer before"
            )
        self._by_address = AnswerByAddress(answer, question.deviations(read, self._awaited), convention)
        self._context.calls.understood_by_request(self._delivery)
        # Until the call is answered, nobody knows whether the player answers in this way.
        if _is_empty(self._delivery.answer):
            self._take_by_address(answer)
            self._context.calls.answered_by_request(self._delivery, convention, now)
        return None

    def _take_by_address(self, answer: Valid) -> None:
        self._counts_by_address = True
        self._answer = answer

    def accept_tokens(self, digests: tuple[str, ...], replies: tuple[str, ...]) -> None:
        """Accept answers with these tokens too, because the player is shown another token."""
        question = self._question
        self._question = structs.replace(
            question,
            digests=(*question.digests, *digests),
            replies=(*question.replies, *replies),
            has_new_tokens=True,
        )

    def drop(self) -> None:
        """Stop asking: the match ends before its time."""
        if self._probe is not None:
            self._context.calls.drop(self._probe, cancel=True)
        self._context.calls.drop(self._delivery, cancel=True)
        if self._trouble is not None:
            self._trouble.drop()

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
            return self._acknowledged(content, answer, now)
        if answer.code in WITHOUT_TOKEN and delivery.line.learns and delivery.attempt.to is not None:
            # It read the call in this form, and may be asked again much later.
            delivery.line.understood(delivery.attempt.to, now)
        reaction = Reaction.WRONG
        if answer.code in _UNREAD and not self._contact.is_proven and not self._turn:
            # An unreadable answer to a first invitation may be the answer to a call that was not understood.
            reaction = Reaction.NOT_UNDERSTOOD
        return Interpretation(
            reaction,
            consequence=lambda then: self._wrong(answer, then),
        )

    def _acknowledged(self, content: Content, answer: MereAcknowledgement, now: float) -> Interpretation:
        """Tell the engine to wait, unless an answer came by its address before the call was acknowledged."""
        if self._by_address is None or not _is_empty(content):
            return Interpretation(Reaction.ACKNOWLEDGED, is_promise=answer.is_promise)
        self._take_by_address(self._by_address.answer)
        return ANSWERED

    def _refused(self, delivery: Delivery, content: Content, answer: Refused) -> Interpretation:
        """Tell the engine what an error means: another token, another form, or a failed attempt."""
        if isinstance(content, Refusal) and content.code == "E012" and self._contact.show_another():
            return Interpretation(Reaction.CALL_AGAIN)
        self._charges.is_unavailable = answer.code == UNAVAILABLE
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
        """Count a wrong answer; the player may correct it under the same deadline, three times at most (T-09)."""
        nth = self._seated.wrong + 1
        ends = self._delivery.attempt.ends or now
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
        self._charges.fault = FinalFault(answer.code, answer.detail, reached=True)
        context = self._about_wrong(answer)
        # While the match waits for a token, the player is asked again anyway.
        is_waiting = self._trouble is not None and answer.code in WITHOUT_TOKEN
        if not is_correctable or is_waiting:
            self._send_error(Fault(answer.code, answer.detail, CORRECTIONS, None, context=context), now)
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
            self._send_error(fault, now)
            return Interpretation(Reaction.CORRECTABLE, pause_s=retry_at - now)
        self._send_error(replace(fault, retry=None, retry_at=None, consequence=_UNLESS_POSTED), now)
        return Interpretation(Reaction.EXHAUSTED)

    def _about_wrong(self, answer: Wrong) -> Object:
        """Say what is wrong with an answer, and what would be right."""
        context: Object = {"field": answer.path}
        if self._turn:
            if answer.path in CHOICES:
                context["invalid_choice"] = answer.choice
            context["valid_choices"] = referee_messages.valid_choices(self._question.match, self._question.seat)
        return context

    def _pause_before(self, nth: int) -> float:
        """Return the time between the nth wrong answer and the call that asks for a correction."""
        delays_s = self._question.match.taken.retry_delays_s
        if not delays_s:
            return 0.0
        return delays_s[min(nth, len(delays_s)) - 1]

    def _is_correctable(self, answer: Wrong) -> bool:
        """May the player answer again?"""
        # The same token would be wrong again, unless the manager has shown us others in the meantime.
        return answer.code != "E012" or self._question.has_new_tokens

    # --- failed attempts ----------------------------------------------------------------------------------------------

    def _attempt_failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        """Count a failed attempt, and tell the player of it."""
        if self._seated.is_finally_wrong:
            # The last wrong answer was the fault, and the player was told.
            return
        fault = self._fault_in(delivery, failed)
        self._charges.fault = fault
        self._charges.is_unavailable = False
        # While the match waits, only an answer counts.
        if self._trouble is not None:
            return
        context = self._timing(now)
        if delivery.attempt.is_last:
            # The wrong answer was counted: that no right one followed is part of it.
            self._tell(Fault(fault.code, fault.detail, CORRECTIONS, None, context=context), now)
            return
        retry = None
        if failed.retry_at is not None:
            retry = self._seated.failed + 1
        max_retries = len(self._question.match.taken.retry_delays_s)
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
        self._tell(error, now)

    def _tell(self, error: Fault, now: float) -> None:
        """Tell the player what went wrong. That it has lost is told when that is decided."""
        if error.retry is None and self._may_wait(error.code, self._charges.fault.reached):
            self._charges.unsent_error = error
        else:
            self._send_error(error, now)

    def _fault_in(self, delivery: Delivery, failed: FailedAttempt) -> FinalFault:
        """Return the fault that a failed attempt would be if it were the last."""
        if failed.failure is not Failure.TIMEOUT:
            detail = failed.detail or _DETAILS[failed.failure]
            if self._charges.is_unavailable:
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
        elif self._by_address is not None:
            detail = f"{detail}; {REFUSED_BECAUSE}{_UNCOUNTED}"
        elif failed.is_reached and _is_empty(delivery.answer):
            detail = f"{detail}; {ANSWERED_EMPTY}"
        return FinalFault("E001", detail, failed.is_reached)

    def _timing(self, now: float) -> Object:
        """Say which attempt failed, and after how long."""
        elapsed = round(max(now - self._delivery.attempt.begun_at, 0.0), 3)
        return {
            "attempt": self._seated.failed + 1,
            "limit_seconds": self._time.limit_s,
            "elapsed": elapsed,
        }

    def _send_error(self, fault: Fault, now: float) -> None:
        address = self._called
        if fault.code == "E001" and not self._seated.wrong:
            # The last call may have been in a form that the player does not know.
            address = self._delivery.line.likeliest(address)
        self._game_errors.send(self._question.seat, fault, address, now)

    @property
    def _called(self) -> Address:
        """Where and how the player was called last."""
        return self._delivery.attempt.to or self._contact.address()

    # --- the end ------------------------------------------------------------------------------------------------------

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        """Settle the question. A valid answer counts, to whichever attempt; so does a no."""
        question = self._question
        assignment = question.match.taken
        by_address = self._counts_by_address
        answer = self._answer
        if by_address and self._by_address is not None:
            self._game_errors.tell_deviations(question.seat, self._by_address.deviations, self._called, now)
        if outcome is Ending.ANSWERED and not self._turn:
            self._record_convention(now)
        if outcome is not Ending.ANSWERED or answer is None:
            self._lose(self._charges.fault, now)
            return
        if self._trouble is not None:
            self._trouble.drop()
        if isinstance(answer, Declined):
            declined = FinalFault(DECLINED, "declined the invitation", reached=True)
            self._end_at_fault(declined, now)
        elif assignment.fallbacks_refused and answer.provenance is not None and answer.provenance.fallbacks:
            self._refuse_fallback(answer.provenance, now)
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
                    by_address=by_address,
                    signature=answer.signature,
                    talk=answer.talk,
                    took=self._time.took(now),
                )
            )
            self._on_settled(question.seat, now)
        else:
            self._joined(by_address, now)

    def _joined(self, by_address: bool, now: float) -> None:
        question = self._question
        # The line learned it a moment ago.
        convention = self._contact.address().convention.value
        self._context.happened(
            PlayerJoined(
                at=now,
                match_id=question.match.match_id,
                attempt=question.match.attempt,
                player_id=question.player_id,
                convention=convention,
                by_address=by_address,
            )
        )
        self._on_settled(question.seat, now)

    def _may_wait(self, code: str, is_reached: bool) -> bool:
        """True if the manager has a say before a fault of this kind is final, or the player may not have begun yet."""
        if self._context.membership.agreement.asks_before_losses:
            return code in MAY_WAIT
        return code == "E009" and not is_reached

    def _lose(self, fault: FinalFault, now: float, failed_at: float | None = None) -> None:
        """Let the player lose by its last fault, unless the manager has the match wait."""
        if fault.code in WITHOUT_TOKEN and self._may_wait("E001", True):
            # It may have no token yet: then the answer to its registration was lost, which is not its fault.
            detail = f"no {self._awaited} with its token; {REFUSED_BECAUSE}{fault.detail} ({fault.code})"
            fault = FinalFault("E001", quotable(detail), reached=True)
        if not self._may_wait(fault.code, fault.reached):
            self._end_at_fault(fault, now)
            return
        self._charges.fault = fault
        if self._trouble is None:
            question = self._question
            self._trouble = Trouble(self._context, question.match, question.seat, self._decided, self._ask_again)
        if failed_at is None:
            failed_at = now
        self._trouble.begin(fault.code, failed_at, now)

    def _decided(self, now: float) -> None:
        self._end_at_fault(self._charges.fault, now)

    def _ask_again(self, now: float) -> None:
        """Ask once more while the match waits. The attempt does not count, whatever becomes of it."""
        # The same line: after a wrong answer no other form is tried, so the one that was read must not be forgotten.
        self._delivery = self._prepared(None, self._delivery.line)
        # The player's clock stood still while the match waited.
        self._time.asked_at = now
        self._context.calls.deliver([self._delivery], now)

    def _refuse_fallback(self, provenance: Provenance, now: float) -> None:
        """End the match of a player whose language model did not choose: this league accepts no other choice."""
        detail = "its language model did not choose"
        if provenance.fallback_reason:
            detail += f" ({quotable(provenance.fallback_reason)})"
        self._send_error(Fault(FALLBACK, detail, CORRECTIONS, None), now)
        self._end_at_fault(FinalFault(FALLBACK, detail, reached=True), now, provenance=provenance)

    def _end_at_fault(
        self,
        fault: FinalFault,
        now: float,
        provenance: Provenance | None = None,
    ) -> None:
        if self._charges.unsent_error is not None:
            self._send_error(self._charges.unsent_error, now)
        event = PlayerFaulted(
            at=now,
            **self._about,
            code=fault.code,
            detail=fault.detail,
            reached=fault.reached,
            provenance=provenance,
        )
        self._context.happened(event)
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
