"""What several promises read from the manager's journal: the schedule, the results, and every table there was."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

from league import events as e
from league.features.audit.promises.grounds.event_log import Attempt, EventLog, attempt_of
from league.features.audit.promises.grounds.evidence import Evidence, Object, RecordedCall
from league.features.audit.promises.grounds.rules import MatchOutcome, Players, Row, first_row
from league.games import registry
from league.games.contract import Game
from league.games.moves import reported_choices

Result = e.ResultAccepted | e.WalkoverDecided
TABLE_CHANGES = (e.ResultAccepted, e.WalkoverDecided, e.ResultVoided)
Choices = Mapping[str, object]
"""The choices of one turn, by player."""
InMatch = TypeVar("InMatch", e.MatchTaken, e.MatchDecided)


def orders(events: EventLog, order: str) -> Iterator[e.OrderCarriedOut]:
    """The orders of this name that were carried out."""
    return (event for event in events.of_kind(e.OrderCarriedOut) if event.order == order)


def members(
    events: EventLog,
    role: str,
) -> set[str]:
    """The ids of all players, or of all referees, that registered."""
    return {event.agent_id for event in events.of_kind(e.AgentRegistered) if event.role == role}


def word_of(manager: EventLog, result: e.ResultAccepted) -> str:
    """What the manager says that a result rests on; the referee's word as long as it says nothing."""
    judged = manager.by_attempt(e.ResultJudged).get(attempt_of(result))
    return judged.evidence if judged else "by_referee"


def is_handed_in(manager: EventLog, result: e.ResultAccepted) -> bool:
    """True if a result says what its referee handed in before the draw: the manager may have decided it."""
    released = manager.by_attempt(e.DrawReleased).get(attempt_of(result))
    if released is None:
        return False
    handed_in = {**released.handed_in, "draw_seed": released.draw_seed, "draw_share": released.draw_share}
    return all(result.details.get(name) == value for name, value in handed_in.items())


def by_attempt(
    evidence: Evidence,
    kind: type[InMatch],
) -> Mapping[Attempt, InMatch]:
    """The events of one kind in the journals of all referees, by attempt."""
    events: dict[Attempt, InMatch] = {}
    for journal in evidence.referees.values():
        events |= journal.by_attempt(kind)
    return events


def in_force(manager: EventLog) -> list[e.ResultAccepted]:
    """The reported results that count at the end."""
    return [result for result in decided(manager) if isinstance(result, e.ResultAccepted)]


def decided(manager: EventLog) -> Sequence[Result]:
    """The results that count at the end, one for each match that has one."""
    return manager.once(_decided)


def _decided(manager: EventLog) -> Sequence[Result]:
    results: dict[str, Result] = {}
    for event in manager.of_kind(*TABLE_CHANGES):
        if isinstance(event, e.ResultVoided):
            results.pop(event.match_id, None)
        elif isinstance(event, Result):
            results[event.match_id] = event
    return list(results.values())


def is_over(manager: EventLog) -> bool:
    """Whether the league has ended, and was not reopened since."""
    last_end = max((place for place, _ in manager.places(e.LeagueFinished)), default=-1)
    last_reopening = max((place for place, _ in manager.places(e.LeagueReopened)), default=-1)
    return last_end > last_reopening


def game_of(manager: EventLog) -> Game | None:
    """The game of a league; None if it is not installed here."""
    settings = settings_of(manager)
    return registry.find(settings.game_type) if settings else None


def choices_of(result: e.ResultAccepted, game: Game | None, schedule: Mapping[str, Slot]) -> Sequence[Choices]:
    """The choices that a result names, turn by turn; nothing if nobody can tell whose they were."""
    slot = schedule.get(result.match_id)
    if game is None or slot is None:
        return ()
    return reported_choices(game.rules, result.details, slot.players)


def has_technical_loss(manager: EventLog) -> bool:
    return any(result.status == "TECHNICAL_LOSS" for result in manager.of_kind(e.ResultAccepted))


def settings_of(manager: EventLog) -> e.LeagueSettings | None:
    settings = None
    for event in manager.of_kind(e.LeagueCreated, e.SettingsChanged):
        if isinstance(event, e.LeagueCreated | e.SettingsChanged):
            settings = event.settings or settings
    return settings


class Statement(NamedTuple):
    """Something that an agent said in a call."""

    to: str
    at: float
    content: Object
    call: RecordedCall


def is_introduction(announcement: Object) -> bool:
    """True if a player is told of one match again, because it could not know the referee that has it now."""
    matches = announcement.get("matches")
    if not isinstance(matches, list) or len(matches) != 1 or not isinstance(matches[0], dict):
        return False
    match_id = str(matches[0].get("match_id")).lower()
    return announcement.get("conversation_id") == f"conv-round-{announcement.get('round_id')}-{match_id}"


class Slot(NamedTuple):
    """A match of the schedule."""

    round_id: int
    match_id: str
    players: Players


def schedule_of(manager: EventLog) -> Mapping[str, Slot]:
    """The scheduled matches by match id."""
    return manager.once(_schedule)


def _schedule(manager: EventLog) -> Mapping[str, Slot]:
    rounds = [pairings for schedule in manager.of_kind(e.ScheduleMade) for pairings in schedule.rounds]
    slots: dict[str, Slot] = {}
    for round_id, pairings in enumerate(rounds, start=1):
        for pairing in pairings:
            players = (pairing.player_a, pairing.player_b)
            slots[pairing.match_id] = Slot(round_id, pairing.match_id, players)
    return slots


def outcome_of(result: Result) -> MatchOutcome:
    """How a match ended; a walkover counts as a technical loss of the withdrawn player."""
    score = None
    if result.by_margin:
        first, second = result.points.values()
        score = (first, second)
    if isinstance(result, e.WalkoverDecided):
        return MatchOutcome(result.winner, technical=True, score=score)
    return MatchOutcome(result.winner, result.status == "TECHNICAL_LOSS", score)


def tables_of(manager: EventLog) -> TableHistory:
    """Every table there ever was."""
    return manager.once(TableHistory)


class _Decision(NamedTuple):
    """From a prefix on, a match has this outcome; None if its result was voided."""

    prefix: int
    match_id: str
    outcome: MatchOutcome | None


class TableHistory:
    """The table after each prefix of the results: every table there ever was, in order.

    A prefix is a number: how many events of the journal have changed the table. A table is identified by the exclusive
    or of its rows' hashes, so that each prefix costs only two rows.
    """

    def __init__(self, manager: EventLog) -> None:
        self.schedule = schedule_of(manager)
        self.rows: dict[str, Row] = {}
        self.since: list[float] = [float("-inf")]
        """The time from which each prefix could be sent."""
        self.places: list[int] = [-1]
        """The position of the event that ended each prefix."""
        self._mark = 0
        self._prefixes: dict[int, list[int]] = {0: [0]}
        self._in_force: dict[str, MatchOutcome] = {}
        self._decisions: dict[frozenset[str], list[_Decision]] = {}
        for place, event in manager.places(e.AgentRegistered, *TABLE_CHANGES):
            if isinstance(event, Result):
                self._decide(event.match_id, outcome_of(event))
            elif isinstance(event, e.ResultVoided):
                self._decide(event.match_id, None)
            elif isinstance(event, e.AgentRegistered) and event.role == "player":
                self._put(self._row(event.agent_id))
            else:
                continue
            prefix = len(self.since)
            self.since.append(event.at)
            self.places.append(place)
            # Different prefixes may have the same table.
            self._prefixes.setdefault(self._mark, []).append(prefix)

    def _decide(self, match_id: str, outcome: MatchOutcome | None) -> None:
        slot = self.schedule.get(match_id)
        if slot is None:
            return
        before = self._in_force.pop(match_id, None)
        for player in slot.players:
            row = self._row(player)
            if before:
                row = row.after(before, slot.players, -1)
            if outcome:
                row = row.after(outcome, slot.players)
            self._put(row)
        if outcome:
            self._in_force[match_id] = outcome
        decision = _Decision(len(self.since), match_id, outcome)
        self._decisions.setdefault(frozenset(slot.players), []).append(decision)

    def _row(self, player: str) -> Row:
        return self.rows.get(player) or first_row(player)

    def _put(self, row: Row) -> None:
        old_row = self.rows.get(row.player_id)
        if old_row:
            self._mark ^= hash(old_row)
        self._mark ^= hash(row)
        self.rows[row.player_id] = row

    @property
    def newest(self) -> int:
        return len(self.since) - 1

    def upto(self, place: int) -> int:
        """The longest prefix before the event at this position."""
        return bisect_left(self.places, place) - 1

    def prefixes(self, rows: Sequence[Row]) -> Sequence[int]:
        """The prefixes of the journal that have this table."""
        if len({row.player_id for row in rows}) < len(rows):
            # Two equal rows would cancel each other out.
            return ()
        mark = 0
        for row in rows:
            mark ^= hash(row)
        return self._prefixes.get(mark, ())

    def head_to_head(
        self,
        group: Sequence[str],
        prefix: int,
    ) -> Mapping[str, int]:
        """The points that these players had won against each other at a prefix."""
        points = dict.fromkeys(group, 0)
        for pair in combinations(group, 2):
            outcomes: dict[str, MatchOutcome | None] = {}
            for decision in self._decisions.get(frozenset(pair), ()):
                if decision.prefix <= prefix:
                    outcomes[decision.match_id] = decision.outcome
            for match_id, outcome in outcomes.items():
                if outcome is not None:
                    players = self.schedule[match_id].players
                    for player in pair:
                        points[player] += first_row(player).after(outcome, players).points
        return points


# --- fields of JSON from others: a field of the wrong type counts as absent -------------------------------------------


def text(content: Object | None, name: str) -> str | None:
    value = (content or {}).get(name)
    return value if isinstance(value, str) else None


def whole(content: Object | None, name: str) -> int | None:
    value = (content or {}).get(name)
    # True is not 1.
    return value if type(value) is int else None


def attempt_in(content: Object) -> Attempt:
    """The attempt that a message names."""
    return Attempt(text(content, "match_id") or "", whole(content, "attempt") or 0)


def inner(content: Object | None, name: str) -> Object:
    value = (content or {}).get(name)
    return value if isinstance(value, dict) else {}


def objects(content: Object | None, name: str) -> list[Object]:
    value = (content or {}).get(name)
    if not isinstance(value, list):
        return []
    return [element for element in value if isinstance(element, dict)]
