"""News on their way to a player's own code, and its questions on their way to the manager."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from league import LeagueQueryError, LeagueResult, PastMatch, Player, ReceivedError, Round, Standings, Turn
from league.agent.agent import Agent
from league.hosting.author import author_news
from league.hosting.author.author_news import AuthorNews
from league.hosting.member.players import enter
from league.machine import Machine, Step
from league.player.competitor import Competitor
from league.player.league_queries import QueryAnswer
from league.protocol.message.messages import LeagueQueryResponse
from league.protocol.message.parts import QueryError, StandingsRow
from league.terminal import console
from tests.support.player_rig import Rig
from tests.unit.player.test_strategies import past

ROUND = Round(1, (), "P01")
ROW = StandingsRow(rank=1, player_id="P01", display_name="Ada", played=1, wins=1, draws=0, losses=0, points=3)
TABLE = Standings((ROW,), 1, "P01")
ERROR = ReceivedError("GAME_ERROR", "E004", "X", "no", "R1M1", "referee:REF01", None, True, None, trusted=True)
END = LeagueResult("P01", "Ada", 3, (), 1, 1, "P01")
LIMIT_S = 60.0


class FakeAgent:
    """Notes which queries its machine was to make."""

    def __init__(self) -> None:
        self.machine = Rig().enrolled().player
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        self.has_asked = threading.Event()

    def now(self) -> float:
        return 0.0

    def prompt(self, prompt: Callable[[Machine], Step]) -> None:
        agent = self

        class Noting(Competitor):
            def __init__(self) -> None:
                pass

            def query(self, key: str, query_type: str, params: Any, now: float) -> Step:
                agent.asked.append((key, query_type, dict(params)))
                agent.has_asked.set()
                return Step()

        prompt(Noting())


def with_news(player: Any, then: Callable[[AuthorNews, FakeAgent], Awaitable[None]]) -> None:
    strategy = enter(player, "Mine").strategy if isinstance(player, Player) else player

    async def main() -> None:
        news, agent = AuthorNews(strategy, "Mine"), FakeAgent()
        news.start(cast("Agent", agent))
        try:
            await then(news, agent)
        finally:
            await news.stop()

    asyncio.run(asyncio.wait_for(main(), LIMIT_S))


class Listener(Player):
    def __init__(self) -> None:
        self.heard: list[object] = []
        self.all_heard = threading.Event()

    def note(self, news: object) -> None:
        self.heard.append(news)
        if len(self.heard) == 5:
            self.all_heard.set()

    def move(self, turn: Turn) -> str:
        return turn.options[0]

    def on_round(self, announced: Round) -> None:
        self.note(announced)

    async def on_standings(self, standings: Standings) -> None:
        await asyncio.sleep(0)
        self.note(standings)

    def on_error(self, error: ReceivedError) -> None:
        self.note(error)

    def on_match_over(self, match: PastMatch) -> None:
        self.note(match)

    async def on_league_over(self, result: LeagueResult) -> None:
        self.note(result)


def test_everything_is_told_once_and_in_order_by_hooks_of_both_kinds() -> None:
    player, news = Listener(), [ROUND, ERROR, past("even"), TABLE, END]

    async def then(told: AuthorNews, _: FakeAgent) -> None:
        told.tell(news[:2])
        told.tell(news[2:])
        assert (player.round, player.standings) == (ROUND, TABLE), "what a choice may look at is there at once"
        await told.stop()
        assert player.heard == news

    with_news(player, then)


def test_a_hook_that_is_not_async_runs_off_the_event_loop() -> None:
    here: list[int] = []

    class Slow(Player):
        def on_round(self, announced: Round) -> None:
            here.append(threading.get_ident())

    async def then(told: AuthorNews, _: FakeAgent) -> None:
        told.tell([ROUND])
        await told.stop()
        assert here
        assert threading.get_ident() not in here

    with_news(Slow(), then)


@pytest.mark.parametrize("error", [ValueError("my own fault"), SystemExit("enough"), KeyboardInterrupt()])
@pytest.mark.parametrize("is_async", [True, False])
def test_a_hook_that_raises_is_shown_in_full_and_the_next_is_called(
    error: BaseException, is_async: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    heard: list[object] = []

    class Clumsy(Player):
        def on_round(self, announced: Round) -> Any:
            async def later() -> None:
                raise error

            if is_async:
                return later()
            raise error

        def on_standings(self, standings: Standings) -> None:
            heard.append(standings)

    async def then(told: AuthorNews, _: FakeAgent) -> None:
        told.tell([ROUND, TABLE])
        await told.stop()
        assert heard == [TABLE]

    with_news(Clumsy(), then)
    console.flush()
    shown = capsys.readouterr().err
    assert "Mine (P01) in on_round failed: " in shown
    assert "Traceback" in shown
    assert "in later" in shown or "in on_round" in shown
    assert "It costs nothing" in shown


def test_a_hook_that_never_returns_keeps_nobody_from_ending() -> None:
    class Stuck(Player):
        async def on_round(self, announced: Round) -> None:
            await asyncio.Event().wait()

    async def then(told: AuthorNews, _: FakeAgent) -> None:
        told.tell([ROUND] * (author_news.MOST_WAITING + 5))
        await told.stop()

    with_news(Stuck(), then)


def test_a_strategy_without_hooks_is_told_nothing() -> None:
    async def then(told: AuthorNews, _: FakeAgent) -> None:
        told.tell([ROUND, past("even"), object()])
        await told.stop()

    with_news(object(), then)


# --- questions --------------------------------------------------------------------------------------------------------


def response(**fields: Any) -> LeagueQueryResponse:
    return LeagueQueryResponse(query_type="GET_STATUS", **fields)


async def asked(agent: FakeAgent) -> str:
    """The key of the query that is made."""
    await asyncio.to_thread(agent.has_asked.wait, LIMIT_S)
    agent.has_asked.clear()
    return agent.asked[-1][0]


def test_an_async_method_awaits_the_answer() -> None:
    player = Player()

    async def then(told: AuthorNews, agent: FakeAgent) -> None:
        query = asyncio.create_task(player.query("GET_PLAYER_STATS", player_id="P02"))
        told.tell([QueryAnswer(await asked(agent), "GET_PLAYER_STATS", response(success=True, data={"wins": 2}))])
        assert await query == {"wins": 2}
        assert agent.asked[0][1:] == ("GET_PLAYER_STATS", {"player_id": "P02"})

    with_news(player, then)


def test_a_method_that_is_not_async_waits_for_it_in_its_own_thread() -> None:
    player = Player()

    async def then(told: AuthorNews, agent: FakeAgent) -> None:
        query = asyncio.create_task(asyncio.to_thread(player.query_sync, "GET_SCHEDULE", round_id=2))
        key = await asked(agent)
        told.tell([QueryAnswer(key, "GET_SCHEDULE", response(standings=[{"rank": 1}], current_round=2))])
        assert await query == {"standings": [{"rank": 1}], "current_round": 2}, "said beside `data`"
        assert agent.asked[0][1:] == ("GET_SCHEDULE", {"round_id": 2})
        with pytest.raises(RuntimeError, match=r"await self\.query"):
            player.query_sync("GET_STATUS")

    with_news(player, then)


NO = QueryError(error_code="E030", error_name="LEAGUE_NOT_STARTED", error_description="not yet")


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((response(success=False, error=NO),), "E030 LEAGUE_NOT_STARTED: not yet"),
        ((response(success=False),), "E099 INTERNAL_ERROR: the manager gave no reason"),
        ((None, "E012", "nobody's token"), "E012 AUTH_TOKEN_INVALID: nobody's token"),
    ],
)
def test_a_question_that_comes_to_nothing_is_an_exception_with_code_and_sentence(answer: Any, told: str) -> None:
    player = Player()

    async def then(news: AuthorNews, agent: FakeAgent) -> None:
        query = asyncio.create_task(player.query("GET_STATUS"))
        news.tell([QueryAnswer(await asked(agent), "GET_STATUS", *answer)])
        with pytest.raises(LeagueQueryError) as caught:
            await query
        error = caught.value
        assert str(error) == told == f"{error.code} {error.name}: {error.detail}"

    with_news(player, then)


def test_nobody_waits_for_an_answer_that_cannot_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(author_news, "QUERY_S", 0.0)
    player = Player()
    with pytest.raises(LeagueQueryError, match=r"E023 .*not served yet"):
        asyncio.run(player.query("GET_STATUS"))

    async def then(told: AuthorNews, agent: FakeAgent) -> None:
        with pytest.raises(LeagueQueryError, match="E001"):
            await player.query("GET_STATUS")
        monkeypatch.setattr(author_news, "QUERY_S", 600.0)
        agent.has_asked.clear()
        waiting = asyncio.create_task(player.query("GET_STATUS"))
        await asked(agent)
        await told.stop()
        with pytest.raises(LeagueQueryError, match=r"E042 .*is ending"):
            await waiting
        with pytest.raises(LeagueQueryError, match="E042"):
            await player.query("GET_STATUS")
        told.tell([QueryAnswer("author/1", "GET_STATUS", None, "E001")])

    with_news(player, then)
    with pytest.raises(LeagueQueryError, match="E042"):
        asyncio.run(player.query("GET_STATUS"))
