"""Promise 19: no player loses technically while many are gone, or because its referee or manager was; and nobody gets
a fresh game by going away.

From the manager's journal: while the league waits for players, or for those of one address, no loss of theirs is
allowed, and none of an interrupted attempt before the player was waited for. A referee that declared that it asks
decides no such loss unasked. Of the losses that other referees report, none of an unreachable player is accepted
during an outage, survives one in its round, or comes from an interrupted attempt, unless something had been shown.
A match is played again only if nothing had been shown, and waits only for language models that were declared, not too
often. From facts that only a simulator knows: no loss is in force that was decided while so many players were down, or
across a death of the manager.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from league import events as e
from league.protocol.tokens import MANAGER
from league_audit.promises.event_history import (
    Attempt,
    attempt_of,
    by_attempt,
    has_technical_loss,
    inner,
    of_kind,
    schedule_of,
    settings_of,
)
from league_audit.promises.evidence import Evidence, Object
from league_audit.promises.promise_findings import Breach, breaches_at, event_at, no_manager_journal

NOTICED_WITHIN_S = 4.0
"""A probe takes 3 seconds: the manager notices players that stay away for so long after a report."""
PROBED_FOR_S = 10.0
"""The manager notices players that have been away for so long when it answers a question about a loss."""
AGAIN_AT_MOST = 3
LEAST_HOLD_S = 60.0
MODEL_PAUSES = 3
SILENT = ("E001", "E009")
ASKED_ABOUT = (*SILENT, "E045")


@dataclass(frozen=True, slots=True)
class _Loss:
    """A technical loss of players that did not answer, and what was known when it was decided."""

    place: int
    result: e.ResultAccepted
    losers: frozenset[str]
    is_excusable: bool
    """An outage would have excused it: its referee asked, or nothing had been shown."""
    allowed_at: float | None
    """When the manager allowed it; None if it was not asked."""
    excused_at: float
    """When the match was last made to wait because it had been interrupted."""
    counted: frozenset[str]
    """The players that count when many of them are gone."""
    assigned_at: float
    may_hold: bool
    """The league had time to wait in this round."""
    may_repeat: bool
    """The match had not been excused too often."""


def unfair_losses(evidence: Evidence) -> Iterator[Breach]:
    settings = settings_of(evidence.manager)
    if settings is None or settings.outage_minutes <= 0:
        return
    decisions = by_attempt(evidence, e.MatchDecided)
    journal = _Journal(evidence, settings, decisions)
    for place, event in enumerate(evidence.manager):
        yield from breaches_at(event_at("manager", place), journal.take(place, event))
    recoveries = evidence.simulator.recoveries or ()
    deaths = [recovery.at for recovery in recoveries if evidence.agent(recovery.node) == MANAGER]
    # A report that counts by its address is held: nothing was played after it came.
    reports = {attempt_of(report): report.at for report in of_kind(evidence.manager, e.ReportHeld)}
    for loss in journal.in_force.values():
        where = event_at("manager", loss.place)
        down = _down(evidence, loss, decisions) & loss.counted
        if _is_outage(down, loss, settings.outage_share):
            yield Breach(f"{loss.result.match_id} was lost while many players were down", where)
        since = max(loss.assigned_at, loss.excused_at)
        until = loss.allowed_at or reports.get(attempt_of(loss.result), loss.result.at)
        manager_died = any(since < at < until for at in deaths)
        if manager_died and loss.is_excusable and loss.may_repeat:
            yield Breach(f"{loss.result.match_id} was lost while the manager was down", where)


def unobservable(evidence: Evidence) -> str | None:
    settings = settings_of(evidence.manager)
    if settings is not None and settings.outage_minutes <= 0:
        return "this league is never held"
    reason = no_manager_journal(evidence)
    if reason is None and evidence.simulator.downtimes is None and has_technical_loss(evidence.manager):
        return "who was down, and when, is not known"
    return reason


class _Journal:
    """The manager's journal, event by event. `in_force`: the losses of players that did not answer, by match."""

    def __init__(
        self,
        evidence: Evidence,
        settings: e.LeagueSettings,
        decisions: Mapping[Attempt, e.MatchDecided],
    ) -> None:
        self._schedule = schedule_of(evidence.manager)
        self._dishonest = evidence.simulator.dishonest
        self._longest_hold_s = settings.outage_minutes * 60
        self._decisions = decisions
        self._states: dict[str, str] = {}
        self._withdrawn: set[str] = set()
        self._counted: set[str] = set()
        # Players for which the league waited in vain no longer count.
        self._in_vain: set[str] = set()
        self._held_s = 0.0
        self._is_held = False
        self._missing: set[str] = set()
        """The players that were missing when the outage was noticed."""
        self._in_reach: set[str] = set()
        """Matches whose losers answered a probe of the manager afterwards."""
        self._addresses: dict[str, tuple[str, ...]] = {}
        self._opened_at = 0
        self._assigned_at: dict[str, float] = {}
        self._attempts: dict[str, int] = {}
        self._not_excused: dict[Attempt, set[str]] = {}
        """For each interrupted attempt, the players that were not waited for since."""
        self._excused_at: dict[str, float] = {}
        self._interruptions: Counter[str] = Counter()
        self._repetitions: Counter[str] = Counter()
        self._asking: set[str] = set()
        """Referees that declared that they ask."""
        self._with_model: set[str] = set()
        self._model_pauses: Counter[str] = Counter()
        self._allowed: dict[tuple[Attempt, str], e.LossAllowed] = {}
        self.in_force: dict[str, _Loss] = {}

    def take(
        self,
        place: int,
        event: e.Event,
    ) -> Iterator[str]:
        if isinstance(event, e.OutageBegan | e.OutageEnded):
            yield from self._outage(event)
        elif isinstance(event, e.MatchPaused):
            yield from self._paused(event)
        elif isinstance(event, e.LossAllowed):
            yield from self._allows(event)
        elif isinstance(event, e.MatchHeld | e.ResultVoided):
            yield from self._again(event)
        elif isinstance(event, e.ResultAccepted):
            yield from self._accepted(place, event)
        elif isinstance(event, e.MatchAssigned | e.MatchInterrupted | e.RoundOpened | e.PlayersProbed):
            self._course(place, event)
        else:
            self._member(event)

    def _course(
        self,
        place: int,
        event: e.MatchAssigned | e.MatchInterrupted | e.RoundOpened | e.PlayersProbed,
    ) -> None:
        if isinstance(event, e.RoundOpened):
            self._opened_at = place
            self._held_s = 0.0
            self._counted = {player for player, state in self._states.items() if state == "ACTIVE"}
        elif isinstance(event, e.PlayersProbed):
            for match_id, loss in self.in_force.items():
                if not loss.losers & set(event.missing):
                    self._in_reach.add(match_id)
        else:
            self._match(event)

    def _member(self, event: e.Event) -> None:
        if isinstance(event, e.ConditionsStated):
            self._with_model.add(event.agent_id)
        elif isinstance(event, e.AgentStateChanged):
            if event.agent_id in self._states:
                self._states[event.agent_id] = event.state
        elif isinstance(event, e.PlayerWithdrawn):
            self._withdrawn.add(event.agent_id)
        elif isinstance(event, e.AgentRegistered | e.TokenRenewed):
            self._registered(event)

    def _registered(self, event: e.AgentRegistered | e.TokenRenewed) -> None:
        if event.asks_before_losses:
            self._asking.add(event.agent_id)
        else:
            self._asking.discard(event.agent_id)
        if isinstance(event, e.AgentRegistered) and event.role == "player":
            self._states[event.agent_id] = "REGISTERED"

    def _match(self, event: e.MatchAssigned | e.MatchInterrupted) -> None:
        if isinstance(event, e.MatchAssigned):
            self._assigned_at[event.match_id] = event.at
            self._attempts[event.match_id] = event.attempt
            self._excused_at.pop(event.match_id, None)
        else:
            slot = self._schedule.get(event.match_id)
            self._interruptions[event.match_id] += 1
            if slot is not None:
                self._not_excused[attempt_of(event)] = set(slot.players)

    # --- waiting ------------------------------------------------------------------------------------------------------

    def _outage(self, event: e.OutageBegan | e.OutageEnded) -> Iterator[str]:
        if isinstance(event, e.OutageBegan):
            if event.origin:
                self._addresses[event.origin] = event.missing
            else:
                self._is_held = True
                self._missing = set(event.missing)
            return
        if event.origin:
            self._addresses.pop(event.origin, None)
        else:
            for match_id, loss in self.in_force.items():
                is_checked = loss.place < self._opened_at or match_id in self._in_reach
                if not is_checked and loss.is_excusable and loss.allowed_at is None and loss.losers & self._missing:
                    yield f"{match_id} is still lost after an outage in its round"
            self._is_held = False
            self._missing = set()
            # Short outages count as a minute, or they could follow each other without end.
            self._held_s += max(event.lasted_s, LEAST_HOLD_S)
        if event.why != "answered":
            self._in_vain |= set(event.missing)

    def _paused(self, event: e.MatchPaused) -> Iterator[str]:
        if event.cause == "model":
            self._model_pauses[event.player_id] += 1
            if event.player_id not in self._with_model:
                yield f"{event.match_id} waited for a language model that {event.player_id} does not have"
            if self._model_pauses[event.player_id] > MODEL_PAUSES:
                yield f"{event.match_id} waited for the language model of {event.player_id} once too often"
        elif event.cause == "interrupted":
            self._not_excused.get(attempt_of(event), set()).discard(event.player_id)
            self._excused_at[event.match_id] = event.at

    def _allows(self, event: e.LossAllowed) -> Iterator[str]:
        attempt = attempt_of(event)
        self._allowed[attempt, event.player_id] = event
        if event.code not in SILENT:
            return
        if self._waits_for(event.player_id):
            yield f"{event.match_id} was lost while the league waited for players"
        is_interrupted = event.player_id in self._not_excused.get(attempt, ())
        if is_interrupted and self._interruptions[event.match_id] <= AGAIN_AT_MOST:
            yield f"{event.match_id} was lost though attempt {event.attempt} was interrupted"

    def _waits_for(self, player: str) -> bool:
        return self._is_held or any(player in players for players in self._addresses.values())

    def _again(self, event: e.MatchHeld | e.ResultVoided) -> Iterator[str]:
        """A match is played again: because of us only if nothing had been shown, and not too often."""
        self.in_force.pop(event.match_id, None)
        # An operator's void has no reason, and does not count.
        if not event.why:
            return
        self._repetitions[event.match_id] += 1
        number = event.attempt if isinstance(event, e.MatchHeld) else self._attempts.get(event.match_id, 0)
        attempt = Attempt(event.match_id, number)
        decided = self._decisions.get(attempt)
        if decided is not None and _shows_anything(decided.details):
            yield f"{event.match_id} began anew, though something had been shown in attempt {number}"
        if any(allowed == attempt for allowed, _ in self._allowed):
            yield f"{event.match_id} began anew, though its loss had been asked about"

    # --- losses -------------------------------------------------------------------------------------------------------

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
        if result.referee_id in self._dishonest:
            return
        attempt = attempt_of(result)
        asked = [self._allowed.get((attempt, player)) for player in at_fault]
        if result.referee_id in self._asking:
            unasked = [
                player
                for player in at_fault
                if _fault(result, player) in ASKED_ABOUT and (attempt, player) not in self._allowed
            ]
            for player in unasked:
                yield f"{result.match_id}: nobody was asked before {player} lost"
        # The fault of an unreachable player is silence, or is not named.
        losers = frozenset(player for player in at_fault if _is_silent(result, player))
        if not losers:
            return
        allowed = [event.at for event in asked if event is not None]
        allowed_at = max(allowed) if allowed else None
        is_excusable = allowed_at is not None or not _shows_anything(result.details)
        if allowed_at is None and is_excusable:
            yield from self._unasked(result, attempt, losers)
        may_repeat = self._repetitions[result.match_id] < AGAIN_AT_MOST
        if allowed_at is not None:
            may_repeat = self._interruptions[result.match_id] <= AGAIN_AT_MOST
        self.in_force[result.match_id] = _Loss(
            place=place,
            result=result,
            losers=losers,
            is_excusable=is_excusable,
            allowed_at=allowed_at,
            excused_at=self._excused_at.get(result.match_id, 0.0),
            counted=frozenset(self._counted - self._withdrawn - self._in_vain),
            assigned_at=self._assigned_at.get(result.match_id, result.at),
            may_hold=(may_repeat or allowed_at is not None) and self._held_s < self._longest_hold_s,
            may_repeat=may_repeat,
        )

    def _unasked(self, result: e.ResultAccepted, attempt: Attempt, losers: frozenset[str]) -> Iterator[str]:
        """A loss that its referee did not ask about."""
        if losers & self._missing:
            yield f"{result.match_id} was lost while the league waited for players"
        may_repeat = self._repetitions[result.match_id] < AGAIN_AT_MOST
        if may_repeat and losers & self._not_excused.get(attempt, set()):
            yield f"{result.match_id} was lost though attempt {result.attempt} was interrupted"


def _fault(result: e.ResultAccepted, player: str) -> object:
    """The error code of a player's fault; None if the result does not name it."""
    return inner(inner(result.details, "faults"), player).get("code")


def _is_silent(result: e.ResultAccepted, player: str) -> bool:
    """True unless the player answered, if only with an error."""
    is_reached = inner(inner(result.details, "faults"), player).get("reached") is True
    return _fault(result, player) in (None, *SILENT) and not is_reached


def _shows_anything(details: Object) -> bool:
    """True if GAME_OVER showed a choice, a move or a number."""
    choices = inner(details, "choices")
    if any(choice is not None for choice in choices.values()):
        return True
    return bool(details.get("moves")) or details.get("drawn_number") is not None


def _down(
    evidence: Evidence,
    loss: _Loss,
    decisions: Mapping[Attempt, e.MatchDecided],
) -> set[str]:
    """The players that were down for so long that the manager must have noticed."""
    since = decisions.get(attempt_of(loss.result), loss.result).at
    until = loss.result.at + NOTICED_WITHIN_S
    if loss.allowed_at is not None:
        since = loss.allowed_at - PROBED_FOR_S
        until = loss.allowed_at
    down = set()
    for player, times in (evidence.simulator.downtimes or {}).items():
        if any(begin <= since and until <= end for begin, end in times):
            down.add(player)
    return down


def _is_outage(down: set[str], loss: _Loss, share: float) -> bool:
    """Whether an outage should have excused this loss."""
    gone = len(down)
    # A single player that is gone is no outage, even in a league of two.
    is_half = gone >= 2 and 2 * gone >= len(loss.counted)
    is_share = gone >= 3 and gone >= share * len(loss.counted)
    return (is_half or is_share) and loss.is_excusable and loss.may_hold and bool(down & loss.losers)
