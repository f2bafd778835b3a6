"""One question to one player: its attempts and their limits, its corrections, and how it is settled in the end
(spec sections 6.3 to 6.5).

What counts against the player is in the match; calls, windows and pauses are lost in a crash, and the open attempt is
repeated with a fresh limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from league.events import (
    AttemptFailed,
    ConventionLearned,
    Event,
    MoveMade,
    PlayerDeviated,
    PlayerFaulted,
    PlayerJoined,
    WrongAnswer,
)
from league.machine import Address, Blame, Content, Failure, Letter, Outgoing, Undelivered
from league.protocol.conventions import DOCUMENTED, Convention, ways
from league.protocol.envelope import Unsealed
from league.protocol.errors import PeerError, Violation
from league.protocol.exchanges import EXCHANGES, ONCE
from league.protocol.parts import Object
from league.referee import words
from league.referee.answers import Answer, Declined, Question, Refused, Valid, Wrong
from league.referee.match import DECLINED, Seated
from league.referee.office import Office, shortened
from league.referee.words import Fault

CORRECTIONS: Final = 3
PAUSE_S: Final = 2.0
SHORTEST_WAIT_S: Final = 1.0
LONGEST_WAIT_S: Final = 60.0
"""So long a busy player is waited for in one phase."""
PATIENCE_S: Final = 1.0
"""So long an acknowledgement in a convention that is not proven may be followed by the answer (R-02)."""
UNREAD: Final = frozenset({"E034", "E035"})
LATE_S: Final = 0.5
"""An alarm that rings later than this is late because of us (a sleeping process), not of the player."""
_DETAILS: Final = {
    Failure.REFUSED: "the connection was refused",
    Failure.BROKEN: "the connection broke, or the answer was no HTTP",
    Failure.BUSY: f"still busy after {LONGEST_WAIT_S:g} seconds",
    Failure.NOT_UNDERSTOOD: "the call was not understood",
}


class Asking:
    """`settled` is called when the player has given a valid answer or made its final fault."""

    def __init__(
        self,
        office: Office,
        question: Question,
        to: Address,
        record: Mapping[str, int],
        settled: Callable[[float], None],
    ) -> None:
        match, self._turn = question.match, question.match.turn
        suspended = not self._turn and match.taken.suspended[question.seat]
        self._office, self._question, self._to, self._settled = office, question, to, settled
        # A repeated call asks what the first asked, whatever was learned in the meantime.
        self._record = record
        self._limit = match.taken.move_seconds if self._turn else EXCHANGES["GAME_INVITATION"].limit_s
        self._retries = ONCE if suspended else office.settings.retries
        self._name = f"turn{self._turn}" if self._turn else "invite"
        self._keys: list[str] = []
        self._under_way: set[str] = set()
        self._key: str | None = None
        self._window: float | None = None
        """The end of the open attempt; None between attempts."""
        self._resting = False
        self._wait_left = LONGEST_WAIT_S
        self._errors = 0
        self._is_proven = to.endpoint in office.docket.conventions
        # Only an invitation is harmless when it was understood after all.
        self._finds_out = not self._turn and office.settings.profile == "compat"
        self._ways = list(ways(to.convention)[1:]) if self._finds_out else []
        self._ruled_out: set[Convention] = set()
        """What it said it does not understand; what was lost on its way is worth another try."""
        self._put: dict[str, Convention] = {}
        """In which convention each call was put."""
        self._first_heard = to.convention
        """What to come back to: the first convention in which a call was acknowledged, or else refused for more than
        how it was put, or else the likeliest."""
        self._doubting = self._was_heard = self._was_told = False
        self._may_post = False
        """A call of this attempt was acknowledged."""
        self._first_verdict: Wrong | str | None = None

    # --- inputs -------------------------------------------------------------------------------------------------------

    def ask(self, now: float) -> None:
        """Make the first call, or after a restart the one that was open."""
        seated = self._seated
        pause = self._retries.pause_before(seated.failed) if seated.failed else 0.0
        if seated.last is not None and (pause is None or seated.wrong > CORRECTIONS):
            self._fault(seated.last.code, seated.last.detail, now)
        elif seated.last is not None and not self._is_correcting and pause:
            self._rest(min(seated.last.at, now) + pause, now)
        else:
            self._call(now)

    def answered(self, letter: Letter, now: float) -> None:
        key = letter.answers or ""
        self._under_way.discard(key)
        answer = self._question.read(letter.content)
        self._note(letter.content, now)
        if self._settles(answer, self._put.get(key), now) or key != self._key:
            return
        self._key = None
        if isinstance(answer, Wrong):
            is_unread = answer.code in UNREAD and not self._is_proven
            self._judge(answer, is_unread and self._rule_out(), now)
        elif isinstance(answer, Refused):
            self._refused(answer, now)
        else:
            self._acknowledged(now)

    def posted(self, read: Unsealed, trusted: bool, now: float) -> PeerError | None:
        """The answer came as a request of its own. What harms the player counts only with its token: others may share
        its address."""
        answer = self._question.read(read)
        self._note(read, now)
        if isinstance(answer, Declined) and not trusted:
            return PeerError("E012", "an invitation is declined with the player's own token only")
        put = self._first_heard if self._was_heard else self._to.convention
        if self._settles(answer, put, now) or not isinstance(answer, Wrong):
            return None
        if trusted and self._window is not None and now < self._window:
            self._wrong(answer, now)
        return PeerError(answer.code, answer.detail, {"field": answer.path}, answer.requirement)

    def failed(self, failed: Undelivered, now: float) -> None:
        self._under_way.discard(failed.key)
        if failed.key != self._key:
            return
        self._key = None
        if failed.blame is Blame.LOCAL:
            self._window = None
            self._rest(now if failed.failure is Failure.TIMEOUT else now + PAUSE_S, now)
        elif failed.failure is Failure.TIMEOUT:
            self._timed_out(now)
        elif failed.failure is Failure.BUSY and self._wait_left > 0:
            self._wait(failed.retry_after, now)
        else:
            detail = failed.detail or _DETAILS[failed.failure]
            self._judge(detail, self._may_be_the_words(failed.failure), now)

    def due(self, now: float) -> None:
        if self._doubting:
            self._doubting = False
            self._rule_out()
            if not self._put_otherwise(now):
                self._listen()
        elif self._resting:
            if self._window is not None and self._window <= now:
                self._window = None
            self._call(now)
        elif self._window is not None and now - self._window > LATE_S:
            self._window = None
            self._call(now)
        else:
            self._timed_out(now)

    def show(self, token: str | None, digests: tuple[str, ...]) -> None:
        """From the next call on this token is shown; answers with either of the player's are right."""
        self._to = replace(self._to, token=token)
        self._question = replace(self._question, digests=(*self._question.digests, *digests))

    def drop(self) -> None:
        """The match is over before its time."""
        for key in sorted(self._under_way):
            self._office.cancel(key)
        self._close()

    # --- attempts -----------------------------------------------------------------------------------------------------

    @property
    def _seated(self) -> Seated:
        return self._question.match.seated[self._question.seat]

    @property
    def _is_correcting(self) -> bool:
        """After a wrong answer this window is the last."""
        return self._seated.wrong > 0

    # --- finding out how the player is spoken to ----------------------------------------------------------------------

    def _may_be_the_words(self, failure: Failure) -> bool:
        """Some hang up on what they do not know; from a player that answered before, that is a failure. Whoever
        answers without JSON-RPC probably speaks without it."""
        if failure is not Failure.NOT_UNDERSTOOD:
            return failure is Failure.BROKEN and not self._is_proven
        if Convention.BARE in self._ways:
            self._ways.remove(Convention.BARE)
            self._ways.insert(0, Convention.BARE)
        return self._rule_out()

    def _rule_out(self) -> bool:
        """This is not how it is spoken to, or at best no better than the first that it acknowledged."""
        if not self._was_heard or self._to.convention is not self._first_heard:
            self._ruled_out.add(self._to.convention)
        return True

    def _refused(self, answer: Refused, now: float) -> None:
        """If no words help, the refusal that tells most counts."""
        if answer.tells and not answer.understood and not (self._was_told or self._was_heard):
            self._was_told = True
            self._first_heard, self._first_verdict = self._to.convention, answer.detail
        self._judge(answer.detail, not answer.understood and self._rule_out(), now)

    def _judge(self, verdict: Wrong | str, may_be_the_words: bool, now: float) -> None:
        """What went wrong counts, unless other words help. If none do, what it made of the likeliest ones counts; but
        whoever acknowledged one of these calls may still answer it by a request of its own (R-02)."""
        if may_be_the_words:
            self._first_verdict = self._first_verdict or verdict
            if self._put_otherwise(now):
                return
            verdict, self._first_verdict = self._first_verdict, None
            if self._may_post:
                self._listen()
                return
        self._first_verdict = None
        if isinstance(verdict, Wrong):
            self._wrong(verdict, now)
        else:
            self._broke(verdict, now)

    def _put_otherwise(self, now: float) -> bool:
        """The invitation again, at once and in the next convention: it counts as no attempt and has its own limit."""
        if not self._ways or self._is_correcting:
            return False
        self._to = replace(self._to, convention=self._ways.pop(0))
        self._window = None
        self._call(now)
        return True

    def _acknowledged(self, now: float) -> None:
        """The answer may still come as a request of its own. Some say yes to what they do not know: unless we know
        better, another convention is tried soon."""
        self._may_post = True
        if not self._was_heard:
            self._was_heard, self._first_heard = True, self._to.convention
        self._doubting = bool(self._ways) and not self._is_proven and not self._is_correcting
        if self._doubting and self._window is not None:
            self._resting = False
            self._office.calls.wake(self, min(now + PATIENCE_S, self._window))
        else:
            self._listen()

    def _learn(self, convention: Convention, now: float) -> None:
        """The player answered an invitation that was put like this."""
        known, endpoint = self._office.docket.conventions, self._to.endpoint
        if known.get(endpoint) != convention.value:
            learned = {"agent_id": self._question.player_id, "endpoint": endpoint, "convention": convention.value}
            self._office.happened(ConventionLearned(at=now, **learned))
        if convention not in DOCUMENTED:
            detail = f"a call is a JSON-RPC request whose method is a verb or a message type, not {convention.value}"
            self._keep([Violation("E036", "method", detail, "RPC.method")], now)

    def _note(self, content: Content, now: float) -> None:
        self._keep(self._question.oddities(content), now)

    def _keep(self, found: Iterable[Violation], now: float) -> None:
        question = self._question
        for one in found:
            if (question.player_id, one.code, one.requirement) not in self._office.docket.deviations:
                about = {**question.match.named, "player_id": question.player_id, "detail": shortened(one.detail)}
                self._office.happened(PlayerDeviated(at=now, **about, code=one.code, requirement=one.requirement))

    # --- calling ------------------------------------------------------------------------------------------------------

    def _call(self, now: float) -> None:
        question, sender = self._question, self._office.enrolment.sender
        self._resting = self._doubting = False
        self._office.calls.let_sleep(self)
        if self._window is None:
            self._window = now + self._limit
        match, seat = question.match, question.seat
        self._key = f"{match.name}/{self._name}/{question.player_id}/{len(self._keys) + 1}"
        self._keys.append(self._key)
        self._put[self._key] = self._to.convention
        self._under_way.add(self._key)
        message = (
            words.call(match, seat, self._record, sender, now, self._window)
            if self._turn
            else words.invitation(match, seat, sender, now)
        )
        self._office.calls.call(Outgoing(self._key, (self._to,), message, self._window), self)

    def _rest(self, until: float, now: float) -> None:
        if until <= now:
            self._call(now)
            return
        self._resting = True
        self._office.calls.wake(self, until)

    def _listen(self) -> None:
        """The call has ended, but not the time for an answer."""
        assert self._window is not None
        self._resting = False
        self._office.calls.wake(self, self._window)

    def _wait(self, retry_after: float | None, now: float) -> None:
        """The player is busy: nobody's fault, for a while."""
        wanted = max(retry_after, SHORTEST_WAIT_S) if retry_after else PAUSE_S
        wait = min(wanted, self._wait_left)
        self._wait_left -= wait
        if self._is_correcting and self._window is not None:
            self._window += wait
        else:
            self._window = None
        self._rest(now + wait, now)

    # --- what it costs ------------------------------------------------------------------------------------------------

    def _timed_out(self, now: float) -> None:
        awaited = words.awaited_type(self._question.match)
        detail = f"no {'right ' * self._is_correcting}{awaited} within {self._limit:g} seconds"
        if self._is_correcting:
            self._scold(Fault("E001", detail, CORRECTIONS, None), now)
            self._fault("E001", detail, now)
        else:
            self._count("E001", detail, now)

    def _broke(self, detail: str, now: float) -> None:
        if not self._is_correcting:
            self._count("E009", detail, now)
        elif self._window is not None and now + PAUSE_S < self._window:
            self._rest(now + PAUSE_S, now)
        else:
            self._listen()

    def _count(self, code: str, detail: str, now: float) -> None:
        retry = self._seated.failed + 1
        pause = self._retries.pause_before(retry)
        left = None if pause is None else retry
        self._window, self._may_post = None, False
        if self._finds_out:
            untried = [one for one in ways(self._first_heard) if one not in self._ruled_out]
            first, *self._ways = untried or [self._first_heard]
            self._to = replace(self._to, convention=first)
        self._office.happened(AttemptFailed(at=now, **self._about, code=code, detail=detail, retry=left))
        retry_at = None if pause is None else now + pause
        self._scold(Fault(code, detail, self._max_retries, left, retry_at), now)
        if pause is None:
            self._fault(code, detail, now)
        else:
            self._rest(now + pause, now)

    def _wrong(self, answer: Wrong, now: float) -> None:
        """R-17: another call under the same deadline, three times at most."""
        assert self._window is not None
        if now >= self._window:
            self._timed_out(now)
            return
        nth = self._seated.wrong + 1
        left = max(CORRECTIONS + 1 - nth, 0)
        wrong = {"code": answer.code, "detail": answer.detail, "path": answer.path, "requirement": answer.requirement}
        self._office.happened(WrongAnswer(at=now, **self._about | wrong, left=left))
        context: Object = {"field": answer.path}
        if self._turn:
            valid = words.valid_choices(self._question.match, self._question.seat)
            context |= {"invalid_choice": answer.given, "valid_choices": valid}
        remaining = round(self._window - now, 3) if left else None
        self._scold(
            Fault(answer.code, answer.detail, CORRECTIONS, nth if left else None, None, remaining, context), now
        )
        if left:
            self._call(now)
        else:
            self._fault(answer.code, answer.detail, now)

    def _scold(self, fault: Fault, now: float) -> None:
        """GAME_ERROR, beside the match: nobody waits for its answer."""
        question, row = self._question, EXCHANGES["GAME_ERROR"]
        self._errors += 1
        key = f"{question.match.name}/error/{question.player_id}/{self._name}/{self._errors}"
        message = words.game_error(question.match, question.seat, fault, self._office.enrolment.sender, now)
        self._office.calls.send(Outgoing(key, (self._to,), message, now + row.limit_s))

    # --- the end ------------------------------------------------------------------------------------------------------

    def _settles(self, answer: Answer, convention: Convention | None, now: float) -> bool:
        """A valid answer counts, to whichever attempt; so does a no."""
        if isinstance(answer, Valid | Declined) and not self._turn and convention is not None:
            self._learn(convention, now)
        named = {**self._question.match.named, "player_id": self._question.player_id}
        if isinstance(answer, Declined):
            self._fault(DECLINED, "declined the invitation", now)
        elif isinstance(answer, Valid) and answer.choice is not None:
            self._end(MoveMade(at=now, **named, turn=self._turn, choice=answer.choice), now)
        elif isinstance(answer, Valid):
            put = convention or self._to.convention
            self._end(PlayerJoined(at=now, **named, convention=put.value), now)
        else:
            return False
        return True

    def _fault(self, code: str, detail: str, now: float) -> None:
        self._end(PlayerFaulted(at=now, **self._about, code=code, detail=detail), now)

    def _end(self, event: Event, now: float) -> None:
        self._close()
        self._office.happened(event)
        self._settled(now)

    def _close(self) -> None:
        self._office.calls.forget(self._keys)
        self._office.calls.let_sleep(self)

    @property
    def _max_retries(self) -> int:
        return len(self._office.settings.retries.pauses_s)

    @property
    def _about(self) -> dict[str, Any]:
        question = self._question
        return {
            **question.match.named,
            "player_id": question.player_id,
            "phase": question.match.phase,
            "turn": self._turn,
        }
