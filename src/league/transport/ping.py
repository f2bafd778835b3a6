"""Ask an address whether an agent answers there: one JSON-RPC ping, for commands that look before they begin.

Roles ping their peers through the calling engine instead (`manager/heartbeats.py`, `referee/addresses.py`).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

import msgspec

from league.machine import Failure
from league.protocol import jsonrpc
from league.transport.http_client import CallFailed, HttpClient

PING: Final = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
NO_PAGE: Final = (404, 405)
UNKNOWN_PATH: Final = ({"detail": "Not Found"}, {"detail": "Method Not Allowed"})
"""FastAPI's own answers to a path or a method that it does not serve."""


class Listener(Enum):
    """The kinds of listeners behind an address."""

    NOBODY = auto()
    """The connection was refused."""
    SILENT = auto()
    """It was connected, but there was no answer in time, or none that is HTTP."""
    WRONG_PATH = auto()
    """A web server, which serves no agent at this path."""
    OTHER = auto()
    """It answered in words of its own. It may still be an agent: some know no ping."""
    AGENT = auto()
    """It speaks JSON-RPC."""


class PingAnswer(NamedTuple):
    """The listener that answered, and its answer in a few words."""

    listener: Listener
    detail: str


async def ping(url: str, client: HttpClient, limit_s: float) -> PingAnswer:
    """Send one ping and say who answered."""
    try:
        reply = await client.post(url, PING, limit_s, jsonrpc.MESSAGE_LIMIT)
    except CallFailed as failed:
        listener = Listener.NOBODY if failed.failure is Failure.REFUSED else Listener.SILENT
        return PingAnswer(listener, failed.detail)
    detail = f"HTTP status {reply.status}"
    try:
        content = msgspec.json.decode(reply.body)
    except msgspec.DecodeError:
        content = None
    if isinstance(content, dict) and "jsonrpc" in content:
        return PingAnswer(Listener.AGENT, detail)
    # An agent may answer an unknown method with 404, too, but then it says so in JSON of its own.
    if reply.status in NO_PAGE and (content is None or content in UNKNOWN_PATH):
        return PingAnswer(Listener.WRONG_PATH, detail)
    return PingAnswer(Listener.OTHER, detail)
