"""Promise 13: while players choose at once, nothing sent to others depends on a choice before all choices are in.

Observed from outside: between a player's choice and that of its opponent (or its fault), the referee tells nobody else
about it, and a call that is repeated in that time asks exactly what it asked before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from league import events as e
from league.features.audit.promises.grounds.event_history import Statement, inner, text, whole
from league.features.audit.promises.grounds.event_log import Attempt, EventLog, attempt_of
from league.features.audit.promises.grounds.evidence import SAME_MOMENT_S, Evidence, Object
from league.features.audit.promises.grounds.promise_findings import Breach, call_at, no_referee_traffic
from league.features.audit.promises.grounds.rules import SIMULTANEOUS

RESULTS = ("GAME_OVER", "MATCH_RESULT_REPORT")
CALLS = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
CHOICES = frozenset({"choices", "choice", "parity_choice", "opponent_choice"})


class Secret(NamedTuple):
    """A choice, and the time during which only its player may know it."""

    attempt: Attempt
    player_id: str
    choice: str
    since: float
    until: float


def breaches(evidence: Evidence) -> Iterator[Breach]:
    if evidence.traffic is None:
        return
    for referee, journal in evidence.referees.items():
        if not journal or not evidence.is_recorded(referee):
            continue
        yield from _errors_to_others(evidence, referee)
        statements = _by_match(evidence, referee)
        for secret in secrets_of(journal):
            yield from _leaks(secret, statements.get(secret.attempt.match_id, []))


unobservable = no_referee_traffic


def secrets_of(journal: EventLog) -> Iterator[Secret]:
    """The secrets in a referee's journal.

    A choice is secret until the other player of its turn has chosen, or lost by a fault. There are no secrets in games
    in which players take turns.
    """
    assignments = journal.of_kind(e.MatchTaken)
    games = {attempt_of(assignment): assignment.game_type for assignment in assignments}
    # When each player of a turn had chosen or failed.
    turns: dict[tuple[Attempt, int], dict[str, float]] = {}
    earliest_later = _earliest_later(journal)
    for place, event in enumerate(journal):
        if isinstance(event, e.MoveMade | e.PlayerFaulted):
            turn = turns.setdefault((attempt_of(event), event.turn), {})
            # If the clock was set back after it, the event happened at the latest when the new count began.
            turn.setdefault(event.player_id, min(event.at, earliest_later[place]))
    for move in journal.of_kind(e.MoveMade):
        attempt = attempt_of(move)
        times = dict(turns[attempt, move.turn])
        del times[move.player_id]
        if times or games.get(attempt) in SIMULTANEOUS:
            until = min(times.values(), default=float("inf"))
            yield Secret(attempt, move.player_id, move.choice, move.at, until)


def _earliest_later(journal: EventLog) -> list[float]:
    """For each event, the earliest time of those behind it."""
    earliest = float("inf")
    times = []
    for event in reversed(journal):
        times.append(earliest)
        earliest = min(earliest, event.at)
    times.reverse()
    return times


def _by_match(
    evidence: Evidence,
    referee: str,
) -> dict[str, list[Statement]]:
    """Everything that a referee said, by match. Times of another clock than its own would compare with nothing."""
    statements: dict[str, list[Statement]] = {}
    for call in evidence.traffic or ():
        if call.clock not in ("", referee):
            continue
        sender = evidence.agent(call.sender_node)
        receiver = evidence.agent(call.receiver_node)
        if sender == referee:
            statement = Statement(receiver, call.sent_at, call.message, call)
        elif receiver == referee and call.answer is not None:
            statement = Statement(sender, call.answered_at or call.sent_at, call.answer, call)
        else:
            continue
        match_id = text(statement.content, "match_id") or ""
        statements.setdefault(match_id, []).append(statement)
    return statements


def _leaks(
    secret: Secret,
    statements: Sequence[Statement],
) -> Iterator[Breach]:
    for statement in statements:
        is_in_time = secret.since <= statement.at < secret.until - SAME_MOMENT_S
        if not is_in_time or statement.to == secret.player_id:
            continue
        if _reveals(statement.content, secret) or _asks_differently(statement, secret, statements):
            detail = (
                f"{statement.to} could learn what {secret.player_id} chose in {secret.attempt.match_id} "
                "before all choices were in"
            )
            yield Breach(detail, call_at(statement.call))


def _reveals(content: Object, secret: Secret) -> bool:
    kind = text(content, "message_type")
    if kind is None and "events" in content:
        # The record of an attempt tells everything about that attempt, and is given when it is decided.
        return whole(content, "attempt") == secret.attempt.number
    if kind in RESULTS:
        number = whole(content, "attempt") or whole(inner(content, "game_result"), "attempt")
        return number in (None, secret.attempt.number)
    # The view in a GAME_MOVE_CALL may show the choices of earlier turns; it is compared instead.
    return kind != "GAME_MOVE_CALL" and _contains(content, secret)


def _contains(value: object, secret: Secret) -> bool:
    """Whether the choice, or any choice at all, is somewhere in a message."""
    if isinstance(value, list):
        return any(_contains(element, secret) for element in value)
    if not isinstance(value, dict):
        return False
    for name, member in value.items():
        if name in CHOICES or (name == secret.player_id and member == secret.choice):
            return True
        if _contains(member, secret):
            return True
    return False


def _asks_differently(
    statement: Statement,
    secret: Secret,
    statements: Sequence[Statement],
) -> bool:
    """Whether this is a call whose question changed after the choice."""
    if text(statement.content, "message_type") not in CALLS:
        return False
    question = _question(statement.content)
    for earlier in statements:
        if earlier.to != statement.to or earlier.at >= secret.since:
            continue
        earlier_question = _question(earlier.content)
        if earlier_question.name == question.name and earlier_question != question:
            return True
    return False


class _Question(NamedTuple):
    """A call for a choice: its name, and everything in it that may not change when it is repeated."""

    name: tuple[str | None, str | None, int | None]
    request: Object
    context: Object


def _question(content: Object) -> _Question:
    request = inner(content, "move_request")
    turn = whole(inner(request, "context"), "turn")
    name = (text(content, "message_type"), text(content, "conversation_id"), turn)
    return _Question(name, request, inner(content, "context"))


def _errors_to_others(evidence: Evidence, referee: str) -> Iterator[Breach]:
    """A GAME_ERROR goes only to the player it is about."""
    for call in evidence.sent("GAME_ERROR", referee):
        receiver = evidence.agent(call.receiver_node)
        for name in ("affected_player", "player_id"):
            player = text(call.message, name)
            if player not in (None, receiver):
                yield Breach(f"the GAME_ERROR is about {player}", call_at(call))
                break
