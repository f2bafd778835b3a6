"""Many players gone at once: a power cut, a switch that restarts, a closed lid (spec section 8.15).

Theory of operation. Three things are signs of an outage: a call of ours to a player fails, a referee reports the
technical loss of a player it could not reach, or this process comes back after being away. Each of them asks for a
*survey*, a probe of all players that count:

    quiet ── a sign ──▶ wanted ── advance ──▶ under way ── all answered, or 10 seconds ──▶ judged
                                                                                             │
            quiet ◀────────────── fewer than half are gone (PlayersProbed) ──────────────────┤
                                                                                             │
    held ◀─────────────────────── half of them are gone (OutageBegan) ───────────────────────┘
      │   surveyed every 5 seconds; technical losses that the outage excuses are refused or voided
      └── they answer, the operator resumes the league, or the time is over (OutageEnded) ──▶ quiet

A survey is *binding* after a loss or an absence of ours: until it is judged, nothing begins and no round ends. A survey
is lost in a crash and begun again; what survives is in the ledger (`outage`, `ScheduledRound.unchecked`).

These things must never happen: a technical loss stands although an outage excuses it; a round ends before the players
were probed after such a loss; the league waits longer in one round than its settings allow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from league.manager.excuses import declined, excusable
from league.manager.ledger import ScheduledMatch
from league.manager.manager_context import ManagerPart
from league.manager.roster import FAULTS_THAT_SUSPEND, Member

PROBE = Policy(limit_s=3.0, is_waited_for=False)
PROBE_AGAIN_S = 5.0
PROBED_WITHIN_S = 10.0
STRAGGLERS_S = 30.0
"""How long the last few players are waited for when most are back."""
MOST_HELD = 3
"""How often a match is played again because it was interrupted."""
FEWEST_DECLINED = 3
"""How often a player that declines to choose has its match played again; in long leagues, in a tenth of its matches."""
FEWEST_GONE = 2
AWAY = "the manager was away"
_UNREACHED = frozenset({Failure.TIMEOUT, Failure.REFUSED, Failure.BROKEN})


@dataclass(slots=True)
class Survey:
    """One probe of all players."""

    awaited: set[str] = field(default_factory=set)
    is_wanted: bool = False
    is_under_way: bool = False
    is_binding: bool = False
    """True if the league must wait for it."""
    not_before: float = 0.0
    """Failing calls do not ask for the next survey before this time."""


@dataclass(slots=True)
class Outages(ManagerPart):
    """Finds out that players are gone, and waits for them."""

    assignments: Assignments
    on_first_survey: Callable[[float], None] | None = None
    """What must not begin before the players were probed after a restart."""
    _survey: Survey = field(default_factory=Survey)
    gone: set[str] = field(default_factory=set)
    """Players whose last probe failed and of whom nothing was heard since."""
    _held_since: float = 0.0
    _few_since: float | None = None
    """Since when fewer than half are gone, while the league is held."""
    _slept: bool = False

    # --- questions ----------------------------------------------------------------------------------------------------

    @property
    def is_holding(self) -> bool:
        """True while neither matches nor rounds may start or end."""
        return self._ledger.outage is not None or self.on_first_survey is not None or self._survey.is_binding

    @property
    def reason(self) -> str | None:
        """Why the league waits for players, if it does."""
        if self._ledger.outage is not None:
            return self._ledger.outage.reason
        if self.on_first_survey is not None:
            return "the manager was away: the players are asked whether they are there"
        return None

    @property
    def _is_on(self) -> bool:
        ledger = self._ledger
        return ledger.is_running and ledger.settings.outage_minutes > 0 and ledger.latest_round is not None

    def _counted(self) -> list[str]:
        """Return the players that count: those that were ACTIVE when the round was opened, without those that have left
        and those that the league has waited for in vain."""
        latest_round = self._ledger.latest_round
        if latest_round is None:
            return []
        players = [self.context.member(agent_id) for agent_id in latest_round.active]
        return [player.agent_id for player in players if player.takes_part and not player.absent]

    def _remaining_s(self) -> float:
        """Return how long the league may still be held in this round."""
        latest_round = self._ledger.latest_round
        held_s = latest_round.held_s if latest_round else 0.0
        return self._ledger.settings.outage_minutes * 60 - held_s

    # --- signs --------------------------------------------------------------------------------------------------------

    def failed(self, failed: Undelivered, now: float) -> None:
        """A call got no answer. The probes that follow it tell more."""
        is_probed = failed.peer in self.gone or failed.peer in self._survey.awaited
        if failed.blame is not Blame.PEER or failed.failure not in _UNREACHED or is_probed:
            return
        # Many calls fail at once in an outage. The pause keeps them from beginning one survey after another.
        if now >= self._survey.not_before and self._is_on and failed.peer in self._counted():
            self._survey.is_wanted = True

    def reported(self) -> None:
        """A result was accepted."""
        latest_round = self._ledger.latest_round
        if latest_round is not None and latest_round.unchecked and self._is_on:
            self._bind()

    def _bind(self) -> None:
        self._survey.is_wanted = True
        self._survey.is_binding = True

    def slept(self) -> None:
        """This process stood still for a while."""
        self._slept = True

    def _was_away(self, now: float) -> None:
        """What referees played meanwhile was interrupted, and losses that were to be checked can't be checked."""
        self._slept = False
        if not self._is_on:
            return
        for referee in self._ledger.roster.of_role("referee"):
            self.interrupted(referee, AWAY, now)
        latest_round = self._ledger.latest_round
        assert latest_round is not None, "outages are on"
        for match_id in list(latest_round.unchecked):
            match = self._ledger.matches[match_id]
            if match.held < MOST_HELD:
                self._void(match, AWAY, now)
        self._bind()

    def interrupted(self, referee: Member, why: str, now: float) -> None:
        """Excuse the players that this referee can't reach in the attempts it holds."""
        for match in self._ledger.held_by(referee.agent_id):
            self._interrupt(match, why, now)

    def token_switched(self, player: Member, now: float) -> None:
        """A player goes by another token than we thought.

        It can't know a referee that shows it what belongs to the other token, if we can't tell that referee.
        """
        for match in self.assignments.show_new_token(player, now):
            self._interrupt(
                match,
                f"{player.agent_id} goes by another token than its referee knows",
                now,
            )

    def _interrupt(self, match: ScheduledMatch, why: str, now: float) -> None:
        if self._is_on and match.interrupted != match.attempt:
            self.context.happened(
                MatchInterrupted(
                    at=now,
                    match_id=match.match_id,
                    attempt=match.attempt,
                    why=why,
                )
            )

    # --- our own restart ----------------------------------------------------------------------------------------------

    def take_up(self, then: Callable[[float], None], now: float) -> None:
        """After a restart, probe the players before going on."""
        if not self._is_on:
            then(now)
            return
        # Dispatching at once would make players lose that went down together with this process.
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
        survey.is_wanted = False
        survey.is_under_way = True
        survey.not_before = now + PROBE_AGAIN_S
        players = [self.context.member(agent_id) for agent_id in self._counted()]
        survey.awaited = {player.agent_id for player in players}
        self.context.timers.set("survey", now + PROBED_WITHIN_S, self._surveyed)
        self.context.calls.deliver([self._probe(player) for player in players], now)
        # Nobody counts any more: no answer will end this survey.
        if not players:
            self._surveyed(now)

    def _probe(self, player: Member) -> Delivery:
        address = partial(self.context.address, player)
        return Delivery(
            player.agent_id,
            "outage",
            Ping(),
            PROBE,
            address,
            on_end=self._probed,
        )

    def _probed(self, delivery: Delivery, outcome: Ending, now: float) -> None:
        if outcome is Ending.FAILED:
            self.gone.add(delivery.peer)
        self._survey.awaited.discard(delivery.peer)
        if self._survey.is_under_way and not self._survey.awaited:
            self._surveyed(now)

    def _surveyed(self, now: float) -> None:
        """All players were probed, or the time for it is over."""
        survey = self._survey
        self.gone |= survey.awaited
        survey.awaited = set()
        survey.is_under_way = False
        # A loss that was reported during this survey needs another one, and the league waits for that, too.
        survey.is_binding = survey.is_binding and survey.is_wanted
        self.context.timers.clear("survey")
        if not self._is_on:
            survey.is_wanted = False
            survey.is_binding = False
        elif self._ledger.outage is not None:
            self._look(now)
        else:
            self._judge(now)
        self._go_on(now)

    def _go_on(self, now: float) -> None:
        """After a restart, begin what had to wait when nothing holds the league any more."""
        then = self.on_first_survey
        if then is not None and self._ledger.outage is None:
            self.on_first_survey = None
            then(now)

    def _judge(self, now: float) -> None:
        """Decide whether this is an outage."""
        latest_round = self._ledger.latest_round
        assert latest_round is not None
        lost = {player for players in latest_round.out_of_reach.values() for player in players}
        # A player that was excused once may simply be gone: it must not make every loss an outage.
        lost = {player for player in lost if not self.context.member(player).excused}
        counted = self._counted()
        missing = tuple(player for player in counted if player in self.gone or player in lost)
        if _is_half(missing, counted) and self._remaining_s() > 0:
            self._begin(missing, len(counted), now)
        elif latest_round.unchecked and not self._survey.is_wanted:
            self.context.happened(PlayersProbed(at=now, missing=missing))

    # --- the outage ---------------------------------------------------------------------------------------------------

    def _begin(self, missing: tuple[str, ...], counted: int, now: float) -> None:
        latest_round = self._ledger.latest_round
        assert latest_round is not None, "outages are on"
        reason = f"{len(missing)} of {counted} players can't be reached: {', '.join(missing)}"
        self.context.happened(
            OutageBegan(
                at=now,
                round_id=self._ledger.current_round,
                missing=missing,
                reason=reason,
            )
        )
        for match_id in list(latest_round.out_of_reach):
            self._void(
                self._ledger.matches[match_id],
                "many players were gone at once",
                now,
            )
        self._hold(now)

    def _hold(self, now: float) -> None:
        self._held_since = now
        self._few_since = None
        self.context.timers.set(
            "outage",
            now + self._remaining_s(),
            partial(self.end, "time"),
        )
        self._probe_later(now)

    def _probe_later(self, now: float) -> None:
        def probe(_: float) -> None:
            self._survey.is_wanted = self._ledger.outage is not None

        self.context.timers.set("probe players", now + PROBE_AGAIN_S, probe)

    def _look(self, now: float) -> None:
        """End the outage if all players are back, or if only a few have been missing for a while."""
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

    def end(
        self,
        why: Literal["answered", "operator", "time"],
        now: float,
        key: str = "",
    ) -> None:
        """Let the league go on."""
        missing = tuple(player for player in self._counted() if player in self.gone)
        lasted_s = round(max(now - self._held_since, 0.0), 3)
        self.context.happened(
            OutageEnded(
                at=now,
                why=why,
                missing=missing,
                lasted_s=lasted_s,
                key=key,
            )
        )
        self.context.timers.clear("outage")
        self.context.timers.clear("probe players")
        # While the league was held, matches of dead referees stayed where they were.
        self.assignments.reassign(now)
        self._go_on(now)

    # --- losses that do not stand -------------------------------------------------------------------------------------

    def refuses(self, match: ScheduledMatch, result: ResultAccepted) -> str | None:
        """Return why a technical loss is refused and its match played again, or None if it stands."""
        if not self._is_on:
            return None
        excused = self._excused_decliners(match, result)
        if excused:
            return f"the service that thinks for {' and '.join(excused)} did not answer"
        if excusable(result, match.players) is None:
            return None
        if self._ledger.outage is not None:
            return "the league waits for players that are gone"
        # A limit, or a match whose referee is restarted again and again would never end.
        if match.interrupted == match.attempt and match.held < MOST_HELD:
            return "it was interrupted"
        return None

    def hold(
        self,
        match: ScheduledMatch,
        result: ResultAccepted,
        why: str,
        now: float,
    ) -> None:
        """Take the match back. It is assigned again when the league goes on."""
        self.assignments.forget(match.match_id)
        self.context.happened(
            MatchHeld(
                at=now,
                match_id=match.match_id,
                attempt=match.attempt,
                players=excusable(result, match.players) or (),
                declined=self._excused_decliners(match, result),
                why=why,
            )
        )

    def _excused_decliners(self, match: ScheduledMatch, result: ResultAccepted) -> tuple[str, ...]:
        """Return the players that declined to choose, if they may: nobody avoids a loss by declining for ever."""
        players = declined(result, match.players)
        if match.held < MOST_HELD and all(map(self._may_decline, players)):
            return players
        return ()

    def _may_decline(self, player: str) -> bool:
        most = max(FEWEST_DECLINED, len(self._ledger.matches_of[player]) // 10)
        return self.context.member(player).declined < most

    def _void(self, match: ScheduledMatch, why: str, now: float) -> None:
        self.context.happened(ResultVoided(at=now, match_id=match.match_id, why=why))
        for player in map(self.context.member, match.players):
            # Without this loss it would not have been suspended.
            if player.state == "SUSPENDED" and player.faults_in_a_row < FAULTS_THAT_SUSPEND:
                self.context.change(player, "recover", now, why)


def _is_half(missing: Sequence[str], counted: Sequence[str]) -> bool:
    return len(missing) >= FEWEST_GONE and 2 * len(missing) >= len(counted)
