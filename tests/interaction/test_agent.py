"""The shell with a real journal and real HTTP: one answer to each request, also when the disk or our own code fails."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from league.agent import agent as shell
from league.agent import recovery, sources
from league.agent.agent import Agent, Setup
from league.agent.log import Log
from league.calling.rate_limit import Rate, RateLimiter
from league.events import AgentRegistered, LeagueSettings
from league.letters import Speaker
from league.machine import Letter, Step, Undelivered
from league.manager.league_manager import LeagueManager
from league.protocol.message.envelope import Reading, Unsealed
from league.protocol.message.exchanges import Role
from league.protocol.message.messages import LeagueRegisterRequest
from league.protocol.wire.jsonrpc import MESSAGE_LIMIT
from league.storage.files.sqlite import Settings, SqliteJournal
from league.storage.reading import open_for_reading
from league.storage.transcripts.transcript import STRANGERS, STRANGERS_KEY, strangers_in
from league.transport.http import Response
from league.transport.http_client import HttpClient
from league.transport.http_server import App, serve
from tests.support.journals import locked_by_another
from tests.support.peer import WATCHDOG_S, Peer, Sent, post
from tests.support.processes import Processes
from tests.support.scripts import HANG, Object, on

SECRET = "tok_P99_thisnobodymayread"
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


class Manager(LeagueManager):
    """A real manager, but for one bug: it stumbles over players called Bug, after it took them in, and when it is
    asked to it stumbles over its own clock or its calls."""

    stumbles = ""

    def handle(self, letter: Letter, now: float) -> Step:
        step = super().handle(letter, now)
        content = letter.content
        message = content.message if isinstance(content, Unsealed) else None
        if isinstance(message, LeagueRegisterRequest) and message.player_meta.display_name == "Bug":
            raise ValueError(f"somebody shows {SECRET}")
        return step

    def tick(self, now: float) -> Step:
        self._stumble("tick")
        return super().tick(now)

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        self._stumble("undelivered")
        return super().undelivered(failed, now)

    def _stumble(self, over: str) -> None:
        if Manager.stumbles == over:
            Manager.stumbles = ""
            raise LookupError("over a bug")


@dataclass
class Running:
    """A manager in this process, behind a real server."""

    agent: Agent
    path: Path
    url: str

    async def ask(self, body: bytes) -> tuple[int, Object]:
        """Status and JSON of the one answer."""
        status, answer = await post(self.url, body)
        return status, json.loads(answer)

    async def register(self, name: str) -> tuple[int, Object]:
        return await self.ask(registration(name))

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait for something that the shell does."""
        async with asyncio.timeout(WATCHDOG_S):
            while not true():
                self.agent.changed.clear()
                # The journal's thread does not announce that its queue is empty again, so we also look ourselves.
                with suppress(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await self.agent.changed.wait()

    @property
    def members(self) -> list[str]:
        """Who is registered, as the disk has it."""
        with open_for_reading(self.path) as reader:
            return [one.display_name for one in reader.events() if isinstance(one, AgentRegistered)]


def registration(name: str, number: int = 7) -> bytes:
    meta = {"display_name": name, "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": _endpoint(name)}
    message = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": f"player:{name}",
        "timestamp": "2026-01-15T10:00:00Z",
        "conversation_id": "conv-1",
        "player_meta": meta,
    }
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": "register_player", "params": message}).encode()


def _endpoint(name: str) -> str:
    """Nobody listens there."""
    return f"http://127.0.0.1:9/{name.replace(' ', '-')}"


@asynccontextmanager
async def running(
    folder: Path, journal: Settings | None = None, *, scale: float = 1.0, log: bool = False, **settings: Any
) -> AsyncIterator[Running]:
    """Any: settings of a league."""
    known = LeagueSettings(**{"league_id": "shell", "players": 50, **settings})
    client, path = HttpClient(), folder / "journal.db"
    setup = Setup(
        build=lambda secrets: Manager(known, sources.chance, secrets),
        speaker=lambda _: Speaker(Role.MANAGER, "league_manager", Reading()),
        client=client,
        clock=sources.Clock(scale),
        log=Log(folder / "log" if log else None),
    )
    agent = Agent(setup)
    server = await serve("127.0.0.1", 0, App(agent.respond))
    agent.start(SqliteJournal(path, agent.notice, settings=journal or Settings(busy_s=0.05)))
    try:
        yield Running(agent, path, f"http://127.0.0.1:{server.port}/mcp")
    finally:
        await server.close(WATCHDOG_S)
        await agent.stop()
        await client.close()


@pytest.fixture(autouse=True)
def _quick_and_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (shell, recovery):
        monkeypatch.setattr(module, "TRY_DISK_S", 0.05)
    monkeypatch.setattr(Manager, "stumbles", "")


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scene)


def code(answer: Object) -> str:
    """The catalogue's code of an error."""
    found: str = answer["error"]["data"]["error_code"]
    return found


# --- one answer -------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("RPC.one_answer")
@pytest.mark.requirement("RPC.echoes_id")
def test_every_request_gets_exactly_one_answer_under_its_own_id(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as manager:
            names = [f"Player {number}" for number in range(40)]
            asked = [manager.ask(registration(name, number)) for number, name in enumerate(names)]
            answers = await asyncio.gather(*asked, *(manager.ask(PING) for _ in range(40)))
            assert [status for status, _ in answers] == [200] * 80
            assert [answer["id"] for _, answer in answers] == [*range(40), *[1] * 40]
            assert {answer["result"].get("status") for _, answer in answers} == {"ACCEPTED", None}
            assert sorted(manager.members) == sorted(names)
            assert manager.agent.pump.load_of["letters"] == 0

    play(scene())


@pytest.mark.requirement("HTTP.other_statuses")
@pytest.mark.parametrize(
    ("body", "status", "expected"),
    [
        (b"banana", 400, "E034"),
        (b"[" + PING + b"]", 400, "E035"),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', 400, "E035"),
        (b'{"jsonrpc":"2.0","id":1,"method":"dance"}', 200, "E036"),
        (b" " * (MESSAGE_LIMIT + 1), 413, "E037"),
        (registration("Ann").replace(b"1.0.0", b"one"), 200, "E008"),
    ],
)
def test_what_cannot_be_read_gets_its_one_answer_too(tmp_path: Path, body: bytes, status: int, expected: str) -> None:
    async def scene() -> None:
        async with running(tmp_path) as manager:
            got, answer = await manager.ask(body)
            assert (got, code(answer)) == (status, expected)

    play(scene())


# --- the disk ---------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("KEEPING.storage_unavailable")
def test_what_cannot_be_stored_is_refused_and_everything_goes_on_when_the_disk_is_back(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as manager:
            await manager.register("Ann")
            with locked_by_another(manager.path):
                refused = await asyncio.gather(*(manager.register(name) for name in ("Ben", "Cem", "Dot")))
                assert [(status, code(answer)) for status, answer in refused] == [(503, "E041")] * 3
                assert code((await manager.register("Ben"))[1]) == "E041"
                # Reads need no disk, and show what is stored.
                pong = {"jsonrpc": "2.0", "id": 1, "result": {"protocol": "league.v2"}}
                assert await manager.ask(PING) == (200, pong)
                assert manager.agent.pump.storage_down
            await manager.until(lambda: not manager.agent.pump.storage_down)
            assert manager.members == ["Ann"]
            status, answer = await manager.register("Ben")
            assert (status, answer["result"]["player_id"]) == (200, "P02")
            assert manager.members == ["Ann", "Ben"]

    play(scene())


def test_an_answer_that_waits_for_nothing_is_there_at_once(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as manager:
            await manager.ask(PING)  # what was written at the start is on disk now
            at_once = manager.agent.respond(PING, "127.0.0.1")
            later = manager.agent.respond(registration("Ann"), "127.0.0.1")
            assert isinstance(at_once, Response)
            assert not isinstance(later, Response)
            assert (at_once.status, (await later).status) == (200, 200)
            assert manager.members == ["Ann"]

    play(scene())


@pytest.mark.requirement("HTTP.retry_after")
def test_who_must_come_again_is_told_when(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as manager:
            with locked_by_another(manager.path):
                response = await manager.agent.post(registration("Ann"), "127.0.0.1")
            assert (response.status, response.headers) == (503, (("retry-after", "2"),))

    play(scene())


@pytest.mark.requirement("KEEPING.bounded")
def test_when_too_much_waits_for_the_disk_nothing_more_is_taken(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path, Settings(queue_entries=1, busy_s=WATCHDOG_S)) as manager:
            await manager.until(lambda: not manager.agent.journal.is_full)
            with locked_by_another(manager.path):
                first = asyncio.create_task(manager.register("Ann"))
                await manager.until(lambda: manager.agent.journal.is_full)
                status, answer = await manager.register("Ben")
                assert (status, code(answer)) == (503, "E042")
                assert not first.done()
            status, answer = await first
            assert (status, answer["result"]["status"]) == (200, "ACCEPTED")
            assert (await manager.register("Ben"))[0] == 200
            assert manager.members == ["Ann", "Ben"]

    play(scene())


@pytest.mark.requirement("KEEPING.storage_unavailable")
@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="this system lets nobody limit another process")
def test_a_process_whose_files_may_not_grow_refuses_and_recovers(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes, ExitStack() as stack:
        manager = processes.manager(players=50, transcript="off")
        wal = tmp_path / "manager.db-wal"
        hard = resource.prlimit(manager.pid, resource.RLIMIT_FSIZE)[1]
        peers = [stack.enter_context(Peer(f"Player {number}")) for number in range(3)]
        peers[0].register(manager.endpoint)
        resource.prlimit(manager.pid, resource.RLIMIT_FSIZE, (wal.stat().st_size, hard))
        assert code(peers[1].apply(manager.endpoint)) == "E041"
        assert peers[1].sent[-1].status == 503
        resource.prlimit(manager.pid, resource.RLIMIT_FSIZE, (hard, hard))
        for peer in peers[1:]:
            _register_sooner_or_later(peer, manager.endpoint)
        assert [peer.agent_id for peer in peers] == ["P01", "P02", "P03"]
        assert manager.stop() == 0
        assert list(processes.members()) == [peer.name for peer in peers]


def _register_sooner_or_later(peer: Peer, manager: str) -> None:
    """Try again as long as the answer is "try later"."""
    while "error" in (answer := peer.apply(manager)):
        assert code(answer) == "E041"


# --- our own bugs -----------------------------------------------------------------------------------------------------


@pytest.mark.requirement("ERROR.internal")
def test_a_bug_is_answered_with_an_incident_and_leaves_no_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with running(tmp_path) as manager:
            await manager.register("Ann")
            before = manager.agent.machine
            status, answer = await manager.register("Bug")
            assert (status, code(answer)) == (200, "E099")
            incident = answer["error"]["data"]["context"]["incident"]
            assert SECRET not in json.dumps(answer)
            told = capsys.readouterr().err
            assert f"incident {incident}\n" in told
            assert "ValueError: somebody shows tok_" in told
            assert SECRET not in told
            assert manager.agent.machine is not before
            # Until the machine is at work again, others come later.
            assert (await manager.register("Ben"))[0] == 503
            await manager.until(lambda: not manager.agent.pump.storage_down)
            assert (await manager.register("Ben"))[1]["result"]["player_id"] == "P02"
            assert manager.members == ["Ann", "Ben"]

    play(scene())


@pytest.mark.requirement("RPC.one_answer")
def test_who_was_stored_before_a_bug_is_told_so(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path, Settings(busy_s=WATCHDOG_S)) as manager:
            await manager.until(lambda: not manager.agent.pump.load_of["held"])
            with locked_by_another(manager.path):
                ann = asyncio.create_task(manager.register("Ann"))
                await manager.until(lambda: manager.agent.pump.load_of["held"] == 1)
                assert code((await manager.register("Bug"))[1]) == "E099"
                assert (await manager.register("Ben"))[0] == 503
            assert (await ann)[1]["result"]["status"] == "ACCEPTED"
            await manager.until(lambda: not manager.agent.pump.storage_down)
            assert manager.members == ["Ann"]

    play(scene())


@pytest.mark.requirement("RPC.one_answer")
def test_an_answer_that_a_bug_swallowed_is_not_owed_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = 0.0
    steady = sources.steady
    monkeypatch.setattr(sources, "steady", lambda: steady() + ahead)

    async def scene() -> None:
        nonlocal ahead
        with Peer("Slow", on("ping", HANG)) as slow:
            # `strict` answers a registration only when the probe has ended.
            async with running(tmp_path, profile="strict") as manager:
                held = asyncio.create_task(asyncio.to_thread(slow.apply, manager.url))
                await asyncio.to_thread(slow.saw, "ping")
                # At the same moment its time is up, and a bug strikes.
                ahead = 60.0
                assert code((await manager.register("Bug"))[1]) == "E099"
                assert code(await held) == "E099"

    play(scene())


def test_a_bug_while_the_disk_fails_does_not_end_the_agent(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path, Settings(busy_s=0.5)) as manager:
            await manager.until(lambda: not manager.agent.pump.load_of["held"])
            with locked_by_another(manager.path):
                ann = asyncio.create_task(manager.register("Ann"))
                await manager.until(lambda: manager.agent.pump.load_of["held"] == 1)
                assert code((await manager.register("Bug"))[1]) == "E099"
                assert code((await ann)[1]) == "E041"
            await manager.until(lambda: not manager.agent.pump.storage_down)
            assert (await manager.register("Ann"))[0] == 200
            assert manager.members == ["Ann"]

    play(scene())


@pytest.mark.parametrize("over", ["tick", "undelivered"])
def test_a_bug_in_what_nobody_asked_for_is_survived_too(
    tmp_path: Path, over: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with running(tmp_path, scale=20) as manager:
            Manager.stumbles = over
            # Nobody listens at its endpoint, so it is probed, in vain, again and again.
            await manager.register("Ann")
            await manager.until(lambda: not Manager.stumbles and not manager.agent.pump.storage_down)
            assert "LookupError: over a bug" in capsys.readouterr().err
            assert (await manager.register("Ben"))[1]["result"]["player_id"] == "P02"

    play(scene())


def test_a_bug_that_always_comes_back_is_told_less_and_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scene() -> None:
        async with running(tmp_path) as manager:
            for module in (shell, recovery):
                monkeypatch.setattr(module, "TRY_DISK_S", 0.001)
            monkeypatch.setattr(Manager, "resume", _stumbles_always)
            await manager.register("Bug")
            rests: list[float] = []
            while len(rests) < 6:
                rests.append(manager.agent._bugs.delay_s)
                await manager.until(lambda: manager.agent._bugs.delay_s > rests[-1])
            assert set(rests) <= {0.001 * 2**n for n in range(12)}
            assert capsys.readouterr().err.count("incident ") >= len(rests)

    play(scene())


def _stumbles_always(_machine: Manager, _now: float) -> Step:
    raise LookupError("over a bug")


# --- what is seen -----------------------------------------------------------------------------------------------------


def test_letters_and_events_are_counted_and_logged_one_line_each(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path, log=True) as manager:
            await manager.register("Ann")
            await manager.register("Ann" * 50)
            await manager.ask(PING)
            await manager.ask(registration("Eve").replace(b"LEAGUE_REGISTER_REQUEST", b"SECRET_MESSAGE"))
            shown = manager.agent.meter.prometheus({"queue": 3})
            counted = [line for line in shown.splitlines() if line.startswith("league_letters_received_total")]
            assert counted == [
                'league_letters_received_total{message_type="?",outcome="E038"} 1',
                'league_letters_received_total{message_type="LEAGUE_REGISTER_REQUEST",outcome="E008"} 1',
                'league_letters_received_total{message_type="LEAGUE_REGISTER_REQUEST",outcome="ok"} 1',
                'league_letters_received_total{message_type="ping",outcome="ok"} 1',
            ]
            assert 'league_events_total{event="AgentRegistered"} 1' in shown
            assert "league_queue 3" in shown

    play(scene())
    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    came = [(line["message_type"], line["outcome"]) for line in lines if line.get("direction") == "in"]
    asked = "LEAGUE_REGISTER_REQUEST"
    assert came == [(asked, "ok"), (asked, "E008"), ("ping", "ok"), ("?", "E038")]
    assert [line["event"] for line in lines if line["event"][0].isupper()] == [
        "LeagueCreated",
        "AgentRegistered",
        "RequestRefused",
    ]


@pytest.mark.requirement("TOKEN.never_shown")
def test_tokens_are_in_no_log_no_transcript_and_no_byte_of_the_journal(tmp_path: Path) -> None:
    sent: list[Sent] = []

    async def scene() -> None:
        async with running(tmp_path, log=True, players=2) as manager:
            with Peer("Ann") as ann, Peer("Ben") as ben, Peer("Ref", role="referee") as referee:
                await asyncio.to_thread(_introduce, manager.url, ann, ben, referee)
                sent.extend([*ann.sent, *ben.sent, *referee.sent])
                shown = {one.message["auth_token"] for one in referee.received if "auth_token" in one.message}
                tokens.update({ann.token, ben.token, referee.token, SECRET, *shown})

    tokens: set[str] = set()
    play(scene())
    assert len(tokens) == 5
    assert len(sent) == 6
    with open_for_reading(tmp_path / "journal.db") as reader:
        kinds = {one.message_type for one in reader.letters()}
        assert {"LEAGUE_REGISTER_REQUEST", "LEAGUE_QUERY", "ROUND_ANNOUNCEMENT"} <= kinds
    kept = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert [one for one in tokens if one.encode() in kept] == []


def _introduce(url: str, ann: Peer, ben: Peer, referee: Peer) -> None:
    """Everybody registers and asks for something, with a good token, a bad one, and one in the wrong place."""
    for one in (ann, ben, referee):
        one.register(url)
    query = {"message_type": "LEAGUE_QUERY", "league_id": "shell", "query_type": "GET_STANDINGS"}
    assert ann.call(url, query)["result"]["success"]
    assert code(ben.call(url, {**query, "auth_token": SECRET})) == "E012"
    assert code(ben.call(url, {**query, "query_type": 7, "conversation_id": SECRET})) == "E007"
    referee.saw("ROUND_ANNOUNCEMENT")


def test_requests_of_strangers_do_not_push_out_the_letters_of_the_league(tmp_path: Path) -> None:
    """Only their beginnings are kept, in a ring."""

    async def scene() -> None:
        async with running(tmp_path, players=3) as manager:
            assert (await manager.register("Ann"))[0] == 200
            for number in range(STRANGERS + 20):
                await manager.ask(query(f"tok_P01_nobody{number}", padding="x" * 2000))
            assert (await manager.register("Ben"))[0] == 200

    play(scene())
    with open_for_reading(tmp_path / "journal.db") as reader:
        letters = [(one.message_type, one.kind) for one in reader.letters()]
        strangers = strangers_in(reader.meta[STRANGERS_KEY])
        size = int(reader.meta["transcript_bytes"])
    assert letters == [("LEAGUE_REGISTER_REQUEST", "request"), ("LEAGUE_REGISTER_REQUEST", "response")] * 2
    assert len(strangers) == STRANGERS
    assert {(one.code, one.message_type) for one in strangers} == {("E012", "LEAGUE_QUERY")}
    assert all(len(one.head) <= 200 and "nobody" not in one.head for one in strangers)
    assert size < 10_000


def test_the_transcript_has_calls_that_nobody_answered(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path, players=2, scale=50) as manager:
            with Peer("Ann", on("ROUND_ANNOUNCEMENT", HANG)) as ann, Peer("Ben") as ben, Peer("R", role="referee") as r:
                for one in (ann, ben, r):
                    await asyncio.to_thread(one.register, manager.url)
                await asyncio.to_thread(ann.saw, "ROUND_ANNOUNCEMENT", 2)

    play(scene())
    with open_for_reading(tmp_path / "journal.db") as reader:
        told = [one for one in reader.letters() if one.peer == "P01" and one.message_type == "ROUND_ANNOUNCEMENT"]
    assert [(one.direction, one.kind, one.status) for one in told[:3]] == [
        ("out", "request", ""),
        ("in", "response", "timeout"),
        ("out", "request", ""),
    ]


def test_nobody_who_waits_is_left_without_an_answer_when_we_stop(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path, Settings(busy_s=WATCHDOG_S)) as manager:
            await manager.until(lambda: not manager.agent.pump.load_of["held"])
            with locked_by_another(manager.path):
                asked = asyncio.create_task(manager.register("Ann"))
                await manager.until(lambda: manager.agent.pump.load_of["held"] == 1)
                stopping = asyncio.create_task(manager.agent.stop())
                status, _ = await asked
                assert status == 503
            await stopping

    play(scene())


def test_a_command_started_twice_on_one_journal_says_so(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        first = processes.manager()
        done: subprocess.CompletedProcess[str] = processes.run("manager", "--port", "0", "--journal", "manager.db")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("league manager: ")
        assert "is in use by process" in done.stderr
        assert first.stop() == 0


# --- too many requests ------------------------------------------------------------------------------------------------


@pytest.mark.requirement("HTTP.rate_limit")
@pytest.mark.requirement("HTTP.retry_after")
def test_a_flood_is_told_to_come_later_and_takes_nothing_from_members_at_the_same_address(tmp_path: Path) -> None:
    async def scene() -> None:
        async with running(tmp_path) as manager:
            setup = manager.agent.setup
            _, accepted = await manager.register("Ann")
            begin = manager.agent.now()
            manager.agent.now = lambda: begin
            setup.addresses, setup.members = RateLimiter(Rate(1, 3)), RateLimiter(Rate(1, 2))
            assert [(await manager.ask(PING))[0] for _ in range(3)] == [200] * 3
            for body in (PING, b"nonsense", registration("Bob"), query("tok_none"), INITIALIZE):
                status, told = await manager.ask(body)
                assert (status, code(told), told["error"]["message"]) == (429, "E010", "RATE_LIMITED")
            mine = query(accepted["result"]["auth_token"])
            assert [(await manager.ask(mine))[0] for _ in range(3)] == [200, 200, 429]
            manager.agent.now = lambda: begin + 1.0
            assert [(await manager.ask(PING))[0] for _ in range(2)] == [200, 429]
            assert manager.members == ["Ann"]

    play(scene())


INITIALIZE = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'


def query(token: str, padding: str = "") -> bytes:
    """A player's question for the table."""
    message = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_QUERY",
        "sender": "player:P01",
        "timestamp": "2026-01-15T10:00:00Z",
        "conversation_id": "conv-1",
        "auth_token": token,
        "league_id": "shell",
        "query_type": "GET_STANDINGS",
        "padding": padding,
    }
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "league_query", "params": message}).encode()
