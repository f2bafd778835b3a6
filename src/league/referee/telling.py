"""What follows a decision: GAME_OVER to both players, once, and the report until the manager has it (R-31, R-54)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from league.events import PlayersTold, ReportSettled
from league.machine import Address, Failure, Letter, Outgoing, Refusal, Undelivered
from league.protocol.envelope import Unsealed
from league.protocol.errors import ERRORS
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import GameError, LeagueError
from league.referee import words
from league.referee.match import Match
from league.referee.office import Office

ENDS: Final = frozenset({"E014", "E016", "E017", "E039", "E040"})
"""Errors after which a report is not repeated."""
UNREAD: Final = frozenset({"E034", "E035", "E037"})
"""An answer of which nothing could be read acknowledges nothing."""


class Telling:
    """GAME_OVER: what becomes of the calls changes nothing, but the match waits for their end (R-18)."""

    def __init__(
        self, office: Office, match: Match, to: tuple[Address, Address], told: Callable[[float], None]
    ) -> None:
        self._office, self._match, self._to, self._told = office, match, to, told
        self._key = f"{match.name}/over"
        self._awaited = {one.agent_id for one in to}

    def tell(self, now: float) -> None:
        message = words.game_over(self._match, self._office.enrolment.sender)
        deadline = now + EXCHANGES["GAME_OVER"].limit_s
        self._office.calls.call(Outgoing(self._key, self._to, message, deadline), self)

    def answered(self, letter: Letter, now: float) -> None:
        self._ended(letter.peer, now)

    def failed(self, failed: Undelivered, now: float) -> None:
        self._ended(failed.peer, now)

    def due(self, now: float) -> None:
        """It sets no alarm."""

    def drop(self) -> None:
        self._office.cancel(self._key)
        self._office.calls.forget([self._key])

    def _ended(self, player_id: str, now: float) -> None:
        self._awaited.discard(player_id)
        if not self._awaited:
            self._office.calls.forget([self._key])
            self._office.happened(PlayersTold(at=now, **self._match.named))
            self._told(now)


class Reporting:
    """MATCH_RESULT_REPORT, word for word the same each time, until the manager's answer ends it."""

    def __init__(self, office: Office, match: Match, settled: Callable[[float], None]) -> None:
        self._office, self._match, self._settled = office, match, settled
        self._failures = 0
        self._key: str | None = None

    def report(self, now: float) -> None:
        self._key = f"{self._match.name}/report/{self._failures + 1}"
        row, message = EXCHANGES["MATCH_RESULT_REPORT"], words.report(self._match, self._office.enrolment.sender)
        to = self._office.manager
        self._office.calls.call(Outgoing(self._key, (to,), message, now + row.limit_s), self)

    def answered(self, letter: Letter, now: float) -> None:
        content = letter.content
        code = _error_in(content) if isinstance(content, Unsealed | Refusal) else None
        if code is None or code in ENDS:
            self._office.enrolment.accepted()
            self._end(code or "ACCEPTED", now)
        else:
            self._office.enrolment.refused(code, now)
            if isinstance(content, Refusal) and not content.understood:
                self._office.enrolment.misunderstood()
            self._again(now)

    def failed(self, failed: Undelivered, now: float) -> None:
        if failed.failure is Failure.NOT_UNDERSTOOD:
            self._office.enrolment.misunderstood()
        self._again(now, failed.retry_after or 0.0)

    def due(self, now: float) -> None:
        self.report(now)

    def drop(self) -> None:
        if self._key is not None:
            self._office.cancel(self._key)
        self._forget()

    def _again(self, now: float, at_least: float = 0.0) -> None:
        self._forget()
        self._failures += 1
        pause = EXCHANGES["MATCH_RESULT_REPORT"].repetition.pause_before(self._failures)
        assert pause is not None, "a report is repeated for ever"
        self._office.calls.wake(self, now + max(pause, at_least))

    def _forget(self) -> None:
        self._office.calls.forget([self._key] if self._key is not None else [])
        self._office.calls.let_sleep(self)
        self._key = None

    def _end(self, answer: str, now: float) -> None:
        self._forget()
        self._office.happened(ReportSettled(at=now, **self._match.named, answer=answer))
        self._settled(now)


def _error_in(content: Unsealed | Refusal) -> str | None:
    """The code of an answer that acknowledges nothing; anything else is an acknowledgement (R-04)."""
    if isinstance(content, Refusal):
        return content.code
    if isinstance(content.message, LeagueError | GameError):
        code = content.message.error_code
        return code if code in ERRORS else "E099"
    return next((one.code for one in content.violations if one.code in UNREAD), None)
