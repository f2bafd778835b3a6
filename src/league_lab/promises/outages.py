"""Promise 19: nobody loses technically while half of the league is unreachable, or because its referee or manager was.

From the manager's journal: a loss of somebody out of reach is never taken during an outage, none of the round survives
one, and none comes from an attempt that was interrupted; a player that declined to choose (spec section 8.17) has its
match played again, and not too often. From what a simulator knows: none is taken, and stays in
force, while half of the players are down, or across a death of the manager.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from league import events as e
from league.protocol.tokens import MANAGER
from league_lab.promises.evidence import Evidence
from league_lab.promises.findings import Breach, event_at, no_manager_journal
from league_lab.promises.history import Attempt, by_attempt, inner, places, schedule_of, settings_of

NOTICED_WITHIN_S = 4.0
"""A probe takes 3 seconds: players that stay away for so long after a report are found to be gone."""
AGAIN_AT_MOST = 3
LEAST_HOLD_S = 60.0
DECLINED_AT_LEAST = 3


@dataclass(frozen=True, slots=True)
class _Loss:
    """A technical loss in force of players out of reach, and what was known when it was taken."""

    place: int
    result: e.ResultAccepted
    losers: frozenset[str]
    counted: frozenset[str]
    assigned_at: float
    may_hold: bool
    """Was there time left to hold the round?"""
    again: int
    """How often the match was played again already."""


def unfair_losses(evidence: Evidence) -> Iterator[Breach]:
    settings = settings_of(evidence.manager)
    if settings is None or settings.outage_minutes <= 0:
        return
    journal = _Journal(evidence, settings.outage_minutes * 60)
    for place, event in enumerate(evidence.manager):
        for detail in journal.take(place, event):
            yield Breach(detail, event_at("manager", place))
    decided = by_attempt(evidence, e.MatchDecided)
    deaths = [one.at for one in evidence.recoveries or () if evidence.agent(one.node) == MANAGER]
    for loss in journal.in_force.values():
        where = event_at("manager", loss.place)
        if _is_half(_down(evidence, loss, decided) & loss.counted, loss):
            yield Breach(f"{loss.result.match_id} was lost while half of the league was down", where)
        if loss.again < AGAIN_AT_MOST and any(loss.assigned_at < at < loss.result.at for at in deaths):
            yield Breach(f"{loss.result.match_id} was lost while the manager was down", where)


def unobservable(evidence: Evidence) -> str | None:
    settings = settings_of(evidence.manager)
    if settings is not None and settings.outage_minutes <= 0:
        return "this league is never held"
    some = any(result.status == "TECHNICAL_LOSS" for _, result in places(evidence.manager, e.ResultAccepted))
    unknown = "who was down, and when, is not known" if evidence.downtimes is None and some else None
    return no_manager_journal(evidence) or unknown


class _Journal:
    """The manager's journal, event by event. `in_force`: the losses out of reach, by match."""

    def __init__(self, evidence: Evidence, most_s: float) -> None:
        self._schedule = schedule_of(evidence.manager)
        self._most_s = most_s
        self._states: dict[str, str] = {}
        self._left: set[str] = set()
        self._counted: set[str] = set()
        self._in_vain: set[str] = set()
        self._held_s = 0.0
        self._is_held = False
        self._opened = 0
        self._assigned: dict[str, float] = {}
        self._interrupted: set[tuple[str, int]] = set()
        self._again: dict[str, int] = {}
        self._declined: Counter[str] = Counter()
        self.in_force: dict[str, _Loss] = {}

    def take(self, place: int, event: e.Event) -> Iterator[str]:
        if isinstance(event, e.OutageEnded):
            yield from self._ended(event)
        elif isinstance(event, e.MatchHeld) and event.declined:
            yield from self._excused(event)
        elif isinstance(event, e.ResultAccepted):
            yield from self._accepted(place, event)
        elif isinstance(event, e.RoundOpened):
            self._opened, self._held_s = place, 0.0
            self._counted = {player for player, state in self._states.items() if state == "ACTIVE"}
        elif isinstance(event, e.OutageBegan):
            self._is_held = True
        elif isinstance(event, e.AgentRegistered | e.AgentStateChanged | e.PlayerWithdrawn):
            self._agent(event)
        elif isinstance(event, e.MatchAssigned | e.MatchInterrupted | e.MatchHeld | e.ResultVoided):
            self._match(event)

    def _agent(self, event: e.AgentRegistered | e.AgentStateChanged | e.PlayerWithdrawn) -> None:
        if isinstance(event, e.PlayerWithdrawn):
            self._left.add(event.agent_id)
        elif isinstance(event, e.AgentStateChanged):
            if event.agent_id in self._states:
                self._states[event.agent_id] = event.state
        elif event.role == "player":
            self._states[event.agent_id] = "REGISTERED"

    def _match(self, event: e.MatchAssigned | e.MatchInterrupted | e.MatchHeld | e.ResultVoided) -> None:
        if isinstance(event, e.MatchAssigned):
            self._assigned[event.match_id] = event.at
        elif isinstance(event, e.MatchInterrupted):
            self._interrupted.add((event.match_id, event.attempt))
        else:
            self.in_force.pop(event.match_id, None)
            self._again[event.match_id] = self._again.get(event.match_id, 0) + bool(event.why)

    def _excused(self, event: e.MatchHeld) -> Iterator[str]:
        """Played again because of players that declined to choose: thrice a match, and so often for each player."""
        if self._again.get(event.match_id, 0) >= AGAIN_AT_MOST:
            yield f"{event.match_id} was played again too often"
        for player in event.declined:
            if not self._may_decline(player):
                yield f"{event.match_id} was played again though {player} had declined too often"
        self._declined.update(event.declined)
        self._match(event)

    def _may_decline(self, player: str) -> bool:
        matches = sum(player in slot.players for slot in self._schedule.values())
        return self._declined[player] < max(DECLINED_AT_LEAST, matches // 10)

    def _ended(self, event: e.OutageEnded) -> Iterator[str]:
        for match_id, loss in self.in_force.items():
            if loss.place > self._opened:
                yield f"{match_id} is still lost after an outage in its round"
        self._is_held = False
        self._held_s += max(event.lasted_s, LEAST_HOLD_S)
        if event.why != "answered":
            self._in_vain |= set(event.missing)

    def _accepted(self, place: int, result: e.ResultAccepted) -> Iterator[str]:
        slot = self._schedule.get(result.match_id)
        players = set(slot.players) if slot else set()
        at_fault = players - {result.winner} if result.status == "TECHNICAL_LOSS" else set()
        self._in_vain -= players - at_fault
        declined = [one for one in at_fault if inner(inner(result.details, "faults"), one).get("code") == "E045"]
        if declined and self._again.get(result.match_id, 0) < AGAIN_AT_MOST and all(map(self._may_decline, declined)):
            yield f"{result.match_id} was lost by a player for whom a service thinks that did not answer"
        losers = frozenset(_out_of_reach(result, at_fault))
        if not losers:
            return
        again = self._again.get(result.match_id, 0)
        if self._is_held:
            yield f"{result.match_id} was lost while the league waited for players"
        if (result.match_id, result.attempt) in self._interrupted and again < AGAIN_AT_MOST:
            yield f"{result.match_id} was lost though attempt {result.attempt} was interrupted"
        counted = frozenset(self._counted - self._left - self._in_vain)
        assigned_at = self._assigned.get(result.match_id, result.at)
        may_hold = self._held_s < self._most_s and again < AGAIN_AT_MOST
        self.in_force[result.match_id] = _Loss(place, result, losers, counted, assigned_at, may_hold, again)


def _out_of_reach(result: e.ResultAccepted, losers: set[str]) -> Iterator[str]:
    """Those whose fault is a silence, or not said."""
    faults = inner(result.details, "faults")
    return (player for player in losers if inner(faults, player).get("code") in (None, "E001", "E009"))


def _down(evidence: Evidence, loss: _Loss, decided: Mapping[Attempt, e.MatchDecided]) -> set[str]:
    """Who was down from the decision on until the manager must have noticed."""
    since = decided.get((loss.result.match_id, loss.result.attempt), loss.result).at
    until = loss.result.at + NOTICED_WITHIN_S
    times: Mapping[str, Sequence[tuple[float, float]]] = evidence.downtimes or {}
    return {player for player, some in times.items() if any(a <= since and until <= b for a, b in some)}


def _is_half(down: set[str] | frozenset[str], loss: _Loss) -> bool:
    enough = len(down) >= 2 and 2 * len(down) >= len(loss.counted)
    return enough and loss.may_hold and bool(down & loss.losers)
