"""Promise 1: every pair meets as often as the format says, late players in extra rounds; nobody plays twice in a round,
nobody against itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from league import events as e
from league_lab.promises.evidence import Evidence, RecordedCall
from league_lab.promises.findings import Breach, call_at, event_at
from league_lab.promises.history import Slot, members, objects, places, schedule_of, settings_of, text, whole


def breaches(evidence: Evidence) -> Iterator[Breach]:
    settings = settings_of(evidence.manager)
    made = next(places(evidence.manager, e.ScheduleMade), None)
    if settings is None or made is None:
        return
    place, schedule = made
    where = event_at("manager", place)
    yield from (Breach(detail, where) for detail in _rounds(schedule))
    entrants = _entrants(evidence.manager[:place])
    yield from (Breach(detail, where) for detail in _pairs(schedule, settings, *entrants))
    yield from _late(evidence.manager, settings, place)
    slots = schedule_of(evidence.manager)
    yield from _announced(evidence, slots)
    yield from _invited(evidence, slots)
    yield from _taken(evidence, slots)


def unobservable(evidence: Evidence) -> str | None:
    if next(places(evidence.manager, e.ScheduleMade), None) is None:
        return "there is no schedule yet"
    return None


def _rounds(schedule: e.ScheduleMade) -> Iterator[str]:
    for round_id, pairings in enumerate(schedule.rounds, start=1):
        seats = Counter(player for one in pairings for player in (one.player_a, one.player_b))
        for one in pairings:
            if one.player_a == one.player_b:
                yield f"{one.player_a} plays itself in {one.match_id}"
        for player, times in seats.items():
            if times > 1:
                yield f"{player} is in {times} seats of round {round_id}"
        if len(schedule.byes) == len(schedule.rounds) and schedule.byes[round_id - 1] in seats:
            yield f"{schedule.byes[round_id - 1]} has a bye and plays in round {round_id}"


def _entrants(before: Sequence[e.Event]) -> tuple[set[str], set[str]]:
    """All registered players, and those withdrawn before the schedule was made."""
    return members(before, "player"), {event.agent_id for _, event in places(before, e.PlayerWithdrawn)}


def _pairs(
    schedule: e.ScheduleMade, settings: e.LeagueSettings, players: set[str], withdrawn: set[str]
) -> Iterator[str]:
    met = Counter(frozenset((one.player_a, one.player_b)) for pairings in schedule.rounds for one in pairings)
    playing = {player for pair in met for player in pair}
    for player in sorted(playing - players):
        yield f"{player} is in the schedule and never registered"
    field = sorted(playing | (players - withdrawn))
    legs = 2 if settings.double else 1
    whole_length = legs * (len(field) - 1 + len(field) % 2)
    length = min(settings.rounds or whole_length, whole_length)
    if len(schedule.rounds) != length:
        yield f"{len(schedule.rounds)} rounds instead of {length}"
    for pair in map(frozenset, combinations(field, 2)):
        if met[pair] > legs or (length == whole_length and met[pair] < legs):
            yield f"{' and '.join(sorted(pair))} meet {met[pair]} times, not {legs}"
    for round_id, pairings in enumerate(schedule.rounds, start=1):
        if len(pairings) != len(field) // 2:
            yield f"round {round_id} has {len(pairings)} matches for {len(field)} players"


def _late(manager: Sequence[e.Event], settings: e.LeagueSettings, start: int) -> Iterator[Breach]:
    """Who came after the start plays everybody else in extra rounds, and nobody else plays in them."""
    extras = list(places(manager, e.ScheduleMade))[1:]
    if settings.late != "admit":
        yield from (Breach("extra rounds, and late players are refused", event_at("manager", one)) for one, _ in extras)
        return
    late = members(manager[start:], "player")
    legs = 2 if settings.double else 1
    scheduled: set[str] = set()
    for place, extra in extras:
        where = event_at("manager", place)
        players, withdrawn = _entrants(manager[:place])
        new = (players & late) - scheduled
        scheduled |= new
        met = Counter(frozenset((one.player_a, one.player_b)) for pairings in extra.rounds for one in pairings)
        for pair in map(frozenset, combinations(sorted(players - withdrawn), 2)):
            wanted = legs if pair & new else 0
            if met[pair] > wanted or (met[pair] < wanted and settings.rounds is None):
                yield Breach(f"{' and '.join(sorted(pair))} meet {met[pair]} more times, not {wanted}", where)
        yield from (Breach(detail, where) for detail in _rounds(extra))
    finished = next(places(manager, e.LeagueFinished), None)
    if finished is not None:
        players, withdrawn = _entrants(manager[: finished[0]])
        for player in sorted((players & late) - scheduled - withdrawn):
            yield Breach(f"{player} came late and never got its matches", event_at("manager", finished[0]))


# --- what agents were sent --------------------------------------------------------------------------------------------


def _announced(evidence: Evidence, slots: Mapping[str, Slot]) -> Iterator[Breach]:
    referees = members(evidence.manager, "referee")
    not_played = {event.match_id for _, event in places(evidence.manager, e.WalkoverDecided)}
    rounds: dict[int, set[Slot]] = {}
    for slot in slots.values():
        rounds.setdefault(slot.round_id, set()).add(slot)
    for call in evidence.from_manager("ROUND_ANNOUNCEMENT"):
        scheduled = rounds.get(whole(call.message, "round_id") or 0, set())
        announced = set(_announced_slots(call))
        if announced - scheduled:
            yield Breach(f"not in the schedule: {_named(announced - scheduled)}", call_at(call))
        missing = {slot for slot in scheduled - announced if slot.match_id not in not_played}
        if missing and evidence.agent(call.receiver_node) not in referees:
            yield Breach(f"not announced: {_named(missing)}", call_at(call))


def _announced_slots(call: RecordedCall) -> Iterator[Slot]:
    round_id = whole(call.message, "round_id") or 0
    for match in objects(call.message, "matches"):
        first, second = text(match, "player_A_id") or "?", text(match, "player_B_id") or "?"
        yield Slot(round_id, text(match, "match_id") or "?", (first, second))


def _named(slots: set[Slot]) -> str:
    return ", ".join(f"{slot.match_id} ({' - '.join(slot.players)}, round {slot.round_id})" for slot in sorted(slots))


def _invited(evidence: Evidence, slots: Mapping[str, Slot]) -> Iterator[Breach]:
    """Invitations of the referees whose journals are at hand."""
    for call in evidence.calls.get("GAME_INVITATION", ()):
        if not evidence.referees.get(evidence.agent(call.sender_node)):
            continue
        slot = slots.get(text(call.message, "match_id") or "")
        pair = {evidence.agent(call.receiver_node), text(call.message, "opponent_id")}
        if slot is None or set(slot.players) != pair or slot.round_id != whole(call.message, "round_id"):
            yield Breach("an invitation to a match that is not in the schedule", call_at(call))


def _taken(evidence: Evidence, slots: Mapping[str, Slot]) -> Iterator[Breach]:
    for referee, journal in evidence.referees.items():
        for place, taken in places(journal, e.MatchTaken):
            if slots.get(taken.match_id) != Slot(taken.round_id, taken.match_id, taken.players):
                yield Breach(f"{taken.match_id} was taken as the schedule does not have it", event_at(referee, place))
