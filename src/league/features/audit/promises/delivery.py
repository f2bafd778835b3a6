"""Promises 7, 14, 16 and 17: whatever was acknowledged survives, ids are unique, every request gets one answer, and a
message that is delivered twice has no further effect."""

from __future__ import annotations

from collections import Counter
from collections.abc import (
    Callable,
    Hashable,
    Iterator,
    Mapping,
)
from operator import attrgetter
from typing import NamedTuple

from league import events as e
from league.features.audit.promises.grounds.event_history import (
    attempt_in,
    inner,
    members,
    text,
    whole,
)
from league.features.audit.promises.grounds.event_log import Attempt, EventLog
from league.features.audit.promises.grounds.evidence import Evidence, RecordedCall
from league.features.audit.promises.grounds.promise_findings import Breach, call_at, event_at, no_traffic
from league.features.audit.promises.results import is_readable, winner_in
from league.protocol.signing.tokens import MANAGER

REGISTRATIONS = {
    "LEAGUE_REGISTER_REQUEST": "player_id",
    "REFEREE_REGISTER_REQUEST": "referee_id",
}


# --- promise 7: whatever was acknowledged survives --------------------------------------------------------------------


def lost(evidence: Evidence) -> Iterator[Breach]:
    for recovery in evidence.simulator.recoveries or ():
        if recovery.recovered < recovery.acknowledged:
            detail = (
                f"{recovery.node} had released up to {recovery.acknowledged} and came back with {recovery.recovered}"
            )
            yield Breach(detail, f"{recovery.node} at {recovery.at:.3f}")
    if evidence.manager:
        yield from _lost_members(evidence)
        yield from _lost_results(evidence)


def lost_unobservable(evidence: Evidence) -> str | None:
    if evidence.simulator.recoveries is None and not (evidence.is_recorded(MANAGER) and evidence.manager):
        return "neither kills nor acknowledgements were recorded"
    return None


def _accepted_registrations(evidence: Evidence) -> Iterator[tuple[RecordedCall, str]]:
    for kind, name in REGISTRATIONS.items():
        for call in evidence.to_manager(kind):
            agent_id = text(call.accepted, name)
            if agent_id is not None and text(call.accepted, "status") == "ACCEPTED":
                yield call, agent_id


def _lost_members(evidence: Evidence) -> Iterator[Breach]:
    agents = {event.agent_id for event in evidence.manager.of_kind(e.AgentRegistered)}
    for call, agent_id in _accepted_registrations(evidence):
        if agent_id not in agents:
            yield Breach(
                f"the registration of {agent_id} was accepted and is not in the journal",
                call_at(call),
            )


class _Report(NamedTuple):
    """A reported result; `attempt` is None in reports that do not name it."""

    match_id: str | None
    referee_id: str
    attempt: int | None
    winner: str | None


def _lost_results(evidence: Evidence) -> Iterator[Breach]:
    reports = evidence.to_manager("MATCH_RESULT_REPORT")
    if not reports:
        return
    referees = members(evidence.manager, "referee")
    stored: set[_Report] = set()
    for result in evidence.manager.of_kind(e.ResultAccepted):
        for attempt in (None, result.attempt):
            stored.add(_Report(result.match_id, result.referee_id, attempt, result.winner))
    for call in reports:
        report = _Report(
            match_id=text(call.message, "match_id"),
            referee_id=evidence.agent(call.sender_node),
            attempt=whole(call.message, "attempt"),
            winner=winner_in(call),
        )
        # Nothing is owed to others that send a report.
        is_owed = report.referee_id in referees and is_readable(call)
        if is_owed and _is_acknowledged(call) and report not in stored:
            yield Breach(
                f"the result of {report.match_id} was acknowledged and is not in the journal",
                call_at(call),
            )


def _is_acknowledged(call: RecordedCall) -> bool:
    if call.error:
        # The same result was already reported.
        return text(call.answer, "error_code") == "E017"
    return text(call.accepted, "message_type") == "MATCH_RESULT_ACK"


# --- promise 14: ids are never reused ---------------------------------------------------------------------------------


def reused(evidence: Evidence) -> Iterator[Breach]:
    yield from _repeated(
        "manager",
        evidence.manager,
        {e.AgentRegistered: attrgetter("agent_id")},
        "the id {}",
    )
    yield from _reused_match_ids(evidence.manager)
    yield from _reused_attempts(evidence.manager)
    yield from _reused_agent_ids(evidence)
    yield from _reused_conversations(evidence)


def _reused_match_ids(manager: EventLog) -> Iterator[Breach]:
    ids: Counter[str] = Counter()
    for place, schedule in manager.places(e.ScheduleMade):
        ids.update(pairing.match_id for pairings in schedule.rounds for pairing in pairings)
        for match_id, times in ids.items():
            if times > 1:
                yield Breach(f"{times} matches are called {match_id}", event_at("manager", place))


def _reused_attempts(manager: EventLog) -> Iterator[Breach]:
    attempts: dict[str, int] = {}
    for place, lease in manager.places(e.MatchAssigned):
        if lease.attempt <= attempts.get(lease.match_id, 0):
            yield Breach(
                f"attempt {lease.attempt} of {lease.match_id} came again",
                event_at("manager", place),
            )
        attempts[lease.match_id] = lease.attempt


def _reused_agent_ids(evidence: Evidence) -> Iterator[Breach]:
    """No id goes to agents at two endpoints, unless the agent proved that it moved."""
    endpoints: dict[str, object] = {}
    moves = {(moved.agent_id, moved.endpoint) for moved in evidence.manager.of_kind(e.AgentMoved)}
    for call, agent_id in _accepted_registrations(evidence):
        meta = inner(call.message, "player_meta") or inner(call.message, "referee_meta")
        endpoint = text(meta, "contact_endpoint")
        has_moved = (agent_id, endpoint) in moves
        if endpoints.setdefault(agent_id, endpoint) != endpoint and not has_moved:
            yield Breach(f"{agent_id} was given to a second agent", call_at(call))


def _reused_conversations(evidence: Evidence) -> Iterator[Breach]:
    attempts: dict[tuple[str, str], Attempt] = {}
    for call in evidence.calls.get("GAME_INVITATION", ()):
        attempt = attempt_in(call.message)
        conversation_id = text(call.message, "conversation_id") or ""
        if attempts.setdefault((call.sender_node, conversation_id), attempt) != attempt:
            yield Breach(
                f"the conversation {conversation_id} is about two matches or attempts",
                call_at(call),
            )


# --- promise 16: every request gets exactly one answer ----------------------------------------------------------------


def unanswered(evidence: Evidence) -> Iterator[Breach]:
    for call in evidence.traffic or ():
        # Each delivery is owed an answer of its own, duplicates included.
        owed = call.delivered - call.excused
        if call.answers != owed:
            yield Breach(f"{call.answers} answers where {owed} were owed", call_at(call))


def answers_unobservable(evidence: Evidence) -> str | None:
    unknown = [call for call in evidence.traffic or () if call.outcome == "open" and call.excused]
    if unknown and evidence.simulator.recoveries is None:
        return f"for {len(unknown)} requests no answer was noted: a process may have been stopped before it answered"
    return no_traffic(evidence)


# --- promise 17: a message that is delivered twice has no further effect ----------------------------------------------

Key = Callable[..., Hashable | None]
"""Names what may happen only once; None: not judged."""


def _order(event: e.Event) -> Hashable | None:
    # Without a key nobody ordered it.
    return getattr(event, "key", "") or None


_of_attempt = attrgetter("match_id", "attempt")
_of_player = attrgetter("match_id", "attempt", "player_id")
ONCE: Mapping[type[e.Event], Key] = {
    e.AgentRegistered: attrgetter("role", "endpoint"),
    e.OrderCarriedOut: _order,
    e.ResultVoided: _order,
    e.MatchUnparked: _order,
    e.MatchTaken: _of_attempt,
    e.MatchDecided: _of_attempt,
    e.ReportSettled: _of_attempt,
    e.ResultAccepted: _of_attempt,
    e.DrawReleased: _of_attempt,
    e.DrawRequested: _of_attempt,
    e.ShareReceived: _of_attempt,
    e.PlayerJoined: _of_player,
    e.PlayerFaulted: _of_player,
    e.MoveMade: attrgetter("match_id", "attempt", "player_id", "turn"),
    e.InvitationAnswered: attrgetter("match_id", "attempt", "referee_id", "conversation_id", "trusted"),
    e.GameEnded: attrgetter("match_id", "attempt", "referee_id", "trusted"),
}


def changed_twice(evidence: Evidence) -> Iterator[Breach]:
    journals = {"manager": evidence.manager, **evidence.referees, **evidence.players}
    # Whatever happened twice has changed something twice.
    for name, journal in journals.items():
        yield from _repeated(name, journal, ONCE, "{}")
        yield from _chosen_twice(name, journal)
        yield from _ended_twice(name, journal)


def _repeated(
    name: str,
    journal: EventLog,
    once: Mapping[type[e.Event], Key],
    label: str,
) -> Iterator[Breach]:
    earlier: set[Hashable] = set()
    for place, event in journal.places(*once):
        kind = type(event)
        key = once[kind](event)
        if key is None:
            continue
        if (kind, key) in earlier:
            yield Breach(
                f"a second {kind.__name__} of {label.format(key)}",
                event_at(name, place),
            )
        earlier.add((kind, key))


def _chosen_twice(
    name: str,
    journal: EventLog,
) -> Iterator[Breach]:
    """A player chooses once in a turn, and once more for each choice that was rejected. What it chose for somebody who
    could not prove to be the referee does not bind it to the one who can."""
    rejections: Counter[Hashable] = Counter()
    choices: Counter[Hashable] = Counter()
    is_trusted: dict[Hashable, bool] = {}
    for place, event in journal.places(e.InvitationAnswered, e.ChoiceRefused, e.ChoiceGiven):
        if isinstance(event, e.InvitationAnswered):
            is_trusted[event.match_id, event.referee_id] = event.trusted
        if not isinstance(event, e.ChoiceRefused | e.ChoiceGiven):
            continue
        inviter = (event.match_id, event.referee_id)
        turn = (*inviter, is_trusted.get(inviter), event.attempt, event.turn)
        if isinstance(event, e.ChoiceRefused):
            rejections[turn] += 1
            continue
        choices[turn] += 1
        if choices[turn] > 1 + rejections[turn]:
            yield Breach(
                f"a second choice for turn {event.turn} of {event.match_id}",
                event_at(name, place),
            )


def _ended_twice(
    name: str,
    journal: EventLog,
) -> Iterator[Breach]:
    """A league ends once, and once more if a match was played again: here, or elsewhere with another statement."""
    last_end: tuple[str, int | None, int | None, str] | None = None
    for place, event in journal.places(e.LeagueEnded, e.MatchTaken, e.InvitationAnswered):
        if isinstance(event, e.LeagueEnded):
            end = (event.champion, event.rank, event.points, event.signature)
            if end == last_end:
                yield Breach("a second LeagueEnded of the end", event_at(name, place))
            last_end = end
        else:
            last_end = None
