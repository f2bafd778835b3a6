"""Where agents may be: the grammar of addresses (spec section 3.5), and the policy about which of them are registered
and called (section 7.5). Looking up names is not done here: `transport/resolving.py` does, and asks this policy.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, Literal

URL_MAX: Final = 2048
PORT_MAX: Final = 65535
NAME_LENGTH_MAX: Final = 253

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network
Reach = Literal["local", "lan", "public"]
"""How far away agents may be: on this machine, in networks that are not part of the internet, or anywhere."""
OriginRule = Literal["any", "loopback", "same"]
"""Which addresses somebody may name: any; loopback only if it speaks from loopback; or only its own."""

# --- the grammar ------------------------------------------------------------------------------------------------------


class BadAddressError(ValueError):
    """This is no address; its text says why."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address, read: `host` in small letters, without brackets and last dot; `target` is its path and query, as a
    request names them."""

    scheme: str
    host: str
    port: int
    target: str
    ip: IpAddress | None
    """None if the host is a name that must be looked up; localhost need not be (RFC 6761)."""


_URL = re.compile(r"([Hh][Tt][Tt][Pp][Ss]?)://([^/?]*)(.*)")
_AUTHORITY = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::(.*))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PORT = re.compile(r"0|[1-9][0-9]{0,9}")
_LOCALHOST = IPv4Address("127.0.0.1")


@lru_cache(maxsize=4096)  # announcements name the same addresses again and again
def parse(url: str) -> Endpoint:
    """Read an address; BadAddressError if it is none."""
    _check_characters(url)
    found = _URL.fullmatch(url)
    if found is None:
        raise _bad(url)
    scheme, authority, target = found.groups()
    host, port = _split(authority, url)
    ip = _numeric(host) if host.startswith("[") or _NUMBER.fullmatch(_last_label(host)) else _named(host, url)
    scheme, name = scheme.lower(), host.strip("[]").removesuffix(".")
    usual_port = 443 if scheme == "https" else 80
    return Endpoint(scheme, name, port or usual_port, target if target.startswith("/") else f"/{target}", ip)


def _bad(url: str) -> BadAddressError:
    return BadAddressError(f'{url[:80]!r} is not an address such as "http://127.0.0.1:8101/mcp"')


def _check_characters(url: str) -> None:
    if len(url) > URL_MAX:
        raise BadAddressError(f"an address has at most {URL_MAX} characters; this has {len(url)}")
    if not url.isascii():
        raise BadAddressError("an address is written in ASCII; a host name of other letters in its form xn--… (IDNA)")
    if any(char <= " " or char == "\x7f" for char in url):
        raise BadAddressError("an address holds no blanks and no control characters")
    for char, name in (("\\", "backslash"), ("#", "fragment")):
        if char in url:
            raise BadAddressError(f"an address has no {name}")


def _split(authority: str, url: str) -> tuple[str, int | None]:
    """The host in small letters, in brackets if it was, and the port, if one is given."""
    if "@" in authority:
        raise BadAddressError("an address holds no user name and no password")
    if "%" in authority:
        raise BadAddressError("the host of an address is written plainly, without % (and without a zone)")
    found = _AUTHORITY.fullmatch(authority)
    if found is None or (found[2] is not None and not _PORT.fullmatch(found[2])):
        raise _bad(url)
    port = None if found[2] is None else int(found[2])
    if port is not None and not 1 <= port <= PORT_MAX:
        raise BadAddressError(f"a port is at {f'most {PORT_MAX}' if port else 'least 1'}, not {port}")
    return found[1].lower(), port


def _last_label(host: str) -> str:
    return host.removesuffix(".").rpartition(".")[2]


def _numeric(host: str) -> IpAddress:
    """A host that is an address must be written in the one usual way: what 0x7f.1 means, nobody should have to know."""
    try:
        return IPv6Address(host[1:-1]) if host.startswith("[") else IPv4Address(host)
    except ValueError:
        usual = (
            "eight numbers such as [fd00::1:7]"
            if host.startswith("[")
            else "four numbers such as 127.0.0.1 that are at most 255"
        )
        raise BadAddressError(f"{host[:80]} is no host: an address is written as {usual}") from None


def _named(host: str, url: str) -> IpAddress | None:
    labels = host.removesuffix(".").split(".")
    if len(host) > NAME_LENGTH_MAX or not all(map(_LABEL.fullmatch, labels)):
        raise _bad(url)
    for label in labels:
        if label.startswith("xn--") and not _is_idna(label):
            raise BadAddressError(f"{label} is no name in the form of IDNA")
    return _LOCALHOST if labels == ["localhost"] else None


def _is_idna(label: str) -> bool:
    """Does it stand for other letters, and is it how they are written?"""
    try:
        return label.encode("ascii").decode("idna").encode("idna") == label.encode("ascii")
    except UnicodeError:
        return False


# --- kinds of addresses -----------------------------------------------------------------------------------------------

_METADATA, _RESERVED = "the address of a cloud's metadata service", "reserved"
_NEVER: Final = tuple(
    (ip_network(network), what)
    for network, what in (
        ("169.254.169.254/32", _METADATA),
        ("100.100.100.200/32", _METADATA),
        ("168.63.129.16/32", _METADATA),
        ("fd00:ec2::254/128", _METADATA),
        ("fd20:ce::254/128", _METADATA),
        ("0.0.0.0/8", "unspecified"),
        ("169.254.0.0/16", "link-local"),
        ("192.0.0.0/24", _RESERVED),
        ("192.88.99.0/24", "an address of 6to4"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", _RESERVED),
        ("::/128", "unspecified"),
        ("::ffff:0:0/96", "an IPv4 address in IPv6: write it as IPv4"),
        ("64:ff9b::/96", "an address of NAT64"),
        ("64:ff9b:1::/48", "an address of NAT64"),
        ("2001::/32", "an address of Teredo"),
        ("2001::/23", _RESERVED),
        ("2002::/16", "an address of 6to4"),
        ("fe80::/10", "link-local"),
        ("ff00::/8", "multicast"),
    )
)
"""Not called, whatever the policy and the operator say: these lead to where no agent is, or hide where they lead."""
_UNICAST: Final = tuple(map(IPv6Network, ("::1/128", "2000::/3", "fc00::/7")))
"""Everything else of IPv6 is reserved."""
_LAN: Final = tuple(
    map(
        ip_network,
        (
            "10.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "fc00::/7",
            "100.64.0.0/10",  # shared between a provider's customers; overlay networks use it
            "192.0.2.0/24",  # documentation and benchmarks: if anybody has these, then in a network of their own
            "198.51.100.0/24",
            "203.0.113.0/24",
            "198.18.0.0/15",
            "2001:db8::/32",
            "3fff::/20",
        ),
    )
)
"""Networks that are not part of the internet."""


def why_never(ip: IpAddress) -> str:
    """What this address is, if it is one that is never called."""
    for network, what in _NEVER:
        if ip in network:
            return what
    if ip.version == 6 and not any(ip in network for network in _UNICAST):
        return _RESERVED
    return ""


def is_within(ip: IpAddress, reach: Reach) -> bool:
    """Is it no further away than that?"""
    return ip.is_loopback or reach == "public" or (reach == "lan" and any(ip in network for network in _LAN))


def ip_of(text: str) -> IpAddress | None:
    """The address in a text, if it is one. A server that listens to both kinds sees IPv4 in the form of IPv6."""
    try:
        ip = ip_address(text)
    except ValueError:
        return None
    return ip.ipv4_mapped or ip if isinstance(ip, IPv6Address) else ip


# --- the policy -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Allowance:
    """A place the operator allows: a network or a name, at one port or at all."""

    network: IpNetwork | None
    name: str = ""
    port: int | None = None

    def covers(self, endpoint: Endpoint, ip: IpAddress | None) -> bool:
        if self.port not in (None, endpoint.port):
            return False
        if self.network is None:
            return self.name == endpoint.host
        return ip is not None and ip in self.network


def read_allowance(text: str) -> Allowance:
    """From "10.1.0.0/16", "10.1.2.3:8101", "[fd00::7]:8101", "fd00::7", "name" or "name:8101"; ValueError if it is none
    of these."""
    if "/" in text or (text.count(":") > 1 and not text.startswith("[")):
        return Allowance(ip_network(text))
    endpoint = parse(f"http://{text}/")
    port = endpoint.port if re.search(r":[0-9]+$", text) else None
    if endpoint.ip is None or endpoint.host == "localhost":
        return Allowance(None, endpoint.host, port)
    return Allowance(ip_network(endpoint.ip), port=port)


def _is_loopback(ip: IpAddress) -> bool:
    return ip.is_loopback


@dataclass(frozen=True, slots=True)
class EndpointPolicy:
    """Which endpoints are registered and called. An endpoint is named by somebody, who speaks from its `origin`: an
    agent that registers, or (to a referee or player) its manager."""

    reach: Reach = "public"
    origin_rule: OriginRule = "any"
    allowed: tuple[Allowance, ...] = ()
    """What the operator allows whatever `reach` and `origin_rule` say."""
    own_port: int | None = None
    """Nobody is called at this port of this machine: it is ours."""
    is_own: Callable[[IpAddress], bool] = _is_loopback
    """Has this machine such an address? Loopback it always has."""

    def objection(self, endpoint: Endpoint, origin: str) -> str:
        """Why an agent may not be there, in a sentence; "" if it may, or if its name must be looked up to know."""
        if endpoint.ip is not None:
            return self.objection_to(endpoint.ip, endpoint, origin)
        if self.reach == "local" and not self._is_allowed(endpoint, None):
            return f"{endpoint.host} is a name, and agents must be on the manager's own machine (--endpoints local)"
        return ""

    def must_look_up(self, endpoint: Endpoint) -> bool:
        """Is it unknown before its name is looked up whether an agent may be there?"""
        return endpoint.ip is None and self.origin_rule == "same" and not self._is_allowed(endpoint, None)

    def objection_to(self, ip: IpAddress, endpoint: Endpoint, origin: str) -> str:
        """The same of one address: the endpoint's own, or one that its name was found to have."""
        if what := why_never(ip):
            return f"{ip} is {what}; no agent is called there"
        if endpoint.port == self.own_port and self.is_here(ip):
            return f"port {endpoint.port} of this machine is the manager itself"
        if self._is_allowed(endpoint, ip):
            return ""
        if not is_within(ip, self.reach):
            return f"{ip} is beyond what this league takes (--endpoints {self.reach}, --allow-endpoint)"
        return "" if self.origin_rule == "any" else self._objection_to_origin(ip, origin)

    def is_here(self, ip: IpAddress) -> bool:
        """Is this an address of this machine?"""
        return ip.is_loopback or self.is_own(ip)

    def _objection_to_origin(self, ip: IpAddress, origin: str) -> str:
        speaker = ip_of(origin)
        if ip.is_loopback and speaker is not None and not speaker.is_loopback:
            return (
                f"{ip} leads every machine to itself, and you speak from {speaker}: register the address others reach "
                f"you at: --host {speaker}"
            )
        if self.origin_rule == "loopback" or (speaker is not None and self._is_one_machine(ip, speaker)):
            return ""
        return (
            f"{ip} is not where you speak from ({speaker or origin or 'unknown'}): register that address, or have the "
            "operator allow this one (--allow-endpoint)"
        )

    def _is_one_machine(self, ip: IpAddress, other: IpAddress) -> bool:
        return ip == other or (self.is_here(ip) and self.is_here(other))

    def _is_allowed(self, endpoint: Endpoint, ip: IpAddress | None) -> bool:
        return any(one.covers(endpoint, ip) for one in self.allowed)
