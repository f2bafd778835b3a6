"""The players' records for matches that were assigned without them: GET_STANDINGS, once a round (R-22).

They are courtesy, not evidence: a record that does not come in time is zero. Records that a match has shown are
journalled; all others are lost in a crash.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeGuard

from league.calling.delivery import (
    Delivery,
    Ending,
    Interpretation,
    Policy,
    Reaction,
)
from league.machine import Content, Refusal
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import LeagueQuery, LeagueQueryResponse
from league.protocol.message.parts import QueryParams
from league.protocol.signing.tokens import MANAGER
from league.referee.referee_context import RefereeContext

ZEROS: Final[Mapping[str, int]] = {
    "wins": 0,
    "losses": 0,
    "draws": 0,
    "points": 0,
}
_ROW: Final = EXCHANGES["LEAGUE_QUERY"]


class Records:
    """The records in the manager's last table."""

    def __init__(self, context: RefereeContext) -> None:
        self._context = context
        self._rows: dict[str, dict[str, int]] = {}
        self._asked: set[tuple[str, int]] = set()
        self._queries = 0

    def of(self, player_id: str) -> dict[str, int]:
        """Return a player's record, zeros if it was in no table."""
        return {**ZEROS, **self._rows.get(player_id, {})}

    def ask(self, league_id: str, round_id: int, now: float) -> None:
        """Ask for the table, once a round."""
        if (league_id, round_id) not in self._asked:
            self._asked.add((league_id, round_id))
            self._query(league_id, now)

    def forget_league(self) -> None:
        """Forget everything: we are in another league."""
        self._rows.clear()
        self._asked.clear()

    def _query(self, league_id: str, now: float) -> None:
        # Each question has a conversation of its own.
        self._queries += 1
        membership = self._context.membership
        message = LeagueQuery(
            **membership.sealed(
                now,
                f"conv-{membership.agent_id}-standings-{self._queries}".lower(),
            ),
            league_id=league_id,
            query_type="GET_STANDINGS",
            query_params=QueryParams(),
        )
        delivery = Delivery(
            MANAGER,
            f"standings/{self._queries}",
            message,
            Policy(_ROW.limit_s, _ROW.retries, if_not_understood=Reaction.FAILED),
            address=lambda: membership.manager,
            on_end=self._ended,
            interpret=self._interpret,
        )
        self._context.calls.deliver([delivery], now)

    def _interpret(self, delivery: Delivery, content: Content, now: float) -> Interpretation:
        if isinstance(content, Refusal):
            # The manager may not know us any more, and we have to register again.
            self._context.membership.registration.question_refused(content, now)
            return Interpretation(Reaction.FAILED, content.detail)
        return Interpretation(Reaction.ANSWERED)

    def _ended(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        answer = delivery.answer
        if isinstance(answer, Unsealed) and isinstance(answer.message, LeagueQueryResponse):
            self._read(rows_in(answer.message))

    def _read(self, rows: Iterable[object]) -> None:
        for row in rows:
            if not isinstance(row, dict) or not isinstance(row.get("player_id"), str):
                continue
            counts = {}
            for name in ZEROS:
                count = row.get(name)
                # A third-party table may hold anything: a bad count is shown as zero.
                if _is_count(count):
                    counts[name] = count
            self._rows[row["player_id"]] = counts


def rows_in(response: LeagueQueryResponse) -> list[object]:
    """Return the rows of a table."""
    # They are at top level or under `data`: the documents disagree.
    rows: object = response.standings
    if not rows and response.data:
        rows = response.data.get("standings")
    if isinstance(rows, list):
        return rows
    return []


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
