"""Counts for /metrics what passes the shell, and how long it took: cheap enough to be always on."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from operator import add
from typing import Any, TypeVar

from msgspec import Struct, field

from league import letters
from league.events import (
    Event,
    GameEnded,
    InvitationAnswered,
    LeagueEnded,
    MatchBegun,
    MatchDecided,
    MatchDropped,
    ResultAccepted,
    ResultVoided,
    RoundEnded,
    WalkoverDecided,
)
from league.letters import Asked
from league.machine import Content, MatchNews, Ping, RecordRequest
from league.protocol.message.envelope import Unsealed
from league.protocol.message.messages import MESSAGES, Message

ANSWERED = "answered"
VALID = "valid"
FAILING_KEPT = 1000
OPEN_KEPT = 1000
UNKNOWN_TYPE = "?"
BUCKETS_S = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
RESULTS: frozenset[type[Event]] = frozenset({ResultAccepted, WalkoverDecided, ResultVoided})
"""The events that change the table."""

_TALLIES = ("received", "sent", "verdicts", "retries", "events", "faults")
_EMPTY = [0] * (len(BUCKETS_S) + 1)
_tally: Callable[[], defaultdict[Any, int]] = partial(defaultdict, int)

HELP: Mapping[str, str] = {
    "league_letters_received_total": "requests, by message type and the code of the error they got",
    "league_calls_sent_total": "calls of ours, by message type and how they ended",
    "league_messages_read_total": "messages read, by the code of what is wrong with them first",
    "league_calls_repeated_total": "calls repeated after a failure, by how the repetition ended",
    "league_events_total": "events of the journal, by kind",
    "league_faults_total": "events that name an error code",
    "league_log_lines_dropped_total": "lines of the log that could not be written",
    "league_round_trip_seconds": "from a call to its answer",
    "league_answer_seconds": "from a request to our answer, by message type",
    "league_standings_latency_seconds": "from a result to its table at a player",
    "league_timer_lag_seconds": "how late the last timer rang: above 0.1 this process has too little time",
    "league_agents": "registered agents, by role and state",
    "league_applicants": "applicants that wait for approval",
    "league_matches_open": "matches that have begun and have no result yet",
    "league_matches_completed": "matches with a result",
    "league_matches": "matches of the schedule",
    "league_round": "the round that is played",
    "league_rounds": "rounds of the schedule",
    "league_queue_letters": "requests that wait for our answer",
    "league_queue_calls": "calls that wait for an answer",
    "league_queue_held": "steps that wait for the disk",
}

Labels = TypeVar("Labels", bound=tuple[str, ...])
_BEGINNINGS: frozenset[type[Event]] = frozenset({MatchBegun, InvitationAnswered})
"""A match begins with them."""
_ENDS_OF_ALL: frozenset[type[Event]] = frozenset({RoundEnded, LeagueEnded})
"""All matches end with them."""
_ENDS: frozenset[type[Event]] = frozenset({MatchDecided, MatchDropped, GameEnded, *_ENDS_OF_ALL})
"""A match ends with them, or all of them."""


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


class Meter(Counts):
    """Counts what /metrics shows, and what the success metrics (R-53) are computed from.

    Observations of a match are counted apart until it is over: before that nobody may see from the numbers that a
    player has answered (S-30).
    """

    tables: TableDelays = field(default_factory=TableDelays)
    dropped_lines: int = 0
    """Lines of the log that could not be written."""
    lag_s: float = 0.0
    """How late the last timer rang."""
    failing: dict[Hashable, None] = field(default_factory=dict)
    """The subjects of the calls that failed last."""
    _open: dict[str | None, Counts] = field(default_factory=dict)
    """The observations of each match that is not over."""

    def answered(
        self,
        kind: str,
        outcome: str,
        read: Content,
        seconds: float,
        match_id: str | None = None,
    ) -> None:
        """A request was read, and got its answer after this time."""
        counts = self._open.get(match_id, self)
        counts.received[kind, outcome] += 1
        counts.answering[kind].add(seconds)
        if isinstance(read, Unsealed):
            counts.verdicts[read.violations[0].code if read.violations else VALID] += 1

    def refused(self, kind: str, code: str, verdict: str | None = None) -> None:
        """A request was refused unread; or, with a verdict, could not be read."""
        self.received[kind, code] += 1
        if verdict is not None:
            self.verdicts[verdict] += 1

    def call_ended(
        self,
        kind: str,
        about: Hashable,
        outcome: str,
        match_id: str | None = None,
        read: Content | None = None,
        seconds: float | None = None,
    ) -> None:
        """A call ended. `about` is its receiver, message type and conversation: after a failure the same again is a
        repetition. `read` is its answer, if that could be read, `seconds` how long it took, if there was one."""
        counts = self._open.get(match_id, self)
        counts.sent[kind, outcome] += 1
        if seconds is not None:
            counts.round_trip.add(seconds)
        if isinstance(read, Unsealed):
            counts.verdicts[read.violations[0].code if read.violations else VALID] += 1
        if outcome != ANSWERED or self.failing:
            self._call_failed(counts, about, outcome)

    def _call_failed(self, counts: Counts, about: Hashable, outcome: str) -> None:
        """A call failed, or may be the repetition of one that did."""
        if about in self.failing:
            counts.retries[outcome] += 1
        if outcome == ANSWERED:
            self.failing.pop(about, None)
        # An error is an answer, and a call that was called off is not repeated.
        elif outcome not in ("error", "cancelled"):
            self.failing[about] = None
            if len(self.failing) > FAILING_KEPT:
                del self.failing[next(iter(self.failing))]

    def replay(self, events: Iterable[Event]) -> None:
        """Begin with what the journal holds: matches that are open, tables that were told."""
        self.tables.replay(self._followed(events))

    def _followed(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if type(event) in _BEGINNINGS:
                self._begin(event)
            elif type(event) in _ENDS:
                self._end(event)
            yield event

    def _begin(self, event: Any) -> None:
        """Any: one of _BEGINNINGS."""
        if event.match_id not in self._open:
            self._open[event.match_id] = Counts()
        # Matches whose end never comes must not pile up.
        if len(self._open) > OPEN_KEPT:
            self.merge(self._open.pop(next(iter(self._open))))

    def _end(self, event: Any) -> None:
        """Any: one of _ENDS."""
        match_ids = list(self._open) if type(event) in _ENDS_OF_ALL else [event.match_id]
        for match_id in match_ids:
            if match_id in self._open:
                self.merge(self._open.pop(match_id))

    def lines_dropped(self, lines: int) -> None:
        """This many lines of the log could not be written."""
        self.dropped_lines += lines

    def happened(self, events: Iterable[Event]) -> None:
        """Events became true."""
        for event in events:
            kind = type(event)
            if kind in _BEGINNINGS:
                self._begin(event)
            counts = self._open.get(getattr(event, "match_id", None), self)
            counts.events[kind.__name__] += 1
            code = getattr(event, "code", None)
            if code is not None:
                counts.faults[kind.__name__, code] += 1
            # The event that ends a match is counted with it, and shows together with the rest.
            if kind in RESULTS:
                self.tables.changed(event)
            elif kind in _ENDS:
                self._end(event)

    def prometheus(self, gauges: Mapping[str, float]) -> str:
        """Write the text of /metrics; a gauge goes by its name, with labels if it has any: `agents{role="player"}`."""
        lines: list[str] = []
        lines += _counter(
            "league_letters_received_total",
            ("message_type", "outcome"),
            self.received,
        )
        lines += _counter("league_calls_sent_total", ("message_type", "outcome"), self.sent)
        lines += _counter("league_messages_read_total", ("verdict",), _single(self.verdicts))
        lines += _counter("league_calls_repeated_total", ("outcome",), _single(self.retries))
        lines += _counter("league_events_total", ("event",), _single(self.events))
        lines += _counter("league_faults_total", ("event", "code"), self.faults)
        if self.dropped_lines:
            lines += _counter("league_log_lines_dropped_total", (), {(): self.dropped_lines})
        lines += _histogram("league_round_trip_seconds", {"": self.round_trip})
        answering = {f'message_type="{kind}"': durations for kind, durations in self.answering.items()}
        lines += _histogram("league_answer_seconds", answering)
        if self.tables.durations.count:
            lines += _histogram("league_standings_latency_seconds", {"": self.tables.durations})
        lines += _gauges({"timer_lag_seconds": self.lag_s, **gauges})
        return "\n".join(lines) + "\n"


# --- the text of /metrics ---------------------------------------------------------------------------------------------


def _single(counts: Mapping[str, int]) -> Mapping[tuple[str], int]:
    return {(label,): count for label, count in counts.items()}


def _head(name: str, kind: str) -> list[str]:
    lines = [f"# TYPE {name} {kind}"]
    if name in HELP:
        lines.insert(0, f"# HELP {name} {HELP[name]}")
    return lines


def _gauges(values: Mapping[str, float]) -> list[str]:
    lines: list[str] = []
    for name, samples in groupby(sorted(values.items()), key=_gauge_name):
        lines += _head(f"league_{name}", "gauge")
        for sample, value in samples:
            lines.append(f"league_{sample} {value:g}")
    return lines


def _gauge_name(sample: tuple[str, float]) -> str:
    """The name without its labels."""
    return sample[0].partition("{")[0]


def _counter(name: str, labels: tuple[str, ...], counts: Mapping[Labels, int]) -> list[str]:
    if not counts:
        return []
    lines = _head(name, "counter")
    for values, count in sorted(counts.items()):
        inner = ",".join(f'{label}="{value}"' for label, value in zip(labels, values, strict=True))
        lines.append(f"{name}{_in_braces(inner)} {count}")
    return lines


def _histogram(name: str, series: Mapping[str, Durations]) -> list[str]:
    if not series:
        return []
    lines = _head(name, "histogram")
    bounds = [*map(str, BUCKETS_S), "+Inf"]
    for labels, durations in sorted(series.items()):
        cumulative = 0
        for bound, count in zip(bounds, durations.buckets, strict=True):
            cumulative += count
            inner = ",".join(filter(None, (labels, f'le="{bound}"')))
            lines.append(f"{name}_bucket{{{inner}}} {cumulative}")
        lines.append(f"{name}_sum{_in_braces(labels)} {durations.total_s:.6f}")
        lines.append(f"{name}_count{_in_braces(labels)} {durations.count}")
    return lines


def _in_braces(labels: str) -> str:
    return f"{{{labels}}}" if labels else ""


# --- names ------------------------------------------------------------------------------------------------------------


def label(request: Asked) -> str:
    """Name the type of a request, for people: peers choose what they send, but not what we write down."""
    if request.message_type in MESSAGES:
        return request.message_type
    if request.message_type is None and isinstance(request.content, Ping):
        return "ping"
    return UNKNOWN_TYPE


def kind_of(message: Message | Ping) -> str:
    """Name the kind as which a call is counted and noted."""
    if isinstance(message, RecordRequest):
        return letters.RECORD
    if isinstance(message, MatchNews):
        return letters.NEWS
    if isinstance(message, Ping):
        return letters.PING
    return message.type
