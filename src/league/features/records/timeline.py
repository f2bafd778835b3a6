"""The course of a match, attempt by attempt: the events of manager and referee and the referee's letters, in order and
in words.

Theory of operation. Every attempt has up to three accounts: the manager's events, the referee's events and the
referee's letters. Each becomes an `_Entry` with its time; the entries of an attempt are sorted and turned into lines.

- The manager's events belong to the assignment they follow; those before the first are attempt 0.
- Manager and referee write by their own clocks. If one of them knows of something before it happened by the other's
  clock, the referee's times are shifted by the difference. Times are never changed in any other way.
- At equal times a letter that came in is a cause and goes first, one that went out is a consequence and goes last.
- While an attempt is played, no line shows a choice (`hidden`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import msgspec

from league import events as e
from league.features.records import letter_words
from league.features.records.broken_clauses import (
    ClauseRef,
    at_field,
    cause_in,
    cite,
    clause_of,
    failure,
    in_time,
    is_answered,
    named,
    violated,
)
from league.features.records.match_facts import MatchFacts
from league.manager.state.ledger import Basis
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.safe_text import without_tokens
from league.reading.evidence_words import basis_words
from league.referee.match import DECLINED
from league.storage.transcripts.transcript import LetterNote

MANAGER = "manager"
_CAUSE = 0
_EVENT = 1
_CONSEQUENCE = 2


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """What happened `after` that many seconds, whose account it is (`by`), and which player it is about."""

    after: float
    by: str
    kind: Literal["event", "letter"]
    text: str
    player_id: str | None = None
    code: str | None = None
    clause: ClauseRef | None = None
    body: str | None = None
    between: tuple[str, ...] = ()
    """Sender and receiver, if something passed between two agents."""


@dataclass(frozen=True, slots=True)
class TimelineAttempt:
    """One attempt; number 0 is the time before the first."""

    attempt: int
    referee_id: str | None
    lines: tuple[TimelineLine, ...]
    has_record: bool
    """Is the account of its referee at hand?"""
    clocks_apart: float = 0.0
    """How many seconds the referee's times were shifted."""


class _Entry(NamedTuple):
    at: float
    rank: int
    by: str
    item: e.Event | LetterNote


class _Record(NamedTuple):
    """The referee's account of one attempt."""

    referee_id: str
    events: Sequence[e.Event]
    letters: Sequence[LetterNote]


class _Course(NamedTuple):
    """All entries of one attempt, in order."""

    number: int
    entries: Sequence[_Entry]
    record: _Record | None
    clocks_apart: float


def timeline(facts: MatchFacts) -> tuple[float, tuple[TimelineAttempt, ...]]:
    """When the match began (seconds since the epoch), and its attempts."""
    by_manager = _manager_events(facts)
    for event in facts.events:
        if isinstance(event, e.MatchTaken):
            by_manager.setdefault(event.attempt, [])
    courses = [_merged(facts, number, by_manager[number]) for number in sorted(by_manager)]
    start = min((entry.at for course in courses for entry in course.entries), default=0.0)
    return start, tuple(_attempt(facts, course, start) for course in courses if course.entries)


def _manager_events(facts: MatchFacts) -> dict[int, list[e.Event]]:
    """The manager's events by attempt."""
    current = 0
    # The page of a manager shows a result without its assignment.
    if facts.manager and not facts.source.has_manager_journal:
        current = facts.attempt
    events: dict[int, list[e.Event]] = {current: []}
    for event in facts.manager:
        if isinstance(event, e.MatchAssigned):
            current = event.attempt
            events[current] = []
        events[current].append(event)
    return events


def _merged(facts: MatchFacts, number: int, by_manager: Sequence[e.Event]) -> _Course:
    """All accounts of one attempt in order."""
    entries = [_Entry(event.at, _EVENT, MANAGER, event) for event in by_manager]
    for player_id, conversations in facts.conversations.items():
        kept = [event for event in conversations if event.attempt == number]
        entries += [_Entry(event.at, _EVENT, player_id, event) for event in kept]
    record = _record(facts, number)
    if record is None:
        return _Course(number, entries, None, 0.0)
    apart = _clocks_apart(by_manager, record.events)
    entries += [_Entry(event.at + apart, _EVENT, record.referee_id, event) for event in record.events]
    for letter in record.letters:
        rank = _CAUSE if letter.direction == "in" else _CONSEQUENCE
        entries.append(_Entry(letter.at + apart, rank, record.referee_id, letter))
    entries.sort(key=lambda entry: (entry.at, entry.rank))
    return _Course(number, entries, record, apart)


def _record(facts: MatchFacts, number: int) -> _Record | None:
    """The referee of one attempt, with its events and letters."""
    for referee_id, journal in facts.records.items():
        begun = {event.attempt: event.at for event in journal.events if isinstance(event, e.MatchTaken)}
        if number not in begun:
            continue
        # Letters do not name their attempt: those up to the next one belong to it.
        end = min((at for attempt, at in begun.items() if attempt > number), default=float("inf"))
        notes = [letter for letter in journal.letters.get(facts.match_id, ()) if begun[number] <= letter.at < end]
        events = [event for event in journal.events if getattr(event, "attempt", 0) == number]
        return _Record(referee_id, events, notes)
    return None


def _clocks_apart(by_manager: Sequence[e.Event], by_referee: Sequence[e.Event]) -> float:
    # A match is taken after it was assigned, and accepted after it was decided.
    assigned = _time_of(e.MatchAssigned, by_manager)
    taken = _time_of(e.MatchTaken, by_referee)
    if assigned is not None and taken is not None and taken < assigned:
        return assigned - taken
    accepted = _time_of(e.ResultAccepted, by_manager)
    decided = _time_of(e.MatchDecided, by_referee)
    if accepted is not None and decided is not None and accepted < decided:
        return accepted - decided
    return 0.0


def _time_of(kind: type[e.Event], events: Sequence[e.Event]) -> float | None:
    return next((event.at for event in events if isinstance(event, kind)), None)


def _attempt(facts: MatchFacts, course: _Course, start: float) -> TimelineAttempt:
    number = course.number
    is_played = number == facts.attempt and facts.status == "ASSIGNED"
    # Once its referee has decided, a choice cannot help anybody any more.
    hidden = is_played and facts.decided(number) is None
    lines = tuple(_line(facts, entry, start, hidden, course.entries) for entry in course.entries)
    return TimelineAttempt(
        attempt=number,
        referee_id=_referee_of(facts, course),
        lines=lines,
        has_record=course.record is not None,
        clocks_apart=course.clocks_apart,
    )


def _referee_of(facts: MatchFacts, course: _Course) -> str | None:
    for entry in course.entries:
        if isinstance(entry.item, e.MatchAssigned):
            return entry.item.referee_id
    if course.record is not None:
        return course.record.referee_id
    # Before the first attempt there is no referee.
    if course.number == 0:
        return None
    return facts.referee_id


def _line(facts: MatchFacts, entry: _Entry, start: float, hidden: bool, entries: Sequence[_Entry]) -> TimelineLine:
    after = round(entry.at - start, 3)
    if isinstance(entry.item, LetterNote):
        return _letter_line(facts, entry.by, entry.item, after, hidden)
    words = _describe(entry.item, facts, entry.by, hidden)
    body = None
    if isinstance(entry.item, e.WrongAnswer) and not hidden:
        body = _last_answer(entry.item.player_id, entry.at, entries)
    elif isinstance(entry.item, e.ConversationKept) and not hidden:
        body = entry.item.conversation
    return TimelineLine(
        after=after,
        by=entry.by,
        kind="event",
        text=without_tokens(words.text),
        player_id=words.player_id,
        code=words.code,
        clause=words.clause,
        body=body,
        between=_between(entry.item, entry.by),
    )


def _letter_line(facts: MatchFacts, by: str, letter: LetterNote, after: float, hidden: bool) -> TimelineLine:
    words = letter_words.describe(letter, hidden)
    # A referee writes to players and to its manager, and to nobody else.
    player = None
    if words.agent_id in facts.players:
        player = words.agent_id
    peer = player or MANAGER
    ends = (by, peer)
    if letter.direction == "in":
        ends = (peer, by)
    return TimelineLine(after, by, "letter", words.text, player, body=words.body, between=ends)


def _between(event: e.Event, by: str) -> tuple[str, ...]:
    """Sender and receiver, if the event is that one agent told another something."""
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


def _last_answer(player_id: str, until: float, entries: Sequence[_Entry]) -> str | None:
    """The player's last letter up to then: the one that was judged wrong."""
    body = None
    for entry in entries:
        if entry.at > until:
            break
        if not isinstance(entry.item, LetterNote) or entry.item.direction == "out":
            continue
        if letter_words.describe(entry.item).agent_id == player_id:
            body = letter_words.body_of(entry.item)
    return body


# --- events in words --------------------------------------------------------------------------------------------------


class _Words(NamedTuple):
    """An event in words, with the code and the clause if something went wrong."""

    text: str
    player_id: str | None = None
    code: str | None = None
    clause: ClauseRef | None = None


def _describe(event: e.Event, facts: MatchFacts, by: str, hidden: bool) -> _Words:
    """What this event means, by the account of `by`."""
    # Each of these knows some kinds of events and returns None for all others.
    return (
        _of_schedule(event)
        or _of_lost_attempt(event, by)
        or _of_refusal(event)
        or _of_trouble(event)
        or _of_result(event, by)
        or _of_evidence(event)
        or _of_referee(event, by, facts.game_type)
        or _of_player(event, hidden)
        or _of_conversation(event, by, hidden)
        or _of_mistake(event, facts.game_type)
        or _of_report(event)
        or _Words(type(event).__name__)
    )


def _of_schedule(event: e.Event) -> _Words | None:
    match event:
        case e.RoundOpened():
            return _Words(f"Round {event.round_id} was opened and announced.")
        case e.MatchAssigned():
            return _Words(f"The manager gave the match to {event.referee_id}, as attempt {event.attempt}.")
        case e.MatchUnparked() if event.key:
            return _Words("The operator gave the match three more attempts.")
        case e.MatchUnparked():
            return _Words("A referee is back: the match has three more attempts.")
        case _:
            return None


def _of_lost_attempt(event: e.Event, by: str) -> _Words | None:
    match event:
        case e.MatchLost():
            text = f"The manager gave up attempt {event.attempt}: {event.why}. That is no player's fault."
            return _Words(text, clause=cite("REFEREE.lease_no_blame"))
        case e.MatchParked():
            text = "The match was parked: it waits for the operator, or for a referee that comes back."
            return _Words(text, clause=cite("REFEREE.lease_parked"))
        case e.MatchDropped():
            return _Words(f"{by} dropped this attempt: {event.why}.")
        case _:
            return None


def _of_refusal(event: e.Event) -> _Words | None:
    """Reports and answers that were refused, or that only an address shows to be somebody's."""
    match event:
        case e.RequestRefused():
            source = f"{event.name} ({event.endpoint})"
            text = f"The manager refused a {event.request} by {source}: {event.code} {event.detail}."
            return _Words(text, clause=cite("REFUSED.shown"))
        case e.AnswerRefused():
            claim = f", claiming to be {event.player_id}," if event.player_id else ""
            text = (
                f"An answer from somebody at {event.origin}{claim} was refused ({named(event.code)}), because "
                f"{event.detail}. That costs nobody anything."
            )
            return _Words(text, event.player_id or None, event.code, cite("MATCH.refused_answers_noted"))
        case _:
            return None


def _of_trouble(event: e.Event) -> _Words | None:
    match event:
        case e.MatchPaused():
            text = f"The manager made the match wait for {event.player_id}: {event.why}."
            text += " It is asked again in the same position."
            return _Words(text, event.player_id, event.code, cite("TROUBLE.wait"))
        case e.PlayerAwaited():
            text = f"The match waits for {event.player_id}, which is asked again every 5 seconds: {event.why}."
            return _Words(text, event.player_id, event.code, cite("TROUBLE.wait"))
        case e.LossAllowed():
            return _Words(_allowed(event), event.player_id, event.code, cite("TROUBLE.decide"))
        case _:
            return None


def _allowed(event: e.LossAllowed) -> str:
    asked = f"Asked before {event.player_id} lost, the manager saw nothing to wait for"
    if event.reached is None:
        return f"{asked}."
    if event.reached:
        return f"{asked}: {event.player_id} answered the manager's own probe."
    return f"{asked}: {event.player_id} did not answer its own probe either, and had no time left."


def _of_result(event: e.Event, by: str) -> _Words | None:
    match event:
        case e.ResultAccepted():
            return _Words(_accepted(event))
        case e.WalkoverDecided():
            won = "nobody wins"
            if event.winner:
                won = f"{event.winner} wins without playing"
            text = f"The manager decided a walkover: {' and '.join(event.withdrawn)} withdrawn, {won}."
            return _Words(text, clause=cite("LEAGUE.withdrawn"))
        case e.ResultVoided(key=""):
            return _Words(f"The manager voided the result: {event.why}. The match is played again.")
        case e.ResultVoided():
            return _Words("The operator voided the result: the match is played again.", clause=cite("LEAGUE.void"))
        case e.MatchDecided():
            return _Words(f"{by} decided: {_result(event, f' ({event.reason})')}.")
        case _:
            return None


def _accepted(event: e.ResultAccepted) -> str:
    text = f"The manager accepted the report of {event.referee_id}: {_result(event)}."
    if event.origin:
        text = f"The report from the address of {event.referee_id} ({event.origin}) counts: {_result(event)}."
    if event.corrected:
        text += f" The manager corrected it: {'; '.join(event.corrected)}."
    return text


def _of_evidence(event: e.Event) -> _Words | None:
    match event:
        case e.ResultJudged():
            return _Words(basis_words(Basis(event.evidence, event.unsigned, event.doubt)))
        case e.DrawReleased():
            text = (
                f"{event.referee_id} handed in the choices so far and its seed, and got the manager's share of the draw"
            )
            return _Words(f"{text}.")
        case e.DrawRequested():
            return _Words("Before the draw, the referee handed in the choices so far with its seed.")
        case e.ShareReceived():
            return _Words("The manager's share of the draw arrived.")
        case _:
            return None


def _result(event: e.ResultAccepted | e.MatchDecided, reason: str = "") -> str:
    won = ""
    if event.winner:
        won = f", won by {event.winner}"
    points = ", ".join(f"{player} {count}" for player, count in event.points.items())
    return f"{event.status}{won}{reason}; points: {points}"


def _of_referee(event: e.Event, by: str, game_type: str) -> _Words | None:
    match event:
        case e.MatchTaken():
            return _taken(event, by)
        case e.AssignmentCompleted() if event.endpoints:
            return _Words(f"{by} found the players at {' and '.join(event.endpoints)} ({event.source}).")
        case e.AssignmentCompleted():
            points = ", ".join(f"{record['points']} points" for record in event.records or ())
            return _Words(f"{by} showed the players these records: {points}.")
        case e.MatchBegun():
            return _Words(f"The match began: {by} invited both players.")
        case e.NumberDrawn():
            parity = ""
            if game_type == "even_odd":
                parity = " (odd)" if event.number % 2 else " (even)"
            return _Words(f"{by} drew the number {event.number}{parity}.", clause=cite("DRAW.number_follows"))
        case _:
            return None


def _taken(event: e.MatchTaken, by: str) -> _Words:
    join_s = EXCHANGES["GAME_INVITATION"].limit_s
    places = []
    suspended = []
    for player, endpoint, is_suspended in zip(event.players, event.endpoints, event.suspended, strict=True):
        places.append(f"{player} at {endpoint or 'an unknown address'}")
        if is_suspended:
            suspended.append(player)
    limits = f"{join_s:g} seconds to join, {event.move_seconds:g} for a move"
    text = f"{by} took the match: {', '.join(places)}; {limits}."
    if not suspended:
        return _Words(text)
    text += f" {' and '.join(suspended)} was SUSPENDED: one invitation, no retries."
    return _Words(text, suspended[0], clause=cite("MATCH.suspended_one_invitation"))


def _of_report(event: e.Event) -> _Words | None:
    match event:
        case e.PlayersTold():
            return _Words("Both GAME_OVER calls have ended.")
        case e.ReportSettled(answer="ACCEPTED"):
            text = "The report was acknowledged."
            if event.corrected:
                text = f"The report was acknowledged, and corrected: {'; '.join(event.corrected)}."
            return _Words(text)
        case e.ReportSettled():
            consequence = "The result of this attempt does not count."
            if event.answer == "E017":
                consequence = "It already has this result."
            text = f"The manager answered the report with {named(event.answer)}. {consequence}"
            return _Words(text, code=event.answer, clause=clause_of(event.answer))
        case _:
            return None


def _of_player(event: e.Event, hidden: bool) -> _Words | None:
    match event:
        case e.PlayerJoined():
            source = ""
            if event.by_address:
                source = _FROM_ADDRESS
            return _Words(f"{event.player_id} joined{source}.", event.player_id)
        case e.MoveMade():
            return _Words(_choice(event, hidden), event.player_id)
        case e.OrderCarriedOut():
            text = f"The operator withdrew {event.target}."
            return _Words(text, event.target, clause=cite("LEAGUE.withdrawn"))
        case e.AgentStateChanged(state="SUSPENDED"):
            text = f"{event.agent_id} is now SUSPENDED, after two technical losses in a row."
            return _Words(text, event.agent_id, clause=cite("SUSPENDED.after_two"))
        case e.AgentStateChanged():
            # The last result of a league also ends the work of its players: no clause of suspension is about that.
            clause = None
            if event.state == "ACTIVE":
                clause = cite("SUSPENDED.recovers")
            return _Words(f"{event.agent_id} is now {event.state}.", event.agent_id, clause=clause)
        case _:
            return None


def _of_conversation(event: e.Event, by: str, hidden: bool) -> _Words | None:
    if not isinstance(event, e.ConversationKept):
        return None
    # The player wrote this: it may hold anything.
    try:
        conversation = msgspec.json.decode(event.conversation, type=_Conversation)
    except msgspec.MsgspecError:
        return _Words(f"{by} kept a record of how it chose, which cannot be read.", by)
    if hidden:
        return _Words(f"{by} asked {conversation.asked}.", by)
    ending = f"it chose {conversation.choice}"
    if conversation.choice is None:
        ending = f"{by} declined: {conversation.declined}"
    elif conversation.fallback_reason:
        reason = conversation.fallback_reason.replace("_", " ")
        ending = f"there was no choice ({reason}), and {by} chose {conversation.choice} as a fallback"
    requests = len(conversation.exchanges)
    times = "once" if requests == 1 else f"{requests} times"
    return _Words(f"{by} asked {conversation.asked} {times}: {ending}.", by)


class _Conversation(msgspec.Struct):
    """What a line says about a conversation, which `league.features.minds.conversations` describes in full."""

    asked: str
    exchanges: list[msgspec.Raw] = []
    choice: str | None = None
    fallback_reason: str = ""
    declined: str = ""


_FROM_ADDRESS = " (from its address: nobody knows who sent it)"


def _choice(event: e.MoveMade, hidden: bool) -> str:
    choice = letter_words.HIDDEN if hidden else event.choice
    # Many games have one turn only: there the number would say nothing.
    if event.turn > 1:
        choice += f" in turn {event.turn}"
    if event.provenance is not None and event.provenance.fallbacks:
        reason = event.provenance.fallback_reason.replace("_", " ")
        because = f", reason: {reason}" if reason else ""
        choice += f" (a fallback: its language model did not choose{because})"
    if event.by_address:
        choice += _FROM_ADDRESS
    return f"{event.player_id} chose {choice}."


def _of_mistake(event: e.Event, game_type: str) -> _Words | None:
    match event:
        case e.AttemptFailed():
            text = f"A call to {event.player_id} failed ({_failure(event)}): {event.detail}; {_retry(event)}."
            if cause_in(event.detail):
                text = f"{event.player_id} did not choose: {failure(event.code, event.detail)}; {_retry(event)}."
            clause = violated(event.code, event.phase, game_type)
        case e.WrongAnswer():
            detail = at_field(event.path, event.detail)
            text = f"The answer of {event.player_id} was wrong ({named(event.code)}): {detail}; {_corrections(event)}."
            clause = clause_of(event.code, event.requirement)
        case e.PlayerDeviated():
            text = f"An answer of {event.player_id} was odd but accepted ({named(event.code)}): {event.detail}."
            clause = clause_of(event.code, event.requirement)
        case e.PlayerFaulted(code=code) if code == DECLINED:
            text = f"{event.player_id} declined the invitation: a technical loss at once."
            clause = clause_of(event.code)
        case e.PlayerFaulted():
            text = f"{event.player_id} lost by its own fault ({named(event.code)}): {event.detail}."
            if cause_in(event.detail) or is_answered(event.detail):
                text = f"{event.player_id} lost by its own fault: {failure(event.code, event.detail)}."
            clause = clause_of(event.code) or in_time(event.phase, game_type)
        case _:
            return None
    return _Words(text, event.player_id, event.code, clause)


def _failure(event: e.AttemptFailed) -> str:
    """The error; for a timeout also the two fields that document 1 records."""
    if event.timeout_seconds is None:
        # E009 is called a connection error, but a player that answered was connected.
        if is_answered(event.detail):
            return event.code
        return named(event.code)
    return f"{named(event.code)}, code {event.rpc_code}, timeout_seconds {event.timeout_seconds:g}"


def _retry(event: e.AttemptFailed) -> str:
    if event.retry is None:
        return "no retry is left"
    return f"retry {event.retry} follows"


def _corrections(event: e.WrongAnswer) -> str:
    if event.left == 0:
        return "no correction is left"
    if event.left == 1:
        return "1 correction left before the same deadline"
    return f"{event.left} corrections left before the same deadline"
