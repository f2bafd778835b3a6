"""Promises 20 and 21: only a match's referee learns a choice early, and only that referee decides the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from league import events as e
from league_lab.promises.event_history import (
    Statement,
    attempt_of,
    inner,
    of_kind,
    places,
    text,
)
from league_lab.promises.evidence import SAME_MOMENT_S, Evidence, Object
from league_lab.promises.promise_findings import Breach, call_at, event_at, no_manager_journal
from league_lab.promises.secrecy import secrets_of, unobservable


def _statements(evidence: Evidence) -> Mapping[tuple[str, str], list[Statement]]:
    """What each agent answered or posted, by agent and match."""
    statements: dict[tuple[str, str], list[Statement]] = {}
    for call in evidence.traffic or ():
        sender = evidence.agent(call.sender_node)
        receiver = evidence.agent(call.receiver_node)
        match_id = text(call.message, "match_id") or ""
        question = Statement(receiver, call.sent_at, call.message, call)
        statements.setdefault((sender, match_id), []).append(question)
        if call.accepted:
            answer = Statement(sender, call.answered_at or call.sent_at, call.accepted, call)
            statements.setdefault((receiver, match_id), []).append(answer)
    return statements


# --- promise 20: only the referee of a match learns a choice before both choices are in -------------------------------


def leaks(evidence: Evidence) -> Iterator[Breach]:
    statements = _statements(evidence)
    referees = _referees(evidence)
    for journal in evidence.referees.values():
        begun = {attempt_of(match): match.at for match in of_kind(journal, e.MatchTaken)}
        for secret in secrets_of(journal):
            match_id = secret.attempt.match_id
            # A player may tell its choice before its referee has it.
            since = begun.get(secret.attempt, secret.since)
            for statement in statements.get((secret.player_id, match_id), ()):
                is_early = since <= statement.at < secret.until - SAME_MOMENT_S
                if not is_early or _choice(statement.content) != secret.choice:
                    continue
                if statement.to not in referees.get(match_id, ()):
                    detail = f"{statement.to} learned what {secret.player_id} chose in {match_id}"
                    yield Breach(detail, call_at(statement.call))


def _referees(evidence: Evidence) -> Mapping[str, set[str]]:
    """All referees that ever got a match, by match."""
    referees: dict[str, set[str]] = {}
    for assigned in of_kind(evidence.manager, e.MatchAssigned):
        referees.setdefault(assigned.match_id, set()).add(assigned.referee_id)
    for referee, journal in evidence.referees.items():
        for match in of_kind(journal, e.MatchTaken):
            referees.setdefault(match.match_id, set()).add(referee)
    return referees


def _choice(content: Object) -> str | None:
    return text(content, "parity_choice") or text(inner(content, "move_data"), "choice")


leaks_unobservable = unobservable


# --- promise 21: a result counts only if its referee decided it, by what its players answered -------------------------


def undecided(evidence: Evidence) -> Iterator[Breach]:
    yield from _results(evidence)
    yield from _moves(evidence)
    yield from _endings(evidence)


def undecided_unobservable(evidence: Evidence) -> str | None:
    reason = no_manager_journal(evidence)
    if reason is not None:
        return reason
    referees = {result.referee_id for result in of_kind(evidence.manager, e.ResultAccepted)}
    missing = sorted(referee for referee in referees if not evidence.referees.get(referee))
    if missing:
        return f"there is no journal of {', '.join(missing)}"
    return None


def _results(evidence: Evidence) -> Iterator[Breach]:
    """Every result of the manager was decided by its referee, and no impostor decided any."""
    for place, result in places(evidence.manager, e.ResultAccepted):
        referee = result.referee_id
        where = event_at("manager", place)
        # An impostor's result is wrong even if its own journal has it.
        if referee in (evidence.impostors or ()):
            yield Breach(f"{result.match_id} was decided by {referee}, an impostor", where)
        journal = evidence.referees.get(referee)
        if not journal:
            continue
        decisions = of_kind(journal, e.MatchDecided)
        if not any(_is_same(decided, result) for decided in decisions):
            yield Breach(f"{result.match_id} counts as {referee} did not decide it", where)


def _is_same(decided: e.MatchDecided, result: e.ResultAccepted) -> bool:
    return (
        decided.match_id == result.match_id
        and decided.attempt == result.attempt
        and decided.status == result.status
        and decided.winner == result.winner
        and decided.points == result.points
    )


def _moves(evidence: Evidence) -> Iterator[Breach]:
    """Every choice that counts was said by its player."""
    if evidence.traffic is None:
        return
    statements = _statements(evidence)
    for referee, journal in evidence.referees.items():
        for place, move in places(journal, e.MoveMade):
            answers = statements.get((move.player_id, move.match_id), ())
            if not any(move.choice in _texts(answer.content) for answer in answers):
                detail = f"{move.player_id} never answered {move.choice} in {move.match_id}"
                yield Breach(detail, event_at(referee, place))


def _texts(value: object) -> Iterator[str]:
    """Every text in a message: agents by others have fields of their own."""
    if isinstance(value, str):
        yield value.strip().casefold()
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for element in value:
            yield from _texts(element)


def _endings(evidence: Evidence) -> Iterator[Breach]:
    """Every result that a player believes was decided by a referee."""
    decisions = {
        (event.match_id, event.status, event.winner)
        for journal in evidence.referees.values()
        for event in of_kind(journal, e.MatchDecided)
    }
    for player, journal in evidence.players.items():
        for place, ended in places(journal, e.GameEnded):
            # Without the journal of its referee, a result may be right all the same.
            is_known = evidence.referees.get(ended.referee_id) or evidence.impostors is not None
            decision = (ended.match_id, ended.status, ended.winner)
            if is_known and ended.trusted and decision not in decisions:
                yield Breach(f"{player} was told a result of {ended.match_id} nobody decided", event_at(player, place))
