"""Addresses as others see them."""

from __future__ import annotations

import socket
from contextlib import suppress

WILDCARDS = ("0.0.0.0", "::", "")
LOOPBACK = "127.0.0.1"


def endpoint_at(host: str, port: int) -> str:
    """Where an agent that listens there is found. Who listens at every address is found at the one others see."""
    found = seen_by_others() or LOOPBACK if host in WILDCARDS else host
    return f"http://{url_host(found)}:{port}/mcp"


def seen_by_others() -> str | None:
    """This machine's address on its way to others; None if it has no network. Nothing is sent."""
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # a documentation address (RFC 5737): only the route is looked up
        return str(probe.getsockname()[0])
    return None


def url_host(host: str) -> str:
    """A host as it stands in a URL."""
    return f"[{host}]" if ":" in host else host
