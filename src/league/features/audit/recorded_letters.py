"""The transcripts of a league as recorded traffic: requests and answers, put together again.

Theory of operation. Every agent of ours notes its letters: what it sent with the id of the receiver, what it received
with the address of the sender. Here each request finds its answer, by its id or its conversation, and both become a
`RecordedCall`. Players of one process may register with the same id and conversation at once; then the manager's
journal tells which of them got which answer. A call between two agents of ours stands in both transcripts. It counts
once: the manager's record wins, then the referee's. So all times of the manager's calls come from one clock, and all
times of a match from another.

A transcript counts only if it is whole. One with gaps would make a kept promise look broken, so its agent is listed
as unrecorded instead, with the reason.

What must never happen: that a sender's word decides who it is. A request counts for the agent it names only if the
receiver accepted it; otherwise it counts for its address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from typing import NamedTuple

import msgspec

from league import events as e
from league.features.audit.promises.grounds.event_history import inner, text, whole
from league.features.audit.promises.grounds.event_log import EventLog
from league.features.audit.promises.grounds.evidence import ADDRESS, CallOutcome, Object, RecordedCall
from league.protocol.signing.tokens import MANAGER
from league.protocol.wire.strict_json import is_too_deep
from league.storage.files.journal_files import OPENED_KEY
from league.storage.reading import JournalReader
from league.storage.transcripts.transcript import LetterNote

MOST_BYTES = 64 << 20
"""Read as JSON, they take ten times as much memory."""
CLOCK_STEP_S = 1.0
BODIES_REMEMBERED = 256
MOST_WAITING = 1000
"""Requests of one kind and sender that may be without an answer at once."""
MAX_DEPTH = 32
_OUTCOMES: Mapping[str, CallOutcome] = {
    "timeout": "timeout",
    "refused": "refused",
    "forbidden": "refused",
    "busy": "busy",
    "cancelled": "cancelled",
}
"""By the status of a call that got no answer; any other is "broken"."""
_NUMBER = re.compile(r"\b[0-9]{1,18}\b")
_NOT_UNDERSTOOD = frozenset({-32600, -32601, -32602})


@dataclass(slots=True)
class RecordedExchange:
    """A request, and its answer if it came. The letters are without their bodies, which are read already."""

    request: LetterNote
    rpc_id: object
    message: Object
    answer: LetterNote | None = None
    frame: Object = field(default_factory=dict)


class Span(NamedTuple):
    """From one letter of a transcript to the next."""

    since: float
    until: float


@dataclass(slots=True)
class Transcript:
    """The letters of one agent, and what is missing of them."""

    exchanges: Sequence[RecordedExchange] = ()
    gap: str = ""
    """Why the letters do not show everything; empty if they do."""
    restarts: Sequence[float] = ()
    """When the agent was started again: the times of its first letters after that."""
    ends: Sequence[Span] = ()
    """The times, before each restart and at the end, of which letters may be missing: nothing waits for them."""


class Traffic(NamedTuple):
    """All calls of a league that were recorded, and the agents whose transcripts are missing or have gaps."""

    calls: Sequence[RecordedCall]
    unrecorded: Mapping[str, str]


def read_transcript(journal: JournalReader, events: EventLog) -> Transcript:
    """Read the letters of a journal with these events."""
    for remark in journal.remarks():
        return Transcript(gap=remark.body.decode(errors="replace"))
    openings = [int(number) for number in _NUMBER.findall(journal.meta.get(OPENED_KEY, ""))]
    if not openings or openings[0] != 0:
        return Transcript(gap="an older version kept the letters, and not when it was started again")
    reader = _LetterReader(openings[1:], _endpoints(events))
    for number, letter in journal.numbered_letters():
        reader.take(number, letter)
        if reader.size > MOST_BYTES:
            break
    return Transcript(reader.exchanges, reader.gap, reader.restarts, reader.ends)


def _endpoints(events: EventLog) -> Mapping[str, set[str]]:
    """The endpoints of each member, by the manager's journal."""
    endpoints: dict[str, set[str]] = {}
    for event in events.of_kind(e.AgentRegistered, e.AgentMoved):
        endpoints.setdefault(event.agent_id, set()).add(event.endpoint)
    return endpoints


def traffic_of(transcripts: Mapping[str, Transcript], manager: EventLog) -> Traffic:
    """Put the letters of all agents together. The transcripts come in the order in which they win."""
    holders = _Holders(manager)
    recorded: set[str] = set()
    calls: list[RecordedCall] = []
    for agent_id, transcript in transcripts.items():
        if transcript.gap:
            continue
        own_calls = _calls_of(agent_id, transcript.exchanges, holders)
        calls += [call for call in own_calls if recorded.isdisjoint((call.sender_node, call.receiver_node))]
        recorded.add(agent_id)
    calls.sort(key=lambda call: call.sent_at)
    unrecorded = {agent_id: transcript.gap for agent_id, transcript in transcripts.items() if transcript.gap}
    return Traffic(calls, unrecorded)


# --- requests and their answers ---------------------------------------------------------------------------------------


class _LetterReader:
    """Takes the letters of a transcript in order, and finds the answer to each request."""

    def __init__(self, openings: Sequence[int], endpoints: Mapping[str, set[str]]) -> None:
        self.exchanges: list[RecordedExchange] = []
        self.restarts: list[float] = []
        self.size = 0
        """Bytes of all bodies that were read; a broadcast counts once."""
        self._went_back = False
        """True if a letter is older than one before it: then times tell nothing."""
        self._latest = 0.0
        self._behind_s = 0.0
        """How far the clock of this life of the process is behind the letters of the life before."""
        self._openings = list(openings)
        self._endpoints = endpoints
        self._ends: list[Span] = []
        self._waiting: dict[tuple[str, str, str | None, str | None], list[RecordedExchange]] = {}
        self._contents: dict[bytes, Object] = {}

    def take(self, number: int, letter: LetterNote) -> None:
        self._went_back = self._went_back or letter.at + self._behind_s < self._latest - CLOCK_STEP_S
        while self._openings and number > self._openings[0]:
            # A process that is started again reads the clock anew. A small step back must not change the order.
            self._behind_s = max(self._latest - letter.at, 0.0)
            begun_at = letter.at + self._behind_s
            self.restarts.append(begun_at)
            self._ends.append(Span(self._latest, begun_at))
            del self._openings[0]
        if self._behind_s:
            letter = msgspec.structs.replace(letter, at=letter.at + self._behind_s)
        self._latest = letter.at
        is_request = letter.kind == "request"
        asked = letter.direction
        if not is_request:
            asked = "in" if letter.direction == "out" else "out"
        waiting = self._waiting.setdefault((asked, letter.peer, letter.message_type, letter.match_id), [])
        content = self._content(letter.body)
        bare = msgspec.structs.replace(letter, body=b"")
        if is_request:
            exchange = RecordedExchange(bare, content.get("id"), _message_in(content, letter.message_type))
            self.exchanges.append(exchange)
            waiting.append(exchange)
            if len(waiting) > MOST_WAITING:
                del waiting[0]
        elif waiting:
            exchange = self._best(waiting, content)
            exchange.answer = bare
            exchange.frame = content
            waiting.remove(exchange)

    @property
    def gap(self) -> str:
        """Why the letters do not show everything; empty if they do."""
        if self._went_back:
            return "its clock was set back"
        if self.size > MOST_BYTES:
            return f"it has more than {MOST_BYTES >> 20} MB of letters"
        if not self.exchanges:
            return "its letters were not kept"
        if all(exchange.request.match_id for exchange in self.exchanges):
            return "only letters of matches were kept"
        return ""

    @property
    def ends(self) -> Sequence[Span]:
        return [*self._ends, Span(self._latest, inf)]

    def _best(self, waiting: Sequence[RecordedExchange], answer: Object) -> RecordedExchange:
        """The request that an answer belongs to: the same id and conversation count most, then the agent, then age."""
        rpc_id = answer.get("id")
        result = _result_in(answer)
        conversation = text(result, "conversation_id")
        agent_id = text(result, "player_id") or text(result, "referee_id") or ""
        endpoints = self._endpoints.get(agent_id, ())

        def likeness(exchange: RecordedExchange) -> tuple[bool, bool, bool]:
            is_same_call = rpc_id is not None and exchange.rpc_id == rpc_id
            is_same_conversation = text(exchange.message, "conversation_id") == conversation
            meta = inner(exchange.message, "player_meta") or inner(exchange.message, "referee_meta")
            return (
                is_same_call,
                is_same_conversation,
                text(meta, "contact_endpoint") in endpoints,
            )

        return max(waiting, key=likeness)

    def _content(self, body: bytes) -> Object:
        content = self._contents.get(body)
        if content is None:
            # The letters of a broadcast follow each other, so that few bodies must be remembered.
            if len(self._contents) >= BODIES_REMEMBERED:
                self._contents.clear()
            content = self._contents[body] = _object_in(body)
            self.size += len(body)
        return content


def _object_in(body: bytes) -> Object:
    """The JSON object in a body; empty for anything else."""
    if is_too_deep(body, MAX_DEPTH):
        return {}
    try:
        content = msgspec.json.decode(body)
    except (ValueError, TypeError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _message_in(content: Object, message_type: str | None) -> Object:
    """The message in a request, whatever the frame around it."""
    params = inner(content, "params")
    for place in (content, params):
        if "message_type" in place:
            return place
    # Third-party agents put the message one level deeper, or its envelope and its content under names of their own.
    message = {"message_type": message_type, **params}
    for part in params.values():
        if isinstance(part, dict):
            message |= part
    return message


def _result_in(frame: Object) -> Object | None:
    """The content of an answer, whatever the frame around it; None for an error, and for nothing at all."""
    if "result" in frame:
        return inner(frame, "result")
    # Third-party agents answer without a frame.
    if "error" in frame or not frame:
        return None
    return frame


# --- calls ------------------------------------------------------------------------------------------------------------


class _Holders:
    """The referee that had each match at each time, by the manager's journal."""

    def __init__(self, manager: EventLog) -> None:
        self._manager = manager

    @cached_property
    def _assigned(self) -> Mapping[str, list[e.MatchAssigned]]:
        assigned: dict[str, list[e.MatchAssigned]] = {}
        for event in self._manager.of_kind(e.MatchAssigned):
            assigned.setdefault(event.match_id, []).append(event)
        return assigned

    def at(self, match_id: str | None, moment: float) -> str | None:
        holder = None
        for assigned in self._assigned.get(match_id or "", ()):
            if assigned.at <= moment:
                holder = assigned.referee_id
        return holder


def _calls_of(agent_id: str, exchanges: Sequence[RecordedExchange], holders: _Holders) -> Iterator[RecordedCall]:
    for exchange in exchanges:
        sender = agent_id
        receiver = exchange.request.peer
        if exchange.request.direction == "in":
            sender = f"{ADDRESS}{exchange.request.peer}"
            receiver = agent_id
            if not _is_refused(exchange):
                sender = _accepted_sender(exchange, receiver, holders)
        yield replace(_call(exchange, sender, receiver), clock=agent_id)


def _is_refused(exchange: RecordedExchange) -> bool:
    """Whether the receiver did not believe the sender. Without an answer it may have: it was stopped before."""
    if exchange.answer is None or _result_in(exchange.frame) is not None:
        return False
    # The same report again is refused, but it is the referee's.
    return text(inner(inner(exchange.frame, "error"), "data"), "error_code") != "E017"


def _accepted_sender(exchange: RecordedExchange, receiver: str, holders: _Holders) -> str:
    """The agent whose request was accepted."""
    if receiver == MANAGER and exchange.request.message_type == "MATCH_RESULT_REPORT":
        # Only the referee of a match has its report accepted, whatever it calls itself.
        holder = holders.at(exchange.request.match_id, exchange.request.at)
        if holder is not None:
            return holder
    sender = text(exchange.message, "sender") or f"{ADDRESS}{exchange.request.peer}"
    return sender.rpartition(":")[2]


def _call(exchange: RecordedExchange, sender: str, receiver: str) -> RecordedCall:
    request = exchange.request
    answer = exchange.answer
    if answer is None:
        # A request without an answer may have been under way when its receiver was stopped.
        return RecordedCall(
            request.at,
            sender,
            receiver,
            exchange.message,
            delivered=1,
            answers=0,
            excused=1,
            outcome="open",
        )
    if not answer.status.isdecimal():
        outcome = _OUTCOMES.get(answer.status, "broken")
        return RecordedCall(
            request.at,
            sender,
            receiver,
            exchange.message,
            delivered=0,
            answers=0,
            excused=0,
            outcome=outcome,
        )
    error = inner(exchange.frame, "error")
    result = _result_in(exchange.frame)
    return RecordedCall(
        sent_at=request.at,
        sender_node=sender,
        receiver_node=receiver,
        message=exchange.message,
        answer=inner(error, "data") if result is None else result,
        answered_at=answer.at,
        error=result is None and "error" in exchange.frame,
        outcome=_outcome(answer.status, error),
    )


def _outcome(status: str, error: Object) -> CallOutcome:
    if status in ("429", "503"):
        return "busy"
    # What a receiver did not understand reached nobody; the sender tries another form.
    if whole(error, "code") in _NOT_UNDERSTOOD or (not error and not status.startswith("2")):
        return "refused"
    return "answered"
