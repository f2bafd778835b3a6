"""Promises 7, 14, 16 and 17: what was acknowledged survives, ids are unique, every request is answered once, and a
message delivered twice changes nothing more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from operator import attrgetter

from league import events as e
from league_lab.promises.evidence import Evidence, RecordedCall
from league_lab.promises.findings import Breach, call_at, event_at
from league_lab.promises.history import inner, members, places, text, whole

REGISTRATIONS = {"LEAGUE_REGISTER_REQUEST": "player_id", "REFEREE_REGISTER_REQUEST": "referee_id"}


# --- promise 7: what was acknowledged survives ------------------------------------------------------------------------


def lost(evidence: Evidence) -> Iterator[Breach]:
    for one in evidence.recoveries or ():
        if one.recovered < one.acknowledged:
            detail = f"{one.node} had released up to {one.acknowledged} and came back with {one.recovered}"
            yield Breach(detail, f"{one.node} at {one.at:.3f}")
    if evidence.manager:
        yield from _lost_members(evidence)
        yield from _lost_results(evidence)


def lost_unobservable(evidence: Evidence) -> str | None:
    if evidence.recoveries is None and (evidence.traffic is None or not evidence.manager):
        return "neither kills nor acknowledgements were recorded"
    return None


def _accepted_registrations(evidence: Evidence) -> Iterator[tuple[RecordedCall, str]]:
    for kind, name in REGISTRATIONS.items():
        for call in evidence.to_manager(kind):
            agent_id = text(call.accepted, name)
            if agent_id is not None and text(call.accepted, "status") == "ACCEPTED":
                yield call, agent_id


def _lost_members(evidence: Evidence) -> Iterator[Breach]:
    known = {event.agent_id for _, event in places(evidence.manager, e.AgentRegistered)}
    for call, agent_id in _accepted_registrations(evidence):
        if agent_id not in known:
            yield Breach(f"the registration of {agent_id} was accepted and is not in the journal", call_at(call))


def _lost_results(evidence: Evidence) -> Iterator[Breach]:
    """Of what referees reported: nothing is owed to others that send a report."""
    referees = members(evidence.manager, "referee")
    stored = {
        (result.match_id, result.referee_id, attempt, result.winner)
        for _, result in places(evidence.manager, e.ResultAccepted)
        for attempt in (None, result.attempt)
    }
    for call in evidence.to_manager("MATCH_RESULT_REPORT"):
        match_id, winner = text(call.message, "match_id"), text(inner(call.message, "result"), "winner")
        key = (match_id, evidence.agent(call.sender_node), whole(call.message, "attempt"))
        if key[1] in referees and _is_acknowledged(call) and (*key, None if winner == "DRAW" else winner) not in stored:
            yield Breach(f"the result of {match_id} was acknowledged and is not in the journal", call_at(call))


def _is_acknowledged(call: RecordedCall) -> bool:
    if call.error:
        return text(call.answer, "error_code") == "E017"
    return text(call.accepted, "message_type") == "MATCH_RESULT_ACK"


# --- promise 14: ids are never reused ---------------------------------------------------------------------------------


def reused(evidence: Evidence) -> Iterator[Breach]:
    yield from _repeated("manager", evidence.manager, {e.AgentRegistered: lambda event: event.agent_id}, "the id {}")
    ids: Counter[str] = Counter()
    for place, schedule in places(evidence.manager, e.ScheduleMade):
        ids.update(pairing.match_id for pairings in schedule.rounds for pairing in pairings)
        for match_id, times in ids.items():
            if times > 1:
                yield Breach(f"{times} matches are called {match_id}", event_at("manager", place))
    attempts: dict[str, int] = {}
    for place, lease in places(evidence.manager, e.MatchAssigned):
        if lease.attempt <= attempts.get(lease.match_id, 0):
            yield Breach(f"attempt {lease.attempt} of {lease.match_id} came again", event_at("manager", place))
        attempts[lease.match_id] = lease.attempt
    yield from _ids_given_twice(evidence)
    yield from _conversations_used_twice(evidence)


def _ids_given_twice(evidence: Evidence) -> Iterator[Breach]:
    """One id was given to agents at two endpoints."""
    endpoints: dict[str, object] = {}
    for call, agent_id in _accepted_registrations(evidence):
        meta = inner(call.message, "player_meta") or inner(call.message, "referee_meta")
        endpoint = meta.get("contact_endpoint")
        if endpoints.setdefault(agent_id, endpoint) != endpoint:
            yield Breach(f"{agent_id} was given to a second agent", call_at(call))


def _conversations_used_twice(evidence: Evidence) -> Iterator[Breach]:
    about: dict[tuple[str, str], object] = {}
    for call in evidence.calls.get("GAME_INVITATION", ()):
        match = (text(call.message, "match_id"), whole(call.message, "attempt"))
        key = (call.sender_node, text(call.message, "conversation_id") or "")
        if about.setdefault(key, match) != match:
            yield Breach(f"the conversation {key[1]} is about two matches or attempts", call_at(call))


# --- promise 16: every request gets exactly one answer ----------------------------------------------------------------


def unanswered(evidence: Evidence) -> Iterator[Breach]:
    for call in evidence.traffic or ():
        owed = call.delivered - call.excused
        if call.answers != owed:
            yield Breach(f"{call.answers} answers where {owed} were owed", call_at(call))


# --- promise 17: delivering a message twice changes nothing more ------------------------------------------------------

Key = Callable[..., Hashable | None]
"""What may happen once only; None: not judged."""
_ORDERED = (
    *(e.LeaguePaused, e.LeagueResumed, e.LeagueStartOrdered, e.OutageEnded),
    *(e.PlayerWithdrawn, e.ResultVoided, e.MatchUnparked),
)
_OF_ATTEMPTS = (e.MatchTaken, e.MatchDecided, e.ReportSettled, e.ResultAccepted)
ONCE: Mapping[type[e.Event], Key] = {
    e.AgentRegistered: attrgetter("role", "endpoint"),
    **dict.fromkeys(_ORDERED, lambda event: event.key or None),  # without a key nobody ordered it
    **dict.fromkeys(_OF_ATTEMPTS, attrgetter("match_id", "attempt")),
    **dict.fromkeys((e.PlayerJoined, e.PlayerFaulted), attrgetter("match_id", "attempt", "player_id")),
    e.MoveMade: attrgetter("match_id", "attempt", "player_id", "turn"),
    e.InvitationAnswered: attrgetter("match_id", "attempt", "referee_id", "conversation_id", "trusted"),
    e.GameEnded: attrgetter("match_id", "attempt", "referee_id", "trusted"),
}


def changed_twice(evidence: Evidence) -> Iterator[Breach]:
    journals = {"manager": evidence.manager, **evidence.referees, **evidence.players}
    for name, journal in journals.items():
        yield from _repeated(name, journal, ONCE, "{}")
        yield from _chosen_twice(name, journal)
        yield from _ended_twice(name, journal)


def _repeated(name: str, journal: Sequence[e.Event], once: Mapping[type[e.Event], Key], label: str) -> Iterator[Breach]:
    seen: set[Hashable] = set()
    for place, event in enumerate(journal):
        key = once[type(event)](event) if type(event) in once else None
        if key is None:
            continue
        if (type(event), key) in seen:
            yield Breach(f"a second {type(event).__name__} of {label.format(key)}", event_at(name, place))
        seen.add((type(event), key))


def _chosen_twice(name: str, journal: Sequence[e.Event]) -> Iterator[Breach]:
    """A player chooses once a turn, and once more for each choice that was refused."""
    refused: Counter[Hashable] = Counter()
    given: Counter[Hashable] = Counter()
    for place, event in enumerate(journal):
        if not isinstance(event, e.ChoiceRefused | e.ChoiceGiven):
            continue
        turn = (event.match_id, event.attempt, event.referee_id, event.turn)
        if isinstance(event, e.ChoiceRefused):
            refused[turn] += 1
            continue
        given[turn] += 1
        if given[turn] > 1 + refused[turn]:
            yield Breach(f"a second choice for turn {event.turn} of {event.match_id}", event_at(name, place))


def _ended_twice(name: str, journal: Sequence[e.Event]) -> Iterator[Breach]:
    """A league ends once, and once more if a match was played again: here, or elsewhere with another table."""
    ended: tuple[str, int | None, int | None] | None = None
    for place, event in enumerate(journal):
        if isinstance(event, e.LeagueEnded):
            end = (event.champion, event.rank, event.points)
            if end == ended:
                yield Breach("a second LeagueEnded of the end", event_at(name, place))
            ended = end
        elif isinstance(event, e.MatchTaken | e.InvitationAnswered):
            ended = None
