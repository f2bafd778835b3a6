"""How much callers may ask of an agent. Honest play stays far below. Whoever floods is told to come later, and takes
nothing from members at the same address: their tokens say who they are."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from league.calling.rate_limit import Rate, RateLimiter

REQUESTS: Final = Rate(per_s=1000, burst=5000)
"""Of one address, and of one member beyond that. A hundred agents of a league may share an address."""


@dataclass(slots=True)
class Gate:
    """The rate limits of one agent."""

    clock: Callable[[], float] = time.monotonic
    addresses: RateLimiter = field(default_factory=lambda: RateLimiter(REQUESTS))
    members: RateLimiter = field(default_factory=lambda: RateLimiter(REQUESTS))

    def allows_address(self, address: str) -> bool:
        """May another request from there be taken, whoever sends it?"""
        return self.addresses.allows(address, self.clock())

    def allows_member(self, agent_id: str | None) -> bool:
        """May a request of this member be taken, though its address has had its share?"""
        return agent_id is not None and self.members.allows(agent_id, self.clock())
