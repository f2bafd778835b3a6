"""Who answers at /mcp: what MCP clients send goes to the official package, everything else to the agent; and the limits
in front of the package."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from league.calling.rate_limit import Rate
from league.features.mcp import door as doors
from league.features.mcp import endpoint as endpoints
from league.features.mcp.door import McpDoor
from league.features.mcp.tables import McpCaller, Object, ServerTables, ToolRow, text
from league.transport.http import DEFAULT_LIMITS, Response
from tests.support.http_servers import serving
from tests.support.http_wire import until

BOTH = "application/json, text/event-stream"
GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
PLAIN = b'"plain"'
NONE: Mapping[str, str] = {}
OLDER = {"mcp-protocol-version": "2025-11-25"}


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """The package keeps a task of its own as long as the loop runs, so that something is left in any case."""

    @functools.wraps(test)
    def run(**arguments: object) -> None:
        asyncio.run(test(**arguments))

    return run


class Waiting:
    """A tool that waits until it is let go."""

    def __init__(self) -> None:
        self.let_go = asyncio.Event()
        self.called = 0

    async def __call__(self, _caller: McpCaller, _arguments: Object) -> dict[str, Any]:
        self.called += 1
        await self.let_go.wait()
        return text("done")


class Visitor:
    """Posts to a server whose agent echoes; what comes to the door of MCP and is not for it is answered PLAIN."""

    def __init__(self, http: httpx2.AsyncClient, url: str, tool: Waiting) -> None:
        self.http, self.url, self.tool = http, url, tool

    async def post(
        self, method: str, params: object = None, headers: Mapping[str, str] = NONE, number: int = 1
    ) -> httpx2.Response:
        body = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}})
        return await self.http.post(
            self.url, content=body, headers={"content-type": "application/json", "accept": BOTH, **headers}
        )

    async def session(self) -> dict[str, str]:
        """The headers of a new session."""
        greeted = await self.post("initialize", GREETING)
        assert greeted.status_code == 200
        return {"mcp-session-id": greeted.headers["mcp-session-id"], **OLDER}


@asynccontextmanager
async def visiting() -> AsyncGenerator[Visitor, None]:
    tool = Waiting()
    tables = ServerTables("test", tools=[ToolRow("wait", "Wait", "", {"type": "object"}, tool)])
    door = McpDoor(lambda: tables, _answer_plainly)
    door.is_open = True
    async with (
        asyncio.timeout(120),
        serving(DEFAULT_LIMITS, mcp=door) as (server, _),
        httpx2.AsyncClient(timeout=60, limits=httpx2.Limits(max_connections=500)) as http,
    ):
        try:
            yield Visitor(http, f"http://127.0.0.1:{server.port}/mcp", tool)
        finally:
            tool.let_go.set()
            await door.close()


async def _answer_plainly(_raw: bytes, _origin: str, _authorization: str, *, is_mcp: bool = False) -> Response:
    return Response(200, PLAIN)


@pytest.mark.requirement("RPC.mcp_eras")
@in_a_loop
async def test_only_what_mcp_clients_send_goes_to_the_package() -> None:
    async with visiting() as visitor:
        for method in ("ping", "tools/list", "tools/call"):
            assert (await visitor.post(method)).json()["method"] == method  # the agent echoes, whatever it accepts
        named = await visitor.post("register", {"name": "initialize server/discover"})
        assert named.content == PLAIN
        assert (await visitor.http.get(visitor.url)).status_code == 405
        assert (await visitor.http.delete(visitor.url)).status_code == 405
        greeted = await visitor.post("initialize", GREETING)
        assert "mcp-session-id" in greeted.headers
        ping = await visitor.post("ping", headers=OLDER)
        assert ping.json() == {"jsonrpc": "2.0", "id": 1, "result": {}}


@pytest.mark.requirement("RPC.mcp_sessions")
@in_a_loop
async def test_a_session_that_is_gone_is_gone_on_with_unless_its_client_deleted_it() -> None:
    async with visiting() as visitor:
        lost = await visitor.post("ping", headers={**OLDER, "mcp-session-id": "of-another-process"})
        assert (lost.status_code, lost.json()["result"]) == (200, {})
        session = await visitor.session()
        assert (await visitor.http.delete(visitor.url, headers=session)).status_code == 200
        assert (await visitor.post("ping", headers=session)).status_code == 404


@in_a_loop
async def test_an_address_that_has_its_share_of_sessions_is_served_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "SESSIONS", 4)
    async with visiting() as visitor:
        greeted = [await visitor.post("initialize", GREETING) for _ in range(3)]
        assert [one.status_code for one in greeted] == [200, 200, 200]
        assert ["mcp-session-id" in one.headers for one in greeted] == [True, True, False]
        assert (await visitor.post("tools/list", headers=OLDER)).json()["result"]["tools"]


@in_a_loop
async def test_whoever_takes_no_events_is_greeted_with_json_and_without_a_session() -> None:
    async with visiting() as visitor:
        greeted = await visitor.post("initialize", GREETING, {"accept": "application/json"})
        assert greeted.json()["result"]["protocolVersion"] == GREETING["protocolVersion"]
        assert "mcp-session-id" not in greeted.headers


@in_a_loop
async def test_streams_and_calls_have_limits_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "STREAMS", 2)
    monkeypatch.setattr(endpoints, "CALLS", 2)
    async with visiting() as visitor:
        first, second = await visitor.session(), await visitor.session()
        events = {"accept": "text/event-stream"}
        async with visitor.http.stream("GET", visitor.url, headers={**events, **first}) as stream:
            assert stream.status_code == 200
            assert (await visitor.http.get(visitor.url, headers={**events, **second})).status_code == 503
            waiting = asyncio.create_task(visitor.post("tools/call", {"name": "wait"}, first, 2))
            await until(lambda: visitor.tool.called == 1)
            assert (await visitor.post("ping", headers=second, number=3)).status_code == 503
            visitor.tool.let_go.set()
            assert "done" in (await waiting).text
        assert (await visitor.post("ping", headers=second, number=4)).status_code == 200


@in_a_loop
async def test_an_answer_that_never_comes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoints, "CALL_S", 0.05)
    async with visiting() as visitor:
        given_up = await visitor.post("tools/call", {"name": "wait"}, OLDER)
        assert given_up.status_code == 503


@in_a_loop
async def test_an_address_that_asks_too_much_is_told_to_come_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "REQUESTS", Rate(per_s=0.001, burst=2))
    async with visiting() as visitor:
        answers = [await visitor.post("ping", headers=OLDER) for _ in range(3)]
        assert [one.status_code for one in answers] == [200, 200, 429]
        assert answers[2].headers["retry-after"] == "2"


@in_a_loop
async def test_a_strange_host_and_a_strange_origin_do_not_reach_the_package() -> None:
    async with visiting() as visitor:
        assert (await visitor.post("initialize", GREETING, {"origin": "http://evil.example"})).status_code == 403
        assert (await visitor.post("initialize", GREETING, {"host": "evil.example"})).status_code == 421
        big = await visitor.post("initialize", {**GREETING, "more": "x" * 2_000_000})
        assert big.status_code == 413
