"""Clients of the official MCP package, in either era of MCP, that talk to agents over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.session import ElicitationFnT, IncomingMessage
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import ResourceUpdated
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import BlobResourceContents, ResourceUpdatedNotification, TextContent

from tests.support.processes import WATCHDOG_S

ERAS = ("legacy", "2026-07-28")
"""With a handshake and a session, and without."""


@asynccontextmanager
async def connected(
    url: str, era: str, headers: Mapping[str, str] | None = None, person: ElicitationFnT | None = None
) -> AsyncGenerator[Client, None]:
    """A client of an agent; `person` is whom it can ask."""
    heard = _Heard()
    async with (
        httpx2.AsyncClient(headers=headers, timeout=WATCHDOG_S) as http,
        Client(
            streamable_http_client(url, http_client=http), mode=era, message_handler=heard, elicitation_callback=person
        ) as client,
    ):
        yield client


@asynccontextmanager
async def with_local_server(
    command: Sequence[str], era: str, folder: Path, environment: Mapping[str, str] | None = None
) -> AsyncGenerator[Client, None]:
    """A client of a local server, which it starts as assistants do; the log of that server is in the folder."""
    server = StdioServerParameters(
        command=command[0], args=list(command[1:]), env=dict(environment or {}), cwd=folder, encoding="utf-8"
    )
    with (folder / "local-server.log").open("a") as log:
        async with Client(stdio_client(server, errlog=log), mode=era, message_handler=_Heard()) as client:
            yield client


class _Heard:
    """What a server says by itself within a session."""

    def __init__(self) -> None:
        self.updates: asyncio.Queue[str] = asyncio.Queue()

    async def __call__(self, message: IncomingMessage) -> None:
        if isinstance(message, ResourceUpdatedNotification):
            self.updates.put_nowait(str(message.params.uri))


@asynccontextmanager
async def followed(client: Client, era: str, uri: str) -> AsyncGenerator[Callable[[], Awaitable[None]], None]:
    """Follow a resource as this era does it; call what is given to wait until it has changed."""
    if era == ERAS[0]:
        heard = client.message_handler
        assert isinstance(heard, _Heard)
        with pytest.warns(MCPDeprecationWarning):  # the later era has no such thing
            await client.subscribe_resource(uri)  # type: ignore[deprecated]  # of the older era

        async def wait() -> None:
            assert await heard.updates.get() == uri

        yield wait
        return
    async with client.listen(resource_subscriptions=[uri]) as stream:

        async def wait_on_stream() -> None:
            assert await anext(stream) == ResourceUpdated(uri=uri)

        yield wait_on_stream


def talk(
    url: str, era: str, work: Callable[[Client], Awaitable[None]], headers: Mapping[str, str] | None = None
) -> None:
    """Connect a client, and let it work."""

    async def run() -> None:
        async with asyncio.timeout(WATCHDOG_S), connected(url, era, headers) as client:
            await work(client)

    asyncio.run(run())


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool answered (Any: JSON)."""

    is_error: bool
    text: str
    data: Any


async def call(client: Client, tool: str, **arguments: object) -> ToolAnswer:
    """Call a tool that answers with text."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert isinstance(content, TextContent)
    return ToolAnswer(result.is_error, content.text, result.structured_content)


async def read(client: Client, uri: str) -> Any:
    """Read a resource of JSON (Any: that)."""
    (content,) = (await client.read_resource(uri)).contents
    assert not isinstance(content, BlobResourceContents)
    return json.loads(content.text)
