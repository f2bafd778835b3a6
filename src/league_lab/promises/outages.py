"""Promise 19: no player loses technically while half of the league, its referee or its manager is unreachable.

From the manager's journal: during an outage no loss of an unreachable player is accepted, no such loss of the round
survives an outage, and none comes from an interrupted attempt. A match in which a player declined to choose (spec
section 8.17) is played again, but not too often. From facts that only a simulator knows: no such loss is accepted, and
remains in force, while half of the players are down, or across a death of the manager.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from league import events as e
from league.protocol.tokens import MANAGER
from league_lab.promises.event_history import (
    Attempt,
    attempt_of,
    by_attempt,
    has_technical_loss,
    inner,
    schedule_of,
    settings_of,
)
from league_lab.promises.evidence import Evidence
from league_lab.promises.promise_findings import Breach, breaches_at, event_at, no_manager_journal

NOTICED_WITHIN_S = 4.0
"""A probe takes 3 seconds: the manager notices players that stay away for so long after a report."""
AGAIN_AT_MOST = 3
LEAST_HOLD_S = 60.0
DECLINED_AT_LEAST = 3


@dataclass(frozen=True, slots=True)
class _Loss:
    """A technical loss of unreachable players that is in force, and what was known when it was accepted."""

    place: int
    result: e.ResultAccepted
    losers: frozenset[str]
    counted: frozenset[str]
    """The players that count when half of them are gone."""
    assigned_at: float
    may_hold: bool
    """The league had time to wait in this round."""
    repetitions: int
    """How often the match had already been played again."""


def unfair_losses(evidence: Evidence) -> Iterator[Breach]:
    settings = settings_of(evidence.manager)
    if settings is None or settings.outage_minutes <= 0:
        return
    journal = _Journal(evidence, settings.outage_minutes * 60)
    for place, event in enumerate(evidence.manager):
        yield from breaches_at(event_at("manager", place), journal.take(place, event))
    decisions = by_attempt(evidence, e.MatchDecided)
    recoveries = evidence.recoveries or ()
    deaths = [recovery.at for recovery in recoveries if evidence.agent(recovery.node) == MANAGER]
    for loss in journal.in_force.values():
        where = event_at("manager", loss.place)
        if _is_half(_down(evidence, loss, decisions) & loss.counted, loss):
            yield Breach(f"{loss.result.match_id} was lost while half of the league was down", where)
        manager_died = any(loss.assigned_at < at < loss.result.at for at in deaths)
        if manager_died and loss.repetitions < AGAIN_AT_MOST:
            yield Breach(f"{loss.result.match_id} was lost while the manager was down", where)


def unobservable(evidence: Evidence) -> str | None:
    settings = settings_of(evidence.manager)
    if settings is not None and settings.outage_minutes <= 0:
        return "this league is never held"
    reason = no_manager_journal(evidence)
    if reason is None and evidence.downtimes is None and has_technical_loss(evidence.manager):
        return "who was down, and when, is not known"
    return reason


class _Journal:
    """The manager's journal, event by event. `in_force`: the losses of unreachable players, by match."""

    def __init__(self, evidence: Evidence, longest_hold_s: float) -> None:
        self._schedule = schedule_of(evidence.manager)
        self._longest_hold_s = longest_hold_s
        self._states: dict[str, str] = {}
        self._withdrawn: set[str] = set()
        self._counted: set[str] = set()
        # Players for which the league waited in vain no longer count.
        self._in_vain: set[str] = set()
        self._held_s = 0.0
        self._is_held = False
        self._opened_at = 0
        self._assigned_at: dict[str, float] = {}
        self._interrupted: set[Attempt] = set()
        self._repetitions: Counter[str] = Counter()
        self._declined: Counter[str] = Counter()
        self.in_force: dict[str, _Loss] = {}

    def take(
        self,
        place: int,
        event: e.Event,
    ) -> Iterator[str]:
        if isinstance(event, e.OutageEnded):
            yield from self._ended(event)
        elif isinstance(event, e.MatchHeld) and event.declined:
            yield from self._excused(event)
        elif isinstance(event, e.ResultAccepted):
            yield from self._accepted(place, event)
        elif isinstance(event, e.RoundOpened):
            self._opened_at = place
            self._held_s = 0.0
            self._counted = {player for player, state in self._states.items() if state == "ACTIVE"}
        elif isinstance(event, e.OutageBegan):
            self._is_held = True
        elif isinstance(event, e.AgentRegistered | e.AgentStateChanged | e.PlayerWithdrawn):
            self._agent(event)
        elif isinstance(event, e.MatchAssigned | e.MatchInterrupted | e.MatchHeld | e.ResultVoided):
            self._match(event)

    def _agent(self, event: e.AgentRegistered | e.AgentStateChanged | e.PlayerWithdrawn) -> None:
        if isinstance(event, e.PlayerWithdrawn):
            self._withdrawn.add(event.agent_id)
        elif isinstance(event, e.AgentStateChanged):
            if event.agent_id in self._states:
                self._states[event.agent_id] = event.state
        elif event.role == "player":
            self._states[event.agent_id] = "REGISTERED"

    def _match(self, event: e.MatchAssigned | e.MatchInterrupted | e.MatchHeld | e.ResultVoided) -> None:
        if isinstance(event, e.MatchAssigned):
            self._assigned_at[event.match_id] = event.at
        elif isinstance(event, e.MatchInterrupted):
            self._interrupted.add(attempt_of(event))
        else:
            self.in_force.pop(event.match_id, None)
            # An operator's void has no reason, and does not count.
            if event.why:
                self._repetitions[event.match_id] += 1

    def _excused(self, event: e.MatchHeld) -> Iterator[str]:
        """A match is played again because players declined: at most three times, and not too often for a player."""
        if self._repetitions[event.match_id] >= AGAIN_AT_MOST:
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
            if loss.place > self._opened_at:
                yield f"{match_id} is still lost after an outage in its round"
        self._is_held = False
        # Short outages count as a minute, or they could follow each other without end.
        self._held_s += max(event.lasted_s, LEAST_HOLD_S)
        if event.why != "answered":
            self._in_vain |= set(event.missing)

    def _accepted(
        self,
        place: int,
        result: e.ResultAccepted,
    ) -> Iterator[str]:
        slot = self._schedule.get(result.match_id)
        players = set(slot.players) if slot else set()
        at_fault = players - {result.winner} if result.status == "TECHNICAL_LOSS" else set()
        # A player that played is back.
        self._in_vain -= players - at_fault
        may_repeat = self._repetitions[result.match_id] < AGAIN_AT_MOST
        declined = [player for player in at_fault if _fault(result, player) == "E045"]
        if declined and may_repeat and all(map(self._may_decline, declined)):
            yield f"{result.match_id} was lost by a player whose language model did not answer"
        # The fault of an unreachable player is silence, or is not named.
        losers = frozenset(player for player in at_fault if _fault(result, player) in (None, "E001", "E009"))
        if not losers:
            return
        if self._is_held:
            yield f"{result.match_id} was lost while the league waited for players"
        if may_repeat and attempt_of(result) in self._interrupted:
            yield f"{result.match_id} was lost though attempt {result.attempt} was interrupted"
        self.in_force[result.match_id] = _Loss(
            place=place,
            result=result,
            losers=losers,
            counted=frozenset(self._counted - self._withdrawn - self._in_vain),
            assigned_at=self._assigned_at.get(result.match_id, result.at),
            may_hold=may_repeat and self._held_s < self._longest_hold_s,
            repetitions=self._repetitions[result.match_id],
        )


def _fault(result: e.ResultAccepted, player: str) -> object:
    """The error code of a player's fault; None if the result does not name it."""
    return inner(inner(result.details, "faults"), player).get("code")


def _down(
    evidence: Evidence,
    loss: _Loss,
    decisions: Mapping[Attempt, e.MatchDecided],
) -> set[str]:
    """The players that were down from the decision on until the manager must have noticed."""
    attempt = attempt_of(loss.result)
    since = decisions.get(attempt, loss.result).at
    until = loss.result.at + NOTICED_WITHIN_S
    down = set()
    for player, times in (evidence.downtimes or {}).items():
        if any(begin <= since and until <= end for begin, end in times):
            down.add(player)
    return down


def _is_half(down: set[str], loss: _Loss) -> bool:
    """Whether an outage should have excused this loss."""
    # A single player that is gone is no outage, even in a league of two.
    is_outage = len(down) >= 2 and 2 * len(down) >= len(loss.counted)
    return is_outage and loss.may_hold and bool(down & loss.losers)
