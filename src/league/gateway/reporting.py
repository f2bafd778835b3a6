"""Reports to a third-party manager (spec section 13.3, T-10): each match is counted, and never twice because of us.

Some managers count a match as often as it is reported. And for a draw the documents have `winner: null`; some managers
know "DRAW", "TIE" or an empty text instead. So a report is sent again only after the manager's table was looked at:

    the table before ──▶ a report ──▶ accepted ──▶ the table after: this is the word for a draw, or the next draw gets
                          │                         the next one, and the operator reads what the table has instead
                          ├──▶ refused because of the winner: the next word
                          └──▶ no answer, 500, a broken one: the table after
                                  ├──▶ the match is counted: done; counted twice: done, and the operator is told
                                  ├──▶ it is not counted after an answer: the report again, a draw in the next word
                                  ├──▶ it is not counted, and no answer came: the table again, other reports, and at
                                  │    last the same report
                                  └──▶ the table is not to be had: the same report again, and never another, unless
                                       its round is over by then

Reports go one at a time: a manager that takes ten seconds for each has ten seconds for each. Where no table is to be
had, an answer is waited for longer. `--draw-as` decides the word of a draw beforehand. What must never happen: two
different reports of one match that may both be counted. Nothing here is journalled; after a restart the first word
comes first again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from league.calling.delivery import Delivery, Ending, Policy, Reaction
from league.gateway.readers.foreign_assignments import FreeQuery
from league.gateway.readers.foreign_reports import in_all_words, is_draw
from league.gateway.readers.foreign_tables import ForeignTableRow, played_in, tallies_in
from league.machine import UNREACHED, Content, Failure, Information, Refusal
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import MatchResultReport, Message
from league.protocol.message.parts import QueryParams
from league.protocol.signing.tokens import MANAGER
from league.referee.referee_context import RefereeContext

WORDS: Final[tuple[str | None, ...]] = (None, "DRAW", "TIE", "")
"""The words for the winner of a draw, the documents' own first."""
COUNTED_TWICE: Final = "COUNTED_TWICE"
COUNTED_OTHERWISE: Final = "COUNTED_OTHERWISE"
LOOK_S: Final = 3.0
LOOKS: Final = 10
"""How often the table is looked at after a timeout: a slow manager may still be counting."""
_QUESTION: Final = Policy(EXCHANGES["LEAGUE_QUERY"].limit_s, if_not_understood=Reaction.FAILED)
_ONCE: Final = Policy(EXCHANGES["MATCH_RESULT_REPORT"].limit_s, if_not_understood=Reaction.FAILED)
_PATIENTLY: Final = Policy(3 * EXCHANGES["MATCH_RESULT_REPORT"].limit_s, if_not_understood=Reaction.FAILED)

Table = Mapping[str, ForeignTableRow]
Look = Callable[[Table | None, float], None]
"""Gets what the table says, None if it is not to be had."""


class GatewayReports:
    """What is known of the manager's way with reports, and whose turn it is to be reported."""

    def __init__(self, context: RefereeContext) -> None:
        self.context = context
        decided = context.settings.draw_as
        self.words = WORDS
        if decided is not None:
            self.words = (None if decided == "null" else decided,)
        self.shows_tables = True
        """False once the manager has answered the questions for its table, and not with a table."""
        self.is_doubted = False
        """True once the operator has read that the table is wrong."""
        self.proven: set[bool] = set()
        """Whether draws, and whether other results, were seen to be counted."""
        self.over = (0, 0.0)
        """The last round that is over, as the manager said at last, and when."""
        self._turns: dict[GatewayReport, Callable[[float], None]] = {}

    def take_turn(self, report: GatewayReport, begin: Callable[[float], None], now: float) -> None:
        """Begin a report when all earlier ones have ended."""
        self._turns[report] = begin
        if len(self._turns) == 1:
            begin(now)

    def end_turn(self, report: GatewayReport) -> None:
        is_first = report is next(iter(self._turns), None)
        self._turns.pop(report, None)
        if is_first and self._turns:
            self.context.timers.set(self, 0.0, next(iter(self._turns.values())))


class GatewayReport:
    """One report, until the manager's answer ends it."""

    def __init__(self, reports: GatewayReports, report: MatchResultReport, round_name: str) -> None:
        self._reports = reports
        self._report = report
        self._round_name = round_name
        self._is_draw = is_draw(report)
        self._word: str | None = None
        self._before: Table | None = None
        self._begun_at = 0.0
        self._failures = 0
        self._looks = 0
        self._seen: dict[str, ForeignTableRow] = {}
        self._is_over = False
        self.failure: Failure | None = None
        self.outcome = ""

    def begin(self, then: Callable[[float], None], now: float) -> None:
        def noted(table: Table | None, later: float) -> None:
            self._before = table
            self._begun_at = later
            self._word = self._reports.words[0]
            then(later)

        def look(later: float) -> None:
            self._look(noted, later)

        self._reports.take_turn(self, look, now)

    def end(self) -> None:
        self._is_over = True
        self._reports.context.timers.clear(self)
        self._reports.end_turn(self)

    def message(self) -> Message:
        return in_all_words(self._report, self._round_name, self._word)

    def is_refused_for_winner(self, content: Content) -> bool:
        if not self._is_draw or not isinstance(content, Refusal) or "winner" not in content.words.lower():
            return False
        return self._next_word()

    def accepted(self) -> None:
        """The next draw begins with this word."""
        words = self._reports.words
        if self._is_draw and self._word in words:
            self._reports.words = words[words.index(self._word) :]

    def verify(self, then: Callable[[tuple[str, ...], float], None], now: float) -> None:
        """Compare what the manager has counted with the result, until such a result was counted right."""
        reports = self._reports
        if self._before is None or self._is_draw in reports.proven:
            then((), now)
            return

        def looked(after: Table | None, later: float) -> None:
            wrong = self._differences(after or {})
            if after is not None and not wrong:
                reports.proven.add(self._is_draw)
                reports.words = reports.words[:1] if self._is_draw else reports.words
            elif self._looks < 1 and reports.shows_tables:
                # It may still be counting.
                self._looks += 1
                self._later(later + LOOK_S, lambda again: self._look(looked, again))
                return
            elif after is not None:
                self._doubt(wrong)
                wrong = wrong if self.outcome else ()
            then(wrong if after is not None else (), later)

        self._looks = 0
        self._look(looked, now)

    def _doubt(self, wrong: tuple[str, ...]) -> None:
        """The next draw is said in the next word. The operator reads of the first difference."""
        reports = self._reports
        if self._next_word():
            self.accepted()
        if not reports.is_doubted:
            reports.is_doubted = True
            self.outcome = COUNTED_OTHERWISE

    def _differences(self, after: Table) -> tuple[str, ...]:
        """Return what the table has instead of this result."""
        winner = self._report.result.winner
        words = []
        for player in self._report.result.score:
            column = "wins" if player == winner else "draws" if self._is_draw else "losses"
            for name in ("played", column):
                count_before = getattr((self._before or {}).get(player), name, 0) or 0
                count = getattr(after.get(player), name, None)
                if count is not None and count != count_before + 1:
                    words.append(f"{name} of {player}: {count} instead of {count_before + 1}")
        return tuple(words)

    @property
    def policy(self) -> Policy:
        if self._before is None:
            return _PATIENTLY
        return _ONCE

    def failed(
        self,
        busy_s: float,
        counted: Callable[[float], None],
        again: Callable[[float], None],
        now: float,
    ) -> None:
        self._failures += 1
        self._looks = 0
        failure = self.failure
        self.failure = None

        def looked(after: Table | None, later: float) -> None:
            if after is not None and self._is_counted(after):
                self.accepted()
                counted(later)
            elif self._may_look_again(after, failure):
                self._looks += 1
                self._later(later + LOOK_S, lambda then: self._look(looked, then))
            else:
                if after is not None and failure not in UNREACHED:
                    self._next_word()
                self._repeat(again, later)

        if failure is None:
            # The manager was busy, and has not read the report.
            self._later(now + busy_s, again)
        elif self._before is None:
            # A broken connection says nothing: the manager gets time to go on, which it does if it has the report.
            pause_s = _PATIENTLY.limit_s if failure is Failure.BROKEN else 0.0
            self._repeat(lambda later: counted(later) if self._is_overtaken else again(later), now + pause_s)
        else:
            self._look(looked, now)

    @property
    def _is_overtaken(self) -> bool:
        round_id, at = self._reports.over
        return round_id >= self._report.round_id and at > self._begun_at

    def _may_look_again(self, after: Table | None, failure: Failure | None) -> bool:
        is_open = after is None or failure in UNREACHED
        return is_open and self._reports.shows_tables and self._looks < LOOKS

    def _is_counted(self, after: Table) -> bool:
        before = self._before or {}
        matches = [played_in(after, player) - played_in(before, player) for player in self._report.result.score]
        if max(matches) > 1:
            self.outcome = COUNTED_TWICE
        return min(matches) > 0

    def _repeat(self, again: Callable[[float], None], now: float) -> None:
        """Send the report again. Others go first: the manager may count them in an order of its own."""
        at = now + (EXCHANGES[self._report.type].retries.delay_before(self._failures) or 0.0)
        self._reports.end_turn(self)
        self._reports.take_turn(self, lambda later: self._later(max(later, at), again), now)

    def _later(self, at: float, act: Callable[[float], None]) -> None:
        self._reports.context.timers.set(self, at, act)

    def _next_word(self) -> bool:
        # Another report may have found the word meanwhile.
        words = self._reports.words
        if self._word in words:
            words = words[words.index(self._word) + 1 :]
        if not self._is_draw or not words:
            return False
        self._word = words[0]
        return True

    # --- the manager's table ------------------------------------------------------------------------------------------

    def _look(self, then: Look, now: float) -> None:
        """Ask how many matches both players have played; `then` gets None if that is not to be had."""
        if self._reports.shows_tables:
            players = tuple(self._report.result.score)
            self._seen = {}
            self._ask([("GET_STANDINGS", ""), *(("GET_PLAYER_STATS", player) for player in players)], then, now)
        else:
            then(None, now)

    def _ask(self, questions: list[tuple[str, str]], then: Look, now: float) -> None:
        (query_type, player), *others = questions
        membership = self._reports.context.membership
        message = FreeQuery(
            **membership.sealed(now, f"conv-{membership.agent_id}-table-{self._report.match_id}".lower()),
            league_id=self._report.league_id,
            query_type=query_type,
            query_params=QueryParams(player_id=player or None),
        )

        failures: set[Failure] = set()

        def ended(delivery: Delivery, outcome: Ending, later: float) -> None:
            if self._is_over:
                return
            answer = delivery.answer
            if isinstance(answer, Information):
                # An answer about one player need not name it.
                for name, tally in tallies_in(answer.data).items():
                    self._seen.setdefault(player or name, tally)
            is_silent = bool(delivery.busy_s) or not failures.isdisjoint(UNREACHED)
            knows_both = all(name in self._seen for name in self._report.result.score)
            is_empty_table = outcome is Ending.ANSWERED and not player and not self._failures
            if knows_both or is_empty_table:
                then(self._seen, later)
            elif others and not is_silent:
                self._ask(others, then, later)
            else:
                # A manager that answers in other ways is not asked again.
                self._reports.shows_tables = is_silent
                then(None, later)

        delivery = Delivery(
            MANAGER,
            f"table/{self._report.match_id}",
            message,
            _QUESTION,
            address=lambda: membership.manager,
            on_end=ended,
            on_attempt_failed=lambda _, failed, __: failures.add(failed.failure),
        )
        self._reports.context.calls.deliver([delivery], now)
