"""The conduct of a match, from top to bottom: invite, ask, draw, decide, tell, report (spec section 6).

`proceed` looks at what the match needs next and does it: at the start, after each answer, and after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from league.calling.delivery import (
    ANSWERED,
    Delivery,
    Ending,
    Interpretation,
    Policy,
    Reaction,
)
from league.events import (
    MatchDecided,
    NumberDrawn,
    PlayerFaulted,
    PlayersTold,
    RecordsShown,
    ReportSettled,
    Status,
)
from league.games import draw
from league.games.contract import LOSS_POINTS, SEATS, Seat, opponent, points
from league.games.contract import Outcome as GameOutcome
from league.machine import Acknowledged, Content, Refusal
from league.protocol.envelope import Unsealed
from league.protocol.errors import ERRORS
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import GameError, LeagueError
from league.protocol.tokens import MANAGER
from league.referee import messages
from league.referee.answers import Question
from league.referee.asking import UNAVAILABLE, Asking, Contact
from league.referee.assignments import Passes, passes_of
from league.referee.context import RefereeContext
from league.referee.game_errors import GameErrors
from league.referee.match import DECLINED, Match, Step
from league.referee.records import Records

ENDS_REPORTING: Final = frozenset({"E014", "E016", "E017", "E039", "E040"})
"""Errors after which a report is not repeated."""
UNREAD: Final = frozenset({"E034", "E035", "E037"})
"""An answer of which nothing could be read acknowledges nothing."""
REACHED: Final = "answered "
"""How the detail of a failure begins if the player was reached, and gave an error."""
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

    def proceed(self, now: float) -> None:
        """Whatever is due now."""
        _STEPS[self.match.next_step](self, now)

    # --- 1. invite, and 2. ask for choices ----------------------------------------------------------------------------

    def _ask(self, now: float) -> None:
        """Everybody who is awaited and not asked yet, at once. Each answer leads back to `proceed`."""
        assignment = self.match.taken
        if self.match.turn and not all(assignment.records):
            a, b = (assignment.records[seat] or self._records.of(assignment.players[seat]) for seat in SEATS)
            # A repeated call says what the first said, whatever was learned in the meantime, also after a restart.
            self._context.happened(RecordsShown(at=now, **self.match.named, records=(a, b)))
        new = [seat for seat in self.match.awaited if seat not in self._askings]
        for seat in new:
            question = self._questions[seat]
            contact = self._contacts[seat]
            self._askings[seat] = Asking(self._context, question, contact, self._errors, self._settled)
        for seat in new:
            asking = self._askings.get(seat)
            if asking is not None:
                asking.ask(now)

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
            is_strict,
            passes.answers[seat],
            players,
            passes.replies[seat],
        )

    def question(self, seat: Seat) -> Question:
        """What the answers of this player are held to."""
        return self._questions[seat]

    def asking(self, seat: Seat) -> Asking | None:
        """The question this player has not answered yet."""
        return self._askings.get(seat)

    def _settled(self, seat: Seat, now: float) -> None:
        """Nothing is due while the other one is being asked (R-42)."""
        del self._askings[seat]
        if not self._askings:
            self.proceed(now)

    # --- 3. draw, and 4. decide ---------------------------------------------------------------------------------------

    def _draw(self, now: float) -> None:
        assignment = self.match.taken
        match_id = assignment.match_id
        attempt = assignment.attempt
        seed = bytes.fromhex(assignment.seed)
        index = len(self.match.numbers)
        number = draw.number(seed, assignment.league_id, match_id, attempt, index)
        self._context.happened(NumberDrawn(at=now, match_id=match_id, attempt=attempt, number=number))
        self.proceed(now)

    def _decide(self, now: float) -> None:
        self._context.happened(decided(self.match, now))
        self._tell(now)

    # --- 5. tell the players ------------------------------------------------------------------------------------------

    def _tell(self, now: float) -> None:
        """GAME_OVER to both, once (R-54), and to each after the last GAME_ERROR: what becomes of the calls changes
        nothing, but the match waits for their end (R-18)."""
        if self._deliveries:
            return
        match = self.match
        label = f"{match.name}/over"
        over_a, over_b = messages.game_over(match, self._context.membership.sender)
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
        """Word for word the same each time, until the manager's answer ends it."""
        if self._deliveries:
            return
        membership = self._context.membership
        report = messages.report(self.match, membership.sender)
        message = self._context.guest.worded(report, self.match.taken.round_name)
        delivery = Delivery(
            MANAGER,
            f"{self.match.name}/report",
            message,
            _TO_MANAGER,
            address=lambda: membership.manager,
            on_end=self._reported,
            interpret=self._read_receipt,
            line=membership.line(),
        )
        self._deliveries = [delivery]
        self._context.calls.deliver([delivery], now)

    def _read_receipt(self, delivery: Delivery, content: Content, now: float) -> Interpretation:
        registration = self._context.membership.registration
        code = error_in(content)
        if isinstance(content, Acknowledged):
            self._context.membership.record(content.deviations, now)
        if code is None or code in ENDS_REPORTING:
            registration.request_accepted()
            return ANSWERED
        registration.request_refused(code, now)
        if isinstance(content, Refusal) and not content.understood:
            return Interpretation(Reaction.NOT_UNDERSTOOD, content.detail)
        return Interpretation(Reaction.FAILED, code)

    def _reported(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._deliveries.clear()
        match = self.match
        answer = error_in(delivery.answer) or "ACCEPTED"
        self._context.happened(
            ReportSettled(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                answer=answer,
            )
        )
        self._on_reported(match)

    def _nothing(self, now: float) -> None:
        """It is over."""

    # --- from outside -------------------------------------------------------------------------------------------------

    def renew_tokens(self) -> None:
        """What players are shown, and what they may answer with, has changed: from the next call on."""
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
        for asking in self._askings.values():
            asking.drop()
        self._askings.clear()
        for delivery in self._deliveries:
            self._context.calls.drop(delivery, cancel=True)


_STEPS: Final[Mapping[Step, Callable[[Conduct, float], None]]] = {
    "INVITE": Conduct._ask,
    "ASK": Conduct._ask,
    "DRAW": Conduct._draw,
    "DECIDE": Conduct._decide,
    "TELL": Conduct._tell,
    "REPORT": Conduct._report,
    "DONE": Conduct._nothing,
}


def error_in(content: Content | None) -> str | None:
    """The code of an answer that acknowledges nothing; anything else is an acknowledgement (R-04)."""
    if isinstance(content, Refusal):
        return content.code
    if not isinstance(content, Unsealed):
        return None
    if isinstance(content.message, LeagueError | GameError):
        code = content.message.error_code
        return code if code in ERRORS else "E099"
    for violation in content.violations:
        if violation.code in UNREAD:
            return violation.code
    return None


# --- how a match ended, in the words of GAME_OVER and of the report ---------------------------------------------------


def decided(match: Match, now: float) -> MatchDecided:
    """The result of a match in which nobody is awaited any more, made once, before anybody is told (R-31)."""
    faults = match.faults
    won, reason = _by_fault(match, faults) if faults else _by_rules(match)
    assignment = match.taken
    players = assignment.players
    score = points(won)
    status: Status = "DRAW" if won is None else "WIN"
    if faults:
        status = "TECHNICAL_LOSS"
        if won is None:
            score = (LOSS_POINTS, LOSS_POINTS)
    winner = None if won is None else players[won]
    wire = match.game.wire
    is_technical = bool(faults)
    verdict = {"status": status, "draw_seed": assignment.seed}
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
            **wire.game_result(match.position, players, is_technical, match.pending),
            "reason": reason,
            "attempt": assignment.attempt,
            **verdict,
        },
        details={
            **wire.details(match.position, players, is_technical, match.pending),
            "faults": {fault.player_id: _fault(fault) for fault in faults},
            **_provenance(match),
            **verdict,
        },
    )


def _provenance(match: Match) -> dict[str, object]:
    """How the choices came about, as far as the players say so."""
    a, b = match.seated
    if a.provenance is None and b.provenance is None:
        return {}
    seats = zip(match.taken.players, match.seated, strict=True)
    provenances = {player_id: seated.provenance for player_id, seated in seats if seated.provenance is not None}
    return {"provenance": msgspec.to_builtins(provenances)}


def _by_rules(match: Match) -> tuple[Seat | None, str]:
    outcome: GameOutcome | None = match.game.rules.outcome(match.position)
    assert outcome is not None, "a game in which nobody moves is over"
    return outcome.winner, outcome.explanation(match.taken.players)


def _by_fault(match: Match, faults: list[PlayerFaulted]) -> tuple[Seat | None, str]:
    """The other player wins; nobody if both are at fault (R-09)."""
    reason = "Technical loss: " + ", ".join(map(_reason, faults))
    if len(faults) == len(SEATS):
        return None, reason
    loser = match.seat_of(faults[0].player_id)
    assert loser is not None
    return opponent(loser), reason


def _reason(fault: PlayerFaulted) -> str:
    """Say why, for the opponent's eyes too: nothing of what the player said is in it."""
    reason = _REASONS.get((fault.phase, fault.code)) or f"{{}} gave no valid answer ({_name(fault.code)})"
    if fault.code == "E009":
        reason = "{} could not be reached"
        if fault.detail.startswith(REACHED):
            reason = "{} answered with an error"
    return reason.format(fault.player_id)


def _name(code: str) -> str:
    return ERRORS[code].name if code in ERRORS else code


def _fault(fault: PlayerFaulted) -> dict[str, object]:
    return {
        "code": fault.code,
        "phase": fault.phase,
        "turn": fault.turn,
        "detail": fault.detail,
    }
