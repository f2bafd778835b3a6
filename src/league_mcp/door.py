"""Who answers an MCP client: the official package where it is installed in a version we know, else the agent itself.

The package is imported, and the tables are made, when the first client comes, in a thread: that takes half a second,
and the loop must not wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import cache
from typing import TYPE_CHECKING, Final

from league.calling.rate_limit import Rate, RateLimiter
from league.protocol.exchanges import Role
from league.transport import mcp_door
from league.transport.http import Answer, Handler, HttpRequest, RefusalBody, plain_refusal, refuse

if TYPE_CHECKING:
    from league.hosting.serving import HostedAgent
    from league.mcp_tables import McpCaller, ServerTables
    from league.transport.http import Response
    from league_mcp.endpoint import McpEndpoint

OwnAnswer = Callable[[bytes, "McpCaller"], Awaitable["Response | None"]]
PACKAGE: Final = "mcp"
KNOWN: Final = "2.3."
"""What the versions that we know begin with."""
REQUESTS: Final = Rate(per_s=100, burst=1000)
"""Of one address: such a request costs a hundred times what a message costs."""


@cache
def is_installed() -> bool:
    """Is there a version of the package that we know? It is not imported for that."""
    from importlib.metadata import PackageNotFoundError, version  # takes its time to import

    try:
        return version(PACKAGE).startswith(KNOWN)
    except PackageNotFoundError:
        return False


def open_door(host: HostedAgent) -> McpDoor:
    """The door of an agent of ours."""

    async def own_answer(raw: bytes, caller: McpCaller) -> Response | None:
        from league_mcp.own_tools import OwnTools  # only for an agent with tools of its own

        return await OwnTools(host).answer(raw, caller)

    return McpDoor(lambda: _tables_of(host), host.answer_mcp, host.answer_plainly, host.refusal, own_answer)


def _tables_of(host: HostedAgent) -> ServerTables:
    """What an agent offers. The tables of a manager import reports in words, so they are made when a client comes."""
    if host.running.speaker.role is Role.MANAGER:
        from league_mcp.manager_offer import LeagueOffer

        return LeagueOffer(host).tables()
    from league_mcp.member_offer import member_tables

    return member_tables(host, host.tools)


async def _no_tools(_raw: bytes, _caller: McpCaller) -> Response | None:
    return None


class McpDoor:
    """For `App.mcp`.

    `small` answers MCP clients where the package does not, `post` requests that are not for MCP after all, and
    `own_answer` plain requests about tools of the agent's own.
    """

    def __init__(
        self,
        tables: Callable[[], ServerTables],
        small: Handler,
        post: Handler,
        refusal: RefusalBody = plain_refusal,
        own_answer: OwnAnswer = _no_tools,
    ) -> None:
        self._tables = tables
        self._small = small
        self._post = post
        self._refusal = refusal
        self.own_answer = own_answer
        self._rates = RateLimiter(REQUESTS)
        self._endpoint: McpEndpoint | None = None
        self._is_missing = False
        self.is_open = False
        """Has the agent started, and is not about to end?"""
        self._one_imports = asyncio.Lock()

    @property
    def takes_streams(self) -> bool:
        """Are GET and DELETE answered too?"""
        return not self._is_missing and is_installed()

    async def __call__(self, request: HttpRequest) -> Answer:
        """The answer to a request with a header of MCP's, or with the name of a greeting somewhere in its body."""
        greeting = mcp_door.greeting_in(request.body)
        has_header = mcp_door.has_header(request.headers)
        if not has_header and greeting is None:
            return await self._post(request)
        if not self.is_open:
            return refuse(503, "this agent is not there yet, or about to end", self._refusal)
        endpoint = await self._loaded()
        if endpoint is None:
            return await (self._small if has_header else self._post)(request)
        if not self._rates.allows(request.address, asyncio.get_running_loop().time()):
            return refuse(429, "too many requests of MCP at once from this address", self._refusal)
        named = request.headers.get(mcp_door.VERSION_HEADER, b"").decode("latin-1").strip()
        refusal = mcp_door.refusal(request.body, named, endpoint.without_handshake)
        return refusal or await endpoint.answer(request, is_greeting=greeting == mcp_door.INITIALIZE)

    async def close(self) -> None:
        """End all sessions and streams."""
        self.is_open = False
        if self._endpoint is not None:
            await self._endpoint.close()

    async def _loaded(self) -> McpEndpoint | None:
        if self._endpoint is not None or not self.takes_streams:
            return self._endpoint
        async with self._one_imports:
            await self._load()
        return self._endpoint

    async def _load(self) -> None:
        if self._endpoint is not None or self._is_missing:
            return  # somebody else did
        try:
            made, tables = await asyncio.to_thread(lambda: (_import(), self._tables()))
        except ImportError:  # it is there, and broken
            self._is_missing = True
            return
        endpoint = made(tables)
        await endpoint.start()
        if not self.is_open:
            await endpoint.close()
        self._endpoint = endpoint


def _import() -> type[McpEndpoint]:
    from league_mcp.endpoint import McpEndpoint

    return McpEndpoint
