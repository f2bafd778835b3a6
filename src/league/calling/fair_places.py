"""A limited number of places, shared between the addresses that ask for one.

An address gets another place only while it holds fewer than are free. So a single address never takes more than half
of them, and there is always something left for others; many addresses with one place each may take them all.
"""

from __future__ import annotations

from collections import Counter


class FairPlaces:
    """Counts the places that each address holds."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._held: Counter[str] = Counter()

    @property
    def taken(self) -> int:
        return self._held.total()

    def has_room(self, address: str) -> bool:
        """True while an address may take another place."""
        return self._held.get(address, 0) < self._free

    def take(self, address: str) -> bool:
        """Take a place for an address; False if it holds its share already."""
        if not self.has_room(address):
            return False
        self._held[address] += 1
        self._free -= 1
        return True

    def leave(self, address: str) -> None:
        """Give a place back."""
        self._free += 1
        self._held[address] -= 1
        # Most addresses never come back.
        if not self._held[address]:
            del self._held[address]
