"""Many players gone at once: a power cut, a switch that restarts, a closed lid (spec section 8.15).

Whenever a call of ours to a player fails, or a technical loss of somebody out of reach is reported, or we come back
ourselves, all players are probed, and nothing begins or ends before that is done. If half of them are gone the league
waits: such losses do not stand, and it goes on when they answer, when the operator says so, or when the time is over.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from league.calling.delivery import Delivery, Ending, Policy
from league.events import (
    MatchHeld,
    MatchInterrupted,
    OutageBegan,
    OutageEnded,
    PlayersProbed,
    ResultAccepted,
    ResultVoided,
)
from league.machine import Blame, Failure, Ping, Undelivered
from league.manager.assignments import Assignments
from league.manager.context import ManagerPart
from league.manager.excuses import declined, excusable
from league.manager.ledger import ScheduledMatch
from league.manager.roster import FAULTS_THAT_SUSPEND, Member

PROBE = Policy(limit_s=3.0, is_waited_for=False)
PROBE_AGAIN_S = 5.0
PROBED_WITHIN_S = 10.0
STRAGGLERS_S = 30.0
"""So long the last few are waited for when most are back."""
MOST_HELD = 3
"""So often a match is played again because it was interrupted."""
FEWEST_DECLINED = 3
"""So often in a league, or in a tenth of its matches, a player that declines to choose has its match played again."""
FEWEST_GONE = 2
AWAY = "the manager was away"
_UNREACHED = frozenset({Failure.TIMEOUT, Failure.REFUSED, Failure.BROKEN})


@dataclass(slots=True)
class Survey:
    """One probe of all players; lost in a crash and begun anew."""

    awaited: set[str] = field(default_factory=set)
    is_wanted: bool = False
    is_under_way: bool = False
    is_binding: bool = False
    """Must the league wait for it?"""
    not_before: float = 0.0
    """Calls that fail ask for the next one not earlier."""


@dataclass(slots=True)
class Outages(ManagerPart):
    """Finds out that players are gone, and waits for them."""

    assignments: Assignments
    on_first_survey: Callable[[float], None] | None = None
    """What must not begin before the players were probed after a restart."""
    _survey: Survey = field(default_factory=Survey)
    gone: set[str] = field(default_factory=set)
    """Whose last probe failed, and of whom nothing was heard since."""
    _held_since: float = 0.0
    _few_since: float | None = None
    _slept: bool = False

    # --- questions ----------------------------------------------------------------------------------------------------

    @property
    def is_holding(self) -> bool:
        """May nothing begin, and no round end?"""
        return self._ledger.outage is not None or self.on_first_survey is not None or self._survey.is_binding

    @property
    def reason(self) -> str | None:
        """Why the league waits for players, if it does."""
        if self._ledger.outage is not None:
            return self._ledger.outage.reason
        return "the manager was away: the players are asked whether they are there" if self.on_first_survey else None

    @property
    def _is_on(self) -> bool:
        ledger = self._ledger
        return ledger.is_running and ledger.settings.outage_minutes > 0 and ledger.latest_round is not None

    def _counted(self) -> list[str]:
        """The players that were ACTIVE when the round was opened, but those that have left and those that the league
        has waited for in vain."""
        latest = self._ledger.latest_round
        members = [self.context.member(player) for player in (latest.active if latest else ())]
        return [one.agent_id for one in members if one.takes_part and not one.absent]

    def _left_s(self) -> float:
        latest = self._ledger.latest_round
        return self._ledger.settings.outage_minutes * 60 - (latest.held_s if latest else 0.0)

    # --- signs --------------------------------------------------------------------------------------------------------

    def failed(self, failed: Undelivered, now: float) -> None:
        """A call got no answer. The probes that follow it tell more."""
        is_probed = failed.peer in self.gone or failed.peer in self._survey.awaited
        if failed.blame is Blame.PEER and failed.failure in _UNREACHED and not is_probed:
            is_due = now >= self._survey.not_before and self._is_on and failed.peer in self._counted()
            self._survey.is_wanted |= is_due

    def reported(self) -> None:
        """A result was accepted."""
        latest = self._ledger.latest_round
        if latest is not None and latest.unchecked and self._is_on:
            self._bind()

    def _bind(self) -> None:
        self._survey.is_wanted = self._survey.is_binding = True

    def slept(self) -> None:
        """This process stood still for a while."""
        self._slept = True

    def _was_away(self, now: float) -> None:
        """What referees played meanwhile was interrupted, and what was to be checked cannot be checked any more."""
        self._slept = False
        if self._is_on:
            for referee in self._ledger.roster.of_role("referee"):
                self.interrupted(referee, AWAY, now)
            latest = self._ledger.latest_round
            for match in [self._ledger.matches[one] for one in (latest.unchecked if latest else ())]:
                if match.held < MOST_HELD:
                    self._void(match, AWAY, now)
            self._bind()

    def interrupted(self, referee: Member, why: str, now: float) -> None:
        """Whoever could not be reached in the attempts that this referee has in its hands does not lose by it."""
        for match in self._ledger.held_by(referee.agent_id):
            self._interrupt(match, why, now)

    def token_switched(self, player: Member, now: float) -> None:
        """A player goes by another token than we thought. It cannot know a referee that shows it what belongs to the
        other one, and that we cannot tell."""
        for match in self.assignments.show_new_token(player, now):
            self._interrupt(match, f"{player.agent_id} goes by another token than its referee knows", now)

    def _interrupt(self, match: ScheduledMatch, why: str, now: float) -> None:
        if self._is_on and match.interrupted != match.attempt:
            self.context.happened(MatchInterrupted(at=now, match_id=match.match_id, attempt=match.attempt, why=why))

    # --- our own restart ----------------------------------------------------------------------------------------------

    def take_up(self, then: Callable[[float], None], now: float) -> None:
        """After a restart: probe the players, and then go on."""
        if not self._is_on:
            then(now)
            return
        self.on_first_survey = then
        self._was_away(now)
        if self._ledger.outage is not None:
            self._hold(now)

    # --- probing ------------------------------------------------------------------------------------------------------

    def advance(self, now: float) -> None:
        """Begin the survey that is wanted."""
        survey = self._survey
        if self._slept:
            self._was_away(now)
        if not survey.is_wanted or survey.is_under_way:
            return
        survey.is_wanted, survey.is_under_way, survey.not_before = False, True, now + PROBE_AGAIN_S
        players = [self.context.member(one) for one in self._counted()]
        survey.awaited = {one.agent_id for one in players}
        self.context.timers.set("survey", now + PROBED_WITHIN_S, self._surveyed)
        self.context.calls.deliver([self._probe(one) for one in players], now)
        if not players:
            self._surveyed(now)

    def _probe(self, player: Member) -> Delivery:
        address = partial(self.context.address, player)
        return Delivery(player.agent_id, "outage", Ping(), PROBE, address, on_end=self._probed)

    def _probed(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        if outcome is Ending.FAILED:
            self.gone.add(delivery.peer)
        awaited = self._survey.awaited
        awaited.discard(delivery.peer)
        if self._survey.is_under_way and not awaited:
            self._surveyed(now)

    def _surveyed(self, now: float) -> None:
        """All were probed, or the time for it is over."""
        survey = self._survey
        self.gone |= survey.awaited
        survey.awaited, survey.is_under_way = set(), False
        survey.is_binding = survey.is_binding and survey.is_wanted
        self.context.timers.clear("survey")
        if not self._is_on:
            survey.is_wanted = survey.is_binding = False
        elif self._ledger.outage is not None:
            self._look(now)
        else:
            self._judge(now)
        self._go_on(now)

    def _go_on(self, now: float) -> None:
        """After a restart, when nothing holds the league any more."""
        if self.on_first_survey is not None and self._ledger.outage is None:
            then, self.on_first_survey = self.on_first_survey, None
            then(now)

    def _judge(self, now: float) -> None:
        latest = self._ledger.latest_round
        assert latest is not None
        reported = {one for some in latest.out_of_reach.values() for one in some}
        counted, lost = self._counted(), {one for one in reported if not self.context.member(one).excused}
        missing = tuple(player for player in counted if player in self.gone or player in lost)
        if _is_half(missing, counted) and self._left_s() > 0:
            self._begin(missing, len(counted), now)
        elif latest.unchecked and not self._survey.is_wanted:
            self.context.happened(PlayersProbed(at=now, missing=missing))

    # --- the outage ---------------------------------------------------------------------------------------------------

    def _begin(self, missing: tuple[str, ...], counted: int, now: float) -> None:
        round_id, latest = self._ledger.current_round, self._ledger.latest_round
        reason = f"{len(missing)} of {counted} players can't be reached: {', '.join(missing)}"
        self.context.happened(OutageBegan(at=now, round_id=round_id, missing=missing, reason=reason))
        for match_id in list(latest.out_of_reach if latest else ()):
            self._void(self._ledger.matches[match_id], "many players were gone at once", now)
        self._hold(now)

    def _hold(self, now: float) -> None:
        self._held_since, self._few_since = now, None
        self.context.timers.set("outage", now + self._left_s(), partial(self.end, "time"))
        self._probe_later(now)

    def _probe_later(self, now: float) -> None:
        def probe(_: float) -> None:
            self._survey.is_wanted = self._ledger.outage is not None

        self.context.timers.set("probe players", now + PROBE_AGAIN_S, probe)

    def _look(self, now: float) -> None:
        """Are they back?"""
        counted = self._counted()
        missing = [player for player in counted if player in self.gone]
        if missing and _is_half(missing, counted):
            self._few_since = None
        elif self._few_since is None:
            self._few_since = now
        if not missing or (self._few_since is not None and now - self._few_since >= STRAGGLERS_S):
            self.end("answered", now)
        else:
            self._probe_later(now)

    def end(self, why: Literal["answered", "operator", "time"], now: float, key: str = "") -> None:
        """Go on."""
        missing = tuple(player for player in self._counted() if player in self.gone)
        lasted_s = round(max(now - self._held_since, 0.0), 3)
        self.context.happened(OutageEnded(at=now, why=why, missing=missing, lasted_s=lasted_s, key=key))
        for timer in ("outage", "probe players"):
            self.context.timers.clear(timer)
        self.assignments.reassign(now)
        self._go_on(now)

    # --- losses that do not stand -------------------------------------------------------------------------------------

    def refuses(self, match: ScheduledMatch, result: ResultAccepted) -> str | None:
        """Why this result is refused and its match played again; None if it is taken."""
        if result.status != "TECHNICAL_LOSS" or not self._is_on:
            return None
        if who := self._excused(match, result):
            return f"the service that thinks for {' and '.join(who)} did not answer"
        if excusable(result, match.players) is None:
            return None
        if self._ledger.outage is not None:
            return "the league waits for players that are gone"
        if match.interrupted == match.attempt and match.held < MOST_HELD:
            return "it was interrupted"
        return None

    def hold(self, match: ScheduledMatch, result: ResultAccepted, why: str, now: float) -> None:
        """Take the match back; it is assigned again when the league goes on."""
        self.assignments.forget(match.match_id)
        self.context.happened(
            MatchHeld(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                players=excusable(result, match.players) or (),
                declined=self._excused(match, result),
                why=why,
            )
        )

    def _excused(self, match: ScheduledMatch, result: ResultAccepted) -> tuple[str, ...]:
        """Who declined to choose, and may: nobody gets out of a loss by declining again and again."""
        who = declined(result, match.players)
        return who if match.held < MOST_HELD and all(map(self._may_decline, who)) else ()

    def _may_decline(self, player: str) -> bool:
        most = max(FEWEST_DECLINED, len(self._ledger.matches_of[player]) // 10)
        return self.context.member(player).declined < most

    def _void(self, match: ScheduledMatch, why: str, now: float) -> None:
        self.context.happened(ResultVoided(at=now, match_id=match.match_id, why=why))
        for player in map(self.context.member, match.players):
            if player.state == "SUSPENDED" and player.faults_in_a_row < FAULTS_THAT_SUSPEND:
                self.context.change(player, "recover", now, why)


def _is_half(missing: tuple[str, ...] | list[str], counted: list[str]) -> bool:
    return len(missing) >= FEWEST_GONE and 2 * len(missing) >= len(counted)
