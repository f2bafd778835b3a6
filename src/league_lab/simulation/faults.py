"""Fault injection: one seeded random source decides every fault, so that a seed reproduces a run exactly."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum
from random import Random


class Travel(Enum):
    """What the network does to a call."""

    WELL = "well"
    REQUEST_LOST = "request lost"
    ANSWER_LOST = "answer lost"
    TWICE = "delivered twice"
    LATE = "late"


class Moment(Enum):
    """When a process may be killed: before it saw an input, before its events are on disk, before anything left."""

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
    "power cut",
    "cheating",
    *(f"killed at {moment.value}" for moment in Moment),
)
"""All kinds of faults, by the names they are excluded and counted under."""

_NETWORK_FAULTS = (Travel.REQUEST_LOST, Travel.ANSWER_LOST, Travel.TWICE, Travel.LATE)


@dataclass(slots=True)
class Faults:
    """Decides which faults occur. With `rate` 0 none does; 1 is the highest."""

    rate: float
    dice: Random
    excluded: frozenset[str] = frozenset()
    """Kinds of faults that are left out, to find out which of them break a promise."""
    seen: Counter[str] = field(default_factory=Counter)

    def occurs(self, probability: float, kind: str) -> bool:
        """Does a fault of this kind occur, whose probability at rate 1 is given?"""
        return self.rate > 0 and self.dice.random() < probability * self.rate and kind not in self.excluded

    def travel(self) -> Travel:
        """How a call travels."""
        if not self.occurs(0.2, "network"):
            return Travel.WELL
        how = self.dice.choice(_NETWORK_FAULTS)
        self.seen[how.value] += 1
        return how

    def latency(self) -> float:
        """One way through the network."""
        return self.dice.uniform(0.0005, 0.02)

    def delay(self) -> float:
        """How much later a late message comes."""
        return self.dice.choice((0.3, 2.0, 6.0, 12.0, 40.0)) * self.dice.uniform(0.8, 1.2)

    def kills(self, moment: Moment) -> bool:
        """Does a process die here?"""
        return self._counted(0.004, f"killed at {moment.value}")

    def fails_to_write(self) -> bool:
        return self._counted(0.02, "write failed")

    def freezes(self) -> bool:
        return self._counted(0.003, "frozen")

    def dies_for_good(self) -> bool:
        return self._counted(1.0, "died for good")

    def clock_jump(self) -> float:
        """By how much the wall clock jumps at a restart."""
        return self.dice.uniform(-3600, 3600) if self._counted(1.5, "clock jumped") else 0.0

    def _counted(self, probability: float, what: str) -> bool:
        occurs = self.occurs(probability, what)
        if occurs:
            self.seen[what] += 1
        return occurs
