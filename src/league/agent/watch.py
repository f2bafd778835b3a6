"""What the shell sees go by: counted for /metrics, cheap enough to be always on, and errors in words for people."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeVar

from msgspec import field

from league.agent.counts import ADDED_UP_AT, BUCKETS_S, RESULTS, VALID, Counts, Durations, TableDelays
from league.events import (
    Event,
    GameEnded,
    InvitationAnswered,
    LeagueEnded,
    MatchBegun,
    MatchDecided,
    MatchDropped,
    RoundEnded,
)
from league.machine import Content, Ping, RecordRequest, Refusal
from league.protocol.envelope import Unsealed
from league.protocol.errors import ERRORS
from league.protocol.messages import MESSAGES, GameError, LeagueError, LeagueQueryResponse, Message
from league.protocol.safe_text import printable
from league.transport import letters
from league.transport.letters import Asked

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
_ENDS_OF_ALL: frozenset[type[Event]] = frozenset({RoundEnded, LeagueEnded})
"""All matches end with them."""
_ENDS: frozenset[type[Event]] = frozenset({MatchDecided, MatchDropped, GameEnded, *_ENDS_OF_ALL})
"""A match ends with them, or all of them."""


class Meter(Counts):
    """What /metrics shows, and what the success metrics (R-53) are computed from. What is counted about a match shows
    when it is over: before that nobody may see from it that a player has answered (S-30)."""

    tables: TableDelays = field(default_factory=TableDelays)
    dropped_lines: int = 0
    """Lines of the log that could not be written."""
    lag_s: float = 0.0
    """How late the last timer rang."""
    failing: dict[Hashable, None] = field(default_factory=dict)
    """What calls that failed last were about."""
    _open: dict[str | None, Counts] = field(default_factory=dict)

    def answered(self, kind: str, outcome: str, read: Content, seconds: float, match_id: str | None = None) -> None:
        """A request was read, and got its answer after so long."""
        verdict = VALID if type(read) is Unsealed and not read.violations else _verdict(read)
        counts = self._open.get(match_id, self)
        counts.exchanges.append(((True, kind, outcome, verdict), seconds))
        if len(counts.exchanges) >= ADDED_UP_AT:
            counts.totals()

    def refused(self, kind: str, code: str, verdict: str | None = None) -> None:
        """A request was refused unread; or, with a verdict, could not be read."""
        self.exchanges.append(((True, kind, code, verdict), None))
        if len(self.exchanges) >= ADDED_UP_AT:
            self.totals()

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
        verdict = VALID if type(read) is Unsealed and not read.violations else _verdict(read)
        counts = self._open.get(match_id, self)
        counts.exchanges.append(((False, kind, outcome, verdict), seconds))
        if len(counts.exchanges) >= ADDED_UP_AT:
            counts.totals()
        if outcome != ANSWERED or self.failing:
            self._call_failed(counts, about, outcome)

    def _call_failed(self, counts: Counts, about: Hashable, outcome: str) -> None:
        """A call failed, or may be the repetition of one that did."""
        if about in self.failing:
            counts.totals().retries[outcome] += 1
        if outcome == ANSWERED:
            self.failing.pop(about, None)
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
        if len(self._open) > OPEN_KEPT:
            self._close(next(iter(self._open)))

    def _end(self, event: Any) -> None:
        """Any: one of _ENDS."""
        for match_id in list(self._open) if type(event) in _ENDS_OF_ALL else (event.match_id,):
            self._close(match_id)

    def _close(self, match_id: str | None) -> None:
        counts = self._open.pop(match_id, None)
        if counts is not None:
            self.merge(counts)

    def lines_dropped(self, lines: int) -> None:
        """So many lines of the log could not be written."""
        self.dropped_lines += lines

    def happened(self, events: Iterable[Event]) -> None:
        """Events became true."""
        for event in events:
            kind = type(event)
            if kind in _BEGINNINGS:
                self._begin(event)
            counts = self._open.get(getattr(event, "match_id", None), self)
            counts.events.append((kind, getattr(event, "code", None)))
            if len(counts.events) >= ADDED_UP_AT:
                counts.totals()
            if kind in RESULTS:
                self.tables.changed(event)
            elif kind in _ENDS:
                self._end(event)

    def prometheus(self, gauges: Mapping[str, float]) -> str:
        """The text /metrics shows; a gauge goes by its name, with labels if it has any: `agents{role="player"}`."""
        totals, lines = self.totals(), []
        lines += _counter("league_letters_received_total", ("message_type", "outcome"), totals.received)
        lines += _counter("league_calls_sent_total", ("message_type", "outcome"), totals.sent)
        lines += _counter("league_messages_read_total", ("verdict",), _single(totals.verdicts))
        lines += _counter("league_calls_repeated_total", ("outcome",), _single(totals.retries))
        lines += _counter("league_events_total", ("event",), _single(totals.events))
        lines += _counter("league_faults_total", ("event", "code"), totals.faults)
        lines += _counter("league_log_lines_dropped_total", (), {(): self.dropped_lines} if self.dropped_lines else {})
        lines += _histogram("league_round_trip_seconds", {"": totals.round_trip})
        lines += _histogram("league_answer_seconds", {f'message_type="{k}"': v for k, v in totals.answering.items()})
        if self.tables.durations.count:
            lines += _histogram("league_standings_latency_seconds", {"": self.tables.durations})
        lines += _gauges({"timer_lag_seconds": self.lag_s, **gauges})
        return "\n".join(lines) + "\n"


def _verdict(read: Content | None) -> str | None:
    """What was found of a message; None if there is none."""
    return (read.violations[0].code if read.violations else VALID) if isinstance(read, Unsealed) else None


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
