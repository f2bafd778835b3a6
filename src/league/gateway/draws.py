"""A draw, reported to a manager by others (spec section 13.3, T-10).

The documents have `winner: null` for a draw; some managers know "DRAW", "TIE" or an empty text instead. A report must
be counted, and must not be counted twice, so another word is sent only if it is certain that nothing was counted:

    the table before ──▶ a word ──▶ accepted: this manager's word from now on
                          ├──▶ refused because of the winner: the next word
                          └──▶ 500, no answer, a broken one: the table after
                                  ├──▶ the match is counted: done; counted twice: done, and the operator is told
                                  ├──▶ it is not counted: the next word
                                  └──▶ the table is not to be had: the same report again, and never another

`--draw-as` decides beforehand. What must never happen: two different reports of one match that may both be counted.
Nothing here is journalled; after a restart the first word comes first again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from league.calling.delivery import Delivery, Ending, Interpretation, Policy, Reaction
from league.gateway.foreign_reports import in_all_words
from league.machine import Content, Refusal
from league.protocol.envelope import Unsealed
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import LeagueQuery, LeagueQueryResponse, MatchResultReport, Message
from league.protocol.parts import QueryParams
from league.protocol.tokens import MANAGER
from league.referee.records import rows_in
from league.referee.referee_context import RefereeContext

WORDS: Final[tuple[str | None, ...]] = (None, "DRAW", "TIE", "")
"""The words for the winner of a draw, the documents' own first."""
COUNTED_TWICE: Final = "COUNTED_TWICE"
_QUESTION: Final = Policy(EXCHANGES["LEAGUE_QUERY"].limit_s, if_not_understood=Reaction.FAILED)

_ONCE: Final = Policy(EXCHANGES["MATCH_RESULT_REPORT"].limit_s, if_not_understood=Reaction.FAILED)
_AGAIN: Final = Policy(
    EXCHANGES["MATCH_RESULT_REPORT"].limit_s,
    EXCHANGES["MATCH_RESULT_REPORT"].retries,
    if_not_understood=Reaction.FAILED,
)

Played = Mapping[str, int]
"""How many matches each player has played, by the manager's table."""


class DrawWords:
    """The word for a draw that the manager understands, as far as it is known."""

    def __init__(self, context: RefereeContext) -> None:
        self.context = context
        decided = context.settings.draw_as
        self.is_known = decided is not None
        self.words = WORDS
        if decided is not None:
            self.words = (None if decided == "null" else decided,)

    def report(self, report: MatchResultReport, round_name: str) -> GatewayDrawReport:
        return GatewayDrawReport(self, report, round_name)


class GatewayDrawReport:
    """One report of a draw, until the manager's answer ends it."""

    def __init__(self, draws: DrawWords, report: MatchResultReport, round_name: str) -> None:
        self._draws = draws
        self._report = report
        self._round_name = round_name
        self._place = 0
        self._played: Played | None = None
        self._failures = 0
        self.outcome = ""
        """How the report ended, if not by an answer to it."""

    def begin(self, then: Callable[[float], None], now: float) -> None:
        """Note what is counted before the report, and go on."""
        if self._draws.is_known:
            then(now)
            return

        def noted(played: Played | None, later: float) -> None:
            self._played = played
            then(later)

        self._ask(noted, now)

    def message(self) -> Message:
        """Write the report in the current word."""
        return in_all_words(self._report, self._round_name, self._draws.words[self._place])

    def is_refused_for_winner(self, content: Content) -> bool:
        """True if the answer refuses the winner in words, and there is another word to try."""
        if not isinstance(content, Refusal) or "winner" not in content.words.lower():
            return False
        return self._next_word()

    def accepted(self) -> None:
        """The manager took the report: this is its word."""
        self._draws.words = (self._draws.words[self._place],)
        self._draws.is_known = True

    @property
    def policy(self) -> Policy:
        """The report is repeated by itself only in a word that the manager is known to understand."""
        return _AGAIN if self._draws.is_known else _ONCE

    def failed(self, counted: Callable[[float], None], again: Callable[[float], None], now: float) -> None:
        """The report got no answer, or one that says nothing: find out whether it was counted, before it is sent again,
        in the next word or in the same."""
        self._failures += 1
        if self._played is None:
            self._repeat(again, now)
            return

        def looked(after: Played | None, later: float) -> None:
            if after is not None and self._is_counted(after):
                self.accepted()
                counted(later)
                return
            if after is not None:
                self._next_word()
            self._repeat(again, later)

        self._ask(looked, now)

    def _is_counted(self, after: Played) -> bool:
        before = self._played or {}
        matches = [after.get(player, 0) - before.get(player, 0) for player in self._report.result.score]
        if max(matches) > 1:
            self.outcome = COUNTED_TWICE
        return min(matches) > 0

    def _repeat(self, again: Callable[[float], None], now: float) -> None:
        delay_s = EXCHANGES[self._report.type].retries.delay_before(self._failures) or 0.0
        self._draws.context.timers.set(self, now + delay_s, again)

    def _next_word(self) -> bool:
        if self._place + 1 >= len(self._draws.words):
            return False
        self._place += 1
        return True

    def _ask(self, then: Callable[[Played | None, float], None], now: float) -> None:
        """Ask for the table; `then` gets None if there is none to be had."""
        membership = self._draws.context.membership
        message = LeagueQuery(
            **membership.sealed(now, f"conv-{membership.agent_id}-draw-{self._report.match_id}".lower()),
            league_id=self._report.league_id,
            query_type="GET_STANDINGS",
            query_params=QueryParams(),
        )

        def ended(delivery: Delivery, outcome: Ending, later: float) -> None:
            played = None
            if outcome is Ending.ANSWERED:
                played = _played_in(delivery.answer)
            then(played, later)

        delivery = Delivery(
            MANAGER,
            f"draw/{self._report.match_id}",
            message,
            _QUESTION,
            address=lambda: membership.manager,
            on_end=ended,
            interpret=_interpret,
        )
        self._draws.context.calls.deliver([delivery], now)


def _interpret(_: Delivery, content: Content, __: float) -> Interpretation:
    if isinstance(content, Refusal):
        return Interpretation(Reaction.FAILED, content.detail)
    return Interpretation(Reaction.ANSWERED)


def _played_in(content: Content | None) -> Played | None:
    """Return the matches played in a table by others; None if it does not say."""
    if not isinstance(content, Unsealed) or not isinstance(content.message, LeagueQueryResponse):
        return None
    played = {}
    for row in rows_in(content.message):
        if not isinstance(row, dict) or not isinstance(row.get("player_id"), str):
            continue
        count = row.get("played", row.get("matches_played"))
        if isinstance(count, int):
            played[row["player_id"]] = count
    return played or None
