"""What several promises read from the manager's journal: the schedule, the results, and every table there was."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

from league.events import (
    AgentRegistered,
    Event,
    LeagueCreated,
    LeagueSettings,
    ResultAccepted,
    ResultVoided,
    ScheduleMade,
    WalkoverDecided,
)
from league.promises.evidence import Object
from league.promises.rules import MatchOutcome, Players, Row

Result = ResultAccepted | WalkoverDecided
Some = TypeVar("Some", bound=Event)


def places(events: Sequence[Event], kind: type[Some]) -> Iterator[tuple[int, Some]]:
    """The events of one kind, with their positions."""
    return ((place, event) for place, event in enumerate(events) if isinstance(event, kind))


def settings_of(manager: Sequence[Event]) -> LeagueSettings | None:
    return next((event.settings for _, event in places(manager, LeagueCreated)), None)


class Slot(NamedTuple):
    """A match of the schedule."""

    round_id: int
    match_id: str
    players: Players


def schedule_of(manager: Sequence[Event]) -> Mapping[str, Slot]:
    """Match id to its place in the schedule."""
    rounds = [pairings for _, made in places(manager, ScheduleMade) for pairings in made.rounds]
    return {
        pairing.match_id: Slot(round_id, pairing.match_id, (pairing.player_a, pairing.player_b))
        for round_id, pairings in enumerate(rounds, start=1)
        for pairing in pairings
    }


def outcome_of(result: Result) -> MatchOutcome:
    """A walkover counts as a technical loss of whoever was withdrawn."""
    if isinstance(result, WalkoverDecided):
        return MatchOutcome(result.winner, technical=True)
    return MatchOutcome(result.winner, result.status == "TECHNICAL_LOSS")


class TableHistory:
    """The table after each prefix of the results: which tables there ever were, and in what order.

    A table is identified by the exclusive or of its rows' hashes, so that each prefix costs only two rows.
    """

    def __init__(self, manager: Sequence[Event]) -> None:
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

    def _take(self, place: int, event: Event) -> None:
        if isinstance(event, AgentRegistered) and event.role == "player":
            self._put(self.rows.get(event.agent_id, Row(event.agent_id)))
        elif isinstance(event, ResultAccepted | WalkoverDecided):
            self._decide(event.match_id, outcome_of(event))
        elif isinstance(event, ResultVoided):
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
