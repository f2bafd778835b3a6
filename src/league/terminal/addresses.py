"""Addresses as others see them, and as people type them."""

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
    """Where an agent that listens there is found. Who listens at every address is found at the one others see."""
    found = seen_by_others() or LOOPBACK if host in WILDCARDS else host
    return f"{scheme}://{f'[{found}]' if ':' in found else found}:{port}/mcp"


def names_at(host: str) -> set[str]:
    """What a server that listens there may be called. One that others reach has the names of its machine too."""
    if host in ("localhost", "::1") or host.startswith("127."):
        return {host}
    machine = socket.gethostname()
    short = machine.partition(".")[0]
    return {machine, short, f"{short}.local", seen_by_others() or LOOPBACK} | ({host} - set(WILDCARDS))


def seen_by_others() -> str | None:
    """This machine's address on its way to others; None if it has no network. Nothing is sent."""
    return _on_route(
        socket.AF_INET, ("192.0.2.1", 9)
    )  # a documentation address (RFC 5737): only the route is looked up


def on_route_to(url: str) -> str:
    """The address of this machine as a server at that URL sees it; loopback, if the server is here or there
    is no way to it. Nothing is sent, but a name is looked up."""
    parts = split_http(url)
    host, port = parts.hostname or LOOPBACK, parts.port or (443 if parts.scheme == "https" else 80)
    if is_loopback(host):
        return LOOPBACK
    with suppress(OSError):
        for family, _, _, _, place in socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM):
            found = _on_route(family, place)
            if found is not None and "%" not in found:  # an address with a zone is nobody else's business
                return found
    return LOOPBACK


def _on_route(family: int, place: tuple[Any, ...]) -> str | None:
    """Our end of the way to a place (Any: as `getaddrinfo` gives it); None if there is none."""
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(place)
        return str(probe.getsockname()[0])
    return None


def host_name(text: str) -> str:
    """A name or address as it stands in a URL; ValueError if it is none."""
    if not text.isascii() or urlsplit(f"http://{text}:1/").netloc != f"{text}:1" or urlsplit(f"//{text}").port:
        raise ValueError(text)
    return text


def usual_manager() -> str:
    """Where the manager is when nobody says it here: as the environment says, else on this machine."""
    return os.environ.get(MANAGER_VARIABLE) or USUAL_MANAGER


def is_loopback(host: str) -> bool:
    """Is this a name of this machine for itself alone?"""
    from league.protocol.endpoints import ip_of

    ip = ip_of(host)
    return host == "localhost" or (ip is not None and ip.is_loopback)


def is_own(ip: IpAddress) -> bool:
    """Is this an address of this machine? The system lets nobody listen at another's; nothing is sent."""
    family = socket.AF_INET6 if ip.version == 6 else socket.AF_INET
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((str(ip), 0))
        return True
    return False


def split_http(url: str) -> SplitResult:
    """The parts of an http address; ValueError if it is none."""
    from league.protocol.endpoints import parse  # most commands need no address

    parse(url)
    return urlsplit(url)


def agent_url(url: str) -> str:
    """Where an agent takes requests: http, unless it says otherwise, and /mcp, unless it has another path."""
    url = url if "://" in url else f"http://{url}"
    parts = split_http(url)
    return url if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}/mcp"


def player_home(said: str) -> tuple[str, str]:
    """A player's id and where it takes requests, of P01=URL; ValueError if it is no such thing."""
    player_id, _, url = said.partition("=")
    if not player_id.strip():
        raise ValueError(said)
    return player_id.strip(), agent_url(url.strip())
