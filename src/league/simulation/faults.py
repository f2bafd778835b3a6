"""Where chance strikes: one seeded source decides every fault, so that a seed reproduces a run exactly."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from random import Random


class Travel(Enum):
    """What may happen to a call on its way."""

    WELL = "well"
    REQUEST_LOST = "request lost"
    ANSWER_LOST = "answer lost"
    TWICE = "delivered twice"
    LATE = "late"


class Moment(Enum):
    """When a process may die: before it saw an input, before its events are on disk, before anything left."""

    ARRIVAL = "arrival"
    DECIDED = "decided"
    DURABLE = "durable"


KINDS = (
    "network",
    "misbehaviour",
    "operator",
    "frozen",
    "write failed",
    "clock jumped",
    "died for good",
    *(f"killed at {moment.value}" for moment in Moment),
)
"""All kinds of faults, by the names they are spared and counted under."""

_MISHAPS = (Travel.REQUEST_LOST, Travel.ANSWER_LOST, Travel.TWICE, Travel.LATE)


@dataclass(slots=True)
class Faults:
    """The dice. `rate` 0 means that nothing ever goes wrong; 1 is mayhem."""

    rate: float
    dice: Random
    spared: frozenset[str] = frozenset()
    """Kinds of faults that are left out, to find out which of them a broken promise needs."""
    seen: Counter[str] = field(default_factory=Counter)

    def strikes(self, probability: float, kind: str) -> bool:
        """Roll for a fault of that probability at rate 1."""
        return self.rate > 0 and self.dice.random() < probability * self.rate and kind not in self.spared

    def travel(self) -> Travel:
        """How a call travels."""
        how = self.dice.choice(_MISHAPS) if self.strikes(0.2, "network") else Travel.WELL
        return self._count(how)

    def _count(self, how: Travel) -> Travel:
        if how is not Travel.WELL:
            self.seen[how.value] += 1
        return how

    def latency(self) -> float:
        """One way through the network."""
        return self.dice.uniform(0.0005, 0.02)

    def delay(self) -> float:
        """Of a late message."""
        return self.dice.choice((0.3, 2.0, 6.0, 12.0, 40.0)) * self.dice.uniform(0.8, 1.2)

    def kills(self, moment: Moment) -> bool:
        """Does a process die here?"""
        return self._struck(0.004, f"killed at {moment.value}")

    def fails_to_write(self) -> bool:
        return self._struck(0.02, "write failed")

    def freezes(self) -> bool:
        return self._struck(0.003, "frozen")

    def dies_for_good(self) -> bool:
        return self._struck(1.0, "died for good")

    def clock_jump(self) -> float:
        """What a restart does to the wall clock."""
        return self.dice.uniform(-3600, 3600) if self._struck(1.5, "clock jumped") else 0.0

    def _struck(self, probability: float, what: str) -> bool:
        struck = self.strikes(probability, what)
        if struck:
            self.seen[what] += 1
        return struck
