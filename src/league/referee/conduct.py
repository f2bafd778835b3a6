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
from typing import Final

from league.calling.delivery import Delivery, Ending, Policy
from league.events import AssignmentCompleted, DrawRequested, MatchDropped, NumberDrawn, PlayersTold, ShareReceived
from league.games import draw
from league.games.contract import SEATS, Seat
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import DrawResponse
from league.protocol.signing.tokens import MANAGER
from league.referee import referee_messages
from league.referee.assigned_matches import Passes, passes_of
from league.referee.decision import decided
from league.referee.manager_report import TO_MANAGER, ManagerReport, interpret_answer
from league.referee.match import Match, Step
from league.referee.questions.answer_reading import Question
from league.referee.questions.asking import Asking
from league.referee.questions.contact import Contact
from league.referee.questions.game_errors import GameErrors
from league.referee.records import Records
from league.referee.referee_context import RefereeContext, error_in

_TO_PLAYERS: Final = Policy(EXCHANGES["GAME_OVER"].limit_s)
Counts = dict[str, int]
"""A player's record in the league, by its columns."""


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
        passes = passes_of(context.secrets, match.name)
        self._questions = self._new_questions(passes)
        self._contacts = (
            Contact(context, match, 0, passes.shown[0]),
            Contact(context, match, 1, passes.shown[1]),
        )
        self._askings: dict[Seat, Asking] = {}
        self._errors = GameErrors(context, match)
        self._deliveries: list[Delivery] = []
        """GAME_OVER, while it is under way."""
        self._drawing = Drawing(context, match, self.proceed, on_place_freed)
        self._report = ManagerReport(context, match, on_reported)
        self._steps: Mapping[Step, Callable[[float], None]] = {
            "INVITE": self._ask,
            "ASK": self._ask,
            "DRAW": self._drawing.draw,
            "DECIDE": self._decide,
            "TELL": self._tell,
            "REPORT": self._report.send,
        }

    def proceed(self, now: float) -> None:
        """Do what the match needs next."""
        step = self.match.next_step
        if step != "DONE":
            self._steps[step](now)

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

    def _decide(self, now: float) -> None:
        self._context.happened(decided(self.match, now))
        self._tell(now)

    # --- 5. tell the players, and 6. report to the manager ------------------------------------------------------------

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
            Delivery(player_a, label, over_a, _TO_PLAYERS, contact_a.address, self._told),
            Delivery(player_b, label, over_b, _TO_PLAYERS, contact_b.address, self._told),
        ]
        self._errors.deliver_after(tuple(self._deliveries), now)

    def _told(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._deliveries.remove(delivery)
        if not self._deliveries:
            match = self.match
            self._context.happened(PlayersTold(at=now, **match.named))
            self._report.send(now)
            self._on_place_freed(now)

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
        # Nobody is told: players that were asked get an answer in the next attempt, if there is one.
        for asking in self._askings.values():
            asking.drop()
        self._askings.clear()
        for delivery in self._deliveries:
            self._context.calls.drop(delivery, cancel=True)
        self._drawing.drop()
        self._report.drop()


class Drawing:
    """The draws of one match: of our seed alone, or of our seed and the share of the manager (spec section 6).

    `on_drawn` is called when the match can go on, `on_dropped` when it is not ours any more."""

    def __init__(
        self,
        context: RefereeContext,
        match: Match,
        on_drawn: Callable[[float], None],
        on_dropped: Callable[[float], None],
    ) -> None:
        self._context = context
        self._match = match
        self._on_drawn = on_drawn
        self._on_dropped = on_dropped
        self._request: Delivery | None = None

    def drop(self) -> None:
        """Stop: the match ends before its time."""
        if self._request is not None:
            self._context.calls.drop(self._request, cancel=True)

    def draw(self, now: float) -> None:
        """Draw until somebody is to move or the game is over."""
        assignment = self._match.taken
        match_id = assignment.match_id
        attempt = assignment.attempt
        seed = bytes.fromhex(assignment.seed)
        if assignment.share_commitment:
            if self._match.draws.share is None:
                self._ask_for_share(now)
                return
            seed = draw.mixed(seed, bytes.fromhex(self._match.draws.share))
        # A game may draw many times in a row, as when cards are dealt.
        while self._match.next_step == "DRAW":
            index = len(self._match.draws.numbers)
            weights = self._match.course.to_move.weights
            number = draw.event(seed, assignment.league_id, match_id, attempt, index, weights)
            self._context.happened(NumberDrawn(at=now, match_id=match_id, attempt=attempt, number=number))
        self._on_drawn(now)

    def _ask_for_share(self, now: float) -> None:
        """Hand in the choices so far and our seed, until the manager answers with its share. We never draw alone."""
        if self._request is not None:
            return
        if not self._match.draws.is_requested:
            # Choices need not be durable to be counted, but they must be before anybody learns them.
            self._context.happened(DrawRequested(at=now, **self._match.named))
        membership = self._context.membership
        self._request = Delivery(
            MANAGER,
            f"{self._match.name}/draw",
            referee_messages.draw_request(self._match, membership.sender, now),
            TO_MANAGER,
            address=lambda: membership.manager,
            on_end=self._share_came,
            interpret=lambda _, content, then: interpret_answer(self._context, content, then),
            line=membership.line(),
        )
        self._context.calls.deliver([self._request], now)

    def _share_came(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        self._request = None
        answer = delivery.answer
        response = answer.message if isinstance(answer, Unsealed) else None
        if isinstance(response, DrawResponse):
            named = self._match.named
            self._context.happened(ShareReceived(at=now, **named, share=response.draw_share))
            self._on_drawn(now)
            return
        # The match is not ours any more, or the manager decides it.
        why = f"the manager gave no share of the draw ({error_in(answer) or 'an answer without one'})"
        self._context.happened(MatchDropped(at=now, **self._match.named, why=why))
        self._on_dropped(now)
