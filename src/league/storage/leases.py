"""The clock by which leases end, and the names of their holders."""

from __future__ import annotations

import secrets
import sys
import time

if sys.platform == "linux":

    def lease_time() -> float:
        """The time in seconds. It goes on while the machine sleeps, and nobody can set it."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

else:

    def lease_time() -> float:
        """The time in seconds, which nobody can set."""
        return time.monotonic()


def holder_token() -> str:
    """A name that no other holder has."""
    return secrets.token_hex(16)
