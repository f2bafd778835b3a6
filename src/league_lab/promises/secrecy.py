"""Promise 13: in a simultaneous phase nothing sent to anyone but its chooser depends on a choice before all are in.

Observed from outside: between a player's choice and that of its opponent (or its fault), the referee tells nobody else
about it, and a call repeated in that time asks exactly what it asked before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from league import events as e
from league_lab.promises.evidence import SAME_MOMENT_S, Evidence, Object
from league_lab.promises.findings import Breach, call_at, no_traffic
from league_lab.promises.history import Statement, inner, places, text, whole
from league_lab.promises.rules import SIMULTANEOUS

RESULTS = ("GAME_OVER", "MATCH_RESULT_REPORT")
CALLS = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
CHOICES = frozenset({"choices", "choice", "parity_choice", "opponent_choice"})


class Secret(NamedTuple):
    """A choice, and the time in which only its chooser may know it."""

    match_id: str
    attempt: int
    turn: int
    player_id: str
    choice: str
    since: float
    until: float


def breaches(evidence: Evidence) -> Iterator[Breach]:
    for referee, journal in evidence.referees.items():
        if not journal or evidence.traffic is None:
            continue
        yield from _errors_to_others(evidence, referee)
        sent = _by_match(evidence, referee)
        for secret in secrets_of(journal):
            yield from _leaks(secret, sent.get(secret.match_id, []))


def unobservable(evidence: Evidence) -> str | None:
    has_journal = any(evidence.referees.values())
    return no_traffic(evidence) or (None if has_journal else "there is no referee's journal")


def secrets_of(journal: Sequence[e.Event]) -> Iterator[Secret]:
    """A choice is secret until the other player of its turn has chosen, or lost by a fault. Where players take turns
    there are no secrets."""
    games = {(taken.match_id, taken.attempt): taken for _, taken in places(journal, e.MatchTaken)}
    settled: dict[tuple[str, int, int], dict[str, float]] = {}
    for event in journal:
        if isinstance(event, e.MoveMade | e.PlayerFaulted):
            turn = settled.setdefault((event.match_id, event.attempt, event.turn), {})
            turn.setdefault(event.player_id, event.at)
    for _, move in places(journal, e.MoveMade):
        taken = games.get((move.match_id, move.attempt))
        others = {
            player: at
            for player, at in settled[move.match_id, move.attempt, move.turn].items()
            if player != move.player_id
        }
        if others or (taken is not None and taken.game_type in SIMULTANEOUS):
            until = min(others.values(), default=float("inf"))
            yield Secret(move.match_id, move.attempt, move.turn, move.player_id, move.choice, move.at, until)


def _by_match(evidence: Evidence, referee: str) -> dict[str, list[Statement]]:
    found: dict[str, list[Statement]] = {}
    for call in evidence.traffic or ():
        sender, receiver = evidence.agent(call.sender_node), evidence.agent(call.receiver_node)
        if sender == referee:
            found.setdefault(text(call.message, "match_id") or "", []).append(
                Statement(receiver, call.sent_at, call.message, call)
            )
        elif receiver == referee and call.answer is not None:
            at = call.answered_at or call.sent_at
            found.setdefault(text(call.answer, "match_id") or "", []).append(Statement(sender, at, call.answer, call))
    return found


def _leaks(secret: Secret, sent: Sequence[Statement]) -> Iterator[Breach]:
    for one in sent:
        if one.to == secret.player_id or not secret.since <= one.at < secret.until - SAME_MOMENT_S:
            continue
        if _reveals(one.content, secret) or _asks_differently(one, secret, sent):
            detail = (
                f"{one.to} could learn what {secret.player_id} chose in {secret.match_id} before all choices were in"
            )
            yield Breach(detail, call_at(one.call))


def _reveals(content: Object, secret: Secret) -> bool:
    kind = text(content, "message_type")
    if kind is None and "events" in content:
        # The record of an attempt tells all about that one, and is given when it is decided.
        return whole(content, "attempt") == secret.attempt
    if kind in RESULTS:
        attempt = whole(content, "attempt") or whole(inner(content, "game_result"), "attempt")
        return attempt in (None, secret.attempt)
    # The view in a GAME_MOVE_CALL may show the choices of earlier turns; it is compared instead.
    return kind != "GAME_MOVE_CALL" and _holds(content, secret)


def _holds(value: object, secret: Secret) -> bool:
    if isinstance(value, dict):
        named = any(key in CHOICES or (key == secret.player_id and one == secret.choice) for key, one in value.items())
        return named or any(_holds(one, secret) for one in value.values())
    return isinstance(value, list) and any(_holds(one, secret) for one in value)


def _asks_differently(one: Statement, secret: Secret, sent: Sequence[Statement]) -> bool:
    """Is this a call whose question changed after the choice?"""
    if text(one.content, "message_type") not in CALLS:
        return False
    asked = [
        other
        for other in sent
        if other.to == one.to and other.at < secret.since and _question(other.content)[0] == _question(one.content)[0]
    ]
    return any(_question(other.content) != _question(one.content) for other in asked)


def _question(content: Object) -> tuple[tuple[object, ...], Object, Object]:
    """Which call this is (type, conversation, turn), and all of it that may not change when it is repeated."""
    request = inner(content, "move_request")
    turn = whole(inner(request, "context"), "turn")
    return (text(content, "message_type"), text(content, "conversation_id"), turn), request, inner(content, "context")


def _errors_to_others(evidence: Evidence, referee: str) -> Iterator[Breach]:
    for call in evidence.sent("GAME_ERROR", referee):
        receiver = evidence.agent(call.receiver_node)
        for name in ("affected_player", "player_id"):
            if text(call.message, name) not in (None, receiver):
                yield Breach(f"the GAME_ERROR is about {text(call.message, name)}", call_at(call))
                break
