"""The dashboard over real connections: its feed goes on where a viewer was, viewers are counted, agents come first."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import ClassVar

import pytest

from league.agent.agent import Shown
from league.events import Event
from league.features.dashboard import dashboard_server as served
from league.features.dashboard.dashboard_server import Dashboard
from league.features.dashboard.league_history import LeagueHistory, Moment
from league.features.dashboard.views.answer_times import AnswerSummary
from league.features.records.match_facts import MatchFacts
from league.features.statistics import analysis
from league.features.statistics.analysis import analyse
from league.features.statistics.findings import LeagueStatistics
from league.features.statistics.observations import Observations
from league.hosting import background
from league.hosting.background import open_views
from league.hosting.manager.bare_posts import NOTHING_HERE
from league.manager.league_manager import LeagueManager
from league.storage.reading import JournalReader, open_for_reading
from league.transport.http import Answer, HttpRequest, Response
from league.transport.http_server import Limits, Server
from tests.support.http_servers import HOST, message, serving
from tests.support.managed import Managed
from tests.support.stories import on_disk

WATCHDOG_S = 60.0


class ScriptedLeague:
    """A league that the test drives."""

    is_live = True
    address = "http://127.0.0.1:8000/mcp"
    position = 0
    history: LeagueHistory | None = None

    def __init__(self) -> None:
        self.managed = Managed(players=4, referees=1)
        self.moved = asyncio.Event()

    def register(self, number: int) -> None:
        self.managed.register("player", number)
        self.moved.set()

    async def shown(self, show: Callable[[LeagueManager], Shown]) -> Shown | None:
        return show(self.managed.manager)

    async def watch(self, match_id: str) -> None:
        pass

    async def facts(self, match_id: str) -> MatchFacts | None:
        return None

    async def records(self, player_id: str) -> Sequence[Event]:
        return ()

    async def answering(self) -> Mapping[str, AnswerSummary]:
        return {}

    async def changed(self) -> None:
        await self.moved.wait()
        self.moved.clear()


@asynccontextmanager
async def watched(limits: Limits | None = None) -> AsyncIterator[tuple[Server, ScriptedLeague, Dashboard]]:
    league = ScriptedLeague()
    Feed.opened.clear()
    dashboard = Dashboard(league, open_views())

    async def rest(request: HttpRequest) -> Answer:
        return await dashboard.answer(request) or NOTHING_HERE

    async with asyncio.timeout(WATCHDOG_S), serving(limits or Limits(), rest=rest) as (server, _):
        try:
            yield server, league, dashboard
        finally:
            dashboard.close()
            for one in Feed.opened:
                await one.leave()


class Feed:
    """One viewer."""

    opened: ClassVar[list[Feed]] = []

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, server: Server, position: str = "", header: bytes = b"") -> Feed:
        feed = cls(*await asyncio.open_connection("127.0.0.1", server.port))
        cls.opened.append(feed)
        feed._writer.write(b"GET /api/events?after=%b HTTP/1.1\r\n%b%b\r\n" % (position.encode(), HOST, header))
        return feed

    async def status(self) -> int:
        head = await self._reader.readuntil(b"\r\n\r\n")
        return int(head.split()[1])

    async def frame(self) -> tuple[str, bytes]:
        """The next event: its id and its data."""
        found = ""
        while True:
            line = await self._reader.readuntil(b"\n")
            if line.startswith(b"id: "):
                found = line[4:].strip().decode()
            elif line.startswith(b"data: "):
                return found, line

    async def whole(self) -> bool:
        """Waits for the end of the answer; that of a connection that breaks is none."""
        return (await self._reader.readuntil(b"\r\n0\r\n\r\n")).endswith(b"0\r\n\r\n")

    async def ended(self) -> bool:
        while await self._reader.read(4096):
            pass
        return True

    async def leave(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


def test_a_feed_goes_on_where_its_viewer_was() -> None:
    async def test() -> None:
        async with watched() as (server, league, _):
            league.register(1)
            feed = await Feed.open(server)
            assert await feed.status() == 200
            first, data = await feed.frame()
            assert b"standing-P01" in data
            await feed.leave()
            league.register(2)
            for again in (
                await Feed.open(server, first),
                await Feed.open(server, "", b"Last-Event-ID: %b\r\n" % first.encode()),
            ):
                assert await again.status() == 200
                data = b""
                while b"agent-P02" not in data:  # statistics may have come before
                    position, data = await again.frame()
                    assert b'\\"agent-P01\\"' not in data
                    assert position != first
            stranger = await Feed.open(server, "of-another-process-7")
            assert await stranger.status() == 200
            assert b'\\"agent-P01\\"' in (await stranger.frame())[1]

    asyncio.run(test())


def test_one_address_leaves_half_of_the_feeds_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "FEEDS", 4)

    async def test() -> None:
        async with watched() as (server, league, _):
            league.register(1)
            feeds = [await Feed.open(server) for _ in range(2)]
            for feed in feeds:
                assert await feed.status() == 200
                await feed.frame()
            assert await (await Feed.open(server)).status() == 503
            # A feed that ends gives its place back.
            feeds[0]._writer.close()
            async with asyncio.timeout(WATCHDOG_S):
                while await (await Feed.open(server)).status() == 503:
                    pass

    asyncio.run(test())


def test_addresses_take_turns_when_pages_are_made() -> None:
    async def test() -> None:
        turns = served.Turns(waiting=8, pause=0, longest_pause_s=0)
        made: list[str] = []

        def page(address: str, name: str) -> Awaitable[Response]:
            async def render() -> str:
                made.append(name)
                return name

            return turns.page(address, render, "")

        await turns.begin("")
        greedy = [asyncio.ensure_future(page("greedy", f"greedy {number}")) for number in range(6)]
        await asyncio.sleep(0)
        other = asyncio.ensure_future(page("other", "other"))
        await asyncio.sleep(0)
        turns.end()
        statuses = [response.status for response in await asyncio.gather(*greedy, other)]
        assert made[:2] == ["greedy 0", "other"]
        assert statuses == [200, 200, 200, 200, 503, 503, 200]

    asyncio.run(test())


def test_viewers_make_room_for_agents() -> None:
    async def test() -> None:
        async with watched(Limits(connections_per_address=3)) as (server, league, _):
            league.register(1)
            feeds = [await Feed.open(server) for _ in range(3)]
            for feed in feeds:
                assert await feed.status() == 200
                await feed.frame()
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(message(b"{}"))
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
            assert await feeds[0].ended()
            writer.close()

    asyncio.run(test())


def test_statistics_follow_when_their_rest_is_over_though_nothing_else_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last result of a league often comes while they rest."""
    monkeypatch.setattr(background, "REST", 5.0)

    def slowly(observations: Observations) -> LeagueStatistics:
        time.sleep(0.5)
        return analyse(observations)

    monkeypatch.setattr(analysis, "analyse", slowly)

    async def test() -> None:
        async with watched() as (server, league, _):
            league.register(1)
            feed = await Feed.open(server)
            assert await feed.status() == 200
            await feed.frame()
            league.register(2)
            shown = b""
            while b'\\"measure-P02\\"' not in shown:
                shown = (await feed.frame())[1]

    asyncio.run(test())


async def answered(server: Server, path: str) -> tuple[int, str]:
    """The status and body of a page."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET %b HTTP/1.1\r\n%bConnection: close\r\n\r\n" % (path.encode(), HOST))
    said = (await reader.read()).decode()
    writer.close()
    return int(said.split()[1]), said


def test_the_first_statistics_hold_up_no_page_and_follow_when_they_are_worked_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = threading.Event()

    def when_told(observations: Observations) -> LeagueStatistics:
        assert done.wait(WATCHDOG_S)
        return analyse(observations)

    monkeypatch.setattr(analysis, "analyse", when_told)

    async def test() -> None:
        async with watched() as (server, league, _):
            league.register(1)
            try:
                status, page = await answered(server, "/")
                assert status == 200
                assert "Being computed." in page
                assert 'id="standing-P01"' in page
                feed = await Feed.open(server)
                assert await feed.status() == 200
                assert b'\\"measure-P01\\"' not in (await feed.frame())[1]
            finally:
                done.set()
            shown = b""
            while b'\\"measure-P01\\"' not in shown:
                shown = (await feed.frame())[1]
            assert b"Being computed." not in shown
            assert b"titles-now" in shown

    asyncio.run(test())


def played_out(folder: Path) -> JournalReader:
    """The journal of a league of three rounds."""
    managed = Managed(players=4, referees=1).fill()
    managed.play("A")
    return open_for_reading(on_disk(folder / "journal.db", managed.events))


def test_every_moment_of_a_league_has_its_page(tmp_path: Path) -> None:
    async def test() -> None:
        async with watched() as (server, league, _):
            with played_out(tmp_path) as journal:
                league.history = LeagueHistory(journal)
                last = journal.last_seq
                pages = {seq: await answered(server, f"/?at={seq}") for seq in (1, last // 2, last)}
                assert {status for status, _ in pages.values()} == {200}
                assert all(f"As it was after event {seq} of {last}, " in page for seq, (_, page) in pages.items())
                assert "Registration" in pages[1][1]
                assert "Champion: " in pages[last][1]
                assert "after event" in (await answered(server, "/?round=1"))[1]
                wrong = [f"at={last + 1}", "at=0", "at=-1", "at=x", "at=%C2%B2", "at=" + "9" * 40, "round=4", "round=x"]
                for one in wrong:
                    assert (await answered(server, f"/?{one}"))[0] == 404
                journal.close()
                status, page = await answered(server, "/?at=1")
                assert status == 503
                assert "The journal cannot be read" in page

    asyncio.run(test())


def test_whoever_looks_back_holds_up_nobody_else(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    class SlowHistory(LeagueHistory):
        def at(self, seq: int) -> Moment | None:
            begun.set()
            assert go_on.wait(WATCHDOG_S)
            return super().at(seq)

    async def test() -> None:
        async with watched() as (server, league, _):
            league.register(1)
            with played_out(tmp_path) as journal:
                league.history = SlowHistory(journal)
                waiting = [asyncio.create_task(answered(server, "/?at=1")) for _ in range(20)]
                try:
                    done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                    assert {(await one)[0] for one in done} == {503}, "there are too many"
                    assert await asyncio.to_thread(begun.wait, WATCHDOG_S)
                    assert (await answered(server, "/"))[0] == 200
                    assert (await answered(server, "/player/P01"))[0] == 200
                finally:
                    go_on.set()
                statuses = Counter(status for status, _ in await asyncio.gather(*waiting))
                assert set(statuses) == {200, 503}
                assert statuses[200] <= 9, "one is replayed, eight wait"

    asyncio.run(test())


def test_closing_the_dashboard_ends_its_feeds() -> None:
    async def test() -> None:
        async with watched() as (server, league, dashboard):
            league.register(1)
            feed = await Feed.open(server)
            assert await feed.status() == 200
            await feed.frame()
            dashboard.close()
            assert await feed.whole()
            assert await (await Feed.open(server)).status() == 503

    asyncio.run(test())


@pytest.mark.parametrize(
    ("first", "status"),
    [
        (b"GET / HTTP/1.1", 200),
        (b"HEAD / HTTP/1.1", 200),
        (b"HEAD /api/events HTTP/1.1", 200),
        (b"DELETE / HTTP/1.1", 405),
        (b"GET /assets/dashboard.css HTTP/1.1", 200),
        (b"GET /assets/../rendering.py HTTP/1.1", 404),
        (b"GET /assets/%2e%2e/rendering.py HTTP/1.1", 404),
        (b"GET /match/R9M9 HTTP/1.1", 404),
        (b"GET /player/%3Cscript%3E HTTP/1.1", 404),
        (b"GET /nothing HTTP/1.1", 404),
    ],
)
def test_every_path_has_its_answer(first: bytes, status: int) -> None:
    async def test() -> None:
        async with watched() as (server, league, _):
            league.register(1)
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"%b\r\n%bConnection: close\r\n\r\n" % (first, HOST))
            said = await reader.read()
            assert int(said.split()[1]) == status
            assert (b"content-security-policy: default-src 'none'" in said) == (b"text/html" in said or status == 200)
            assert b"<script>" not in said
            writer.close()

    asyncio.run(test())
