"""What a match costs from end to end: CPU time of a whole league, per match, beside two ways to make a match's calls.

Ours is everything: a manager, a referee and the players as agents with HTTP on loopback, the journals of manager and
referee in SQLite with their transcripts, every message encoded and validated; all on one loop, so that one clock sees
all of it. A league also announces rounds, sends standings and probes its members: about as many calls again.

The floor makes the seven calls of a match (two invitations, two choices, two results, one report) with our transport
and our strict codec, and does nothing else. FastAPI with httpx makes the same seven calls with plain dictionaries, so
it is spared the validation.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import Row
from league.agent import sources
from league.agent.agent import Agent, LiveJournal, Setup, Think
from league.events import LeagueSettings
from league.hosting.serving import HostedAgent
from league.machine import Address, Answering, Ask, Machine, Operate
from league.manager.league import LeagueManager
from league.player import strategies
from league.player.competitor import Competitor
from league.protocol import jsonrpc
from league.protocol.envelope import Reading, Unsealed
from league.protocol.exchanges import EXCHANGES, Role
from league.protocol.messages import (
    ChooseParityCall,
    ChooseParityResponse,
    GameInvitation,
    GameJoinAck,
    GameOver,
    GameOverAck,
    MatchResultAck,
    MatchResultReport,
    Message,
)
from league.protocol.parts import CallContext, GameResult, PlayerMeta, Record, RefereeMeta, Result, ResultDetails
from league.protocol.tokens import MANAGER
from league.referee.context import RefereeSettings
from league.referee.desk import RefereeDesk
from league.storage.sqlite import SqliteJournal
from league.storage.volatile import VolatileJournal
from league.transport import letters
from league.transport.http import App, Limits, Response, loop_factory
from league.transport.http_client import HttpClient
from league.transport.http_server import serve
from league.transport.letters import Speaker

NAME = "matches"
ROUNDS = 3
CALLS = 7
CALL_S = 30.0
LOST_S = 60.0
"""A league that takes longer than this has lost something."""


@dataclass(frozen=True, slots=True)
class Size:
    """A league, and how many matches it plays at once: a player plays one in a round, so half as many as players."""

    players: int
    rounds: int
    baseline: int
    """Matches of a sample of the others."""
    goal: float
    goal_beside_fastapi: float

    @property
    def at_once(self) -> int:
        return self.players // 2

    @property
    def matches(self) -> int:
        return self.at_once * self.rounds


SIZES = (Size(4, 6, 64, 8.0, 1.0), Size(64, 8, 128, 8.0, 1.0))


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one match: CPU and clock time in seconds, and how many calls it took."""

    cpu: float
    clock: float
    calls: float = CALLS


def run() -> list[Row]:
    try:
        import fastapi  # noqa: F401 - only here: the league itself needs neither
        import httpx  # noqa: F401
    except ImportError as missing:
        sys.exit(f"{missing}: this benchmark compares with FastAPI and httpx; pip install -e '.[bench]' brings both")
    rows: list[Row] = []
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        for size in SIZES:
            ours, floor, fastapi_httpx = runner.run(_measure(size))
            rows += _rows(size, ours, floor, fastapi_httpx)
            named = {"the league": ours, "the floor": floor, "FastAPI + httpx": fastapi_httpx}
            print(f"{size.at_once} matches at once:")
            for name, cost in named.items():
                print(
                    f"  {name}: {1 / cost.clock:.0f} matches/s, {cost.calls:.1f} calls and {cost.cpu * 1e3:.2f} ms"
                    f" of CPU per match, {cost.cpu / floor.cpu:.2f}x the floor"
                )
    return rows


def _rows(size: Size, ours: Cost, floor: Cost, fastapi_httpx: Cost) -> list[Row]:
    what = f"league of {size.players}, {size.at_once} at once"
    each, bare = ours.cpu / ours.calls, floor.cpu / floor.calls
    return [
        Row(f"a match, {what}", ours.cpu * 1e6, floor.cpu * 1e6, "seven bare calls", "us", size.goal),
        Row(f"a call, {what}", each * 1e6, bare * 1e6, "a bare call", "us", size.goal / 2),
        Row(
            f"a match, {what}",
            ours.cpu * 1e6,
            fastapi_httpx.cpu * 1e6,
            "seven calls by FastAPI + httpx",
            "us",
            size.goal_beside_fastapi,
        ),
    ]


async def _measure(size: Size) -> list[Cost]:
    """Each in turn, several times; the cheapest of each counts."""
    costs: list[list[Cost]] = [[], [], []]
    async with AsyncExitStack() as stack:
        floor = await stack.enter_async_context(_floor())
        fastapi_httpx = await stack.enter_async_context(_fastapi_httpx())
        for one in (floor, fastapi_httpx):
            await _many(one, size.at_once, size.at_once * 2)  # connects
        for _ in range(ROUNDS):
            costs[0].append(await _league(size))
            costs[1].append(await _many(floor, size.at_once, size.baseline))
            costs[2].append(await _many(fastapi_httpx, size.at_once, size.baseline))
    return [min(some, key=lambda one: one.cpu) for some in costs]


class _Stopwatch:
    """CPU and clock time from here on, undisturbed by the collector."""

    def __init__(self) -> None:
        gc.collect()
        gc.disable()
        self._took: float | None = None
        self._cpu, self._clock = time.process_time(), time.perf_counter()

    def stop_clock(self) -> None:
        if self._took is None:
            self._took = time.perf_counter() - self._clock

    def stop(self, matches: int, calls: int) -> Cost:
        cpu = time.process_time() - self._cpu
        self.stop_clock()
        assert self._took is not None
        gc.enable()
        return Cost(cpu / matches, self._took / matches, calls / matches)


# --- the league -------------------------------------------------------------------------------------------------------


async def _league(size: Size) -> Cost:
    """A league from the operator's start until everybody knows that it is over. Its clock stops with the last result:
    what follows waits for the next standings update, which costs no CPU."""
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncExitStack() as stack:
            agents = await _bring_up(size, Path(folder), stack)
            manager = agents[0]
            async with asyncio.timeout(LOST_S):
                await _until(manager, lambda machine: len(machine.player_ids) == size.players)
                await asyncio.gather(*(_until(one, lambda machine: bool(machine.agent_id)) for one in agents[1:]))
                before = _calls(agents)
                watch = _Stopwatch()
                await manager.operate(Operate("start", "start"))
                await _until(manager, lambda machine: machine.is_finished)
                watch.stop_clock()
                await _until(manager, lambda machine: machine.has_notified_everybody)
            cost = watch.stop(size.matches, _calls(agents) - before)
            _check(manager, size)
    return cost


def _check(manager: Agent, size: Size) -> None:
    machine: Any = manager.machine
    played = [machine.ledger.matches[one].result for one in machine.completed]
    if len(played) != size.matches or any(one.status == "TECHNICAL_LOSS" for one in played):
        raise RuntimeError(f"{len(played)} of {size.matches} matches were played, or some were not played properly")


def _calls(agents: list[Agent]) -> int:
    return sum(one.meter.sent.total() for one in agents)


async def _until(agent: Agent, holds: Callable[[Any], bool]) -> None:
    while not holds(agent.machine):
        agent.changed.clear()
        await agent.changed.wait()


async def _bring_up(size: Size, folder: Path, stack: AsyncExitStack) -> list[Agent]:
    """The manager, the referee and the players, each with a client of its own process but on this loop."""
    reading = Reading("strict", max(size.at_once, 10))
    settings = LeagueSettings(
        league_id="league_bench",
        players=size.players,
        double=True,
        rounds=size.rounds,
        start="manual",
        profile="strict",
        max_concurrent_matches_limit=reading.max_concurrent_matches,
    )
    manager_client, referee_client, players_client = [HttpClient() for _ in range(3)]
    for client in (manager_client, referee_client, players_client):
        stack.push_async_callback(client.close)

    def kept(name: str, agent: Agent) -> LiveJournal:
        return SqliteJournal(folder / f"{name}.db", agent.notice, identity={"role": name})

    door, home = await _open_door(stack)
    setup = Setup(
        lambda secrets: LeagueManager(settings, sources.chance, secrets),
        lambda _: Speaker(Role.MANAGER, MANAGER, reading),
        manager_client,
    )
    agents = [_start(setup, door, partial(kept, "manager"), stack)]
    door, endpoint = await _open_door(stack)
    referee_meta = RefereeMeta(**_meta("Referee", endpoint), max_concurrent_matches=size.at_once)
    desk = partial(RefereeDesk, referee_meta, home, sources.chance, settings=RefereeSettings(profile="strict"))
    agents.append(_start(_member(Role.REFEREE, desk, referee_client), door, partial(kept, "referee"), stack))
    for number in range(size.players):
        door, endpoint = await _open_door(stack)
        meta = PlayerMeta(**_meta(f"Player {number}", endpoint))
        player = partial(Competitor, meta, home, sources.chance, profile="strict")
        setup = _member(Role.PLAYER, player, players_client, partial(_think, door))
        agents.append(_start(setup, door, lambda agent: VolatileJournal(agent.notice_here), stack))
    return agents


async def _open_door(stack: AsyncExitStack) -> tuple[HostedAgent, str]:
    door = HostedAgent()
    server = await serve("127.0.0.1", 0, App(door.post), Limits(body=jsonrpc.MANAGER_LIMIT))
    stack.push_async_callback(server.close, 0.0)
    return door, f"http://127.0.0.1:{server.port}/mcp"


def _start(setup: Setup, door: HostedAgent, journal: Callable[[Agent], LiveJournal], stack: AsyncExitStack) -> Agent:
    agent = door.agent = Agent(setup)
    agent.start(journal(agent))
    stack.push_async_callback(agent.stop)
    return agent


def _meta(name: str, endpoint: str) -> dict[str, Any]:
    return {"display_name": name, "version": "1.0.0", "game_types": ["even_odd"], "contact_endpoint": endpoint}


def _member(role: Role, build: Callable[..., Machine], client: HttpClient, think: Think | None = None) -> Setup:
    def make(secrets: Mapping[str, str]) -> Machine:
        return build(secrets=secrets)

    limit = jsonrpc.MANAGER_LIMIT
    return Setup(make, partial(_speaker, role), client, think=think, limit=limit, answer_limit=limit)


def _speaker(role: Role, machine: Any) -> Speaker:
    return _speaker_called(role, machine.agent_id or "unregistered")


@lru_cache
def _speaker_called(role: Role, name: str) -> Speaker:
    return Speaker(role, f"{role.value}:{name}", STRICT)


async def _think(door: HostedAgent, ask: Ask) -> object:
    strategy = strategies.find("random")
    assert strategy is not None
    assert door.agent is not None
    machine = door.agent.machine
    assert isinstance(machine, Competitor)
    return strategy.choose(machine.turn(ask))


# --- a match's calls, for the others ----------------------------------------------------------------------------------

PLAYERS = 4
STRICT = Reading("strict")
CONVERSATION = "conv-league_bench-R1M1-1"
Call = Callable[[str, Message], Awaitable[None]]
"""Send this to that server, and read its answer."""


@dataclass(frozen=True, slots=True)
class _Caller:
    """Who makes the calls, and where: the manager's server and those of the players."""

    call: Call
    manager: str
    players: list[str]

    async def match(self, number: int) -> None:
        pair = [self.players[(2 * number + side) % PLAYERS] for side in range(2)]
        for messages in (INVITATIONS, CHOICES, RESULTS):
            await asyncio.gather(*(self.call(url, message) for url, message in zip(pair, messages, strict=True)))
        await self.call(self.manager, REPORT)


async def _many(caller: _Caller, at_once: int, matches: int) -> Cost:
    async def some(first: int) -> None:
        for number in range(first, matches, at_once):
            await caller.match(number)

    watch = _Stopwatch()
    await asyncio.gather(*(some(first) for first in range(at_once)))
    return watch.stop(matches, CALLS * matches)


def _envelope(sender: str, token: str = "") -> dict[str, Any]:
    fields = {
        "protocol": "league.v2",
        "sender": sender,
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": CONVERSATION,
    }
    return {**fields, "auth_token": token + "x" * 43} if token else fields


SEED = "5a" * 32
SIDES: tuple[tuple[Any, str, str], ...] = (("PLAYER_A", "P01", "P02"), ("PLAYER_B", "P02", "P01"))
FROM_REFEREE = _envelope("referee:REF01", "tok_REF01_")
INVITATIONS = [
    GameInvitation(
        **FROM_REFEREE,
        league_id="league_bench",
        round_id=1,
        match_id="R1M1",
        game_type="even_odd",
        role_in_match=role,
        opponent_id=opponent,
        player_id=player,
        draw_commitment="9f" * 32,
        attempt=1,
    )
    for role, player, opponent in SIDES
]
CHOICES = [
    ChooseParityCall(
        **FROM_REFEREE,
        match_id="R1M1",
        player_id=player,
        game_type="even_odd",
        context=CallContext(
            opponent_id=opponent, round_id=1, your_standings=Record(wins=1, losses=1, draws=0, points=3)
        ),
        deadline="2025-01-15T10:30:30Z",
    )
    for _, player, opponent in SIDES
]
RESULTS = [
    GameOver(
        **FROM_REFEREE,
        match_id="R1M1",
        game_type="even_odd",
        game_result=GameResult(
            status="WIN",
            winner_player_id="P01",
            drawn_number=8,
            number_parity="even",
            choices={"P01": "even", "P02": "odd"},
            reason="P01 chose even, and 8 is even",
            draw_seed=SEED,
            attempt=1,
        ),
        reason="completed",
    )
] * 2
REPORT = MatchResultReport(
    **FROM_REFEREE,
    league_id="league_bench",
    round_id=1,
    match_id="R1M1",
    game_type="even_odd",
    result=Result(
        winner="P01",
        score={"P01": 3, "P02": 0},
        details=ResultDetails(
            drawn_number=8,
            choices={"P01": "even", "P02": "odd"},
            status="WIN",
            number_parity="even",
            draw_seed=SEED,
        ),
    ),
    attempt=1,
)
FROM_PLAYER = _envelope("player:P01")
ANSWERS: dict[str, Message] = {
    "GAME_INVITATION": GameJoinAck(
        **FROM_PLAYER, match_id="R1M1", player_id="P01", arrival_timestamp="2025-01-15T10:30:00Z", accept=True
    ),
    "CHOOSE_PARITY_CALL": ChooseParityResponse(**FROM_PLAYER, match_id="R1M1", player_id="P01", parity_choice="even"),
    "GAME_OVER": GameOverAck(**FROM_PLAYER, status="ACKNOWLEDGED", match_id="R1M1", player_id="P01"),
    "MATCH_RESULT_REPORT": MatchResultAck(**_envelope(MANAGER), status="ACCEPTED", match_id="R1M1", round_id=1),
}


# --- the floor --------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _floor() -> AsyncIterator[_Caller]:
    client = HttpClient()
    roles = [(Role.MANAGER, MANAGER)] + [(Role.PLAYER, f"player:P{number:02}") for number in range(PLAYERS)]
    servers = [
        await serve("127.0.0.1", 0, App(partial(_answer, Speaker(role, sender, STRICT)))) for role, sender in roles
    ]
    urls = [f"http://127.0.0.1:{server.port}/mcp" for server in servers]

    async def call(url: str, message: Message) -> None:
        raw = letters.write_call(1, message, jsonrpc.encode_body(message), Address("P01", "http://x"))
        reply = await client.post(url, raw, CALL_S, jsonrpc.MESSAGE_LIMIT)
        read = letters.read_answer(reply.body, message, STRICT)
        assert isinstance(read, Unsealed)
        read.open()

    try:
        yield _Caller(call, urls[0], urls[1:])
    finally:
        await client.close()
        for server in servers:
            await server.close(0.0)


async def _answer(speaker: Speaker, raw: bytes, _address: str) -> Response:
    asked = letters.read_request(raw, speaker)
    assert isinstance(asked.content, Unsealed)
    answering = Answering(0, ANSWERS[asked.content.open().type])
    return Response(200, letters.write_answer(asked, answering, speaker, 0.0))


# --- FastAPI and httpx ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _fastapi_httpx() -> AsyncIterator[_Caller]:
    import httpx

    listeners = [await _fastapi_server() for _ in range(1 + PLAYERS)]
    urls = [f"http://127.0.0.1:{one.sockets[0].getsockname()[1]}/mcp" for one in listeners]
    said = {id(one): msgspec.to_builtins(one) for one in (*INVITATIONS, *CHOICES, *RESULTS, REPORT)}
    async with httpx.AsyncClient(timeout=CALL_S, trust_env=False) as client:

        async def call(url: str, message: Message) -> None:
            method = EXCHANGES[message.type].method
            frame = {"jsonrpc": "2.0", "id": 1, "method": method, "params": said[id(message)]}
            reply = await client.post(url, json=frame)
            reply.raise_for_status()
            assert reply.json()["result"]["message_type"] in EXCHANGES[message.type].replies

        yield _Caller(call, urls[0], urls[1:])
    for listener in listeners:
        listener.close()


async def _fastapi_server() -> asyncio.Server:
    """An application behind uvicorn's own connections, as `uvicorn.run` serves it, but on this loop."""
    import fastapi
    from uvicorn.config import Config
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
    from uvicorn.server import ServerState

    app = fastapi.FastAPI()
    answers = {kind: msgspec.to_builtins(one) for kind, one in ANSWERS.items()}

    @app.post("/mcp")
    async def mcp(body: dict[str, Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": body["id"], "result": answers[body["params"]["message_type"]]}

    config = Config(app, lifespan="off", ws="none", log_config=None, access_log=False)
    config.load()
    state = ServerState()
    connection = partial(HttpToolsProtocol, config=config, server_state=state, app_state={})
    return await asyncio.get_running_loop().create_server(connection, "127.0.0.1", 0)
