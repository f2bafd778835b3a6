"""What an agent counts: observations as they came, which are added up in batches, and how long things took."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from msgspec import Struct, field

from league.events import Event, ResultAccepted, ResultVoided, WalkoverDecided

BUCKETS_S = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
VALID = "valid"
ADDED_UP_AT = 128
"""So many observations are kept as they came."""
RESULTS: frozenset[type[Event]] = frozenset({ResultAccepted, WalkoverDecided, ResultVoided})
"""They change the table."""

Exchange = tuple[bool, str, str, str | None]
"""Is it a request to us, or a call of ours? Its message type, how it ended, and the verdict on what was read."""
_EMPTY = [0] * (len(BUCKETS_S) + 1)
_bucket: Callable[[float], int] = partial(bisect_left, BUCKETS_S)
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

    def add_all(self, many: Sequence[float]) -> None:
        for bucket, count in Counter(map(_bucket, many)).items():
            self.buckets[bucket] += count
        self.total_s += sum(many)
        self.count += len(many)

    def add_between(self, times: list[float], first: int, last: int, now: float) -> None:
        """How long ago each of these times was, which are in order; one still to come is now."""
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
        if other.count:
            self.buckets = [one + more for one, more in zip(self.buckets, other.buckets, strict=True)]
            self.total_s += other.total_s
            self.count += other.count


class TableDelays(Struct):
    """How long results wait for their table: from a result's acceptance until a player acknowledged a table with it.
    A table whose delivery failed is not waited for."""

    durations: Durations = field(default_factory=Durations)
    _times: list[float] = field(default_factory=list)
    """When results were accepted, in order."""
    _sums: list[float] = field(default_factory=lambda: [0.0])
    """Of so many first times, each since the first of all."""
    _results: list[int] = field(default_factory=lambda: [0])
    """How many results each version of the table has; some versions came about by none."""
    _before: int = 0
    """The version that the journal led to: what was told of it is not known."""
    _told: dict[str, int] = field(default_factory=dict)
    """The version each agent was told last."""

    def replay(self, events: Iterable[Event]) -> None:
        """Begin with what the journal holds."""
        self._times, self._sums, self._results = [], [0.0], [0]
        self._told.clear()
        for event in events:
            self.changed(event)
        self._before = len(self._results) - 1

    def changed(self, event: Event) -> None:
        """Any event; those that change the table count."""
        if type(event) not in RESULTS:
            return
        if isinstance(event, ResultAccepted):
            at = max(event.at, self._times[-1]) if self._times else event.at
            self._times.append(at)
            self._sums.append(self._sums[-1] + at - self._times[0])
        self._results.append(len(self._times))

    def told(self, agent_id: str, version: int, is_acknowledged: bool, now: float) -> None:
        """The delivery of a table ended."""
        last = self._told.get(agent_id, self._before)
        newest = len(self._results) - 1
        first, end = self._results[min(last, newest)], self._results[min(version, newest)]
        if is_acknowledged and first < end:
            now = max(now, self._times[end - 1])
            self.durations.add_between(self._times, first, end, now)
            self.durations.total_s += (end - first) * (now - self._times[0]) - (self._sums[end] - self._sums[first])
        self._told[agent_id] = max(last, version)


class Totals(Struct):
    """Letters in and out, errors by code, events by kind, and times."""

    received: defaultdict[tuple[str, str], int] = field(default_factory=_tally)
    """(message type, "ok" or the code of the error it got)"""
    sent: defaultdict[tuple[str, str], int] = field(default_factory=_tally)
    """(message type, "answered", "error", or how it failed)"""
    verdicts: defaultdict[str, int] = field(default_factory=_tally)
    """Of every message read, request or answer: "valid", or the code of what is wrong with it first."""
    retries: defaultdict[str, int] = field(default_factory=_tally)
    """Calls repeated after a failure, by how the repetition ended."""
    events: defaultdict[str, int] = field(default_factory=_tally)
    faults: defaultdict[tuple[str, str], int] = field(default_factory=_tally)
    """(event, code) of events that name one"""
    round_trip: Durations = field(default_factory=Durations)
    answering: defaultdict[str, Durations] = field(default_factory=lambda: defaultdict(Durations))

    def add_exchange(self, exchange: Exchange, seconds: list[float | None]) -> None:
        """So many of one sort; how long each took, where it was answered."""
        is_request, kind, outcome, verdict = exchange
        (self.received if is_request else self.sent)[kind, outcome] += len(seconds)
        if verdict is not None:
            self.verdicts[verdict] += len(seconds)
        taken = [one for one in seconds if one is not None]
        if taken:
            (self.answering[kind] if is_request else self.round_trip).add_all(taken)

    def add_events(self, kind: type[Event], code: str | None, count: int) -> None:
        self.events[kind.__name__] += count
        if code is not None:
            self.faults[kind.__name__, code] += count

    def merge(self, other: Totals) -> None:
        """All that the other counted."""
        for mine, more in zip(self._tallies, other._tallies, strict=True):
            for what, count in more.items():
                mine[what] += count
        self.round_trip.merge(other.round_trip)
        for kind, durations in other.answering.items():
            self.answering[kind].merge(durations)

    @property
    def _tallies(self) -> tuple[defaultdict[Any, int], ...]:
        return (self.received, self.sent, self.verdicts, self.retries, self.events, self.faults)


class Counts(Struct):
    """What was observed, as it came: it is added up when there is much of it, or when somebody looks."""

    exchanges: list[tuple[Exchange, float | None]] = field(default_factory=list)
    """With the seconds until the answer."""
    events: list[tuple[type[Event], str | None]] = field(default_factory=list)
    """With the error code that they name."""
    _totals: Totals | None = None
    """Of what was added up."""

    def totals(self) -> Totals:
        """Everything that was counted."""
        if self._totals is None:
            self._totals = Totals()
        seconds: defaultdict[Exchange, list[float | None]] = defaultdict(list)
        for exchange, one in self.exchanges:
            seconds[exchange].append(one)
        for exchange, taken in seconds.items():
            self._totals.add_exchange(exchange, taken)
        for (kind, code), count in Counter(self.events).items():
            self._totals.add_events(kind, code, count)
        self.exchanges.clear()
        self.events.clear()
        return self._totals

    def merge(self, other: Counts) -> None:
        """All that the other counted."""
        self.exchanges += other.exchanges
        self.events += other.events
        if other._totals is not None:
            self.totals().merge(other._totals)
        elif len(self.exchanges) + len(self.events) >= ADDED_UP_AT:
            self.totals()
