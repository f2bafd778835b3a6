"""Promises 20 and 21: who learns a choice before both are in, and whose decision a result is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from league import events as e
from league_lab.promises.evidence import SAME_MOMENT_S, Evidence, Object
from league_lab.promises.findings import Breach, call_at, event_at, no_manager_journal
from league_lab.promises.history import Statement, inner, places, text
from league_lab.promises.secrecy import secrets_of, unobservable


def _answers(evidence: Evidence) -> Mapping[tuple[str, str], list[Statement]]:
    """By player and match, what it answered or posted."""
    found: dict[tuple[str, str], list[Statement]] = {}
    for call in evidence.traffic or ():
        sender, receiver = evidence.agent(call.sender_node), evidence.agent(call.receiver_node)
        match_id = text(call.message, "match_id") or ""
        found.setdefault((sender, match_id), []).append(Statement(receiver, call.sent_at, call.message, call))
        if call.accepted:
            at = call.answered_at or call.sent_at
            found.setdefault((receiver, match_id), []).append(Statement(sender, at, call.accepted, call))
    return found


# --- promise 20: nobody but the match's referee learns a choice before both are in ------------------------------------


def leaks(evidence: Evidence) -> Iterator[Breach]:
    said, referees = _answers(evidence), _referees(evidence)
    for journal in evidence.referees.values():
        begun = {(taken.match_id, taken.attempt): taken.at for _, taken in places(journal, e.MatchTaken)}
        for secret in secrets_of(journal):
            since = begun.get((secret.match_id, secret.attempt), secret.since)
            for one in said.get((secret.player_id, secret.match_id), ()):
                is_early = since <= one.at < secret.until - SAME_MOMENT_S
                if is_early and one.to not in referees[secret.match_id] and _choice(one.content) == secret.choice:
                    detail = f"{one.to} learned what {secret.player_id} chose in {secret.match_id}"
                    yield Breach(detail, call_at(one.call))


def _referees(evidence: Evidence) -> Mapping[str, set[str]]:
    """By match, whoever was given it."""
    found: dict[str, set[str]] = {}
    for _, assigned in places(evidence.manager, e.MatchAssigned):
        found.setdefault(assigned.match_id, set()).add(assigned.referee_id)
    for referee, journal in evidence.referees.items():
        for _, taken in places(journal, e.MatchTaken):
            found.setdefault(taken.match_id, set()).add(referee)
    return found


def _choice(content: Object) -> str | None:
    return text(content, "parity_choice") or text(inner(content, "move_data"), "choice")


leaks_unobservable = unobservable


# --- promise 21: no result counts that its referee did not decide, by what its players answered -----------------------


def undecided(evidence: Evidence) -> Iterator[Breach]:
    yield from _results(evidence)
    yield from _moves(evidence)
    yield from _endings(evidence)


def undecided_unobservable(evidence: Evidence) -> str | None:
    counted = {result.referee_id for _, result in places(evidence.manager, e.ResultAccepted)}
    missing = sorted(one for one in counted if not evidence.referees.get(one))
    return no_manager_journal(evidence) or (f"there is no journal of {', '.join(missing)}" if missing else None)


def _results(evidence: Evidence) -> Iterator[Breach]:
    """The manager's results are decisions of referees, and of none that has no business here."""
    for place, result in places(evidence.manager, e.ResultAccepted):
        referee, where = result.referee_id, event_at("manager", place)
        if referee in (evidence.impostors or ()):
            yield Breach(f"{result.match_id} was decided by {referee}, an impostor", where)
        journal = evidence.referees.get(referee)
        decisions = (event for _, event in places(journal or (), e.MatchDecided) if event.match_id == result.match_id)
        if journal and not any(_is_same(event, result) for event in decisions):
            yield Breach(f"{result.match_id} counts as {referee} did not decide it", where)


def _is_same(decided: e.MatchDecided, result: e.ResultAccepted) -> bool:
    ends = [(one.attempt, one.status, one.winner, one.points) for one in (decided, result)]
    return ends[0] == ends[1]


def _moves(evidence: Evidence) -> Iterator[Breach]:
    """A choice that counts was said by its player."""
    said = _answers(evidence)
    for referee, journal in evidence.referees.items() if evidence.traffic is not None else ():
        for place, move in places(journal, e.MoveMade):
            answers = said.get((move.player_id, move.match_id), ())
            if not any(move.choice in _texts(one.content) for one in answers):
                detail = f"{move.player_id} never answered {move.choice} in {move.match_id}"
                yield Breach(detail, event_at(referee, place))


def _texts(value: object) -> Iterator[str]:
    """Every text in it: agents by others have fields of their own."""
    if isinstance(value, str):
        yield value.strip().casefold()
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(one)


def _endings(evidence: Evidence) -> Iterator[Breach]:
    """What players believe of a match is what a referee decided."""
    decided = {
        (event.match_id, event.status, event.winner)
        for journal in evidence.referees.values()
        for _, event in places(journal, e.MatchDecided)
    }
    for player, journal in evidence.players.items():
        for place, ended in places(journal, e.GameEnded):
            is_known = evidence.referees.get(ended.referee_id) or evidence.impostors is not None
            if is_known and ended.trusted and (ended.match_id, ended.status, ended.winner) not in decided:
                yield Breach(f"{player} was told a result of {ended.match_id} nobody decided", event_at(player, place))
