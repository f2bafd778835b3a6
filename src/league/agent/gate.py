"""How much callers may ask of an agent. Honest play stays far below. A caller that floods the agent is told to come
back later, and takes nothing from members at the same address: their tokens identify them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct, field

from league.calling.rate_limit import Rate, RateLimiter

REQUESTS: Final = Rate(per_s=1000, burst=5000)
"""For one address, and for one member beyond that. A hundred agents of a league may share an address."""


class Gate(Struct):
    """The rate limits of one agent."""

    clock: Callable[[], float] = time.monotonic
    addresses: RateLimiter = field(default_factory=lambda: RateLimiter(REQUESTS))
    members: RateLimiter = field(default_factory=lambda: RateLimiter(REQUESTS))

    def allows_address(self, address: str) -> bool:
        """True if another request from there may be taken, whoever sends it."""
        return self.addresses.allows(address, self.clock())

    def allows_member(self, agent_id: str | None) -> bool:
        """True if a request of this member may be taken, though its address has had its share."""
        return agent_id is not None and self.members.allows(agent_id, self.clock())
