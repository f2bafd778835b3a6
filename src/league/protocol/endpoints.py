"""The endpoints of agents: the grammar of addresses (spec section 3.5), and the policy about which of them may be
registered and called (section 7.5).

Theory of operation. `parse` reads an address in the one usual spelling and rejects every other, so that no address
means something else to a library than to us. `EndpointPolicy` then decides by the IP address: some are never called,
the operator's allowances come next, then the reach of the league, and last the origin of whoever named the endpoint.
A host that is a name has no IP address before it is looked up. `transport/resolving.py` does that, and asks this policy
about every address it gets.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Final, Literal, cast, get_args

from msgspec import Struct

URL_MAX: Final = 2048
PORT_MAX: Final = 65535
NAME_LENGTH_MAX: Final = 253

IpAddress = IPv4Address | IPv6Address
IpNetwork = IPv4Network | IPv6Network
Reach = Literal["local", "lan", "public"]
"""How far away agents may be: on this machine, in private networks, or anywhere."""
OriginRule = Literal["any", "loopback", "same"]
"""Which addresses an agent may name: any; loopback only when it calls from loopback; or only its own."""

# --- the grammar ------------------------------------------------------------------------------------------------------


class BadAddressError(ValueError):
    """This is not an address; the text says why."""


class Endpoint(Struct, frozen=True):
    """A parsed address."""

    scheme: str
    host: str
    """In lower case, without brackets and without a final dot."""
    port: int
    target: str
    """Path and query, as a request names them."""
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
    """Read an address; raises BadAddressError if it is not one."""
    _check_characters(url)
    match = _URL.fullmatch(url)
    if match is None:
        raise _bad(url)
    scheme = match[1].lower()
    host, port = _split(match[2], url)
    if port is None:
        port = 443 if scheme == "https" else 80
    target = match[3]
    if not target.startswith("/"):
        target = f"/{target}"
    last_label = host.removesuffix(".").rpartition(".")[2]
    # No top-level domain is a number, so such a host is meant as an IP address.
    if host.startswith("[") or _NUMBER.fullmatch(last_label):
        ip: IpAddress | None = _numeric(host)
    else:
        ip = _named(host, url)
    return Endpoint(scheme, host.strip("[]").removesuffix("."), port, target, ip)


def _bad(url: str) -> BadAddressError:
    return BadAddressError(f'{url[:80]!r} is not an address such as "http://127.0.0.1:8101/mcp"')


def _check_characters(url: str) -> None:
    if len(url) > URL_MAX:
        raise BadAddressError(f"an address must have at most {URL_MAX} characters; this one has {len(url)}")
    if not url.isascii():
        raise BadAddressError("an address must be ASCII; write other letters of a host name as xn--… (IDNA)")
    if any(char <= " " or char == "\x7f" for char in url):
        raise BadAddressError("an address must not contain blanks or control characters")
    for char, name in (("\\", "backslash"), ("#", "fragment")):
        if char in url:
            raise BadAddressError(f"an address must not have a {name}")


def _split(authority: str, url: str) -> tuple[str, int | None]:
    """The host in lower case, in brackets if it had them, and the port, if there is one."""
    if "@" in authority:
        raise BadAddressError("an address must not contain a user name or a password")
    if "%" in authority:
        raise BadAddressError("the host of an address must not contain % (and no zone)")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise _bad(url)
    host = match[1].lower()
    if match[2] is None:
        return host, None
    if not _PORT.fullmatch(match[2]):
        raise _bad(url)
    port = int(match[2])
    if port == 0:
        raise BadAddressError("a port must be at least 1, not 0")
    if port > PORT_MAX:
        raise BadAddressError(f"a port must be at most {PORT_MAX}, not {port}")
    return host, port


def _numeric(host: str) -> IpAddress:
    """Read a host that is an IP address."""
    # It must be written in the one usual way: nobody should have to know what 0x7f.1 means.
    usual = "four numbers up to 255 such as 127.0.0.1"
    try:
        if host.startswith("["):
            usual = "eight numbers such as [fd00::1:7]"
            return IPv6Address(host[1:-1])
        return IPv4Address(host)
    except ValueError:
        raise BadAddressError(f"{host[:80]} is not a host: write an IP address as {usual}") from None


def _named(host: str, url: str) -> IpAddress | None:
    labels = host.removesuffix(".").split(".")
    if len(host) > NAME_LENGTH_MAX or not all(map(_LABEL.fullmatch, labels)):
        raise _bad(url)
    for label in labels:
        # A library may decode a wrong label to some other name.
        if label.startswith("xn--") and not _is_idna(label):
            raise BadAddressError(f"{label} is not a name in the form of IDNA")
    return _LOCALHOST if labels == ["localhost"] else None


def _is_idna(label: str) -> bool:
    """Whether a label in the form xn--… stands for other letters, and is their only spelling."""
    try:
        return label.encode("ascii").decode("idna").encode("idna") == label.encode("ascii")
    except UnicodeError:
        return False


# --- kinds of addresses -----------------------------------------------------------------------------------------------

_METADATA = "the address of a cloud's metadata service"
_RESERVED = "reserved"
# The first network that contains an address says what the address is.
_NEVER: Final = tuple(
    (ip_network(network), description)
    for network, description in (
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
"""Never called, whatever the policy and the operator say: no agent is there, or the address hides where it leads."""
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
            "192.0.2.0/24",  # documentation and benchmarks: if anybody uses these, it is in a private network
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
    """What this address is, if it is never called; otherwise ""."""
    for network, description in _NEVER:
        if ip in network:
            return description
    if ip.version == 6 and not any(ip in network for network in _UNICAST):
        return _RESERVED
    return ""


def is_within(ip: IpAddress, reach: Reach) -> bool:
    """Whether an address is no further away than `reach`."""
    return ip.is_loopback or reach == "public" or (reach == "lan" and any(ip in network for network in _LAN))


def ip_of(text: str) -> IpAddress | None:
    """Read an IP address; None if the text is not one."""
    try:
        ip = ip_address(text)
    except ValueError:
        return None
    if isinstance(ip, IPv6Address) and ip.ipv4_mapped:
        # A server that listens to both kinds sees IPv4 in the form of IPv6.
        return ip.ipv4_mapped
    return ip


# --- the policy -------------------------------------------------------------------------------------------------------


class Allowance(Struct, frozen=True):
    """A place the operator allows: a network or a name, at one port or at every port."""

    network: IpNetwork | None
    name: str = ""
    port: int | None = None

    def __str__(self) -> str:
        """Write it as `read_allowance` reads it."""
        if self.network is None:
            host = self.name
        elif self.port is None:
            return str(self.network)
        else:
            address = self.network.network_address
            host = f"[{address}]" if address.version == 6 else str(address)
        return host if self.port is None else f"{host}:{self.port}"

    def covers(self, endpoint: Endpoint, ip: IpAddress | None) -> bool:
        if self.port not in (None, endpoint.port):
            return False
        if self.network is None:
            return self.name == endpoint.host
        return ip is not None and ip in self.network


def read_allowance(text: str) -> Allowance:
    """Read "10.1.0.0/16", "10.1.2.3:8101", "[fd00::7]:8101", "fd00::7", "name" or "name:8101".

    Raises ValueError for anything else.
    """
    if "/" in text or (text.count(":") > 1 and not text.startswith("[")):
        return Allowance(ip_network(text))
    endpoint = parse(f"http://{text}/")
    port = endpoint.port if re.search(r":[0-9]+$", text) else None
    if endpoint.ip is None or endpoint.host == "localhost":
        return Allowance(None, endpoint.host, port)
    return Allowance(ip_network(endpoint.ip), port=port)


def read_reach(text: str) -> tuple[str, ...]:
    """Read "lan,10.1.0.0/16": how far away agents may be, and the places where they may be, too.

    Raises ValueError for anything else.
    """
    reach, *places = (part.strip() for part in text.split(","))
    if reach not in get_args(Reach):
        raise ValueError(text)
    return reach, *(str(read_allowance(place)) for place in places)


def reach_of(endpoints: Sequence[str]) -> Reach:
    """Return how far away agents may be by a rule that `read_reach` has read."""
    return cast(Reach, endpoints[0])


def _is_loopback(ip: IpAddress) -> bool:
    return ip.is_loopback


class EndpointPolicy(Struct, frozen=True):
    """Which endpoints may be registered and called.

    `origin` is the address of whoever named an endpoint: an agent that registers, or an agent's manager.
    """

    reach: Reach = "public"
    origin_rule: OriginRule = "any"
    allowed: tuple[Allowance, ...] = ()
    """What the operator allows, whatever `reach` and `origin_rule` say."""
    own_port: int | None = None
    """Our own port on this machine, where no agent can be."""
    is_own: Callable[[IpAddress], bool] = _is_loopback
    """Tells whether this machine has an address; loopback always counts."""

    def objection(self, endpoint: Endpoint, origin: str) -> str:
        """Why an agent may not be there; "" if it may, or if its name must be looked up first."""
        if endpoint.ip is not None:
            return self.objection_to(endpoint.ip, endpoint, origin)
        if self.reach == "local" and not self._is_allowed(endpoint, None):
            return f"{endpoint.host} is a name, but agents must be on the manager's machine (--endpoints local)"
        return ""

    def must_look_up(self, endpoint: Endpoint) -> bool:
        """Whether the policy can decide about this endpoint only after its name is looked up."""
        return endpoint.ip is None and self.origin_rule == "same" and not self._is_allowed(endpoint, None)

    def objection_to(self, ip: IpAddress, endpoint: Endpoint, origin: str) -> str:
        """The same for one IP address: the endpoint's own, or one that its name was found to have."""
        if description := why_never(ip):
            return f"{ip} is {description}; agents are never called there"
        if endpoint.port == self.own_port and self.is_here(ip):
            return f"port {endpoint.port} of this machine is the manager itself"
        # The operator's word goes before the two rules that follow, but not before the two above.
        if self._is_allowed(endpoint, ip):
            return ""
        if not is_within(ip, self.reach):
            return f"{ip} is outside the networks of this league (--endpoints {self.reach})"
        if self.origin_rule == "any":
            return ""
        return self._objection_to_origin(ip, origin)

    def is_here(self, ip: IpAddress) -> bool:
        """Whether this is an address of this machine."""
        return ip.is_loopback or self.is_own(ip)

    def _objection_to_origin(self, ip: IpAddress, origin: str) -> str:
        caller = ip_of(origin)
        # The usual mistake: an agent on another machine registers its own localhost.
        if ip.is_loopback and caller is not None and not caller.is_loopback:
            return (
                f"{ip} leads every machine to itself, but you call from {caller}: register the address where others "
                f"can reach you (--host {caller}), or play through a mailbox (--outbound)"
            )
        if self.origin_rule == "loopback" or (caller is not None and self._is_one_machine(ip, caller)):
            return ""
        return (
            f"{ip} is not the address you call from ({caller or origin or 'unknown'}): register that address; "
            "behind a router, play through a mailbox (--outbound); or ask the operator to allow this one (--endpoints)"
        )

    def _is_one_machine(self, ip: IpAddress, other: IpAddress) -> bool:
        return ip == other or (self.is_here(ip) and self.is_here(other))

    def _is_allowed(self, endpoint: Endpoint, ip: IpAddress | None) -> bool:
        return any(allowance.covers(endpoint, ip) for allowance in self.allowed)
