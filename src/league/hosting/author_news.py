"""Between a league and a player's own code, beside its choices: news on their way to its hooks, one after the other,
and its questions to the manager on their way there and back.

A strategy may have `match_over(match, history)` to be told results, `hear(news)` to take note of everything else, which
gives back the hook to be called, and `connect(ask)` to be given a way to ask the manager.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, Final

from league.agent.agent import Agent
from league.hosting import authors
from league.hosting.author_code import Raised, ask_author, caught
from league.machine import Machine, Step
from league.player.competitor import Competitor
from league.player.history import PastMatch
from league.player.league import QueryAnswer
from league.player.news import LeagueQueryError
from league.protocol.messages import LeagueQueryResponse
from league.protocol.parts import Object
from league.terminal import console

LAST_NEWS_S: Final = 1.0
"""How long a player may still think about its last news when everything ends."""
KEPT: Final = 1_000
"""More news than this do not wait for a slow hook: the oldest are dropped."""
QUERY_S: Final = 120.0
"""Longer than a query may take with all its repetitions: after a crash of ours nobody would answer it."""


def competitor(agent: Agent) -> Competitor:
    machine = agent.machine
    assert isinstance(machine, Competitor)
    return machine


class AuthorNews:
    """Tells a strategy what happens. Its hooks are called one after the other; nobody waits for them."""

    def __init__(self, strategy: Any, title: str) -> None:
        self._strategy, self._title = strategy, title
        self._questions = Questions()
        self._waiting: deque[tuple[str, Callable[[], object]]] = deque(maxlen=KEPT)
        self._is_stopping = False
        self._more = asyncio.Event()
        self._telling: asyncio.Task[None] | None = None

    def start(self, agent: Agent) -> None:
        """Begin to work for this agent."""
        self._agent = agent
        self._questions.start(agent)
        if callable(connect := getattr(self._strategy, "connect", None)):
            connect(self._questions.ask)
        self._telling = asyncio.create_task(self._tell_all())

    async def stop(self) -> None:
        """The agent is about to stop; the last news are still told."""
        if self._telling is not None:
            self._is_stopping = True
            self._more.set()
            await asyncio.wait((self._telling,), timeout=LAST_NEWS_S)
            self._telling.cancel()
        self._questions.stop()

    def tell(self, news: Sequence[object]) -> None:
        """Take note at once; the hooks come later."""
        for one in news:
            if isinstance(one, QueryAnswer):
                self._questions.answered(one)
            elif isinstance(one, PastMatch):
                self._ended(one)
            elif callable(hear := getattr(self._strategy, "hear", None)):
                self._heard(type(one).__name__, caught(partial(hear, one)))

    def _ended(self, match: PastMatch) -> None:
        if callable(over := getattr(self._strategy, "match_over", None)):

            def told() -> object:
                return over(match, competitor(self._agent).history)

            self._put(f"in {match.match_id}", told)

    def _heard(self, what: str, hook: object) -> None:
        if isinstance(hook, Raised):
            console.complain(authors.hook_raised(f"{self._title} told of a {what}", hook.error))
        elif callable(hook):
            name = getattr(getattr(hook, "func", hook), "__name__", what)
            self._put(f"in {name}", hook)

    def _put(self, where: str, hook: Callable[[], object]) -> None:
        self._waiting.append((where, hook))
        self._more.set()

    async def _tell_all(self) -> None:
        while True:
            while self._waiting:
                where, hook = self._waiting.popleft()
                told = await ask_author(hook)
                if isinstance(told, Raised):
                    console.complain(authors.hook_raised(f"{self._who()} {where}", told.error))
            if self._is_stopping:
                return
            self._more.clear()
            await self._more.wait()

    def _who(self) -> str:
        me = competitor(self._agent).agent_id
        return f"{self._title} ({me})" if me else self._title


class Questions:
    """A player's questions to its manager. They may come from any thread, each is answered through a future."""

    def __init__(self) -> None:
        self._open: dict[str, Future[Object]] = {}
        self._count = 0
        self._is_over = False

    def start(self, agent: Agent) -> None:
        self._agent, self._loop = agent, asyncio.get_running_loop()

    def ask(self, query_type: str, params: Mapping[str, Any]) -> Future[Object]:
        """Put a LEAGUE_QUERY to the manager; LeagueQueryError if it comes to nothing."""
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
        """What became of a question."""
        asked = self._open.pop(answer.key, None)
        if asked is None:
            return
        error = _error_in(answer)
        if error is not None:
            _fail(asked, error)
        elif asked.set_running_or_notify_cancel():
            assert answer.response is not None
            asked.set_result(_data_in(answer.response))

    def _expire(self, key: str) -> None:
        asked = self._open.pop(key, None)
        if asked is not None:
            _fail(asked, LeagueQueryError("E001", f"nothing came of it within {QUERY_S:g} s"))

    def stop(self) -> None:
        """Nobody will be answered any more."""
        self._is_over = True
        for asked in self._open.values():
            _fail(asked, _ending())
        self._open.clear()


def _ending() -> LeagueQueryError:
    return LeagueQueryError("E042", "this player is ending")


def _fail(asked: Future[Object], error: LeagueQueryError) -> None:
    if asked.set_running_or_notify_cancel():
        asked.set_exception(error)


def _error_in(answer: QueryAnswer) -> LeagueQueryError | None:
    """Why there is no answer, if there is none: the query failed, or the manager says no."""
    response = answer.response
    if response is None:
        return LeagueQueryError(answer.error or "E099", answer.detail)
    if response.error is not None:
        sentence = response.error.error_description or response.error.error_name or ""
        return LeagueQueryError(response.error.error_code, sentence)
    return LeagueQueryError("E099", "the manager gave no reason") if response.success is False else None


def _data_in(response: LeagueQueryResponse) -> Object:
    """Managers by others may say the table beside `data`, and nothing in it."""
    if response.data is not None:
        return response.data
    beside = {"standings": response.standings, "current_round": response.current_round}
    return {name: value for name, value in beside.items() if value is not None}
