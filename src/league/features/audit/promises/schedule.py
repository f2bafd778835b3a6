"""Promise 1: every pair meets as often as the format says, late players in extra rounds; nobody plays twice in a round
or against itself.

The schedule in the manager's journal is judged first. Then everything that agents were sent or did is compared with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import NamedTuple

from league import events as e
from league.features.audit.promises.grounds.event_history import (
    Slot,
    is_introduction,
    members,
    objects,
    orders,
    schedule_of,
    settings_of,
    text,
    whole,
)
from league.features.audit.promises.grounds.event_log import EventLog
from league.features.audit.promises.grounds.evidence import Evidence, RecordedCall
from league.features.audit.promises.grounds.promise_findings import (
    Breach,
    breaches_at,
    call_at,
    event_at,
)


def breaches(evidence: Evidence) -> Iterator[Breach]:
    settings = settings_of(evidence.manager)
    first = next(evidence.manager.places(e.ScheduleMade), None)
    if settings is None or first is None:
        return
    place, schedule = first
    where = event_at("manager", place)
    yield from breaches_at(where, _rounds(schedule))
    yield from breaches_at(where, _pairs(schedule, settings, _entrants(EventLog(evidence.manager[:place]))))
    yield from _late(evidence.manager, settings, place)
    slots = schedule_of(evidence.manager)
    yield from _taken(evidence, slots)
    if evidence.traffic:
        yield from _announced(evidence, slots)
        yield from _invited(evidence, slots)


def unobservable(evidence: Evidence) -> str | None:
    if next(evidence.manager.places(e.ScheduleMade), None) is None:
        return "there is no schedule yet"
    return None


class _Entrants(NamedTuple):
    """The players that had registered before a schedule was made, and those of them that were withdrawn."""

    players: set[str]
    withdrawn: set[str]

    @property
    def active(self) -> set[str]:
        return self.players - self.withdrawn


def _entrants(before: EventLog) -> _Entrants:
    withdrawn = {event.target for event in orders(before, "withdraw")}
    return _Entrants(members(before, "player"), withdrawn)


def _meetings(schedule: e.ScheduleMade) -> Counter[frozenset[str]]:
    """How often each pair meets."""
    return Counter(
        frozenset((pairing.player_a, pairing.player_b)) for pairings in schedule.rounds for pairing in pairings
    )


def _rounds(schedule: e.ScheduleMade) -> Iterator[str]:
    has_byes = len(schedule.byes) == len(schedule.rounds)
    for round_id, pairings in enumerate(schedule.rounds, start=1):
        seats: Counter[str] = Counter()
        for pairing in pairings:
            seats.update((pairing.player_a, pairing.player_b))
            if pairing.player_a == pairing.player_b:
                yield f"{pairing.player_a} plays itself in {pairing.match_id}"
        for player, times in seats.items():
            if times > 1:
                yield f"{player} is in {times} seats of round {round_id}"
        if has_byes and schedule.byes[round_id - 1] in seats:
            yield f"{schedule.byes[round_id - 1]} has a bye and plays in round {round_id}"


def _pairs(
    schedule: e.ScheduleMade,
    settings: e.LeagueSettings,
    entrants: _Entrants,
) -> Iterator[str]:
    meetings = _meetings(schedule)
    playing = {player for pair in meetings for player in pair}
    for player in sorted(playing - entrants.players):
        yield f"{player} is in the schedule and never registered"
    field = sorted(playing | entrants.active)
    legs = 2 if settings.double else 1
    # An odd number of players needs one round more, in which each of them has a bye.
    full_length = legs * (len(field) - 1 + len(field) % 2)
    length = min(settings.rounds or full_length, full_length)
    if len(schedule.rounds) != length:
        yield f"{len(schedule.rounds)} rounds instead of {length}"
    for pair in map(frozenset, combinations(field, 2)):
        times = meetings[pair]
        # In a shortened league some pairs never meet.
        if times > legs or (length == full_length and times < legs):
            yield f"{' and '.join(sorted(pair))} meet {times} times, not {legs}"
    for round_id, pairings in enumerate(schedule.rounds, start=1):
        if len(pairings) != len(field) // 2:
            yield f"round {round_id} has {len(pairings)} matches for {len(field)} players"


def _late(
    manager: EventLog,
    settings: e.LeagueSettings,
    start: int,
) -> Iterator[Breach]:
    """Late players play everybody else in extra rounds, and nobody else plays in those."""
    extras = list(manager.places(e.ScheduleMade))[1:]
    if settings.late != "admit":
        for place, _ in extras:
            yield Breach("extra rounds, and late players are refused", event_at("manager", place))
        return
    # Everybody who registered after the first schedule was made.
    late = members(EventLog(manager[start:]), "player")
    legs = 2 if settings.double else 1
    scheduled: set[str] = set()
    for place, extra in extras:
        where = event_at("manager", place)
        entrants = _entrants(EventLog(manager[:place]))
        new = (entrants.players & late) - scheduled
        scheduled |= new
        meetings = _meetings(extra)
        for pair in map(frozenset, combinations(sorted(entrants.active), 2)):
            times = meetings[pair]
            expected = legs if pair & new else 0
            if times > expected or (times < expected and settings.rounds is None):
                yield Breach(
                    f"{' and '.join(sorted(pair))} meet {times} more times, not {expected}",
                    where,
                )
        # An extra round, too, has nobody twice.
        yield from breaches_at(where, _rounds(extra))
    for place, _ in manager.places(e.LeagueFinished):
        entrants = _entrants(EventLog(manager[:place]))
        for player in sorted((entrants.active & late) - scheduled):
            yield Breach(
                f"{player} came late and never got its matches",
                event_at("manager", place),
            )
        return


# --- what agents were sent --------------------------------------------------------------------------------------------


def _announced(
    evidence: Evidence,
    slots: Mapping[str, Slot],
) -> Iterator[Breach]:
    referees = members(evidence.manager, "referee")
    walkovers = {event.match_id for event in evidence.manager.of_kind(e.WalkoverDecided)}
    rounds: dict[int, set[Slot]] = {}
    for slot in slots.values():
        rounds.setdefault(slot.round_id, set()).add(slot)
    for call in evidence.from_manager("ROUND_ANNOUNCEMENT"):
        scheduled = rounds.get(whole(call.message, "round_id") or 0, set())
        announced = set(_announced_slots(call))
        if announced - scheduled:
            yield Breach(f"not in the schedule: {_named(announced - scheduled)}", call_at(call))
        missing = {slot for slot in scheduled - announced if slot.match_id not in walkovers}
        receiver = evidence.agent(call.receiver_node)
        # A referee is told only its own matches.
        if missing and receiver not in referees and not is_introduction(call.message):
            yield Breach(f"not announced: {_named(missing)}", call_at(call))


def _announced_slots(call: RecordedCall) -> Iterator[Slot]:
    round_id = whole(call.message, "round_id") or 0
    for match in objects(call.message, "matches"):
        match_id = text(match, "match_id") or "?"
        first = text(match, "player_A_id") or "?"
        second = text(match, "player_B_id") or "?"
        yield Slot(round_id, match_id, (first, second))


def _named(slots: set[Slot]) -> str:
    return ", ".join(f"{slot.match_id} ({' - '.join(slot.players)}, round {slot.round_id})" for slot in sorted(slots))


def _invited(
    evidence: Evidence,
    slots: Mapping[str, Slot],
) -> Iterator[Breach]:
    """Judge the invitations of the referees whose journals we have."""
    for call in evidence.calls.get("GAME_INVITATION", ()):
        if not evidence.referees.get(evidence.agent(call.sender_node)):
            continue
        slot = slots.get(text(call.message, "match_id") or "")
        pair = {evidence.agent(call.receiver_node), text(call.message, "opponent_id")}
        round_id = whole(call.message, "round_id")
        if slot is None or set(slot.players) != pair or slot.round_id != round_id:
            yield Breach("an invitation to a match that is not in the schedule", call_at(call))


def _taken(
    evidence: Evidence,
    slots: Mapping[str, Slot],
) -> Iterator[Breach]:
    for referee, journal in evidence.referees.items():
        for place, match in journal.places(e.MatchTaken):
            if slots.get(match.match_id) != Slot(match.round_id, match.match_id, match.players):
                yield Breach(
                    f"{match.match_id} was taken as the schedule does not have it",
                    event_at(referee, place),
                )
