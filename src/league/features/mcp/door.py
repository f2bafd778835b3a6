"""Answers the MCP clients of one agent.

If the official package is installed in a supported version, a client gets an endpoint of it; otherwise the plain
server answers. Both serve the same tables. The package is imported, and the tables are made, when the first client
comes, and in a thread: that takes half a second, and the loop must not wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING, Final, Protocol

from league.calling.rate_limit import Rate, RateLimiter
from league.protocol.message.exchanges import Role
from league.protocol.wire import jsonrpc
from league.protocol.wire.jsonrpc import BadRequestError
from league.transport import mcp_door
from league.transport.http import (
    Answer,
    HttpRequest,
    RefusalBody,
    plain_refusal,
    refuse,
)

if TYPE_CHECKING:
    from league.features.mcp.endpoint import McpEndpoint
    from league.features.mcp.tables import ServerTables
    from league.hosting.serving import HostedAgent
    from league.transport.http import Response

PACKAGE: Final = "mcp"
SUPPORTED: Final = "2.3."
"""The beginning of the versions that we support."""
REQUESTS: Final = Rate(per_s=100, burst=1000)
"""Per address: a request to the package costs a hundred times what a message costs."""


@cache
def installed_version() -> str:
    """Return the version of the installed package, without importing it; empty if there is none."""
    # Importing this takes its time, too.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return ""


@cache
def is_installed() -> bool:
    """Return whether a supported version of the package is installed, without importing it."""
    return installed_version().startswith(SUPPORTED)


def describe() -> str:
    """Name what answers MCP clients: the official package, or our own server and why."""
    number = installed_version()
    if is_installed():
        return f"the official package {PACKAGE} {number}"
    if number:
        return f"our own server, because {PACKAGE} {number} is installed and {SUPPORTED}x is supported"
    return f"our own server, because the package {PACKAGE} is not installed"


def open_door(host: HostedAgent) -> McpDoor:
    """Make the door of an agent of ours."""
    return McpDoor(partial(_tables_of, host), host.post, host.refusal)


def _tables_of(host: HostedAgent) -> ServerTables:
    if host.running.speaker.role is Role.MANAGER:
        # This imports the reports in words, which a manager without clients never needs.
        from league.features.mcp.offers.manager_offer import LeagueOffer

        return LeagueOffer(host).tables()
    from league.features.mcp.offers.member_offer import member_tables
    from league.features.mcp.tables import MemberTools

    tools = host.tools
    assert tools is None or isinstance(tools, MemberTools), "a strategy of ours offers them"
    return member_tables(host, tools)


class PostHandler(Protocol):
    """Takes a body, the caller's address and its authorization. `is_mcp`: the answer must be as MCP defines it."""

    async def __call__(self, raw: bytes, address: str, authorization: str, /, *, is_mcp: bool = False) -> Response: ...


class McpDoor:
    """For `App.mcp`. `make_tables` says what the agent offers; `post` takes its messages."""

    def __init__(
        self,
        make_tables: Callable[[], ServerTables],
        post: PostHandler,
        refusal: RefusalBody = plain_refusal,
    ) -> None:
        self._make_tables = make_tables
        self._post = post
        self._refusal = refusal
        self._rates = RateLimiter(REQUESTS)
        self._loading = asyncio.Lock()
        self._tables: ServerTables | None = None
        self._endpoint: McpEndpoint | None = None
        self._is_missing = False
        """The package is installed, and yet cannot be imported."""
        self.is_open = False
        """True after the agent has started, and until it is about to end."""

    @property
    def takes_streams(self) -> bool:
        """Return whether GET and DELETE are answered too."""
        return not self._is_missing and is_installed()

    async def __call__(self, request: HttpRequest) -> Answer:
        """Answer a request with a header of MCP or of authorization, or with a greeting's name somewhere in it."""
        authorization = request.headers.get(b"authorization", b"").decode("latin-1")
        greeting = mcp_door.greeting_in(request.body)
        if greeting is None and not mcp_door.has_header(request.headers):
            return await self._post(request.body, request.address, authorization)
        if not self.is_open:
            return refuse(503, "this agent has not started yet, or is about to end", self._refusal)
        if not self._rates.allows(request.address, asyncio.get_running_loop().time()):
            return refuse(429, "too many MCP requests at once from this address", self._refusal)
        endpoint = await self._loaded_endpoint()
        without_handshake = endpoint.without_handshake if endpoint else ()
        refusal = mcp_door.refusal(request.body, mcp_door.version_in(request.headers), without_handshake)
        if refusal is not None:
            return refusal
        if endpoint is None:
            return await self._answer_plainly(request, authorization)
        return await endpoint.answer(request, is_greeting=greeting == mcp_door.INITIALIZE)

    async def _answer_plainly(self, request: HttpRequest, authorization: str) -> Response:
        answer = await self.answer(request.body, request.address, authorization)
        if answer is None:
            answer = await self._post(request.body, request.address, authorization, is_mcp=True)
        return answer

    async def answer(self, raw: bytes, address: str, authorization: str) -> Response | None:
        """Answer one of MCP's own methods, or call a tool, without the package; None for anything else."""
        # Most agents never need these.
        from league.features.mcp import plain_server
        from league.features.mcp.tables import McpCaller

        try:
            call = jsonrpc.decode_call(raw, len(raw))
        except BadRequestError:
            return None  # the agent says what is wrong with it
        return await plain_server.answer(self._loaded_tables, call, McpCaller(address, authorization))

    async def close(self) -> None:
        """End all sessions and streams."""
        self.is_open = False
        if self._endpoint is not None:
            await self._endpoint.close()

    # --- loading ------------------------------------------------------------------------------------------------------

    async def _loaded_tables(self) -> ServerTables:
        async with self._loading:
            if self._tables is None:
                self._tables = await asyncio.to_thread(self._make_tables)
        return self._tables

    async def _loaded_endpoint(self) -> McpEndpoint | None:
        if self._endpoint is None and self.takes_streams:
            tables = await self._loaded_tables()
            async with self._loading:
                await self._open_endpoint(tables)
        return self._endpoint

    async def _open_endpoint(self, tables: ServerTables) -> None:
        if self._endpoint is not None or self._is_missing:
            return  # another request came first
        try:
            make = await asyncio.to_thread(_import)
        except ImportError:
            self._is_missing = True
            return
        endpoint = make(tables)
        await endpoint.start()
        # The agent may have ended while we were loading.
        if not self.is_open:
            await endpoint.close()
        self._endpoint = endpoint


def _import() -> type[McpEndpoint]:
    from league.features.mcp.endpoint import McpEndpoint

    return McpEndpoint
