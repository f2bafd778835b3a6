"""Counts what an agent observes, and how long things took."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from operator import add
from typing import Any

from msgspec import Struct, field

from league.events import Event, ResultAccepted, ResultVoided, WalkoverDecided

BUCKETS_S = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
RESULTS: frozenset[type[Event]] = frozenset({ResultAccepted, WalkoverDecided, ResultVoided})
"""The events that change the table."""

_TALLIES = ("received", "sent", "verdicts", "retries", "events", "faults")
_EMPTY = [0] * (len(BUCKETS_S) + 1)
_tally: Callable[[], defaultdict[Any, int]] = partial(defaultdict, int)


class Durations(Struct):
    """How long something took, in buckets."""

    buckets: list[int] = field(default_factory=_EMPTY.copy)
    total_s: float = 0.0
    count: int = 0

    def add(self, seconds: float) -> None:
        self.buckets[bisect_left(BUCKETS_S, seconds)] += 1
        self.total_s += seconds
        self.count += 1

    def add_between(self, times: list[float], first: int, last: int, now: float) -> None:
        """Count how long ago each of these times was, which are in order; a time in the future counts as now."""
        last_bucket = bisect_left(BUCKETS_S, now - times[first])
        for bucket in range(bisect_left(BUCKETS_S, now - times[last - 1]), last_bucket):
            # Times of this bucket are those within its bound; `x.__rsub__(y)` is y - x.
            older = bisect_left(times, -BUCKETS_S[bucket], first, last, key=now.__rsub__)
            self.buckets[bucket] += last - older
            self.count += last - older
            last = older
        self.buckets[last_bucket] += last - first
        self.count += last - first

    def merge(self, other: Durations) -> None:
        if not other.count:
            return
        self.buckets = list(map(add, self.buckets, other.buckets))
        self.total_s += other.total_s
        self.count += other.count


class TableDelays(Struct):
    """How long results wait for their table: from a result's acceptance until a player acknowledged a table with it.
    A table whose delivery failed is not waited for."""

    durations: Durations = field(default_factory=Durations)
    _times: list[float] = field(default_factory=list)
    """When results were accepted, in order."""
    _sums: list[float] = field(default_factory=lambda: [0.0])
    """Running sums of the times, each counted from the first: any stretch of results is summed by one subtraction."""
    _results: list[int] = field(default_factory=lambda: [0])
    """How many results each version of the table has; some versions came about by none."""
    _before: int = 0
    """The version at the end of the journal: what agents were told up to there is not known."""
    _told: dict[str, int] = field(default_factory=dict)
    """The version each agent was told last."""

    def replay(self, events: Iterable[Event]) -> None:
        """Begin with the events of the journal."""
        self._times = []
        self._sums = [0.0]
        self._results = [0]
        self._told.clear()
        for event in events:
            self.changed(event)
        self._before = len(self._results) - 1

    def changed(self, event: Event) -> None:
        """Take any event; those that change the table count."""
        if type(event) not in RESULTS:
            return
        if isinstance(event, ResultAccepted):
            # Clocks of a restarted manager may go back; `bisect` needs the times in order.
            at = event.at
            if self._times:
                at = max(at, self._times[-1])
            self._times.append(at)
            self._sums.append(self._sums[-1] + at - self._times[0])
        self._results.append(len(self._times))

    def told(self, agent_id: str, version: int, is_acknowledged: bool, now: float) -> None:
        """The delivery of a table ended."""
        last_version = self._told.get(agent_id, self._before)
        newest = len(self._results) - 1
        first = self._results[min(last_version, newest)]
        end = self._results[min(version, newest)]
        if is_acknowledged and first < end:
            now = max(now, self._times[end - 1])
            self.durations.add_between(self._times, first, end, now)
            self.durations.total_s += (end - first) * (now - self._times[0])
            self.durations.total_s -= self._sums[end] - self._sums[first]
        # Also when it failed: the next table contains this one, and is not late on its account.
        self._told[agent_id] = max(last_version, version)


class Counts(Struct):
    """Letters in and out, errors by code, events by kind, and times."""

    received: defaultdict[tuple[str, str], int] = field(default_factory=_tally)
    """By message type, and "ok" or the code of the error it got."""
    sent: defaultdict[tuple[str, str], int] = field(default_factory=_tally)
    """By message type, and "answered", "error", or how it failed."""
    verdicts: defaultdict[str, int] = field(default_factory=_tally)
    """Of every message read, request or answer: "valid", or the code of the first thing wrong with it."""
    retries: defaultdict[str, int] = field(default_factory=_tally)
    """Calls repeated after a failure, by how the repetition ended."""
    events: defaultdict[str, int] = field(default_factory=_tally)
    faults: defaultdict[tuple[str, str], int] = field(default_factory=_tally)
    """By event and error code, of events that name one."""
    round_trip: Durations = field(default_factory=Durations)
    answering: defaultdict[str, Durations] = field(default_factory=lambda: defaultdict(Durations))

    def merge(self, other: Counts) -> None:
        """Add everything that the other counted."""
        for name in _TALLIES:
            tally = getattr(self, name)
            for label, count in getattr(other, name).items():
                tally[label] += count
        self.round_trip.merge(other.round_trip)
        for kind, durations in other.answering.items():
            self.answering[kind].merge(durations)
