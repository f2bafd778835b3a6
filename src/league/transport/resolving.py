"""From an endpoint to the addresses that may be connected to: a name is looked up once, its addresses are checked
against the policy, and the allowed ones are kept. It is looked up again only after nobody could be reached there, and
then checked again: a host gains nothing by changing the addresses of its name.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from ipaddress import ip_address

from league.machine import Failure
from league.protocol.endpoints import Endpoint, EndpointPolicy, ip_of
from league.transport.http import look_up
from league.transport.http_call import CallFailed

LookUp = Callable[[str, int], Awaitable[list[tuple[int, str]]]]
"""(family, address) of a host, in the order to try them."""
LOOPBACK = "127.0.0.1"
_PINS = 4096


class Resolver:
    """Looks endpoints up. `named_by` is the agent that names the endpoints of calls without an origin of their own: a
    member's manager."""

    def __init__(
        self,
        policy: EndpointPolicy,
        look_up: LookUp = look_up,
        named_by: Endpoint | None = None,
    ) -> None:
        self._policy = policy
        self._look_up = look_up
        self._named_by = named_by
        self._origin = ""
        self._pins: dict[tuple[str, int, str], list[tuple[int, str]]] = {}

    async def resolve(self, endpoint: Endpoint, origin: str) -> list[tuple[int, str]]:
        """Find out where to connect. CallFailed if the policy allows none of it, OSError if the name has no address."""
        origin = origin or await self._usual_origin()
        pinned = self._pins.get((endpoint.host, endpoint.port, origin))
        if pinned is not None:
            return pinned
        self._refuse(self._policy.objection(endpoint, origin))
        addresses = await self._look_up(endpoint.host, endpoint.port)
        objections = [self._policy.objection_to(ip_address(ip), endpoint, origin) for _, ip in addresses]
        allowed = [address for address, objection in zip(addresses, objections, strict=True) if not objection]
        if objections and not allowed:
            self._refuse(objections[0])
        # An address needs no looking up; only names are pinned.
        if endpoint.ip is None and allowed:
            self._pin((endpoint.host, endpoint.port, origin), allowed)
        return allowed

    def forget(self, endpoint: Endpoint, origin: str) -> None:
        """Nobody could be reached there: look the name up again."""
        self._pins.pop((endpoint.host, endpoint.port, origin or self._origin), None)

    async def _usual_origin(self) -> str:
        """The address of the agent that names the endpoints, as seen from the same computer."""
        if self._named_by is not None and not self._origin:
            addresses = await self._look_up(self._named_by.host, self._named_by.port)
            ip = ip_of(addresses[0][1]) if addresses else None
            if ip is not None:
                self._origin = LOOPBACK if self._policy.is_here(ip) else str(ip)
        return self._origin

    def _pin(self, key: tuple[str, int, str], addresses: list[tuple[int, str]]) -> None:
        # Peers choose the names: their number must stay bounded.
        if len(self._pins) >= _PINS:
            self._pins.clear()
        self._pins[key] = addresses

    def _refuse(self, objection: str) -> None:
        if objection:
            raise CallFailed(Failure.FORBIDDEN, objection)
