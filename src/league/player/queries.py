"""Questions to the manager (LEAGUE_QUERY) and their repetition: 10 seconds, three retries 2 seconds apart (R-54).

Nothing of it survives a crash: whoever asked asks again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from league.machine import Blame, Content, Failure, Outgoing, Refusal, Undelivered
from league.protocol.envelope import Unsealed
from league.protocol.errors import ERRORS, Retry
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import LeagueQuery, LeagueQueryResponse

ROW: Final = EXCHANGES["LEAGUE_QUERY"]
KEPT: Final = 16
LONGEST_WAIT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """What became of a query: the manager's response, or the error code it ended with."""

    key: str
    query_type: str
    response: LeagueQueryResponse | None
    error: str | None = None
    detail: str = ""


@dataclass(slots=True)
class _Query:
    """`name` stays the same through all attempts; each attempt's call has a key of its own. `wanted`: somebody will
    look for the answer."""

    name: str
    message: LeagueQuery
    wanted: bool
    attempt: int = 1
    failures: int = 0
    due: float | None = None

    @property
    def key(self) -> str:
        return f"{self.name}/{self.attempt}"


Post = Callable[[str, LeagueQuery, float], Outgoing]
"""How a call to the manager is made: key, message, deadline."""


class Queries:
    """The queries under way and the last few answers."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._open: dict[str, _Query] = {}
        self._asked = 0
        self.answers: deque[QueryAnswer] = deque(maxlen=KEPT)

    @property
    def deadline(self) -> float | None:
        """When the next attempt is due. There are never more than a few queries."""
        return min((query.due for query in self._open.values() if query.due is not None), default=None)

    def next_name(self) -> str:
        """A name for a new query, unique in the life of the process."""
        self._asked += 1
        return f"query/{self._asked}"

    def ask(self, name: str, message: LeagueQuery, now: float, wanted: bool = True) -> Outgoing:
        """Make the first attempt."""
        return self._call(_Query(name, message, wanted), now)

    def give_up(self, name: str, query_type: str, code: str, detail: str) -> None:
        """It ends without a response."""
        self.answers.append(QueryAnswer(name, query_type, None, code, detail))

    def answered(self, key: str, content: Content, now: float) -> bool:
        """The manager answered, or refused to; False if nobody asked."""
        query = self._open.pop(key, None)
        if query is None:
            return False
        if isinstance(content, Unsealed) and isinstance(content.message, LeagueQueryResponse):
            self._end(query, response=content.message)
        elif isinstance(content, Refusal) and _may_help(content.code):
            self._failed(query, content.code, content.detail, now)
        else:
            self._end(query, *_read(content))
        return True

    def undelivered(self, failed: Undelivered, now: float) -> None:
        """No answer came. Only what was our own fault is not counted."""
        query = self._open.pop(failed.key, None)
        if query is None:
            return
        if failed.blame is Blame.LOCAL:
            self._wait(query, now)
            return
        code = "E001" if failed.failure is Failure.TIMEOUT else "E009"
        self._failed(query, code, ERRORS[code].when, now, at_least=failed.retry_after or 0.0)

    def due(self, now: float) -> list[Outgoing]:
        """The attempts to make now."""
        ready = [query for query in self._open.values() if query.due is not None and query.due <= now]
        for query in ready:
            del self._open[query.key]
            query.attempt += 1
        return [self._call(query, now) for query in ready]

    def _call(self, query: _Query, now: float) -> Outgoing:
        query.due = None
        self._open[query.key] = query
        return self._post(query.key, query.message, now + ROW.limit_s)

    def _failed(self, query: _Query, code: str, detail: str, now: float, at_least: float = 0.0) -> None:
        query.failures += 1
        pause = ROW.repetition.pause_before(query.failures)
        if pause is None:
            self._end(query, code, detail)
        else:
            self._wait(query, now + max(pause, min(at_least, LONGEST_WAIT_S)))

    def _end(
        self, query: _Query, code: str | None = None, detail: str = "", response: LeagueQueryResponse | None = None
    ) -> None:
        if query.wanted:
            self.answers.append(QueryAnswer(query.name, query.message.query_type, response, code, detail))

    def _wait(self, query: _Query, until: float) -> None:
        query.due = until
        self._open[query.key] = query


def _may_help(code: str) -> bool:
    """Asking again may help: later, or with the token of a new registration."""
    return code == "E012" or ERRORS[code].retry in (Retry.YES, Retry.LATER)


def _read(content: Content) -> tuple[str, str]:
    """Error code and sentence of an answer that is no response."""
    if isinstance(content, Refusal):
        return content.code, content.detail
    if isinstance(content, Unsealed) and content.violations:
        return content.violations[0].code, content.violations[0].detail
    return "E038", "the answer is no LEAGUE_QUERY_RESPONSE"
