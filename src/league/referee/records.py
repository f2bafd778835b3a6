"""The players' records where the manager's assignment has none: GET_STANDINGS, once a round (R-22).

They are courtesy, not evidence: what does not come in time is zero, and nothing of it survives a crash.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeGuard

from league.machine import Letter, Outgoing, Refusal, Undelivered
from league.protocol.envelope import Unsealed
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import LeagueQuery, LeagueQueryResponse
from league.protocol.parts import QueryParams
from league.referee.office import Office

SHOW_TOKEN_S: Final = 60.0
_COLUMNS: Final = ("wins", "losses", "draws", "points")


class Records:
    """What the last table said."""

    def __init__(self, office: Office) -> None:
        self._office = office
        self._rows: dict[str, dict[str, int]] = {}
        self._asked: set[tuple[str, int]] = set()
        self._queries = 0
        self._show_at = 0.0

    def of(self, player_id: str) -> dict[str, int]:
        return self._rows.get(player_id, {})

    def ask(self, league_id: str, round_id: int, now: float) -> None:
        """Once a round."""
        if (league_id, round_id) not in self._asked:
            self._asked.add((league_id, round_id))
            self._query(league_id, now)

    def show_token(self, league_id: str, now: float) -> None:
        """A registration delivered twice leaves the manager with a newer token than ours: what it shows us then
        is not what we know. Any request tells it which token we go by (R-36)."""
        if now >= self._show_at:
            self._show_at = now + SHOW_TOKEN_S
            self._query(league_id, now)

    def _query(self, league_id: str, now: float) -> None:
        self._queries += 1
        _Query(self._office, self, league_id, self._queries).ask(now)

    def read(self, rows: Iterable[object]) -> None:
        for row in rows:
            if isinstance(row, dict) and isinstance(row.get("player_id"), str):
                counts = ((name, row.get(name)) for name in _COLUMNS)
                self._rows[row["player_id"]] = {name: count for name, count in counts if _is_count(count)}


class _Query:
    """One question, with the usual three retries."""

    def __init__(self, office: Office, records: Records, league_id: str, number: int) -> None:
        self._office, self._records = office, records
        self._league_id, self._number = league_id, number
        self._failures = 0
        self._key = ""

    def ask(self, now: float) -> None:
        self._key = f"standings/{self._number}/{self._failures + 1}"
        message = LeagueQuery(
            **self._office.sealed(now, f"conv-{self._office.enrolment.agent_id}-standings-{self._number}".lower()),
            league_id=self._league_id,
            query_type="GET_STANDINGS",
            query_params=QueryParams(),
        )
        deadline = now + EXCHANGES["LEAGUE_QUERY"].limit_s
        self._office.calls.call(Outgoing(self._key, (self._office.manager,), message, deadline), self)

    def answered(self, letter: Letter, now: float) -> None:
        content = letter.content
        self._office.calls.forget([self._key])
        if isinstance(content, Refusal):
            self._office.enrolment.refused(content.code, now)
            self._again(now)
        elif isinstance(content, Unsealed) and isinstance(content.message, LeagueQueryResponse):
            self._records.read(_rows_in(content.message))

    def failed(self, failed: Undelivered, now: float) -> None:
        self._office.calls.forget([self._key])
        self._again(now)

    def due(self, now: float) -> None:
        self.ask(now)

    def _again(self, now: float) -> None:
        self._failures += 1
        pause = EXCHANGES["LEAGUE_QUERY"].repetition.pause_before(self._failures)
        if pause is not None:
            self._office.calls.wake(self, now + pause)


def _rows_in(response: LeagueQueryResponse) -> list[object]:
    """Under `data` or at top level: the documents disagree (R-11)."""
    rows = response.standings or (response.data or {}).get("standings")
    return list(rows) if isinstance(rows, list) else []


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
