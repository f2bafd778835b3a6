"""The answer to an HTTP request, without anything that reads or sends it."""

from __future__ import annotations

from msgspec import Struct


class HttpReply(Struct, frozen=True, gc=False):
    """What a server answered, whatever the status."""

    status: int
    body: bytes
    retry_after: float | None = None
    content_type: str = ""
    session: str = ""
    """The MCP session the server opened with this answer."""
    location: str = ""
    """Where a redirect leads."""
