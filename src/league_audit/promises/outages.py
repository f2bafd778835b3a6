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

from collections import Counter, defaultdict
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
from league_audit.promises.promise_findings import (
    Breach,
    breaches_at,
    event_at,
    no_manager_journal,
)

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


class _Members:
    """The players and referees of a league, as the manager's journal tells of them."""

    def __init__(self) -> None:
        self.counted: set[str] = set()
        """The players that were active when the round was opened."""
        self.asking: set[str] = set()
        """Referees that declared that they ask."""
        self.with_model: set[str] = set()
        self.model_pauses: Counter[str] = Counter()
        self.in_vain: set[str] = set()
        """Players for which the league waited in vain. They do not count until they play again."""
        self._states: dict[str, str] = {}
        self._withdrawn: set[str] = set()

    def take(self, event: e.Event) -> None:
        if isinstance(event, e.ConditionsStated):
            self.with_model.add(event.agent_id)
        elif isinstance(event, e.AgentStateChanged):
            if event.agent_id in self._states:
                self._states[event.agent_id] = event.state
        elif isinstance(event, e.PlayerWithdrawn):
            self._withdrawn.add(event.agent_id)
        elif isinstance(event, e.AgentRegistered | e.TokenRenewed):
            self._registered(event)

    def _registered(self, event: e.AgentRegistered | e.TokenRenewed) -> None:
        # A referee may register anew in another way.
        if event.asks_before_losses:
            self.asking.add(event.agent_id)
        else:
            self.asking.discard(event.agent_id)
        if isinstance(event, e.AgentRegistered) and event.role == "player":
            self._states[event.agent_id] = "REGISTERED"

    def round_opened(self) -> None:
        self.counted = {player for player, state in self._states.items() if state == "ACTIVE"}

    def counting(self) -> frozenset[str]:
        """The players that count when many of them are gone."""
        return frozenset(self.counted - self._withdrawn - self.in_vain)


class _Holds:
    """The times in which the league waits for many players, or for those of one address."""

    def __init__(self, longest_s: float) -> None:
        self.missing: set[str] = set()
        """The players that were missing when the outage of the league was noticed."""
        self._longest_s = longest_s
        self._held_s = 0.0
        self._is_held = False
        self._addresses: dict[str, tuple[str, ...]] = {}

    def round_opened(self) -> None:
        self._held_s = 0.0

    def began(self, event: e.OutageBegan) -> None:
        if event.origin:
            self._addresses[event.origin] = event.missing
        else:
            self._is_held = True
            self.missing = set(event.missing)

    def ended(self, event: e.OutageEnded) -> None:
        if event.origin:
            self._addresses.pop(event.origin, None)
            return
        self._is_held = False
        self.missing = set()
        # Short outages count as a minute, or they could follow each other without end.
        self._held_s += max(event.lasted_s, LEAST_HOLD_S)

    def include(self, player: str) -> bool:
        """True while the league waits for this player, or for all."""
        return self._is_held or any(player in players for players in self._addresses.values())

    def has_time_left(self) -> bool:
        return self._held_s < self._longest_s


@dataclass(slots=True)
class _Course:
    """What has happened to one match."""

    attempt: int = 0
    assigned_at: float | None = None
    excused_at: float = 0.0
    """When it was last made to wait because it had been interrupted."""
    interruptions: int = 0
    repetitions: int = 0


class _Journal:
    """The manager's journal, event by event. `in_force`: the losses of players that did not answer, by match."""

    def __init__(
        self,
        evidence: Evidence,
        settings: e.LeagueSettings,
        decisions: Mapping[Attempt, e.MatchDecided],
    ) -> None:
        self.in_force: dict[str, _Loss] = {}
        self._schedule = schedule_of(evidence.manager)
        self._dishonest = evidence.simulator.dishonest
        self._decisions = decisions
        self._members = _Members()
        self._holds = _Holds(settings.outage_minutes * 60)
        self._courses: defaultdict[str, _Course] = defaultdict(_Course)
        self._in_reach: set[str] = set()
        """Matches whose losers answered a probe of the manager afterwards."""
        self._opened_at = 0
        self._not_excused: dict[Attempt, set[str]] = {}
        """For each interrupted attempt, the players that were not waited for since."""
        self._allowed: dict[tuple[Attempt, str], e.LossAllowed] = {}

    def take(self, place: int, event: e.Event) -> Iterator[str]:
        if isinstance(event, e.OutageEnded):
            yield from self._outage_ended(event)
        elif isinstance(event, e.MatchPaused):
            yield from self._paused(event)
        elif isinstance(event, e.LossAllowed):
            yield from self._allows(event)
        elif isinstance(event, e.MatchHeld | e.ResultVoided):
            yield from self._again(event)
        elif isinstance(event, e.ResultAccepted):
            yield from self._accepted(place, event)
        else:
            self._note(place, event)

    def _note(self, place: int, event: e.Event) -> None:
        """Take an event that cannot break the promise."""
        if isinstance(event, e.OutageBegan):
            self._holds.began(event)
        elif isinstance(event, e.RoundOpened):
            self._opened_at = place
            self._holds.round_opened()
            self._members.round_opened()
        elif isinstance(event, e.MatchAssigned):
            course = self._courses[event.match_id]
            course.assigned_at = event.at
            course.attempt = event.attempt
            course.excused_at = 0.0
        elif isinstance(event, e.MatchInterrupted):
            self._courses[event.match_id].interruptions += 1
            slot = self._schedule.get(event.match_id)
            if slot is not None:
                self._not_excused[attempt_of(event)] = set(slot.players)
        elif isinstance(event, e.PlayersProbed):
            missing = set(event.missing)
            self._in_reach |= {match_id for match_id, loss in self.in_force.items() if not loss.losers & missing}
        else:
            self._members.take(event)

    # --- waiting ------------------------------------------------------------------------------------------------------

    def _outage_ended(self, event: e.OutageEnded) -> Iterator[str]:
        if not event.origin:
            for match_id, loss in self.in_force.items():
                is_checked = loss.place < self._opened_at or match_id in self._in_reach
                is_unasked = loss.is_excusable and loss.allowed_at is None
                if is_unasked and not is_checked and loss.losers & self._holds.missing:
                    yield f"{match_id} is still lost after an outage in its round"
        self._holds.ended(event)
        if event.why != "answered":
            self._members.in_vain |= set(event.missing)

    def _paused(self, event: e.MatchPaused) -> Iterator[str]:
        if event.cause == "model":
            pauses = self._members.model_pauses
            pauses[event.player_id] += 1
            if event.player_id not in self._members.with_model:
                yield f"{event.match_id} waited for a language model that {event.player_id} does not have"
            if pauses[event.player_id] > MODEL_PAUSES:
                yield f"{event.match_id} waited for the language model of {event.player_id} once too often"
        elif event.cause == "interrupted":
            self._not_excused.get(attempt_of(event), set()).discard(event.player_id)
            self._courses[event.match_id].excused_at = event.at

    def _allows(self, event: e.LossAllowed) -> Iterator[str]:
        attempt = attempt_of(event)
        self._allowed[attempt, event.player_id] = event
        if event.code not in SILENT:
            return
        if self._holds.include(event.player_id):
            yield f"{event.match_id} was lost while the league waited for players"
        is_interrupted = event.player_id in self._not_excused.get(attempt, ())
        if is_interrupted and self._courses[event.match_id].interruptions <= AGAIN_AT_MOST:
            yield f"{event.match_id} was lost though attempt {event.attempt} was interrupted"

    def _again(self, event: e.MatchHeld | e.ResultVoided) -> Iterator[str]:
        """A match is played again: because of us only if nothing had been shown, and not too often."""
        self.in_force.pop(event.match_id, None)
        # An operator's void has no reason, and does not count.
        if not event.why:
            return
        course = self._courses[event.match_id]
        course.repetitions += 1
        number = course.attempt
        if isinstance(event, e.MatchHeld):
            number = event.attempt
        attempt = Attempt(event.match_id, number)
        decided = self._decisions.get(attempt)
        if decided is not None and _shows_anything(decided.details):
            yield f"{event.match_id} began anew, though something had been shown in attempt {number}"
        if any(allowed == attempt for allowed, _ in self._allowed):
            yield f"{event.match_id} began anew, though its loss had been asked about"

    # --- losses -------------------------------------------------------------------------------------------------------

    def _accepted(self, place: int, result: e.ResultAccepted) -> Iterator[str]:
        slot = self._schedule.get(result.match_id)
        players = set(slot.players) if slot else set()
        at_fault = set()
        if result.status == "TECHNICAL_LOSS":
            at_fault = players - {result.winner}
        # A player that played is back.
        self._members.in_vain -= players - at_fault
        if result.referee_id in self._dishonest:
            return
        if result.referee_id in self._members.asking:
            yield from self._unasked(result, at_fault)
        # The fault of an unreachable player is silence, or is not named.
        losers = frozenset(player for player in at_fault if _is_silent(result, player))
        if losers:
            loss = self._loss(place, result, at_fault, losers)
            if loss.allowed_at is None and loss.is_excusable:
                yield from self._decided_alone(loss)
            self.in_force[result.match_id] = loss

    def _unasked(self, result: e.ResultAccepted, at_fault: set[str]) -> Iterator[str]:
        """A referee that declared that it asks did not ask about these losses."""
        for player in at_fault:
            is_allowed = (attempt_of(result), player) in self._allowed
            if _fault(result, player) in ASKED_ABOUT and not is_allowed:
                yield f"{result.match_id}: nobody was asked before {player} lost"

    def _loss(
        self,
        place: int,
        result: e.ResultAccepted,
        at_fault: set[str],
        losers: frozenset[str],
    ) -> _Loss:
        course = self._courses[result.match_id]
        attempt = attempt_of(result)
        allowed = [self._allowed[attempt, player].at for player in at_fault if (attempt, player) in self._allowed]
        allowed_at = max(allowed, default=None)
        if allowed_at is not None:
            may_repeat = course.interruptions <= AGAIN_AT_MOST
        else:
            may_repeat = course.repetitions < AGAIN_AT_MOST
        assigned_at = course.assigned_at
        if assigned_at is None:
            assigned_at = result.at
        return _Loss(
            place=place,
            result=result,
            losers=losers,
            is_excusable=allowed_at is not None or not _shows_anything(result.details),
            allowed_at=allowed_at,
            excused_at=course.excused_at,
            counted=self._members.counting(),
            assigned_at=assigned_at,
            may_hold=(may_repeat or allowed_at is not None) and self._holds.has_time_left(),
            may_repeat=may_repeat,
        )

    def _decided_alone(self, loss: _Loss) -> Iterator[str]:
        """A loss that its referee did not ask about."""
        result = loss.result
        if loss.losers & self._holds.missing:
            yield f"{result.match_id} was lost while the league waited for players"
        if loss.may_repeat and loss.losers & self._not_excused.get(attempt_of(result), set()):
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
