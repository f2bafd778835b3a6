"""The conduct of a match, from top to bottom: invite, ask, draw, decide, tell, report (spec section 6).

    INVITE ──▶ ASK ──▶ DRAW ──▶ DECIDE ──▶ TELL ──▶ REPORT ──▶ DONE
      │         ▲  └──────┘ turn by turn     ▲
      └─────────┴── a player is at fault ────┘

`proceed` looks at what the match needs next and does it: at the start, after each answer, and after a restart. The
match changes by its events alone; this file makes them happen. What must never happen: a result that is decided twice,
a player that is told another result than the manager, a report before the players were told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec

from league.calling.delivery import (
    ANSWERED,
    Delivery,
    Ending,
    FailedAttempt,
    Interpretation,
    Policy,
    Reaction,
)
from league.events import (
    AssignmentCompleted,
    DrawRequested,
    MatchDecided,
    MatchDropped,
    NumberDrawn,
    PlayerFaulted,
    PlayersTold,
    ReportSettled,
    ShareReceived,
    Status,
)
from league.games import draw
from league.games.contract import SEATS, Seat, opponent
from league.games.contract import Outcome as GameOutcome
from league.games.wire_fields import packed
from league.machine import Acknowledged, Content, Refusal
from league.protocol.errors import ERRORS
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import DrawResponse, MatchResultAck, Message
from league.protocol.signing.tokens import MANAGER
from league.referee import referee_messages
from league.referee.assigned_matches import Passes, passes_of
from league.referee.match import DECLINED, Match, Step
from league.referee.questions.answer_reading import Question
from league.referee.questions.asking import UNAVAILABLE, Asking, Contact
from league.referee.questions.game_errors import GameErrors
from league.referee.questions.trouble import MAY_WAIT
from league.referee.records import Records
from league.referee.referee_context import GuestReport, RefereeContext, error_in, quotable

ENDS_REPORTING: Final = frozenset({"E014", "E016", "E017", "E039", "E040"})
"""Errors after which a report is not repeated."""
LARGEST_TALK: Final = 2_000
"""Bytes of talk in a report."""
MOST_CORRECTIONS: Final = 8
_TO_PLAYERS: Final = Policy(EXCHANGES["GAME_OVER"].limit_s)
_TO_MANAGER: Final = Policy(
    EXCHANGES["MATCH_RESULT_REPORT"].limit_s,
    EXCHANGES["MATCH_RESULT_REPORT"].retries,
    if_not_understood=Reaction.FAILED,
)
_REASONS: Final = {
    ("join", DECLINED): "{} declined the invitation",
    ("join", "E001"): "{} did not join in time",
    ("move", "E001"): "{} did not choose in time",
    ("move", UNAVAILABLE): "{} declined to choose",
}


Counts = dict[str, int]
"""A player's record in the league, by its columns."""


class _Verdict(NamedTuple):
    """The winner of a match, None if nobody won, and the reason."""

    winner: Seat | None
    reason: str
    returns: tuple[float, ...] = ()


class Conduct:
    """One match. `on_place_freed` is called when another may begin, `on_reported` when the manager has the result."""

    def __init__(
        self,
        context: RefereeContext,
        match: Match,
        records: Records,
        on_place_freed: Callable[[float], None],
        on_reported: Callable[[Match], None],
    ) -> None:
        self.match = match
        self._context = context
        self._records = records
        self._on_place_freed = on_place_freed
        self._on_reported = on_reported
        passes = passes_of(context.secrets, match.name)
        self._questions = self._new_questions(passes)
        self._contacts = (
            Contact(context, match, 0, passes.shown[0]),
            Contact(context, match, 1, passes.shown[1]),
        )
        self._askings: dict[Seat, Asking] = {}
        self._errors = GameErrors(context, match)
        self._deliveries: list[Delivery] = []
        """GAME_OVER or the report, while it is under way."""
        self._guest_report: GuestReport | None = None
        self._is_dropped = False

    def proceed(self, now: float) -> None:
        """Do what the match needs next."""
        _STEPS[self.match.next_step](self, now)

    # --- 1. invite, and 2. ask for choices ----------------------------------------------------------------------------

    def _ask(self, now: float) -> None:
        """Ask all players that are awaited and not asked yet, at once. Each answer leads back to `proceed`."""
        assignment = self.match.taken
        if self.match.turn and not all(assignment.records):
            self._show_records(assignment.records, now)
        new = [seat for seat in self.match.awaited if seat not in self._askings]
        for seat in new:
            question = self._questions[seat]
            contact = self._contacts[seat]
            self._askings[seat] = Asking(self._context, question, contact, self._errors, self._settled)
        # Only now: after a restart a question may be settled at once, and the other one must be known by then.
        for seat in new:
            asking = self._askings.get(seat)
            if asking is not None:
                asking.ask(now)

    def _show_records(self, announced: tuple[Counts, Counts], now: float) -> None:
        """Journal the records that the calls for choices show: the announced ones, or those of the last table."""
        # A repeated call shows the same ones, whatever was learned in the meantime, also after a restart.
        player_a, player_b = self.match.taken.players
        record_a, record_b = announced
        records = (
            record_a or self._records.of(player_a),
            record_b or self._records.of(player_b),
        )
        self._context.happened(
            AssignmentCompleted(
                at=now,
                **self.match.named,
                records=records,
            )
        )

    def _new_questions(self, passes: Passes) -> tuple[Question, Question]:
        return self._new_question(0, passes), self._new_question(1, passes)

    def _new_question(self, seat: Seat, passes: Passes) -> Question:
        match = self.match
        is_strict = self._context.settings.is_strict
        players = self._context.docket.players
        player_id = match.taken.players[seat]
        return Question(
            match,
            seat,
            player_id,
            is_strict=is_strict,
            digests=passes.answers[seat],
            players=players,
            must_show_token=is_strict or match.taken.signs[seat],
            replies=passes.replies[seat],
        )

    def question(self, seat: Seat) -> Question:
        """Return what the answers of this player are held to."""
        return self._questions[seat]

    def asking(self, seat: Seat) -> Asking | None:
        """Return the question this player has not answered yet."""
        return self._askings.get(seat)

    def _settled(self, seat: Seat, now: float) -> None:
        """Go on, unless the other player is still being asked (R-42)."""
        del self._askings[seat]
        if not self._askings:
            self.proceed(now)

    # --- 3. draw, and 4. decide ---------------------------------------------------------------------------------------

    def _draw(self, now: float) -> None:
        assignment = self.match.taken
        match_id = assignment.match_id
        attempt = assignment.attempt
        seed = bytes.fromhex(assignment.seed)
        if assignment.share_commitment:
            if self.match.draws.share is None:
                self._ask_for_share(now)
                return
            seed = draw.mixed(seed, bytes.fromhex(self.match.draws.share))
        # A game may draw many times in a row, as when cards are dealt.
        while self.match.next_step == "DRAW":
            index = len(self.match.draws.numbers)
            weights = self.match.course.to_move.weights
            number = draw.event(seed, assignment.league_id, match_id, attempt, index, weights)
            self._context.happened(NumberDrawn(at=now, match_id=match_id, attempt=attempt, number=number))
        self.proceed(now)

    def _ask_for_share(self, now: float) -> None:
        """Hand in the choices so far and our seed, until the manager answers with its share. We never draw alone."""
        if self._deliveries:
            return
        if not self.match.draws.is_requested:
            # Choices need not be durable to be counted, but they must be before anybody learns them.
            self._context.happened(DrawRequested(at=now, **self.match.named))
        membership = self._context.membership
        delivery = Delivery(
            MANAGER,
            f"{self.match.name}/draw",
            referee_messages.draw_request(self.match, membership.sender, now),
            _TO_MANAGER,
            address=lambda: membership.manager,
            on_end=self._share_came,
            interpret=self._read_answer,
            line=membership.line(),
        )
        self._deliveries.append(delivery)
        self._context.calls.deliver([delivery], now)

    def _share_came(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._deliveries.clear()
        answer = delivery.answer
        response = answer.message if isinstance(answer, Unsealed) else None
        if isinstance(response, DrawResponse):
            named = self.match.named
            self._context.happened(ShareReceived(at=now, **named, share=response.draw_share))
            self.proceed(now)
            return
        # The match is not ours any more, or the manager decides it.
        why = f"the manager gave no share of the draw ({error_in(answer) or 'an answer without one'})"
        self._context.happened(MatchDropped(at=now, **self.match.named, why=why))
        self._on_place_freed(now)

    def _decide(self, now: float) -> None:
        self._context.happened(decided(self.match, now))
        self._tell(now)

    # --- 5. tell the players ------------------------------------------------------------------------------------------

    def _tell(self, now: float) -> None:
        """Send GAME_OVER to both players, once (R-54), to each after its last GAME_ERROR."""
        # How the calls end changes nothing, but the match waits for it.
        if self._deliveries:
            return
        match = self.match
        label = f"{match.name}/over"
        over_a, over_b = referee_messages.game_over(match, self._context.membership.sender)
        player_a, player_b = match.taken.players
        contact_a, contact_b = self._contacts
        self._deliveries = [
            Delivery(
                player_a,
                label,
                over_a,
                _TO_PLAYERS,
                contact_a.address,
                self._told,
            ),
            Delivery(
                player_b,
                label,
                over_b,
                _TO_PLAYERS,
                contact_b.address,
                self._told,
            ),
        ]
        self._errors.deliver_after(tuple(self._deliveries), now)

    def _told(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._deliveries.remove(delivery)
        if not self._deliveries:
            match = self.match
            self._context.happened(PlayersTold(at=now, match_id=match.match_id, attempt=match.attempt))
            self._report(now)
            self._on_place_freed(now)

    # --- 6. report to the manager -------------------------------------------------------------------------------------

    def _report(self, now: float) -> None:
        """Send the report, word for word the same each time, until the manager's answer ends it."""
        if self._deliveries or self._guest_report is not None:
            return
        report = referee_messages.report(self.match, self._context.membership.sender)
        # A third-party manager may count a match as often as it is reported, and have a word of its own for a draw.
        guest_report = self._context.guest.report(report, self.match.taken.round_name)
        if guest_report is None:
            self._send_report(report, now)
        else:
            self._guest_report = guest_report
            guest_report.begin(lambda later: self._send_report(guest_report.message(), later), now)

    def _send_report(self, message: Message, now: float) -> None:
        if self._is_dropped:
            return
        membership = self._context.membership
        delivery = Delivery(
            MANAGER,
            f"{self.match.name}/report",
            message,
            _TO_MANAGER,
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
        self._deliveries = [delivery]
        self._context.calls.deliver([delivery], now)

    def _read_answer(self, delivery: Delivery, content: Content, now: float) -> Interpretation:
        """Tell the engine what the manager's answer to a report means."""
        registration = self._context.membership.registration
        code = error_in(content)
        guest_report = self._guest_report
        if guest_report is not None and code is None:
            guest_report.accepted()
        elif guest_report is not None and guest_report.is_refused_for_winner(content):
            return Interpretation(Reaction.CALL_AGAIN)
        if isinstance(content, Acknowledged):
            self._context.membership.record(content.deviations, now)
        if code is None or code in ENDS_REPORTING:
            # The manager read the report: it knows us and our token.
            registration.request_accepted()
            return ANSWERED
        registration.request_refused(code, now)
        if isinstance(content, Refusal) and not content.understood:
            return Interpretation(Reaction.NOT_UNDERSTOOD, content.detail)
        return Interpretation(Reaction.FAILED, code)

    def _report_failed(self, delivery: Delivery, failed: FailedAttempt, now: float) -> None:
        """Tell our operator that the result is not stored yet, and why."""
        trouble = f"the manager has not answered the report of {self.match.match_id} ({failed.in_words})"
        if failed.detail == "E012":
            trouble = f"the manager refused the report of {self.match.match_id} (E012), so this referee registers again"
        self._context.report_troubles[self.match.name] = trouble
        if self._guest_report is not None:
            self._guest_report.failure = failed.failure

    def _reported(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._deliveries.clear()
        guest_report = self._guest_report
        if guest_report is not None and outcome is Ending.FAILED:
            guest_report.failed(
                delivery.busy_s,
                lambda later: self._settle_report(guest_report.outcome or "ACCEPTED", later),
                lambda later: self._send_report(guest_report.message(), later),
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
        match = self.match
        self._end_report()
        self._context.happened(
            ReportSettled(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                answer=answer,
                corrected=corrected,
            )
        )
        self._on_reported(match)

    def _nothing(self, now: float) -> None:
        """Do nothing: the match is over."""

    # --- from outside -------------------------------------------------------------------------------------------------

    def renew_tokens(self) -> None:
        """Use other tokens from the next call on, for what players are shown and what they may answer with."""
        passes = passes_of(self._context.secrets, self.match.name)
        before = self._questions
        self._questions = self._new_questions(passes)
        for seat, contact in zip(SEATS, self._contacts, strict=True):
            has_other_tokens = contact.show(passes.shown[seat])
            asking = self._askings.get(seat)
            if asking is not None and (has_other_tokens or before[seat] != self._questions[seat]):
                asking.accept_tokens(passes.answers[seat], passes.replies[seat])

    def drop(self) -> None:
        """Stop: a newer attempt was given out, or the league is over."""
        self._is_dropped = True
        # Nobody is told: players that were asked get an answer in the next attempt, if there is one.
        for asking in self._askings.values():
            asking.drop()
        self._askings.clear()
        for delivery in self._deliveries:
            self._context.calls.drop(delivery, cancel=True)
        self._end_report()

    def _end_report(self) -> None:
        self._context.report_troubles.pop(self.match.name, None)
        if self._guest_report is not None:
            self._guest_report.end()


_STEPS: Final[Mapping[Step, Callable[[Conduct, float], None]]] = {
    "INVITE": Conduct._ask,
    "ASK": Conduct._ask,
    "DRAW": Conduct._draw,
    "DECIDE": Conduct._decide,
    "TELL": Conduct._tell,
    "REPORT": Conduct._report,
    "DONE": Conduct._nothing,
}


def _corrections_in(content: Content | None) -> tuple[str, ...]:
    """Return what the manager changed in the report, by its acknowledgement."""
    if not isinstance(content, Unsealed) or not isinstance(content.message, MatchResultAck):
        return ()
    corrections = content.message.corrected or ()
    return tuple(quotable(f"{correction.field}: {correction.reason}") for correction in corrections[:MOST_CORRECTIONS])


# --- how a match ended, in the words of GAME_OVER and of the report ---------------------------------------------------


def decided(match: Match, now: float) -> MatchDecided:
    """Decide a match in which nobody is awaited any more, once, before anybody is told (R-31)."""
    faults = match.faults
    is_technical = bool(faults)
    verdict = _by_fault(match, faults) if is_technical else _by_rules(match)
    assignment = match.taken
    players = assignment.players
    scoring = match.game.scoring
    score = scoring.points(verdict.winner, is_technical, verdict.returns)
    status: Status = "DRAW"
    winner = None
    if verdict.winner is not None:
        status = "WIN"
        winner = players[verdict.winner]
    if is_technical:
        status = "TECHNICAL_LOSS"
    wire = match.game.wire
    reason = verdict.reason
    proof: dict[str, object] = {"status": status, "draw_seed": assignment.seed}
    if assignment.share_commitment:
        proof["share_commitment"] = assignment.share_commitment
    if match.draws.share is not None:
        proof["draw_share"] = match.draws.share
    if scoring.by_margin and not is_technical:
        proof["returns"] = dict(zip(players, verdict.returns, strict=True))
    return MatchDecided(
        at=now,
        match_id=assignment.match_id,
        attempt=assignment.attempt,
        status=status,
        winner=winner,
        points=dict(zip(players, score, strict=True)),
        reason=reason,
        game_result={
            "winner_player_id": winner,
            **packed(wire.game_result(match.course.position, players, is_technical, match.course.pending)),
            "reason": reason,
            "attempt": assignment.attempt,
            **proof,
        },
        details={
            **packed(wire.details(match.course.position, players, is_technical, match.course.pending)),
            "faults": {fault.player_id: _fault(fault) for fault in faults},
            **_provenance(match),
            **_talk(match),
            **proof,
        },
    )


def _provenance(match: Match) -> dict[str, object]:
    """Return how the choices came about, as far as the players say so."""
    first, second = match.seated
    if first.provenance is None and second.provenance is None:
        return {}
    provenances = {}
    for player_id, seated in zip(match.taken.players, match.seated, strict=True):
        if seated.provenance is not None:
            provenances[player_id] = seated.provenance
    return {"provenance": msgspec.to_builtins(provenances)}


def _talk(match: Match) -> dict[str, object]:
    """Return what was said, which the questions to the players showed: without it nobody could check them."""
    if not match.course.talk:
        return {}
    players = match.taken.players
    lines = [{"turn": line.turn, "by": players[line.seat], "text": line.text} for line in match.course.talk]
    # A report has a largest size. The record of the match has what does not fit.
    if len(msgspec.json.encode(lines)) > LARGEST_TALK:
        return {}
    return {"talk": lines}


def _by_rules(match: Match) -> _Verdict:
    outcome: GameOutcome | None = match.game.rules.outcome(match.course.position)
    assert outcome is not None, "a game in which nobody moves is over"
    return _Verdict(outcome.winner, outcome.explanation(match.taken.players), outcome.returns)


def _by_fault(match: Match, faults: list[PlayerFaulted]) -> _Verdict:
    """The other player wins; nobody if both are at fault (R-09)."""
    reasons = ", ".join(map(_reason, faults))
    reason = f"Technical loss: {reasons}"
    if len(faults) == len(SEATS):
        return _Verdict(None, reason)
    loser = match.seat_of(faults[0].player_id)
    assert loser is not None
    return _Verdict(opponent(loser), reason)


def _reason(fault: PlayerFaulted) -> str:
    """Say why a player lost. The opponent reads it too, so it quotes nothing that the player said."""
    if fault.code == "E009":
        if fault.reached:
            return f"{fault.player_id} answered with an error"
        return f"{fault.player_id} could not be reached"
    reason = _REASONS.get((fault.phase, fault.code))
    if reason is None:
        return f"{fault.player_id} gave no valid answer ({_name(fault.code)})"
    return reason.format(fault.player_id)


def _name(code: str) -> str:
    if code in ERRORS:
        return ERRORS[code].name
    return code


def _fault(fault: PlayerFaulted) -> dict[str, object]:
    written: dict[str, object] = {
        "code": fault.code,
        "phase": fault.phase,
        "turn": fault.turn,
        "detail": fault.detail,
    }
    # Of a player that gave a wrong answer, everybody knows that it can be reached.
    if fault.reached and fault.code in MAY_WAIT:
        written["reached"] = True
    return written
