"""The course of a match, attempt by attempt: the manager's events, the referee's, and its letters, in one order.

Manager and referee write by their own clocks. Where one of them knows of something before it happened by the other's
clock, the referee's times are moved by the difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from league.events import Event, MatchAssigned, MatchDecided, MatchTaken, ResultAccepted, WrongAnswer
from league.reports import letters, telling
from league.reports.case import Case
from league.reports.clauses import Clause
from league.storage.transcript import LetterNote

MANAGER = "manager"
_BEFORE, _AMID, _AFTER = 0, 1, 2
"""Of one moment: a letter that came is the cause, one that left the consequence."""


@dataclass(frozen=True, slots=True)
class Line:
    """Something that happened, `after` so many seconds; by whose account, and whom it is about."""

    after: float
    by: str
    kind: Literal["event", "letter"]
    text: str
    player_id: str | None = None
    code: str | None = None
    clause: Clause | None = None
    body: str | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt; 0 is what happened before the first."""

    attempt: int
    referee_id: str | None
    lines: tuple[Line, ...]
    has_record: bool
    """Is there an account of its referee?"""
    clocks_apart: float = 0.0
    """By so many seconds the referee's times were moved."""


@dataclass(frozen=True, slots=True)
class _Entry:
    at: float
    rank: int
    by: str
    what: Event | LetterNote


def chronicle(case: Case) -> tuple[float, tuple[Attempt, ...]]:
    """When it began (seconds since the epoch), and everything since."""
    groups = dict(_managers(case))
    taken = [event for one in case.records.values() for event in one.events if isinstance(event, MatchTaken)]
    for number in {event.attempt for event in taken}:
        groups.setdefault(number, [])
    entries = {number: (*_merged(case, number, groups[number]),) for number in sorted(groups)}
    start = min((one.at for _, found in entries.values() for one in found), default=0.0)
    return start, tuple(_attempt(case, number, *entries[number], start) for number in entries if entries[number][1])


def _managers(case: Case) -> Iterator[tuple[int, list[Event]]]:
    """The manager's events by attempt: whatever follows an assignment belongs to it."""
    current, found = 0, list[Event]()
    for event in case.manager:
        if isinstance(event, MatchAssigned):
            yield current, found
            current, found = event.attempt, []
        found.append(event)
    yield (current or (case.attempt if not case.has_journal else 0)), found


def _merged(case: Case, number: int, managers: Sequence[Event]) -> tuple[float, Sequence[_Entry]]:
    """All accounts of one attempt in order, and by how much the referee's clock was moved."""
    found = _record(case, number)
    entries = [_Entry(event.at, _AMID, MANAGER, event) for event in managers]
    if found is None:
        return 0.0, entries
    referee_id, events, notes = found
    apart = _clocks_apart(managers, events)
    entries += [_Entry(event.at + apart, _AMID, referee_id, event) for event in events]
    entries += [_Entry(one.at + apart, _BEFORE if one.direction == "in" else _AFTER, referee_id, one) for one in notes]
    return apart, sorted(entries, key=lambda one: (one.at, one.rank))


def _record(case: Case, number: int) -> tuple[str, Sequence[Event], Sequence[LetterNote]] | None:
    """The events and letters of one attempt, and whose account they are."""
    for referee_id, one in case.records.items():
        taken = [event for event in one.events if isinstance(event, MatchTaken)]
        mine = next((event for event in taken if event.attempt == number), None)
        if mine is None:
            continue
        following = min((event.at for event in taken if event.attempt > number), default=float("inf"))
        notes = [note for note in one.letters.get(case.match_id, ()) if mine.at <= note.at < following]
        return referee_id, [event for event in one.events if getattr(event, "attempt", 0) == number], notes
    return None


def _clocks_apart(managers: Sequence[Event], referees: Sequence[Event]) -> float:
    assigned = next((one.at for one in managers if isinstance(one, MatchAssigned)), None)
    accepted = next((one.at for one in managers if isinstance(one, ResultAccepted)), None)
    taken = next((one.at for one in referees if isinstance(one, MatchTaken)), None)
    decided = next((one.at for one in referees if isinstance(one, MatchDecided)), None)
    if assigned is not None and taken is not None and taken < assigned:
        return assigned - taken
    if accepted is not None and decided is not None and accepted < decided:
        return accepted - decided
    return 0.0


def _attempt(case: Case, number: int, apart: float, entries: Sequence[_Entry], start: float) -> Attempt:
    assigned = next((one.what.referee_id for one in entries if isinstance(one.what, MatchAssigned)), None)
    record = _record(case, number)
    hidden = number == case.attempt and case.status == "RUNNING" and case.decided(number) is None
    lines = tuple(_line(case, one, start, hidden, entries) for one in entries)
    referee_id = assigned or (record[0] if record else case.referee_id if number else None)
    return Attempt(number, referee_id, lines, record is not None, apart)


def _line(case: Case, entry: _Entry, start: float, hidden: bool, entries: Sequence[_Entry]) -> Line:
    after = round(entry.at - start, 3)
    if isinstance(entry.what, LetterNote):
        letter = letters.tell(entry.what, hidden)
        player = letter.agent_id if letter.agent_id in case.players else None
        return Line(after, entry.by, "letter", letter.text, player, body=letter.body)
    told = telling.tell(entry.what, case, entry.by, hidden)
    body = None
    if isinstance(entry.what, WrongAnswer) and not hidden:
        body = _last_words(entry, entries)
    return Line(after, entry.by, "event", letters.masked(told.text), told.player_id, told.code, told.clause, body)


def _last_words(wrong: _Entry, entries: Sequence[_Entry]) -> str | None:
    """What the player had said when it was told that it is wrong."""
    assert isinstance(wrong.what, WrongAnswer)
    said = None
    for one in entries:
        if one.at > wrong.at:
            break
        if isinstance(one.what, LetterNote) and one.what.direction == "in":
            who = letters.tell(one.what).agent_id
            said = letters.body_of(one.what) if who == wrong.what.player_id else said
    return said
