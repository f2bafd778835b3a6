"""From an endpoint to the addresses that may be connected to: a name is looked up once, what it leads to is held
against the policy, and that is kept. It is looked up again only after nobody could be reached there, and then checked
again: who changes what its name leads to gains nothing by it.
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
    """`named_by` is who names the endpoints of all calls that do not say so themselves: a member's manager."""

    def __init__(self, policy: EndpointPolicy, look_up: LookUp = look_up, named_by: Endpoint | None = None) -> None:
        self._policy, self._look_up, self._named_by = policy, look_up, named_by
        self._origin = ""
        self._pins: dict[tuple[str, int, str], list[tuple[int, str]]] = {}

    async def resolve(self, endpoint: Endpoint, origin: str) -> list[tuple[int, str]]:
        """Where to connect. CallFailed if the policy leaves nothing of it, OSError if the name leads nowhere."""
        origin = origin or await self._usual_origin()
        pinned = self._pins.get((endpoint.host, endpoint.port, origin))
        if pinned is not None:
            return pinned
        self._refuse(self._policy.objection(endpoint, origin))
        found = await self._look_up(endpoint.host, endpoint.port)
        allowed = [one for one in found if not self._objection(one[1], endpoint, origin)]
        if found and not allowed:
            self._refuse(self._objection(found[0][1], endpoint, origin))
        if endpoint.ip is None and allowed:
            self._pin((endpoint.host, endpoint.port, origin), allowed)
        return allowed

    def forget(self, endpoint: Endpoint, origin: str) -> None:
        """Nobody could be reached there: look the name up again."""
        self._pins.pop((endpoint.host, endpoint.port, origin or self._origin), None)

    async def _usual_origin(self) -> str:
        """The address of whoever names the endpoints, as one on the same machine sees it."""
        if self._named_by is not None and not self._origin:
            found = await self._look_up(self._named_by.host, self._named_by.port)
            ip = ip_of(found[0][1]) if found else None
            self._origin = "" if ip is None else LOOPBACK if self._policy.is_here(ip) else str(ip)
        return self._origin

    def _pin(self, key: tuple[str, int, str], addresses: list[tuple[int, str]]) -> None:
        if len(self._pins) >= _PINS:
            self._pins.clear()
        self._pins[key] = addresses

    def _objection(self, address: str, endpoint: Endpoint, origin: str) -> str:
        return self._policy.objection_to(ip_address(address), endpoint, origin)

    def _refuse(self, objection: str) -> None:
        if objection:
            raise CallFailed(Failure.FORBIDDEN, objection)
