"""Counts for /metrics what passes the shell, cheap enough to be always on, and puts errors into words for people."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, TypeVar

from msgspec import Struct, field

from league import letters
from league.agent.counts import (
    BUCKETS_S,
    RESULTS,
    Counts,
    Durations,
    TableDelays,
)
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
from league.letters import Asked
from league.machine import Content, MatchNews, Ping, RecordRequest, Refusal
from league.protocol.errors import NO_CHOICE, PeerError
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import REPLY_TYPES
from league.protocol.message.messages import (
    MESSAGES,
    GameError,
    LeagueErrorReply,
    LeagueQueryResponse,
    Message,
)
from league.protocol.safe_text import printable
from league.protocol.versions import is_of_kit

ANSWERED = "answered"
VALID = "valid"
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


# --- errors that others tell us of ------------------------------------------------------------------------------------


UNKNOWN_TYPE = "?"


class ErrorNote(Struct, frozen=True):
    """An error that somebody sent us, as a message or in answer to a call, or that we answered, in words that are safe
    to show."""

    peer: str
    message_type: str
    """The error's own, or that of the call it answers."""
    code: str
    text: str
    match_id: str | None = None
    is_answer: bool = False
    is_ours: bool = False
    """True if it is our answer to this message."""
    is_shown: bool = True
    """False for errors that only help to find out how an agent is spoken to: they are not for the terminal."""

    def __str__(self) -> str:
        subject = "a message" if self.message_type == UNKNOWN_TYPE else self.message_type
        if self.match_id:
            subject += f" about {self.match_id}"
        if self.is_ours:
            return f"refused {subject} from {self.peer}: {self.code} {self.text}"
        if self.is_answer:
            # In the peer's own words, whatever we read them as.
            words = self.text
            if self.code not in words:
                words += f" ({self.code})"
            return f"{self.peer} answers {subject} with {words}"
        if NO_CHOICE in self.text:
            # Whatever the code is called, the network did not fail.
            return f"{self.peer} says {subject}: your player did not choose; what went wrong is above"
        return f"{self.peer} says {subject}: {self.code} {self.text}"


ERRORS_TOLD = frozenset({GameError.type, LeagueErrorReply.type})
"""The requests that tell us of an error."""


def error_told(request: Asked) -> ErrorNote | None:
    """Note the error that a request tells us of."""
    if not isinstance(request.content, Unsealed):
        return None
    message = request.content.message
    if not isinstance(message, GameError | LeagueErrorReply):
        return None
    match_id = None
    if isinstance(message, GameError) and message.match_id:
        match_id = _cut(message.match_id)
    return ErrorNote(
        _cut(message.sender or "somebody"),
        message.type,
        message.error_code,
        _joined(message.error_name, message.error_description, message.error_detail),
        match_id,
    )


def error_given(request: Asked, kind: str, origin: str, error: PeerError) -> ErrorNote:
    """Note an error that we answer a request with."""
    sender = ""
    # A referee tells of refused answers by an event.
    is_shown = kind not in REPLY_TYPES
    if isinstance(request.content, Unsealed):
        sender = _text_in(request.content, "sender")
        # The kit makes mistakes on purpose.
        is_shown = is_shown and not is_of_kit(_text_in(request.content, "conversation_id"))
    peer = f"{sender} at {origin}" if sender else origin
    return ErrorNote(
        _cut(peer),
        _cut(kind),
        error.code,
        _cut(error.detail),
        request.match_id and _cut(request.match_id),
        is_ours=True,
        is_shown=is_shown,
    )


def _text_in(read: Unsealed, name: str) -> str:
    value = read.field(name)
    return value if isinstance(value, str) else ""


def error_answered(peer: str, sent: Message | Ping, content: Content) -> ErrorNote | None:
    """Note the error that a call of ours was answered with."""
    is_shown = True
    if isinstance(content, Refusal):
        code = content.code
        text = _cut(content.words or content.detail)
        is_shown = content.understood
    elif isinstance(content, Unsealed) and isinstance(content.message, LeagueQueryResponse) and content.message.error:
        error = content.message.error
        code = error.error_code
        text = _cut(f"{code} {_joined(error.error_name, error.error_description)}")
    else:
        return None
    match_id = getattr(sent, "match_id", None)
    return ErrorNote(
        _cut(peer),
        kind_of(sent),
        code,
        text,
        match_id,
        is_answer=True,
        is_shown=is_shown,
    )


def _joined(*words: str | None) -> str:
    """Join name and sentence, each once."""
    return _cut(": ".join(dict.fromkeys(filter(None, words))))


def _cut(text: str) -> str:
    """Make what others wrote fit to be shown, and not longer than needed."""
    return printable(text[:LONGEST_ERROR])


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
