"""What several promises read from the manager's journal: the schedule, the results, and every table there was."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

from league import events as e
from league_lab.promises.evidence import Evidence, Object, RecordedCall
from league_lab.promises.rules import MatchOutcome, Players, Row

Result = e.ResultAccepted | e.WalkoverDecided
Some = TypeVar("Some", bound=e.Event)
InMatch = TypeVar("InMatch", e.MatchTaken, e.MatchDecided)
Attempt = tuple[str, int]
"""A match id and an attempt."""


def places(events: Sequence[e.Event], kind: type[Some]) -> Iterator[tuple[int, Some]]:
    """The events of one kind, with their positions."""
    return ((place, event) for place, event in enumerate(events) if isinstance(event, kind))


def members(events: Sequence[e.Event], role: str) -> set[str]:
    """The ids of all players, or of all referees, that registered."""
    return {event.agent_id for _, event in places(events, e.AgentRegistered) if event.role == role}


def by_attempt(evidence: Evidence, kind: type[InMatch]) -> Mapping[Attempt, InMatch]:
    """The events of one kind in the journals of all referees, by match and attempt."""
    return {
        (event.match_id, event.attempt): event
        for journal in evidence.referees.values()
        for _, event in places(journal, kind)
    }


def in_force(manager: Sequence[e.Event]) -> list[e.ResultAccepted]:
    """The reported results that stand at the end."""
    found: dict[str, e.ResultAccepted] = {}
    for event in manager:
        if isinstance(event, e.ResultAccepted):
            found[event.match_id] = event
        elif isinstance(event, e.ResultVoided):
            found.pop(event.match_id, None)
    return list(found.values())


def settings_of(manager: Sequence[e.Event]) -> e.LeagueSettings | None:
    return next((event.settings for _, event in places(manager, e.LeagueCreated)), None)


class Statement(NamedTuple):
    """Something an agent said: to whom, when, what, and in which call."""

    to: str
    at: float
    content: Object
    call: RecordedCall


class Slot(NamedTuple):
    """A match of the schedule."""

    round_id: int
    match_id: str
    players: Players


def schedule_of(manager: Sequence[e.Event]) -> Mapping[str, Slot]:
    """Match id to its place in the schedule."""
    rounds = [pairings for _, made in places(manager, e.ScheduleMade) for pairings in made.rounds]
    return {
        pairing.match_id: Slot(round_id, pairing.match_id, (pairing.player_a, pairing.player_b))
        for round_id, pairings in enumerate(rounds, start=1)
        for pairing in pairings
    }


def outcome_of(result: Result) -> MatchOutcome:
    """A walkover counts as a technical loss of whoever was withdrawn."""
    if isinstance(result, e.WalkoverDecided):
        return MatchOutcome(result.winner, technical=True)
    return MatchOutcome(result.winner, result.status == "TECHNICAL_LOSS")


class TableHistory:
    """The table after each prefix of the results: which tables there ever were, and in what order.

    A table is identified by the exclusive or of its rows' hashes, so that each prefix costs only two rows.
    """

    def __init__(self, manager: Sequence[e.Event]) -> None:
        self.schedule = schedule_of(manager)
        self.rows: dict[str, Row] = {}
        self.since: list[float] = [float("-inf")]
        """The time from which each prefix could be sent."""
        self.places: list[int] = [-1]
        """The position of the event that ended each prefix."""
        self._mark = 0
        self._prefixes: dict[int, list[int]] = {0: [0]}
        self._in_force: dict[str, MatchOutcome] = {}
        self._history: dict[frozenset[str], list[tuple[int, str, MatchOutcome | None]]] = {}
        for place, event in enumerate(manager):
            self._take(place, event)

    def _take(self, place: int, event: e.Event) -> None:
        if isinstance(event, e.AgentRegistered) and event.role == "player":
            self._put(self.rows.get(event.agent_id, Row(event.agent_id)))
        elif isinstance(event, e.ResultAccepted | e.WalkoverDecided):
            self._decide(event.match_id, outcome_of(event))
        elif isinstance(event, e.ResultVoided):
            self._decide(event.match_id, None)
        else:
            return
        self.since.append(event.at)
        self.places.append(place)
        self._prefixes.setdefault(self._mark, []).append(len(self.since) - 1)

    def _decide(self, match_id: str, outcome: MatchOutcome | None) -> None:
        slot = self.schedule.get(match_id)
        if slot is None:
            return
        before = self._in_force.pop(match_id, None)
        for player in slot.players:
            row = self.rows.get(player, Row(player))
            row = row.after(before, -1) if before else row
            self._put(row.after(outcome) if outcome else row)
        if outcome:
            self._in_force[match_id] = outcome
        self._history.setdefault(frozenset(slot.players), []).append((len(self.since), match_id, outcome))

    def _put(self, row: Row) -> None:
        old = self.rows.get(row.player_id)
        self._mark ^= hash(row) ^ (hash(old) if old else 0)
        self.rows[row.player_id] = row

    def upto(self, place: int) -> int:
        """The longest prefix before the event at this position."""
        return bisect_left(self.places, place) - 1

    def prefixes(self, rows: Sequence[Row]) -> Sequence[int]:
        """The prefixes of the journal whose table this is."""
        if len({row.player_id for row in rows}) < len(rows):
            return ()
        mark = 0
        for row in rows:
            mark ^= hash(row)
        return self._prefixes.get(mark, ())

    def head_to_head(self, group: Sequence[str], prefix: int) -> Mapping[str, int]:
        """The points these players had won against each other at that prefix."""
        won = dict.fromkeys(group, 0)
        for pair in combinations(group, 2):
            then: dict[str, MatchOutcome | None] = {
                match_id: outcome
                for since, match_id, outcome in self._history.get(frozenset(pair), ())
                if since <= prefix
            }
            for outcome in filter(None, then.values()):
                for player in pair:
                    won[player] += Row(player).after(outcome).points
        return won


# --- fields of JSON from others: one of the wrong type is read as absent ----------------------------------------------


def text(content: Object | None, name: str) -> str | None:
    value = content.get(name) if content is not None else None
    return value if isinstance(value, str) else None


def whole(content: Object | None, name: str) -> int | None:
    value = content.get(name) if content is not None else None
    return value if type(value) is int else None


def inner(content: Object | None, name: str) -> Object:
    value = content.get(name) if content is not None else None
    return value if isinstance(value, dict) else {}


def objects(content: Object | None, name: str) -> list[Object]:
    value = content.get(name) if content is not None else None
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
