"""One question to one player, the invitation or a call for a choice: the price of failed attempts and wrong answers,
and how the question is settled (spec sections 6.3 to 6.5).

    asked ──▶ a valid answer, or a no: settled
      ├─────▶ no answer: a failed attempt; the engine calls again, until the last attempt is the player's fault, unless
      │       the manager, which is asked first, has the match wait (charges.py, trouble.py)
      ├─────▶ a wrong answer: called again under the same deadline after a pause, three times at most; after that only a
      │       request of the player's own may still bring a valid answer, until the deadline (T-09)
      └─────▶ an answer that only its address shows to be the player's (`--trust class`): it counts if the call was
              answered with an empty 2xx (T-04)

The engine makes the calls, and tells this file how they went. What must never happen: a question is settled twice, or a
player loses by a fault of ours. A choice that was legal is final: nothing here asks for another one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import structs

from league.calling.delivery import (
    ANSWERED,
    CallAttempt,
    Delivery,
    Ending,
    Interpretation,
    Policy,
    Reaction,
)
from league.events import MoveMade, PlayerJoined, WrongAnswer
from league.games.contract import Seat
from league.machine import Content, Ping, Refusal
from league.protocol.conventions import Convention
from league.protocol.errors import PeerError
from league.protocol.message.envelope import Unsealed
from league.protocol.message.messages import Message
from league.referee import referee_messages
from league.referee.match import DECLINED
from league.referee.questions.answer_reading import (
    Declined,
    MereAcknowledgement,
    Question,
    Refused,
    Valid,
    Wrong,
)
from league.referee.questions.by_address import AnswerByAddress
from league.referee.questions.charges import CORRECTIONS, WITHOUT_TOKEN, Charges, FinalFault
from league.referee.questions.contact import Contact, ThinkingTime
from league.referee.questions.game_errors import GameErrors
from league.referee.questions.trouble import Trouble
from league.referee.referee_context import RefereeContext, quotable

NOT_COMPOSED: Final = Ping()
"""Stands for the message of a delivery that was not called yet: each call has its own."""
_ANSWERS: Final = (Valid, Declined)
_PROBING: Final = Policy(limit_s=20.0, is_waited_for=False)
"""How long it may take to find out how a player is spoken to. Nothing of it counts against the player."""
_UNREAD: Final = frozenset({"E034", "E035"})


def _as_error(answer: Wrong) -> PeerError:
    return PeerError(
        answer.code,
        answer.detail,
        {"field": answer.path},
        answer.requirement,
    )


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
        self._on_settled = on_settled
        self._seated = match.seated[seat]
        self._turn = match.turn
        self._awaited = referee_messages.awaited_type(match)
        self._time = ThinkingTime(match, self._seated)
        self._answer: Valid | Declined | None = None
        self._by_address = AnswerByAddress()
        self._charges = Charges(context, question, contact, errors=errors, time=self._time, by_address=self._by_address)
        self._probe: Delivery | None = None
        self._trouble: Trouble | None = None
        # Nobody waits through retries for a player that has been missing for a while.
        is_missing = not match.turn and match.taken.suspended[seat]
        # The same line in all attempts: after a wrong answer no other form is tried, so the one that was read must not
        # be forgotten.
        self._line = contact.line()
        self._delivery = self._prepared(is_single=is_missing)

    def _prepared(self, *, is_single: bool) -> Delivery:
        match = self._question.match
        player_id = self._question.player_id
        phase = f"turn{self._turn}" if self._turn else "invite"
        return Delivery(
            player_id,
            f"{match.name}/{phase}/{player_id}",
            NOT_COMPOSED,
            policy=self._time.policy(is_single=is_single),
            address=self._contact.address,
            on_end=self._ended,
            on_attempt_failed=self._charges.count_failed,
            interpret=self._interpret,
            compose=self._compose,
            line=self._line,
            failures=self._seated.failed,
            attempt=CallAttempt(is_last=self._seated.wrong > 0),
        )

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
        self._charges.tell_deviations(deviations, self._delivery, now)
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
            self._context.calls.wrong_by_request(
                self._delivery, convention, self._charges.count_wrong(answer, self._delivery, now), now
            )
        return _as_error(answer)

    def posted_by_address(self, read: Unsealed, convention: Convention, now: float) -> PeerError | None:
        """Take an answer that only its address shows to be the player's; return why it does not count."""
        question = self._question
        answer = question.read(read, self._awaited)
        if isinstance(answer, Wrong):
            return _as_error(answer)
        if not isinstance(answer, Valid):
            return PeerError("E012", "it shows no token, and only a join or a choice may come without one")
        error = self._by_address.offer(answer, question.deviations(read, self._awaited), question.player_id)
        if error is not None:
            return error
        self._context.calls.understood_by_request(self._delivery)
        # Until the call is answered, nobody knows whether the player answers in this way.
        if self._by_address.count(self._delivery.answer):
            self._answer = answer
            self._context.calls.answered_by_request(self._delivery, convention, now)
        return None

    def accept_tokens(self, digests: tuple[str, ...], replies: tuple[str, ...]) -> None:
        """Accept answers with these tokens too, because the player is shown another token."""
        question = self._question
        self._question = structs.replace(
            question,
            digests=(*question.digests, *digests),
            replies=(*question.replies, *replies),
        )
        self._charges.has_new_tokens = True

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
            self._charges.tell_deviations(deviations, self._delivery, now)
        if isinstance(answer, _ANSWERS):
            self._answer = answer
            return ANSWERED
        if isinstance(answer, Refused):
            return self._refused(delivery, content, answer)
        if isinstance(answer, MereAcknowledgement):
            if not self._by_address.count(content):
                return Interpretation(Reaction.ACKNOWLEDGED, is_promise=answer.is_promise)
            self._answer = self._by_address.answer
            return ANSWERED
        if answer.code in WITHOUT_TOKEN and delivery.line.learns and delivery.attempt.to is not None:
            # It read the call in this form, and may be asked again much later.
            delivery.line.understood(delivery.attempt.to, now)
        reaction = Reaction.WRONG
        if answer.code in _UNREAD and not self._contact.is_proven and not self._turn:
            # An unreadable answer to a first invitation may be the answer to a call that was not understood.
            reaction = Reaction.NOT_UNDERSTOOD
        return Interpretation(
            reaction,
            consequence=lambda then: self._charges.count_wrong(answer, delivery, then),
        )

    def _refused(self, delivery: Delivery, content: Content, answer: Refused) -> Interpretation:
        """Tell the engine what an error means: another token, another form, or a failed attempt."""
        if isinstance(content, Refusal) and content.code == "E012" and self._contact.show_another():
            return Interpretation(Reaction.CALL_AGAIN)
        self._charges.refused_with = answer.code
        detail = quotable(f"answered {self._contact.call_in_words(delivery)} with {answer.detail}")
        failed = Interpretation(Reaction.FAILED, detail)
        if answer.understood or (self._turn and not answer.is_unknown):
            return failed
        return Interpretation(
            Reaction.NOT_UNDERSTOOD,
            detail,
            answer.tells_more,
            lambda _: failed,
        )

    # --- the end ------------------------------------------------------------------------------------------------------

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        """Settle the question. A valid answer counts, to whichever attempt; so does a no."""
        question = self._question
        assignment = question.match.taken
        by_address = self._by_address.counts
        if by_address:
            self._charges.tell_deviations(self._by_address.deviations, self._delivery, now)
        if outcome is Ending.ANSWERED and not self._turn:
            self._contact.record_convention(now)
        answer = self._answer
        if outcome is not Ending.ANSWERED or answer is None:
            self._lose(self._charges.fault, now)
            return
        if self._trouble is not None:
            self._trouble.drop()
        if isinstance(answer, Declined):
            self._charges.fault = FinalFault(DECLINED, "declined the invitation", reached=True)
            self._decided(now)
        elif assignment.fallbacks_refused and answer.provenance is not None and answer.provenance.fallbacks:
            self._charges.refuse_fallback(answer.provenance, delivery, now)
            self._on_settled(question.seat, now)
        elif answer.choice is not None:
            self._context.happened(
                MoveMade(
                    at=now,
                    **question.match.named,
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
                **question.match.named,
                player_id=question.player_id,
                convention=convention,
                by_address=by_address,
            )
        )
        self._on_settled(question.seat, now)

    def _lose(self, fault: FinalFault, now: float, failed_at: float | None = None) -> None:
        """Let the player lose by its last fault, unless the manager has the match wait."""
        if not self._charges.blame(fault):
            self._decided(now)
            return
        self._charges.is_waiting = True
        if self._trouble is None:
            question = self._question
            self._trouble = Trouble(self._context, question.match, question.seat, self._decided, self._ask_again)
        if failed_at is None:
            failed_at = now
        self._trouble.begin(self._charges.fault.code, failed_at, now)

    def _decided(self, now: float) -> None:
        self._charges.settle(self._delivery, now)
        self._on_settled(self._question.seat, now)

    def _ask_again(self, now: float) -> None:
        """Ask once more while the match waits. The attempt does not count, whatever becomes of it."""
        self._delivery = self._prepared(is_single=True)
        # The player's clock stood still while the match waited.
        self._time.asked_at = now
        self._context.calls.deliver([self._delivery], now)
