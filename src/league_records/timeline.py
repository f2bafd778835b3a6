"""The course of a match, attempt by attempt: the events of manager and referee and the referee's letters, in order and
in words.

Manager and referee write by their own clocks. Where one of them knows of something before it happened by the other's
clock, the referee's times are shifted by the difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from league import events as e
from league.protocol.exchanges import EXCHANGES
from league.protocol.safe_text import without_tokens
from league.referee.match import DECLINED
from league.storage.transcript import LetterNote
from league_records import letters
from league_records.clauses import ClauseRef, at_field, clause_of, in_time, known, named, violated
from league_records.match_facts import MatchFacts

MANAGER = "manager"
_BEFORE, _AMID, _AFTER = 0, 1, 2
"""At the same time: a letter that came in is a cause, one that went out a consequence."""


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """What happened `after` so many seconds, by whose account, and whom it is about."""

    after: float
    by: str
    kind: Literal["event", "letter"]
    text: str
    player_id: str | None = None
    code: str | None = None
    clause: ClauseRef | None = None
    body: str | None = None
    between: tuple[str, ...] = ()
    """Sender and receiver, where something passed between two agents."""


@dataclass(frozen=True, slots=True)
class TimelineAttempt:
    """One attempt; number 0 is what happened before the first."""

    attempt: int
    referee_id: str | None
    lines: tuple[TimelineLine, ...]
    has_record: bool
    """Is its referee's account at hand?"""
    clocks_apart: float = 0.0
    """By how many seconds the referee's times were shifted."""


@dataclass(frozen=True, slots=True)
class _Entry:
    at: float
    rank: int
    by: str
    what: e.Event | LetterNote


def timeline(facts: MatchFacts) -> tuple[float, tuple[TimelineAttempt, ...]]:
    """When the match began (seconds since the epoch), and its attempts."""
    groups = dict(_manager_events(facts))
    for number in {event.attempt for event in facts.events if isinstance(event, e.MatchTaken)}:
        groups.setdefault(number, [])
    entries = {number: _merged(facts, number, groups[number]) for number in sorted(groups)}
    start = min((one.at for _, found in entries.values() for one in found), default=0.0)
    return start, tuple(_attempt(facts, number, *entries[number], start) for number in entries if entries[number][1])


def _manager_events(facts: MatchFacts) -> Iterator[tuple[int, list[e.Event]]]:
    """The manager's events by attempt: whatever follows an assignment belongs to it."""
    current, found = 0, list[e.Event]()
    for event in facts.manager:
        if isinstance(event, e.MatchAssigned):
            yield current, found
            current, found = event.attempt, []
        found.append(event)
    yield (current or (0 if facts.source.has_manager_journal else facts.attempt)), found


def _merged(facts: MatchFacts, number: int, managers: Sequence[e.Event]) -> tuple[float, Sequence[_Entry]]:
    """All accounts of one attempt in order, and by how much the referee's times were shifted."""
    found = _record(facts, number)
    entries = [_Entry(event.at, _AMID, MANAGER, event) for event in managers]
    if found is None:
        return 0.0, entries
    referee_id, events, notes = found
    apart = _clocks_apart(managers, events)
    entries += [_Entry(event.at + apart, _AMID, referee_id, event) for event in events]
    entries += [_Entry(one.at + apart, _BEFORE if one.direction == "in" else _AFTER, referee_id, one) for one in notes]
    return apart, sorted(entries, key=lambda one: (one.at, one.rank))


def _record(facts: MatchFacts, number: int) -> tuple[str, Sequence[e.Event], Sequence[LetterNote]] | None:
    """The referee of one attempt, with its events and letters."""
    for referee_id, one in facts.records.items():
        taken = [event for event in one.events if isinstance(event, e.MatchTaken)]
        mine = next((event for event in taken if event.attempt == number), None)
        if mine is None:
            continue
        following = min((event.at for event in taken if event.attempt > number), default=float("inf"))
        notes = [note for note in one.letters.get(facts.match_id, ()) if mine.at <= note.at < following]
        return referee_id, [event for event in one.events if getattr(event, "attempt", 0) == number], notes
    return None


def _clocks_apart(managers: Sequence[e.Event], referees: Sequence[e.Event]) -> float:
    assigned, accepted = _when(managers, e.MatchAssigned), _when(managers, e.ResultAccepted)
    taken, decided = _when(referees, e.MatchTaken), _when(referees, e.MatchDecided)
    if assigned is not None and taken is not None and taken < assigned:
        return assigned - taken
    if accepted is not None and decided is not None and accepted < decided:
        return accepted - decided
    return 0.0


def _when(events: Sequence[e.Event], kind: type[e.Event]) -> float | None:
    return next((event.at for event in events if isinstance(event, kind)), None)


def _attempt(facts: MatchFacts, number: int, apart: float, entries: Sequence[_Entry], start: float) -> TimelineAttempt:
    assigned = next((one.what.referee_id for one in entries if isinstance(one.what, e.MatchAssigned)), None)
    record = _record(facts, number)
    hidden = number == facts.attempt and facts.status == "RUNNING" and facts.decided(number) is None
    lines = tuple(_line(facts, one, start, hidden, entries) for one in entries)
    referee_id = assigned or (record[0] if record else facts.referee_id if number else None)
    return TimelineAttempt(number, referee_id, lines, record is not None, apart)


def _line(facts: MatchFacts, entry: _Entry, start: float, hidden: bool, entries: Sequence[_Entry]) -> TimelineLine:
    after = round(entry.at - start, 3)
    if isinstance(entry.what, LetterNote):
        letter = letters.describe(entry.what, hidden)
        player = letter.agent_id if letter.agent_id in facts.players else None
        peer = player or MANAGER
        ends = (entry.by, peer) if entry.what.direction == "out" else (peer, entry.by)
        return TimelineLine(after, entry.by, "letter", letter.text, player, body=letter.body, between=ends)
    one = _describe(entry.what, facts, entry.by, hidden)
    body = None
    if isinstance(entry.what, e.WrongAnswer) and not hidden:
        body = _last_answer(entry, entries)
    text, between = without_tokens(one.text), _between(entry.what, entry.by)
    return TimelineLine(after, entry.by, "event", text, one.player_id, one.code, one.clause, body, between)


def _between(event: e.Event, by: str) -> tuple[str, ...]:
    """Who told whom, where an event is that something was told."""
    match event:
        case e.MatchAssigned():
            return MANAGER, event.referee_id
        case e.ResultAccepted():
            return event.referee_id, MANAGER
        case e.PlayerJoined() | e.MoveMade() | e.WrongAnswer() | e.PlayerDeviated():
            return event.player_id, by
        case e.AttemptFailed():
            return by, event.player_id
        case _:
            return ()


def _last_answer(wrong: _Entry, entries: Sequence[_Entry]) -> str | None:
    """What the player had answered when it was told that the answer is wrong."""
    assert isinstance(wrong.what, e.WrongAnswer)
    body = None
    for one in entries:
        if one.at > wrong.at:
            break
        if isinstance(one.what, LetterNote) and one.what.direction == "in":
            sender = letters.describe(one.what).agent_id
            body = letters.body_of(one.what) if sender == wrong.what.player_id else body
    return body


# --- events in words --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Words:
    """An event in words, with the code and the clause where something went wrong."""

    text: str
    player_id: str | None = None
    code: str | None = None
    clause: ClauseRef | None = None


def _describe(event: e.Event, facts: MatchFacts, by: str, hidden: bool) -> _Words:
    """What this event means, by the account of `by`; while its attempt is played, without the players' choices."""
    return (
        _of_schedule(event)
        or _of_outage(event)
        or _of_result(event, by)
        or _of_referee(event, by, facts.game_type)
        or _of_player(event, hidden)
        or _of_mistake(event, facts.game_type)
        or _of_report(event)
        or _Words(type(event).__name__)
    )


def _given_up(event: e.MatchLost | e.RequestRefused) -> _Words:
    if isinstance(event, e.MatchLost):
        text = f"The manager gave attempt {event.attempt} up: {event.why}. That is no player's fault."
        return _Words(text, clause=known("REFEREE.lease_no_blame"))
    text = f"The manager refused the report of {event.name}: {event.code} {event.detail}."
    return _Words(text, clause=known("REPORT.refused_reassigns"))


def _of_schedule(event: e.Event) -> _Words | None:
    match event:
        case e.RoundOpened():
            return _Words(f"Round {event.round_id} was opened and announced.")
        case e.MatchAssigned():
            return _Words(f"The manager gave the match to {event.referee_id}, as attempt {event.attempt}.")
        case e.MatchLost() | e.RequestRefused():
            return _given_up(event)
        case e.MatchParked():
            text = "The match was parked: it waits for the operator, or for a referee that comes back."
            return _Words(text, clause=known("REFEREE.lease_parked"))
        case e.MatchUnparked():
            who = "The operator gave the match" if event.key else "A referee is back: the match has"
            return _Words(f"{who} three more attempts.")
        case _:
            return None


def _of_outage(event: e.Event) -> _Words | None:
    match event:
        case e.MatchInterrupted():
            text = (
                f"Attempt {event.attempt} was interrupted: {event.why}. Whoever was out of reach does not lose by it."
            )
            return _Words(text, clause=known("OUTAGE.interrupted"))
        case e.MatchHeld():
            text = (
                f"The manager refused the technical loss of attempt {event.attempt}: {event.why}. It is played again."
            )
            return _Words(text, clause=known("OUTAGE.declined" if event.declined else "OUTAGE.refused"))
        case e.ResultVoided(key=""):
            text = f"The manager voided the result: {event.why}. The match is played again."
            return _Words(text, clause=known("OUTAGE.held"))
        case _:
            return None


def _of_result(event: e.Event, by: str) -> _Words | None:
    match event:
        case e.ResultAccepted():
            doubt = "" if event.verified else " It is unverified: what was reported does not prove it."
            return _Words(f"The manager accepted the report of {event.referee_id}: {_result(event)}.{doubt}")
        case e.WalkoverDecided():
            won = f"{event.winner} wins without playing" if event.winner else "nobody wins"
            text = f"The manager decided a walkover: {' and '.join(event.withdrawn)} withdrawn, {won}."
            return _Words(text, clause=known("LEAGUE.withdrawn"))
        case e.ResultVoided():
            return _Words("The operator voided the result: the match is played again.", clause=known("LEAGUE.void"))
        case e.MatchDecided():
            return _Words(f"{by} decided: {_result(event, f' ({event.reason})')}.")
        case _:
            return None


def _result(event: e.ResultAccepted | e.MatchDecided, reason: str = "") -> str:
    won = f", won by {event.winner}" if event.winner else ""
    points = ", ".join(f"{player} {count}" for player, count in event.points.items())
    return f"{event.status}{won}{reason}; points: {points}"


def _of_referee(event: e.Event, by: str, game_type: str) -> _Words | None:
    match event:
        case e.MatchTaken():
            return _taken(event, by)
        case e.PlayersLocated() | e.RecordsShown():
            return _Words(f"{by} {_completed(event)}.")
        case e.MatchBegun():
            return _Words(f"The match began: {by} invited both players.")
        case e.NumberDrawn():
            parity = f" ({'odd' if event.number % 2 else 'even'})" if game_type == "even_odd" else ""
            return _Words(f"{by} drew the number {event.number}{parity}.", clause=known("DRAW.number_follows"))
        case e.MatchDropped():
            return _Words(f"{by} dropped this attempt: {event.why}.")
        case _:
            return None


def _completed(event: e.PlayersLocated | e.RecordsShown) -> str:
    """What the assignment did not say."""
    if isinstance(event, e.PlayersLocated):
        return f"found out where the players live: {' and '.join(event.endpoints)} ({event.source})"
    return "shows the players these records: " + ", ".join(f"{one['points']} points" for one in event.records)


def _of_report(event: e.Event) -> _Words | None:
    match event:
        case e.PlayersTold():
            return _Words("Both calls with GAME_OVER have ended.")
        case e.ReportSettled(answer="ACCEPTED"):
            return _Words("The report was acknowledged.")
        case e.ReportSettled():
            known_already = "It has this very result already."
            rest = known_already if event.answer == "E017" else "What this attempt decided does not count."
            text = f"The manager answered the report with {named(event.answer)}. {rest}"
            return _Words(text, code=event.answer, clause=clause_of(event.answer))
        case _:
            return None


def _taken(event: e.MatchTaken, by: str) -> _Words:
    join_s = EXCHANGES["GAME_INVITATION"].limit_s
    places = ", ".join(
        f"{one} at {place or 'an address not told'}" for one, place in zip(event.players, event.endpoints, strict=True)
    )
    text = f"{by} took the match: {places}; {join_s:g} seconds to join, {event.move_seconds:g} for a move."
    suspended = [one for one, is_suspended in zip(event.players, event.suspended, strict=True) if is_suspended]
    if not suspended:
        return _Words(text)
    text += f" {' and '.join(suspended)} was SUSPENDED: one invitation, no retries."
    return _Words(text, suspended[0], clause=known("MATCH.suspended_one_invitation"))


def _of_player(event: e.Event, hidden: bool) -> _Words | None:
    match event:
        case e.PlayerJoined():
            return _Words(f"{event.player_id} joined.", event.player_id)
        case e.MoveMade():
            turn = f" in turn {event.turn}" if event.turn > 1 else ""
            choice = letters.HIDDEN if hidden else event.choice
            return _Words(f"{event.player_id} chose {choice}{turn}.", event.player_id)
        case e.PlayerWithdrawn():
            return _Words(f"The operator withdrew {event.agent_id}.", event.agent_id, clause=known("LEAGUE.withdrawn"))
        case e.AgentStateChanged(state="SUSPENDED"):
            text = f"{event.agent_id} is now SUSPENDED, after two technical losses in a row."
            return _Words(text, event.agent_id, clause=known("SUSPENDED.after_two"))
        case e.AgentStateChanged():
            text = f"{event.agent_id} is now {event.state}."
            return _Words(text, event.agent_id, clause=known("SUSPENDED.recovers"))
        case _:
            return None


def _failure(event: e.AttemptFailed) -> str:
    """The error; of a timeout also what document 1 records of it."""
    if event.timeout_seconds is None:
        return named(event.code)
    return f"{named(event.code)}, code {event.rpc_code}, timeout_seconds {event.timeout_seconds:g}"


def _of_mistake(event: e.Event, game_type: str) -> _Words | None:
    match event:
        case e.AttemptFailed():
            after = "no retry is left" if event.retry is None else f"retry {event.retry} follows"
            text = f"A call to {event.player_id} failed ({_failure(event)}): {event.detail}; {after}."
            clause = violated(event.code, event.phase, game_type)
        case e.WrongAnswer():
            left = f"{event.left} correction{'s' * (event.left > 1)} left before the same deadline"
            left = left if event.left else "no correction is left"
            detail = at_field(event.path, event.detail)
            text = f"The answer of {event.player_id} was wrong ({named(event.code)}): {detail}; {left}."
            clause = clause_of(event.code, event.requirement)
        case e.PlayerDeviated():
            text = f"An answer of {event.player_id} was odd, and let pass ({named(event.code)}): {event.detail}."
            clause = clause_of(event.code, event.requirement)
        case e.PlayerFaulted(code=code) if code == DECLINED:
            text = f"{event.player_id} declined the invitation: a technical loss at once."
            clause = clause_of(event.code)
        case e.PlayerFaulted():
            text = f"{event.player_id} has lost by its own fault ({named(event.code)}): {event.detail}."
            clause = clause_of(event.code) or in_time(event.phase, game_type)
        case _:
            return None
    return _Words(text, event.player_id, event.code, clause)
