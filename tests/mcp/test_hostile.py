"""Callers that abuse MCP while a league is played: sessions without end, crowds of streams, half requests, requests
that are too large, from pages of others, or nonsense. Each gets its refusal, and the league goes on undisturbed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Mapping

import pytest

from league.events import PlayerFaulted, ResultAccepted
from league.features.mcp.endpoint import SESSIONS
from league.features.mcp.subscriptions import MOST_FOLLOWED
from league.protocol.wire.jsonrpc import MANAGER_LIMIT, MESSAGE_LIMIT
from tests.support.http_wire import hang_up
from tests.support.mcp_clients import connected
from tests.support.processes import WATCHDOG_S, Processes, assert_kept

MODERN = "2026-07-28"
STANDINGS = "league://standings"
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientInfo": {"name": "crowd", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
CROWD = 150
"""So many connections each deed holds open that holds any: together more than an address may have."""
GREETINGS = SESSIONS + 50
PAUSE_S = 0.005
MOST_MEMORY_KB = 400_000
NONSENSE = (b"", b"null", b"[]", b"[" * 5000, b"\xff\xfe", b'{"jsonrpc":"2.0","id":1', b'{"method":"initialize"}')


def call(method: str, params: Mapping[str, object]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()


GREETING = call(
    "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "crowd", "version": "1"}}
)


def request(body: bytes, verb: str = "POST", host: str = "localhost", **headers: str) -> bytes:
    """An HTTP request of an MCP client."""
    lines = [f"{verb} /mcp HTTP/1.1", f"Host: {host}", "Accept: application/json, text/event-stream"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    lines += ["Content-Type: application/json", f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def following(uris: list[str]) -> bytes:
    """A request for a stream of what changes."""
    params = {"notifications": {"resourceSubscriptions": uris}, "_meta": META}
    return request(call("subscriptions/listen", params), MCP_Protocol_Version=MODERN, Mcp_Method="subscriptions/listen")


CUT_OFF = 0
ANSWERS: Mapping[str, tuple[int, ...]] = {
    "greet": (200, 429, 503),
    "follow": (200, 429, 503),
    "stream": (200, 409, 429, 503),
    "too large": (413,),
    "of another page": (403,),
    "for another host": (421,),
    "nonsense": (400, 404, 429, 503),
}
"""What each deed may be answered, the first at least once."""


class Crowd:
    """Everybody who abuses one agent."""

    def __init__(self, port: int, limit: int) -> None:
        self.statuses: dict[str, Counter[int]] = defaultdict(Counter)
        """What each deed was answered."""
        self.sessions: set[str] = set()
        self._port, self._too_much = port, b" " * (limit + 1)
        self._held: list[asyncio.StreamWriter] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._is_over = False

    async def gather(self) -> None:
        """Begin; each deed has been done once when this returns."""
        requests = (self._too_large, self._of_another_page, self._for_another_host, self._nonsense)
        deeds = {one: asyncio.Event() for one in (self._greet, self._stream, self._hold_back, *requests)}
        self._tasks = [asyncio.create_task(self._keep_on(deed, begun)) for deed, begun in deeds.items()]
        await asyncio.gather(*(one.wait() for one in deeds.values()))

    async def leave(self) -> None:
        self._is_over = True
        await asyncio.gather(*self._tasks)
        for writer in self._held:
            await hang_up(writer)

    async def _keep_on(self, deed: Callable[[], Awaitable[None]], begun: asyncio.Event) -> None:
        while not self._is_over:
            await deed()
            begun.set()
            await asyncio.sleep(PAUSE_S)

    async def _ask(self, deed: str, sent: bytes, hold: bool = False) -> bytes:
        """The head of the answer, which is noted."""
        head, writer = b"", None
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            writer.write(sent)
            head = await reader.readuntil(b"\r\n\r\n")
        self.statuses[deed][int(head[9:12] or CUT_OFF)] += 1
        if writer is not None:
            await (self._keep(writer) if hold else hang_up(writer))
        return head

    async def _keep(self, writer: asyncio.StreamWriter) -> None:
        self._held.append(writer)
        if len(self._held) > 2 * CROWD:
            await hang_up(self._held.pop(0))

    async def _greet(self) -> None:
        for _ in range(GREETINGS if not self.sessions else 1):
            head = await self._ask("greet", request(GREETING))
            self.sessions |= {one.decode() for one in re.findall(rb"mcp-session-id: (\w+)", head)}

    async def follow(self, uris: list[str]) -> None:
        await self._ask("follow", following(uris), hold=True)

    async def _stream(self) -> None:
        for _ in range(1 if self.statuses["follow"] else CROWD):
            await self.follow([STANDINGS])
        for session in list(self.sessions)[:1]:
            await self._ask("stream", request(b"", "GET", Mcp_Session_Id=session), hold=True)

    async def _hold_back(self) -> None:
        for _ in range(1 if self.statuses["hold back"] else CROWD):
            self.statuses["hold back"][CUT_OFF] += 1
            with contextlib.suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", self._port)
                writer.write(request(GREETING)[:-1])
                await self._keep(writer)

    async def _too_large(self) -> None:
        await self._ask("too large", request(GREETING + self._too_much))
        await self._ask("too large", request(self._too_much, MCP_Protocol_Version=MODERN, Mcp_Method="tools/call"))

    async def _of_another_page(self) -> None:
        await self._ask("of another page", request(GREETING, Origin="http://evil.example"))
        await self._ask("of another page", request(b"", "GET", Mcp_Session_Id="x", Origin="http://evil.example"))

    async def _for_another_host(self) -> None:
        await self._ask("for another host", request(GREETING, host="evil.example"))

    async def _nonsense(self) -> None:
        for body in NONSENSE:
            await self._ask("nonsense", request(body, MCP_Protocol_Version=MODERN, Mcp_Method="tools/call"))
            await self._ask("nonsense", request(body, MCP_Protocol_Version="2025-11-25", Mcp_Session_Id="none"))


@pytest.mark.requirement("KEEPING.bounded")
def test_a_league_is_played_while_a_crowd_abuses_mcp(processes: Processes) -> None:
    manager = processes.manager(players=4)
    players = processes.players(manager, count=4)
    crowds = Crowd(manager.port, MESSAGE_LIMIT), Crowd(players.port, MANAGER_LIMIT)

    async def run() -> None:
        async with asyncio.timeout(2 * WATCHDOG_S):
            await asyncio.gather(*(crowd.gather() for crowd in crowds))
            referee = await asyncio.to_thread(processes.referee, manager)
            assert await asyncio.to_thread(players.wait) == 0
            assert await asyncio.to_thread(referee.wait) == 0
            await asyncio.gather(*(crowd.leave() for crowd in crowds))

    asyncio.run(run())
    for crowd in crowds:
        assert 0 < len(crowd.sessions) <= SESSIONS, crowd.statuses
        for deed, allowed in ANSWERS.items():
            assert crowd.statuses[deed].keys() <= {*allowed, CUT_OFF}, (deed, crowd.statuses[deed])
            assert crowd.statuses[deed][allowed[0]], (deed, crowd.statuses[deed])
    assert manager.peak_memory_kb < MOST_MEMORY_KB
    assert manager.stop() == 0
    assert processes.events("referee", PlayerFaulted) == []
    assert {one.status for one in processes.events("manager", ResultAccepted)} <= {"WIN", "DRAW"}
    assert_kept(processes)
    assert processes.bugs == []


@pytest.mark.requirement("RPC.mcp_subscriptions")
def test_who_follows_is_told_also_when_others_follow_more_than_can_be_followed(processes: Processes) -> None:
    manager = processes.manager(players=2)

    async def run() -> None:
        crowd = Crowd(manager.port, MESSAGE_LIMIT)
        async with (
            asyncio.timeout(WATCHDOG_S),
            connected(manager.endpoint, MODERN) as client,
            client.listen(resource_subscriptions=[STANDINGS]) as changes,
        ):
            for number in range(40):
                others = [f"league://matches/R{number}M{match}" for match in range(20)]
                is_full = 20 * number > MOST_FOLLOWED
                await crowd.follow([STANDINGS, *others] if is_full else others)
            await asyncio.to_thread(processes.players, manager)
            await anext(aiter(changes))
            await crowd.leave()

    asyncio.run(run())
    assert manager.stop() == 0
    assert processes.bugs == []
