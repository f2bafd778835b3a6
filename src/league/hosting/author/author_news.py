"""Everything but choices that passes between a league and a player's own code: news for its hooks, and its questions
to the manager.

A strategy may have `match_over(match, history)`, called with results, `hear(news)`, which takes every other piece of
news and returns the hook to call, and `connect(ask)`, which receives a function that asks the manager.

Theory of operation. News wait in a queue, and one task calls the hooks one after the other, so an author's code never
has to handle two pieces of news at once, and the agent never waits for a hook. A question may come from any thread; it
is passed to the loop, becomes a query of the machine under a key of its own, and ends in exactly one of four ways: an
answer, a refusal, no answer in time, or the end of the player. Its future must always be resolved, because a thread of
the author's may be waiting for it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from league.agent.agent import Agent
from league.hosting.author import authors
from league.hosting.author.author_code import Raised, ask_author, caught
from league.machine import Machine, Step
from league.player.competitor import Competitor
from league.player.history import PastMatch
from league.player.league_queries import QueryAnswer
from league.player.news import LeagueQueryError
from league.protocol.message.messages import LeagueQueryResponse
from league.protocol.message.parts import Object
from league.terminal import console

LAST_NEWS_S: Final = 1.0
"""How long a player may still think about its last news when everything ends."""
MOST_WAITING: Final = 1_000
"""The most news that wait for a slow hook; beyond that, the oldest are dropped."""
QUERY_S: Final = 120.0
"""Longer than a query may take with all its repetitions. Only a query that a crash of ours has lost waits so long."""


def competitor(agent: Agent) -> Competitor:
    machine = agent.machine
    assert isinstance(machine, Competitor)
    return machine


class AuthorNews:
    """Calls the hooks of a strategy, one after the other. Nobody waits for them."""

    def __init__(self, strategy: Any, title: str, reports: authors.Reports | None = None) -> None:
        self._strategy = strategy
        self._reports = reports or authors.Reports()
        self._title = title
        self._questions = Questions()
        self._waiting: deque[tuple[str, Callable[[], object]]] = deque(maxlen=MOST_WAITING)
        self._is_stopping = False
        self._more = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None

    def start(self, agent: Agent) -> None:
        """Begin to work for this agent."""
        self._agent = agent
        self._questions.start(agent)
        connect = getattr(self._strategy, "connect", None)
        if callable(connect):
            connect(self._questions.ask)
        self._telling = asyncio.create_task(self._call_hooks())

    async def stop(self) -> None:
        """Call the hooks for the last news, before the agent stops."""
        if self._telling is not None:
            self._is_stopping = True
            self._more.set()
            await asyncio.wait((self._telling,), timeout=LAST_NEWS_S)
            self._telling.cancel()  # a hook that hangs keeps nobody from ending
        self._questions.stop()

    def tell(self, news: Sequence[object]) -> None:
        """Take note of news at once; their hooks are called later."""
        for item in news:
            if isinstance(item, QueryAnswer):
                self._questions.answered(item)
            elif isinstance(item, PastMatch):
                self._take_result(item)
            else:
                self._take_other(item)

    def _take_result(self, match: PastMatch) -> None:
        match_over = getattr(self._strategy, "match_over", None)
        if not callable(match_over):
            return

        def hook() -> object:
            # The history is read when the hook is called, so it holds this match and those since.
            return match_over(match, competitor(self._agent).history)

        self._put(f"in {match.match_id}", hook)

    def _take_other(self, item: object) -> None:
        hear = getattr(self._strategy, "hear", None)
        if not callable(hear):
            return
        kind = type(item).__name__
        hook = caught(partial(hear, item))
        if isinstance(hook, Raised):
            self._complain(f"{self._title}, hearing of a {kind},", hook.error)
        elif callable(hook):
            # A hook may be a partial of the author's method, whose name says more.
            name = getattr(getattr(hook, "func", hook), "__name__", kind)
            self._put(f"in {name}", hook)

    def _put(self, where: str, hook: Callable[[], object]) -> None:
        self._waiting.append((where, hook))
        self._more.set()

    async def _call_hooks(self) -> None:
        while True:
            while self._waiting:
                where, hook = self._waiting.popleft()
                value = await ask_author(hook)
                if isinstance(value, Raised):
                    self._complain(f"{self._player()} {where}", value.error)
            if self._is_stopping:
                return
            self._more.clear()
            await self._more.wait()

    def _complain(self, where: str, error: BaseException) -> None:
        report = authors.hook_raised(where, error)
        console.complain(self._reports.once(report, authors.origin_of(error)))

    def _player(self) -> str:
        agent_id = competitor(self._agent).agent_id
        return f"{self._title} ({agent_id})" if agent_id else self._title


class Questions:
    """A player's questions to its manager. They may come from any thread; each is answered through a future."""

    def __init__(self) -> None:
        self._open: dict[str, Future[Object]] = {}
        self._count = 0
        self._is_over = False

    def start(self, agent: Agent) -> None:
        """Begin to work for this agent, in the running loop."""
        self._agent = agent
        self._loop = asyncio.get_running_loop()

    def ask(
        self,
        query_type: str,
        params: Mapping[str, Any],
    ) -> Future[Object]:
        """Send a LEAGUE_QUERY to the manager. The future ends with its data or with a LeagueQueryError."""
        answer: Future[Object] = Future()
        try:
            self._loop.call_soon_threadsafe(self._put, answer, query_type, params)
        except RuntimeError:  # the loop is closed
            _fail(answer, _ending())
        return answer

    def _put(self, answer: Future[Object], query_type: str, params: Mapping[str, Any]) -> None:
        if self._is_over:
            _fail(answer, _ending())
            return
        self._count += 1
        key = f"author/{self._count}"
        self._open[key] = answer
        self._loop.call_later(QUERY_S, self._expire, key)

        def put(machine: Machine) -> Step:
            assert isinstance(machine, Competitor)
            return machine.query(key, query_type, params, self._agent.now())

        self._agent.prompt(put)

    def answered(self, answer: QueryAnswer) -> None:
        """Resolve the question that the machine has an answer to."""
        question = self._open.pop(answer.key, None)
        if question is None:
            return
        error = _error_in(answer)
        if error is not None:
            _fail(question, error)
        elif question.set_running_or_notify_cancel():
            assert answer.response is not None
            question.set_result(_data_in(answer.response))

    def _expire(self, key: str) -> None:
        question = self._open.pop(key, None)
        if question is not None:
            _fail(question, LeagueQueryError("E001", f"there was no answer within {QUERY_S:g} s"))

    def stop(self) -> None:
        """Fail all open questions, and those that are still to come."""
        self._is_over = True
        for question in self._open.values():
            _fail(question, _ending())
        self._open.clear()


def _ending() -> LeagueQueryError:
    return LeagueQueryError("E042", "this player is ending")


def _fail(question: Future[Object], error: LeagueQueryError) -> None:
    if question.set_running_or_notify_cancel():
        question.set_exception(error)


def _error_in(answer: QueryAnswer) -> LeagueQueryError | None:
    """The error of a query that failed or that the manager refused; None if it has an answer."""
    response = answer.response
    if response is None:
        return LeagueQueryError(answer.error or "E099", answer.detail)
    if response.error is not None:
        sentence = response.error.error_description or response.error.error_name or ""
        return LeagueQueryError(response.error.error_code, sentence)
    if response.success is False:
        return LeagueQueryError("E099", "the manager gave no reason")
    return None


def _data_in(response: LeagueQueryResponse) -> Object:
    """The data of a response. Third-party managers may put the table beside `data` instead of into it."""
    if response.data is not None:
        return response.data
    beside = {
        "standings": response.standings,
        "current_round": response.current_round,
    }
    return {name: value for name, value in beside.items() if value is not None}
