"""What it costs to tell 99 players the table: the shell with its pump, its counters and its client, beside writing the
same bytes. Those who are told are the same in both: they acknowledge whatever comes, as players of ours do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from statistics import median
from typing import Any

from benchmarks import Row
from benchmarks.bare_http import BareClient, BareServer
from benchmarks.codec import standings
from benchmarks.floors import FROM_PLAYER
from league.agent import sources
from league.agent.agent import Agent, Setup
from league.events import Event
from league.machine import Address, Answering, Letter, Machine, Outgoing, Step, Undelivered
from league.protocol import jsonrpc
from league.protocol.envelope import Reading
from league.protocol.exchanges import Role
from league.protocol.messages import LeagueStandingsUpdate, StandingsUpdateAck
from league.protocol.tokens import MANAGER
from league.storage.volatile import VolatileJournal
from league.transport.http import loop_factory
from league.transport.http_client import HttpClient
from league.transport.letters import Speaker

NAME = "broadcast"
PLAYERS = 99
ROUNDS = 15
ANSWER = jsonrpc.encode_result(1, StandingsUpdateAck(**FROM_PLAYER, status="ACKNOWLEDGED", player_id="P01", round_id=1))


class _Herald(Machine):
    """Tells everybody the same, and knows when all have heard it."""

    def __init__(self, to: tuple[Address, ...], message: LeagueStandingsUpdate) -> None:
        super().__init__(sources.chance)
        self._to, self._message = to, message
        self.heard = 0

    def tell(self) -> Step:
        self.heard = 0
        return Step(outbox=[Outgoing("table", self._to, self._message, time.time() + 60.0)])

    def handle(self, letter: Letter, now: float) -> Step:
        self.heard += 1
        return Step(replies=[] if letter.answers else [Answering(letter.id, self._message)])

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        raise RuntimeError(f"{failed.peer} was not told: {failed.failure}")

    def apply(self, event: Event) -> None: ...

    def resume(self, now: float) -> Step:
        return Step()

    def tick(self, now: float) -> Step:
        return Step()

    def snapshot(self) -> Mapping[str, Any]:
        return {}


def run() -> list[Row]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        ours, bare = runner.run(_measure())
    what = f"a table of {PLAYERS} rows to {PLAYERS} players"
    return [Row(what, ours * 1e6, bare * 1e6, "writing the bytes", "us", 3.0)]


async def _measure() -> tuple[float, float]:
    message = standings()
    raw = jsonrpc.encode_call(1, "update_standings", jsonrpc.encode_body(message))
    servers = [await BareServer.start(lambda _: ANSWER) for _ in range(PLAYERS)]
    to = tuple(Address(f"P{one:02}", f"http://127.0.0.1:{server.port}/mcp") for one, server in enumerate(servers))
    client, bare = HttpClient(), BareClient()
    herald = _Herald(to, message)
    agent = Agent(Setup(lambda _: herald, lambda _: Speaker(Role.MANAGER, MANAGER, Reading("strict")), client))
    agent.start(VolatileJournal())

    async def through_the_shell() -> None:
        agent.prompt(lambda _: herald.tell())
        while herald.heard < PLAYERS:
            agent.changed.clear()
            await agent.changed.wait()

    async def plainly() -> None:
        await asyncio.gather(*(bare.post(server.port, raw) for server in servers))

    spent: tuple[list[float], list[float]] = ([], [])
    try:
        for _ in range(ROUNDS):
            for some, tell in zip(spent, (through_the_shell, plainly), strict=True):
                some.append(await _timed(tell))
    finally:
        await agent.stop()
        await client.close()
        bare.close()
        for server in servers:
            server.close()
    return median(spent[0]), median(spent[1])


async def _timed(tell: Callable[[], Awaitable[None]]) -> float:
    start = time.process_time()
    await tell()
    return time.process_time() - start
