"""Addresses of this machine as others see them, and addresses of agents as people type them."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urlsplit

if TYPE_CHECKING:
    from league.protocol.endpoints import IpAddress

WILDCARDS = ("0.0.0.0", "::", "")
LOOPBACK = "127.0.0.1"
MANAGER_VARIABLE = "LEAGUE_MANAGER"
USUAL_MANAGER = "http://127.0.0.1:8000"


def endpoint_at(host: str, port: int, scheme: str = "http") -> str:
    """The URL of an agent that listens at a host and port. If it listens at all addresses, others see the main one."""
    if host in WILDCARDS:
        host = seen_by_others() or LOOPBACK
    if ":" in host:
        host = f"[{host}]"
    return f"{scheme}://{host}:{port}/mcp"


def names_at(host: str) -> set[str]:
    """The names of a server that listens at a host. A server that others can reach has its machine's names too."""
    if host in ("localhost", "::1") or host.startswith("127."):
        return {host}
    machine = socket.gethostname()
    short = machine.partition(".")[0]
    names = {machine, short, f"{short}.local", seen_by_others() or LOOPBACK}
    if host not in WILDCARDS:
        names.add(host)
    return names


def seen_by_others() -> str | None:
    """This machine's address in its network; None if it has no network. Nothing is sent."""
    # A documentation address (RFC 5737): only the route is looked up.
    return _on_route(socket.AF_INET, ("192.0.2.1", 9))


def on_route_to(url: str) -> str:
    """This machine's address as a server at the URL sees it; loopback if the server is here or cannot be reached.

    Nothing is sent, but a name is looked up.
    """
    parts = split_http(url)
    host = parts.hostname or LOOPBACK
    if is_loopback(host):
        return LOOPBACK
    usual_port = 443 if parts.scheme == "https" else 80
    with suppress(OSError):
        for family, _, _, _, place in socket.getaddrinfo(host, parts.port or usual_port, type=socket.SOCK_DGRAM):
            address = _on_route(family, place)
            if address is not None and "%" not in address:  # an address with a zone means nothing to other machines
                return address
    return LOOPBACK


def _on_route(family: int, place: tuple[Any, ...]) -> str | None:
    """This machine's address on the route to a place; None if there is no route (Any: as `getaddrinfo` returns it)."""
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(place)  # a datagram socket only looks up the route
        return str(probe.getsockname()[0])
    return None


def host_of(url: str) -> str:
    """Return the host of a URL."""
    return urlsplit(url).hostname or ""


def usual_manager() -> str:
    """The manager's address if no option names it: the one in the environment, otherwise on this machine."""
    return os.environ.get(MANAGER_VARIABLE) or USUAL_MANAGER


def is_loopback(host: str) -> bool:
    """True for a name or address by which only this machine reaches itself."""
    from league.protocol.endpoints import ip_of

    ip = ip_of(host)
    return host == "localhost" or (ip is not None and ip.is_loopback)


def is_own(ip: IpAddress) -> bool:
    """True for an address of this machine: only there does the system let us listen. Nothing is sent."""
    family = socket.AF_INET6 if ip.version == 6 else socket.AF_INET
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((str(ip), 0))
        return True
    return False


def split_http(url: str) -> SplitResult:
    """The parts of an http or https address; ValueError if it is not one."""
    from league.protocol.endpoints import parse  # most commands need no address

    parse(url)
    return urlsplit(url)


def agent_url(url: str) -> str:
    """Complete the URL of an agent: http if it has no scheme, and /mcp if it has no path."""
    if "://" not in url:
        url = f"http://{url}"
    parts = split_http(url)
    if parts.path.strip("/"):
        return url
    return f"{parts.scheme}://{parts.netloc}/mcp"


def agent_urls(text: str) -> str:
    """Complete the URLs of several agents, which are separated by commas."""
    return ",".join(agent_url(url.strip()) for url in text.split(","))


def first_of(urls: str) -> str:
    """The first of several URLs."""
    return urls.partition(",")[0]


def player_home(text: str) -> tuple[str, str]:
    """Read P01=URL: a player's id and its URL; ValueError if it is not written so."""
    player_id, _, url = text.partition("=")
    if not player_id.strip():
        raise ValueError(text)
    return player_id.strip(), agent_url(url.strip())
