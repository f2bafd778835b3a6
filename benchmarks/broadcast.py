"""The cost of sending the table to 99 players: the shell with its pump, its counters and its client, beside a bare
client that sends the same bytes. The servers are the same in both cases: they acknowledge every message, as our players
do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from benchmarks import Row, median_cpu_seconds_async
from benchmarks.bare_http import BareClient, BareServer
from benchmarks.codec import standings
from benchmarks.floors import FROM_PLAYER
from league.agent import sources
from league.agent.agent import Agent, Setup
from league.events import Event
from league.letters import Speaker
from league.machine import Address, Answering, Letter, Machine, Outgoing, Step, Undelivered
from league.protocol.message.envelope import Reading
from league.protocol.message.exchanges import Role
from league.protocol.message.messages import LeagueStandingsUpdate, StandingsUpdateAck
from league.protocol.signing.tokens import MANAGER
from league.protocol.wire import jsonrpc
from league.storage.volatile import VolatileJournal
from league.transport.http import loop_factory
from league.transport.http_client import HttpClient

PLAYERS = 99
ANSWER = jsonrpc.encode_result(1, StandingsUpdateAck(**FROM_PLAYER, status="ACKNOWLEDGED", player_id="P01", round_id=1))


class Herald(Machine):
    """A machine that sends the same message to everybody and counts the answers."""

    def __init__(self, recipients: tuple[Address, ...], message: LeagueStandingsUpdate) -> None:
        super().__init__(sources.chance)
        self._recipients = recipients
        self._message = message
        self.answers = 0

    def send(self) -> Step:
        self.answers = 0
        return Step(outbox=[Outgoing("table", self._recipients, self._message, time.time() + 60.0)])

    def handle(self, letter: Letter, now: float) -> Step:
        self.answers += 1
        if letter.answers:
            return Step()
        return Step(replies=[Answering(letter.id, self._message)])

    def undelivered(self, failed: Undelivered, now: float) -> Step:
        raise RuntimeError(f"{failed.peer} got no table: {failed.failure}")

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
    title = f"a table of {PLAYERS} rows to {PLAYERS} players"
    return [Row(title, ours * 1e6, bare * 1e6, "a bare client", "us", 3.0)]


async def _measure() -> list[float]:
    """Measure the CPU seconds of one broadcast through the shell, and through the bare client."""
    message = standings()
    raw = jsonrpc.encode_call(1, "update_standings", jsonrpc.encode_body(message))
    servers = [await BareServer.start(lambda _: ANSWER) for _ in range(PLAYERS)]
    recipients = tuple(
        Address(f"P{number:02}", f"http://127.0.0.1:{server.port}/mcp") for number, server in enumerate(servers)
    )
    client = HttpClient()
    bare = BareClient()
    herald = Herald(recipients, message)
    agent = Agent(Setup(lambda _: herald, lambda _: Speaker(Role.MANAGER, MANAGER, Reading("strict")), client))
    agent.start(VolatileJournal())

    async def through_the_shell() -> None:
        agent.prompt(lambda _: herald.send())
        while herald.answers < PLAYERS:
            agent.changed.clear()
            await agent.changed.wait()

    async def through_the_bare_client() -> None:
        answers = [bare.post(server.port, raw) for server in servers]
        for answer in answers:
            await answer

    try:
        return await median_cpu_seconds_async((through_the_shell, through_the_bare_client))
    finally:
        await agent.stop()
        await client.close()
        bare.close()
        for server in servers:
            server.close()
