"""What the shell sees go by: counted for /metrics, cheap enough to be always on, and errors in words for people."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any, TypeVar

from msgspec import Struct, field

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
from league.machine import Content, Ping, RecordRequest, Refusal
from league.protocol.envelope import Unsealed
from league.protocol.errors import ERRORS
from league.protocol.messages import MESSAGES, GameError, LeagueError, LeagueQueryResponse, Message
from league.protocol.safe_text import printable
from league.transport import letters
from league.transport.letters import Asked

BUCKETS_S = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
ANSWERED = "answered"
FAILING_KEPT = 1000
OPEN_KEPT = 1000
LONGEST_ERROR = 1000

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
_ENDS: frozenset[type[Event]] = frozenset({MatchDecided, MatchDropped, GameEnded, RoundEnded, LeagueEnded})
"""A match ends with them, or all of them."""
_RESULTS: frozenset[type[Event]] = frozenset({ResultAccepted, WalkoverDecided, ResultVoided})
"""They change the table."""
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

    def add_all(self, many: Sequence[float]) -> None:
        for seconds in many:
            self.buckets[bisect_left(BUCKETS_S, seconds)] += 1
        self.total_s += sum(many)
        self.count += len(many)

    def merge(self, other: Durations) -> None:
        if other.count:
            self.buckets = [one + more for one, more in zip(self.buckets, other.buckets, strict=True)]
            self.total_s += other.total_s
            self.count += other.count


class TableDelays(Struct):
    """How long results wait for their table: from a result's acceptance until a player acknowledged a table with it.
    A table whose delivery failed is not waited for."""

    durations: Durations = field(default_factory=Durations)
    _changes: list[float | None] = field(default_factory=list)
    """When each version of the table came about; None if by no result."""
    _before: int = 0
    """The version that the journal led to: what was told of it is not known."""
    _told: dict[str, int] = field(default_factory=dict)
    """The version each agent was told last."""

    def replay(self, events: Iterable[Event]) -> None:
        """Begin with what the journal holds."""
        self._changes.clear()
        self._told.clear()
        for event in events:
            self.changed(event)
        self._before = len(self._changes)

    def changed(self, event: Event) -> None:
        """Any event; those that change the table count."""
        if type(event) in _RESULTS:
            self._changes.append(event.at if isinstance(event, ResultAccepted) else None)

    def told(self, agent_id: str, version: int, is_acknowledged: bool, now: float) -> None:
        """The delivery of a table ended."""
        last = self._told.get(agent_id, self._before)
        if is_acknowledged:
            self.durations.add_all([max(now - at, 0.0) for at in self._changes[last:version] if at is not None])
        self._told[agent_id] = max(last, version)


class Counts(Struct):
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
    answering: dict[str, Durations] = field(default_factory=dict)
    failing: dict[Hashable, None] = field(default_factory=dict)
    """What calls that failed last were about."""

    def judged(self, content: Content) -> None:
        """A message was read."""
        if isinstance(content, Unsealed):
            self.verdicts[content.violations[0].code if content.violations else "valid"] += 1

    def call_failed(self, about: Hashable, outcome: str) -> None:
        """A call failed, or is the repetition of one that did."""
        if about in self.failing:
            self.retries[outcome] += 1
        if outcome == ANSWERED:
            self.failing.pop(about, None)
        elif outcome not in ("error", "cancelled"):
            self.failing[about] = None
            if len(self.failing) > FAILING_KEPT:
                del self.failing[next(iter(self.failing))]

    def merge(self, other: Counts) -> None:
        """All that the other counted."""
        for mine, more in zip(self._tallies, other._tallies, strict=True):
            for what, count in more.items():
                mine[what] += count
        self.round_trip.merge(other.round_trip)
        for kind, durations in other.answering.items():
            self.answering.setdefault(kind, Durations()).merge(durations)

    @property
    def _tallies(self) -> tuple[defaultdict[Any, int], ...]:
        return (self.received, self.sent, self.verdicts, self.retries, self.events, self.faults)


class Meter(Counts):
    """What /metrics shows, and what the success metrics (R-53) are computed from. What is counted about a match shows
    when it is over: before that nobody may see from it that a player has answered (S-30)."""

    tables: TableDelays = field(default_factory=TableDelays)
    dropped_lines: int = 0
    """Lines of the log that could not be written."""
    lag_s: float = 0.0
    """How late the last timer rang."""
    _open: dict[str, Counts] = field(default_factory=dict)

    def answered(self, kind: str, outcome: str, read: Content, seconds: float, match_id: str | None = None) -> None:
        """A request was read, and got its answer after so long."""
        counts = self._open.get(match_id, self) if match_id else self
        counts.received[kind, outcome] += 1
        counts.judged(read)
        durations = counts.answering.get(kind)
        if durations is None:
            durations = counts.answering[kind] = Durations()
        durations.add(seconds)

    def call_ended(
        self,
        kind: str,
        about: Hashable,
        outcome: str,
        match_id: str | None = None,
        read: Content | None = None,
        seconds: float | None = None,
    ) -> None:
        """A call ended; the same receiver, message type and conversation again is a repetition. `read` is its answer,
        if that could be read, `seconds` how long it took, if there was one."""
        counts = self._open.get(match_id, self) if match_id else self
        counts.sent[kind, outcome] += 1
        if read is not None:
            counts.judged(read)
        if seconds is not None:
            counts.round_trip.add(seconds)
        if outcome != ANSWERED or counts.failing:
            counts.call_failed(about, outcome)

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
        self._open.setdefault(event.match_id, Counts())
        if len(self._open) > OPEN_KEPT:
            self._close(next(iter(self._open)))

    def _end(self, event: Any) -> None:
        """Any: one of _ENDS."""
        over = list(self._open) if isinstance(event, RoundEnded | LeagueEnded) else [event.match_id]
        for match_id in over:
            self._close(match_id)

    def _close(self, match_id: str) -> None:
        counts = self._open.pop(match_id, None)
        if counts is not None:
            self.merge(counts)

    def lines_dropped(self, lines: int) -> None:
        """So many lines of the log could not be written."""
        self.dropped_lines += lines

    def happened(self, events: Iterable[Event]) -> None:
        """Events became true."""
        for event in events:
            kind, match_id, code = type(event), getattr(event, "match_id", None), getattr(event, "code", None)
            if kind in _BEGINNINGS:
                self._begin(event)
            counts = self._open.get(match_id, self) if match_id else self
            counts.events[kind.__name__] += 1
            if code is not None:
                counts.faults[kind.__name__, code] += 1
            if kind in _RESULTS:
                self.tables.changed(event)
            elif kind in _ENDS:
                self._end(event)

    def prometheus(self, gauges: Mapping[str, float]) -> str:
        """The text /metrics shows; a gauge goes by its name, with labels if it has any: `agents{role="player"}`."""
        lines: list[str] = []
        lines += _counter("league_letters_received_total", ("message_type", "outcome"), self.received)
        lines += _counter("league_calls_sent_total", ("message_type", "outcome"), self.sent)
        lines += _counter("league_messages_read_total", ("verdict",), _single(self.verdicts))
        lines += _counter("league_calls_repeated_total", ("outcome",), _single(self.retries))
        lines += _counter("league_events_total", ("event",), _single(self.events))
        lines += _counter("league_faults_total", ("event", "code"), self.faults)
        lines += _counter("league_log_lines_dropped_total", (), {(): self.dropped_lines} if self.dropped_lines else {})
        lines += _histogram("league_round_trip_seconds", {"": self.round_trip})
        lines += _histogram("league_answer_seconds", {f'message_type="{k}"': v for k, v in self.answering.items()})
        if self.tables.durations.count:
            lines += _histogram("league_standings_latency_seconds", {"": self.tables.durations})
        lines += _gauges({"timer_lag_seconds": self.lag_s, **gauges})
        return "\n".join(lines) + "\n"


def _single(counts: Mapping[str, int]) -> Mapping[tuple[str], int]:
    return {(label,): count for label, count in counts.items()}


def _head(name: str, kind: str) -> list[str]:
    told = [f"# HELP {name} {HELP[name]}"] if name in HELP else []
    return [*told, f"# TYPE {name} {kind}"]


def _gauges(values: Mapping[str, float]) -> list[str]:
    lines: list[str] = []
    for name, samples in groupby(sorted(values.items()), key=lambda one: one[0].partition("{")[0]):
        lines += [*_head(f"league_{name}", "gauge"), *(f"league_{sample} {value:g}" for sample, value in samples)]
    return lines


def _counter(name: str, labels: tuple[str, ...], counts: Mapping[Labels, int]) -> list[str]:
    rows = []
    for values, count in sorted(counts.items()):
        inner = ",".join(f'{label}="{value}"' for label, value in zip(labels, values, strict=True))
        rows.append(f"{name}{{{inner}}} {count}" if inner else f"{name} {count}")
    return [*_head(name, "counter"), *rows] if rows else []


def _histogram(name: str, series: Mapping[str, Durations]) -> list[str]:
    lines = _head(name, "histogram") if series else []
    for labels, durations in sorted(series.items()):
        seen, comma, braces = 0, "," if labels else "", f"{{{labels}}}" if labels else ""
        for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), durations.buckets, strict=True):
            seen += count
            lines.append(f'{name}_bucket{{{labels}{comma}le="{bound}"}} {seen}')
        lines += [f"{name}_sum{braces} {durations.total_s:.6f}", f"{name}_count{braces} {durations.count}"]
    return lines


@dataclass(frozen=True, slots=True)
class ErrorNote:
    """An error that somebody sent us, as a message or in answer to a call, in words that are safe to show."""

    peer: str
    message_type: str
    """The error's own, or that of the call it answers."""
    code: str
    text: str
    match_id: str | None = None
    is_answer: bool = False
    is_shown: bool = True
    """Is it for the terminal too? Not what only helps to find out how an agent is spoken to."""

    def __str__(self) -> str:
        about = f" about {self.match_id}" if self.match_id else ""
        said = f"answers {self.message_type}{about} with" if self.is_answer else f"says {self.message_type}{about}:"
        return f"{self.peer} {said} {self.code} {self.text}"


ERRORS_TOLD = frozenset({GameError.type, LeagueError.type})
"""The requests that tell us of an error."""


def error_told(asked: Asked) -> ErrorNote | None:
    """The error that a request tells us of."""
    message = asked.content.message if isinstance(asked.content, Unsealed) else None
    if not isinstance(message, GameError | LeagueError):
        return None
    text = _told(message.error_name, message.error_description, message.error_detail)
    match_id = message.match_id if isinstance(message, GameError) else None
    return ErrorNote(
        _cut(message.sender or "somebody"), message.type, message.error_code, text, match_id and _cut(match_id)
    )


def error_answered(peer: str, sent: Message | Ping, content: Content) -> ErrorNote | None:
    """The error that a call of ours was answered with."""
    match_id, message = getattr(sent, "match_id", None), content.message if isinstance(content, Unsealed) else None
    if isinstance(content, Refusal):
        name = ERRORS[content.code].name if content.code in ERRORS else None
        code, text, is_shown = content.code, _told(name, content.detail), content.understood
    elif isinstance(message, LeagueQueryResponse) and message.error is not None:
        error = message.error
        code, text, is_shown = error.error_code, _told(error.error_name, error.error_description), True
    else:
        return None
    return ErrorNote(_cut(peer), kind_of(sent), code, text, match_id, is_answer=True, is_shown=is_shown)


def _told(*words: str | None) -> str:
    """Name and sentence, each once."""
    return _cut(": ".join(dict.fromkeys(filter(None, words))))


def _cut(text: str) -> str:
    """What others wrote, fit to be shown, and not longer than needed."""
    return printable(text[:LONGEST_ERROR])


def label(asked: Asked) -> str:
    """The type of a request, for people: peers choose what they send, but not what we write down."""
    if asked.message_type is None:
        return "ping" if isinstance(asked.content, Ping) else "?"
    return asked.message_type if asked.message_type in MESSAGES else "?"


def kind_of(message: Message | Ping) -> str:
    """What a call is counted and noted as."""
    if isinstance(message, RecordRequest):
        return letters.RECORD
    return letters.PING if isinstance(message, Ping) else message.type
