"""The cost of a call to a player behind a router, at the manager: through the player's mailbox, beside the same call to
a player that is reached directly. The players are in another process, so that only the manager's part is counted.
They acknowledge every message, as ours do.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE, Process
from statistics import median

from msgspec import structs

from benchmarks import Row, median_cpu_seconds_async
from benchmarks.bare_http import BareServer
from benchmarks.broadcast import ANSWER, Herald
from benchmarks.codec import standings
from league.agent.agent import Agent, Setup
from league.letters import Speaker
from league.machine import Address
from league.mailbox import addresses
from league.mailbox.post_office import PostOffice, RelayClient, RelayPolicy
from league.mailbox.reader import Reader
from league.protocol.message.envelope import Reading
from league.protocol.message.exchanges import Role
from league.protocol.signing.tokens import MANAGER
from league.storage.volatile import VolatileJournal
from league.transport.http import App, Limits, Response, loop_factory
from league.transport.http_client import HttpClient, PoolLimits
from league.transport.http_server import serve

PLAYERS = 50
CROWD = 500
ROWS = 4
ROUNDS = 15
GOAL = 2.5
CLOSE_MS = 50.0
LIMITS = Limits(connections=4096, connections_per_address=4096, requests=4096)


def run() -> list[Row]:
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return [row for players in (PLAYERS, CROWD) for row in runner.run(_measure(players))]


async def _measure(players: int) -> list[Row]:
    office = PostOffice(lambda _: "member")

    app = App(lambda _, __: Response(404, b""), rest=office.answer, unlimited=(addresses.PREFIX,))
    server = await serve("127.0.0.1", 0, app, LIMITS)
    root = f"http://127.0.0.1:{server.port}"
    client = RelayClient(office, RelayPolicy(own_port=server.port))
    others = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.mailboxes", root, str(players), stdin=PIPE, stdout=PIPE
    )
    try:
        ports = json.loads(await _line(others))
        direct = [f"http://127.0.0.1:{port}/mcp" for port in ports]
        mailboxes = [addresses.endpoint_at(root, _secret(number)) for number in range(players)]
        return await _compared(client, direct, mailboxes, others)
    finally:
        assert others.stdin is not None
        others.stdin.close()
        await others.wait()
        office.close()
        await client.close()
        await server.close(1.0)


async def _compared(client: RelayClient, direct: list[str], mailboxes: list[str], others: Process) -> list[Row]:
    message = standings()
    message = structs.replace(message, standings=message.standings[:ROWS])
    places = {"direct": direct, "mailbox": mailboxes}
    heralds = {
        name: Herald(tuple(Address(f"P{number:02}", url) for number, url in enumerate(urls)), message)
        for name, urls in places.items()
    }

    def agent_of(herald: Herald) -> Agent:
        return Agent(Setup(lambda _: herald, lambda _: Speaker(Role.MANAGER, MANAGER, Reading("strict")), client))

    agents = {name: agent_of(herald) for name, herald in heralds.items()}
    for agent in agents.values():
        agent.start(VolatileJournal())

    async def to(name: str) -> None:
        herald, agent = heralds[name], agents[name]
        agent.prompt(lambda _: herald.send())
        while herald.answers < len(direct):
            agent.changed.clear()
            await agent.changed.wait()

    async def passing_through() -> None:
        assert others.stdin is not None
        others.stdin.write(b"\n")
        await _line(others)

    await to("mailbox")  # so that every reader waits when the measurement begins
    costs = await median_cpu_seconds_async(
        (lambda: to("mailbox"), lambda: to("direct"), passing_through), repeats=1, rounds=ROUNDS
    )
    through, ordinary, relayed = (cost / len(direct) * 1e6 for cost in costs)
    title = f"{len(direct)} players"
    late_ms = 1e3 * (await _latency_s(client, mailboxes[:50]) - await _latency_s(client, direct[:50]))
    for agent in agents.values():
        await agent.stop()
    return [
        Row(f"the manager calls {title} by their mailboxes", through, ordinary, "the same calls, direct", "us", GOAL),
        Row(
            f"referees' calls pass through {title}' mailboxes",
            relayed,
            ordinary,
            "the manager's direct calls",
            "us",
            GOAL,
        ),
        Row(f"one call among {title}, later than direct, on the clock", late_ms, CLOSE_MS, "50 ms", "ms", 1.0),
    ]


async def _latency_s(client: HttpClient, urls: list[str]) -> float:
    times = []
    for url in urls:
        began = time.perf_counter()
        await client.post(url, b"{}", 10.0, 100_000)
        times.append(time.perf_counter() - began)
    return median(times)


def _secret(number: int) -> str:
    return f"{number:064}"


async def _line(process: Process) -> bytes:
    assert process.stdout is not None
    return await process.stdout.readline()


# --- the players ------------------------------------------------------------------------------------------------------


async def _play(root: str, players: int) -> None:
    """Be players, each by its mailbox and at a port; for every line of input, call each mailbox as a referee does."""
    client = HttpClient(limits=PoolLimits(per_endpoint=4 * players, connections=8 * players))
    app = App(lambda _, __: Response(200, ANSWER))
    own_clients = [HttpClient() for _ in range(players)]  # each player is somewhere else
    readers = [
        Reader(own, app, lambda: [root], lambda _: None, _secret(number)) for number, own in enumerate(own_clients)
    ]
    tasks = [asyncio.create_task(reader.read()) for reader in readers]
    servers = [await BareServer.start(lambda _: ANSWER) for _ in range(players)]
    print(json.dumps([server.port for server in servers]), flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        await asyncio.gather(*(client.post(reader.endpoint, ANSWER, 30.0, 100_000) for reader in readers))
        print(flush=True)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for opened in (client, *own_clients):
        await opened.close()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop_factory()) as main:
        main.run(_play(sys.argv[1], int(sys.argv[2])))
