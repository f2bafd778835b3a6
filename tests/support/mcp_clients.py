"""Clients of the official MCP package, in either era of MCP, that talk to agents over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from mcp import Client
from mcp.client.session import MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import BlobResourceContents, TextContent

from tests.support.processes import WATCHDOG_S

ERAS = ("legacy", "2026-07-28")
"""With a handshake and a session, and without."""


@asynccontextmanager
async def connected(
    url: str, era: str, headers: Mapping[str, str] | None = None, message_handler: MessageHandlerFnT | None = None
) -> AsyncGenerator[Client, None]:
    """A client; `message_handler` gets what the server says by itself."""
    async with (
        httpx2.AsyncClient(headers=headers, timeout=WATCHDOG_S) as http,
        Client(streamable_http_client(url, http_client=http), mode=era, message_handler=message_handler) as client,
    ):
        yield client


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
