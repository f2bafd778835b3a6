"""Fault injection: one seeded source of chance decides every fault, so that a seed reproduces a run exactly."""

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


class CrashPoint(Enum):
    """The moments at which a process may be killed."""

    ARRIVAL = "arrival"
    """Before it handles an input."""
    DECIDED = "decided"
    """Before its events are on disk."""
    DURABLE = "durable"
    """Before anything leaves it."""


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
    "dishonest referee",
    *(f"killed at {moment.value}" for moment in CrashPoint),
)
"""All kinds of faults, by the names they are excluded and counted under."""

_NETWORK_FAULTS = (
    Travel.REQUEST_LOST,
    Travel.ANSWER_LOST,
    Travel.TWICE,
    Travel.LATE,
)


@dataclass(slots=True)
class Faults:
    """Decides which faults occur. With `rate` 0 none does; 1 is the highest."""

    rate: float
    dice: Random
    excluded: frozenset[str] = frozenset()
    """Kinds of faults that never occur, to find out which of them break a promise."""
    counts: Counter[str] = field(default_factory=Counter)
    """How often each kind has occurred."""

    def occurs(self, probability: float, kind: str) -> bool:
        """Decide whether a fault of this kind occurs; `probability` is that at rate 1."""
        if self.rate <= 0:
            return False
        # An excluded kind still takes its number, so that the others fall as before.
        is_drawn = self.dice.random() < probability * self.rate
        return is_drawn and kind not in self.excluded

    def travel(self) -> Travel:
        """Decide how a call travels."""
        if not self.occurs(0.2, "network"):
            return Travel.WELL
        travel = self.dice.choice(_NETWORK_FAULTS)
        self.counts[travel.value] += 1
        return travel

    def latency(self) -> float:
        """Draw the seconds of one way through the network."""
        return self.dice.uniform(0.0005, 0.02)

    def delay(self) -> float:
        """Draw the seconds by which a late message is late."""
        return self.dice.choice((0.3, 2.0, 6.0, 12.0, 40.0)) * self.dice.uniform(0.8, 1.2)

    def kills(self, moment: CrashPoint) -> bool:
        """Decide whether a process dies here."""
        return self._counted(0.004, f"killed at {moment.value}")

    def fails_to_write(self) -> bool:
        return self._counted(0.02, "write failed")

    def freezes(self) -> bool:
        return self._counted(0.003, "frozen")

    def dies_for_good(self) -> bool:
        return self._counted(1.0, "died for good")

    def clock_jump(self) -> float:
        """Draw the seconds by which the wall clock jumps at a restart."""
        if self._counted(1.5, "clock jumped"):
            return self.dice.uniform(-3600, 3600)
        return 0.0

    def _counted(self, probability: float, kind: str) -> bool:
        occurs = self.occurs(probability, kind)
        if occurs:
            self.counts[kind] += 1
        return occurs
