"""Many players gone at once: a power cut, a switch that restarts, a closed lid (spec section 8.15).

Theory of operation. A player is *gone* if its last probe of ours failed by the network's word: refused, timed out,
broken. An answer of any kind, also an error, shows that it is there. Three things are signs of an outage: a call of
ours to a player fails, a referee asks about or reports the technical loss of a player that did not answer, or this
process comes back after being away. Each of them asks for a *survey*, a probe of all players that count:

    quiet ── a sign ──▶ wanted ── advance ──▶ under way ── all answered, or 10 seconds ──▶ judged
                                                                                             │
            quiet ◀────────────── few are gone (PlayersProbed) ──────────────────────────────┤
                                                                                             │
    held ◀── a third or half of them are gone, or all at one address (OutageBegan) ──────────┘
      │   surveyed every 5 seconds
      └── they answer, the operator resumes the league, or the time is over (OutageEnded) ──▶ quiet

If a third of the players are gone, the league is held. If all players at one address are gone, only their matches
wait, and the league goes on. Referees that ask first (trouble.py) let a match wait in its position. Losses that other
referees report are refused or voided, if nothing was shown to anybody yet (excuses.py).

A survey is *binding* after a loss or an absence of ours: until it is judged, nothing begins and no round ends. A survey
is lost in a crash and begun again; what survives is in the ledger (`outage`, `ScheduledRound.unchecked`).

These things must never happen: a technical loss stands although an outage excuses it; a player gets a fresh game by
going away; a round ends before the players were probed after such a loss; the league waits longer in one round than its
settings allow.
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
from league.machine import UNREACHED, Blame, Ping, Undelivered
from league.manager.assignments import Assignments
from league.manager.excuses import excusable
from league.manager.ledger import ScheduledMatch
from league.manager.manager_context import ManagerPart
from league.manager.roster import FAULTS_THAT_SUSPEND, Member
from league.protocol.endpoints import ip_of

PROBE = Policy(limit_s=3.0, is_waited_for=False)
PROBE_AGAIN_S = 5.0
PROBED_WITHIN_S = 10.0
STRAGGLERS_S = 30.0
"""How long the last few players are waited for when most are back."""
MOST_HELD = 3
"""How often a match is played again because it was interrupted."""
FEWEST_OF_HALF = 2
FEWEST_OF_SHARE = 3
FEWEST_AT_ADDRESS = 3
MOST_AT_ADDRESS = 2
"""How often in a league the matches of one address wait for its players."""
AWAY = "the manager was away"


@dataclass(slots=True)
class Survey:
    """One probe of all players."""

    number: int = 0
    """How many were begun."""
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
    on_judged: Callable[[float], None] = lambda _: None
    """Called after every survey."""
    _survey: Survey = field(default_factory=Survey)
    gone: set[str] = field(default_factory=set)
    """Players whose last probe failed and of whom nothing was heard since."""
    _held_since: dict[str, float] = field(default_factory=dict)
    """When each outage was noticed in this life of the process: by address, empty for that of the league."""
    _few_since: float | None = None
    """Since when too few are gone for an outage, while the league is held."""
    _slept: bool = False

    # --- questions ----------------------------------------------------------------------------------------------------

    @property
    def is_holding(self) -> bool:
        """True while neither matches nor rounds may start or end."""
        return self._ledger.outages.of_league is not None or self.on_first_survey is not None or self._survey.is_binding

    @property
    def reason(self) -> str | None:
        """Why the league waits for players, if it does."""
        if self._ledger.outages.of_league is not None:
            return self._ledger.outages.of_league.reason
        if self.on_first_survey is not None:
            return "the manager was away: the players are asked whether they are there"
        return None

    @property
    def is_on(self) -> bool:
        """True while the league would wait for players."""
        ledger = self._ledger
        return ledger.is_running and ledger.settings.outage_minutes > 0 and ledger.latest_round is not None

    @property
    def surveys(self) -> int:
        """How many surveys were begun."""
        return self._survey.number

    def counts(self, player: str) -> bool:
        """True if this player counts when it is gone."""
        return player in self._counted()

    def waits_for(self, player: str) -> OutageBegan | None:
        """Return the outage in which matches wait for this player, if there is one."""
        if self._ledger.outages.of_league is not None:
            return self._ledger.outages.of_league
        for outage in self._ledger.outages.by_address.values():
            if player in outage.missing:
                return outage
        return None

    def _counted(self) -> list[str]:
        """Return the players that count: those that were ACTIVE when the round was opened, without those that have left
        and those that the league has waited for in vain."""
        latest_round = self._ledger.latest_round
        if latest_round is None:
            return []
        players = [self.context.member(agent_id) for agent_id in latest_round.active]
        return [player.agent_id for player in players if player.takes_part and not player.attendance.absent]

    def _remaining_s(self) -> float:
        """Return how long the league may still be held in this round."""
        latest_round = self._ledger.latest_round
        held_s = latest_round.held_s if latest_round else 0.0
        return self._ledger.settings.outage_minutes * 60 - held_s

    # --- signs --------------------------------------------------------------------------------------------------------

    def failed(self, failed: Undelivered, now: float) -> None:
        """A call got no answer. The probes that follow it tell more."""
        is_probed = failed.peer in self.gone or failed.peer in self._survey.awaited
        if failed.blame is not Blame.PEER or failed.failure not in UNREACHED or is_probed:
            return
        # Many calls fail at once in an outage. The pause keeps them from beginning one survey after another.
        if now >= self._survey.not_before and self.is_on and failed.peer in self._counted():
            self._survey.is_wanted = True

    def reported(self) -> None:
        """A result was accepted."""
        latest_round = self._ledger.latest_round
        if latest_round is not None and latest_round.unchecked and self.is_on:
            self.bind()

    def bind(self) -> None:
        """Ask for a survey that the league waits for."""
        self._survey.is_wanted = True
        self._survey.is_binding = True

    def slept(self) -> None:
        """This process stood still for a while."""
        self._slept = True

    def _was_away(self, now: float) -> None:
        """What referees played meanwhile was interrupted, and losses that were to be checked can't be checked."""
        self._slept = False
        if not self.is_on:
            return
        for referee in self._ledger.roster.of_role("referee"):
            self.interrupted(referee, AWAY, now)
        latest_round = self._ledger.latest_round
        assert latest_round is not None, "outages are on"
        for match_id in list(latest_round.unchecked):
            match = self._ledger.matches[match_id]
            if match.excuses.held < MOST_HELD:
                self._void(match, AWAY, now)
        self.bind()

    def interrupted(self, referee: Member, why: str, now: float) -> None:
        """Excuse the players that this referee can't reach in the attempts it holds."""
        for match in self._ledger.held_by(referee.agent_id):
            self.interrupt(match, why, now)

    def token_switched(self, player: Member, now: float) -> None:
        """A player goes by another token than we thought.

        It can't know a referee that shows it what belongs to the other token, if we can't tell that referee.
        """
        for match in self.assignments.show_new_token(player, now):
            self.interrupt(
                match,
                f"{player.agent_id} goes by another token than its referee knows",
                now,
            )

    def interrupt(self, match: ScheduledMatch, why: str, now: float) -> None:
        """Excuse the players of a match that can't be reached in this attempt."""
        # One interruption is enough until somebody was excused by it.
        is_new = match.excuses.interrupted != match.attempt or bool(match.excuses.players)
        if self.is_on and is_new:
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
        if not self.is_on:
            then(now)
            return
        # Dispatching at once would make players lose that went down together with this process.
        self.on_first_survey = then
        self._was_away(now)
        if self._ledger.outages.of_league is not None:
            self._hold("", now)
        for origin in self._ledger.outages.by_address:
            self._hold(origin, now)

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
        survey.number += 1
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
        if not self.is_on:
            survey.is_wanted = False
            survey.is_binding = False
        else:
            self._look_at_addresses(now)
            if self._ledger.outages.of_league is not None:
                self._look(now)
            else:
                self._judge(now)
        self.on_judged(now)
        self._go_on(now)

    def _go_on(self, now: float) -> None:
        """After a restart, begin what had to wait when nothing holds the league any more."""
        then = self.on_first_survey
        if then is not None and self._ledger.outages.of_league is None:
            self.on_first_survey = None
            then(now)

    def _judge(self, now: float) -> None:
        """Decide whether this is an outage."""
        latest_round = self._ledger.latest_round
        assert latest_round is not None
        counted = self._counted()
        missing = tuple(player for player in counted if player in self.gone)
        if self._is_outage(missing, counted) and self._remaining_s() > 0:
            reason = f"{len(missing)} of {len(counted)} players can't be reached: {', '.join(missing)}"
            self._begin(missing, reason, "", now)
            return
        for origin, players in self._empty_addresses(missing, counted).items():
            reason = f"all players at {origin} can't be reached: {', '.join(players)}"
            self._begin(players, reason, origin, now)
        if latest_round.unchecked and not self._survey.is_wanted:
            self.context.happened(PlayersProbed(at=now, missing=missing))

    def _is_outage(self, missing: Sequence[str], counted: Sequence[str]) -> bool:
        """True if so many players are missing that the league waits for them."""
        gone = len(missing)
        if gone >= FEWEST_OF_HALF and 2 * gone >= len(counted):
            return True
        return gone >= FEWEST_OF_SHARE and gone >= self._ledger.settings.outage_share * len(counted)

    def _empty_addresses(self, missing: Sequence[str], counted: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the addresses at which all players are missing, if they are not everybody's, with these players."""
        ledger = self._ledger
        players_at: dict[str, list[str]] = {}
        for player in counted:
            players_at.setdefault(self.context.member(player).origin, []).append(player)
        empty = {}
        for origin, players in players_at.items():
            is_new = origin not in ledger.outages.by_address
            may_wait = ledger.outages.past_by_address.get(origin, 0) < MOST_AT_ADDRESS
            if not is_new or not may_wait or len(players) < FEWEST_AT_ADDRESS or not set(players) <= set(missing):
                continue
            # On loopback, and behind one address for most of the league, an address says nothing.
            ip = ip_of(origin)
            is_one_machine = ip is not None and not ip.is_loopback
            if is_one_machine and 2 * len(players) <= len(counted):
                empty[origin] = tuple(players)
        return empty

    # --- the outage ---------------------------------------------------------------------------------------------------

    def _begin(self, missing: tuple[str, ...], reason: str, origin: str, now: float) -> None:
        latest_round = self._ledger.latest_round
        assert latest_round is not None, "outages are on"
        self.context.happened(
            OutageBegan(
                at=now,
                round_id=self._ledger.current_round,
                missing=missing,
                reason=reason,
                origin=origin,
            )
        )
        for match_id, players in list(latest_round.out_of_reach.items()):
            if any(player in missing for player in players):
                self._void(
                    self._ledger.matches[match_id],
                    "many players were gone at once",
                    now,
                )
        self._hold(origin, now)

    def _hold(self, origin: str, now: float) -> None:
        self._held_since[origin] = now
        remaining_s = self._ledger.settings.outage_minutes * 60
        if not origin:
            self._few_since = None
            remaining_s = self._remaining_s()
        self.context.timers.set(
            ("outage", origin),
            now + remaining_s,
            partial(self.end, "time", origin=origin),
        )
        self._probe_later(now)

    def _probe_later(self, now: float) -> None:
        def probe(_: float) -> None:
            is_waiting = self._ledger.outages.of_league is not None or bool(self._ledger.outages.by_address)
            self._survey.is_wanted = self._survey.is_wanted or is_waiting

        self.context.timers.set("probe players", now + PROBE_AGAIN_S, probe)

    def _look(self, now: float) -> None:
        """End the outage if all players are back, or if only a few have been missing for a while."""
        counted = self._counted()
        missing = [player for player in counted if player in self.gone]
        if missing and self._is_outage(missing, counted):
            self._few_since = None
        elif self._few_since is None:
            self._few_since = now
        if not missing or (self._few_since is not None and now - self._few_since >= STRAGGLERS_S):
            self.end("answered", now)
        else:
            self._probe_later(now)

    def _look_at_addresses(self, now: float) -> None:
        """End the outage of an address if all its players are back, or do not take part any more."""
        counted = self._counted()
        for origin, outage in list(self._ledger.outages.by_address.items()):
            if any(player in self.gone and player in counted for player in outage.missing):
                self._probe_later(now)
            else:
                self.end("answered", now, origin=origin)

    def end(
        self,
        why: Literal["answered", "operator", "time"],
        now: float,
        key: str = "",
        origin: str = "",
    ) -> None:
        """Let the league go on, or the matches of one address."""
        outage = self._ledger.outages.by_address.get(origin, self._ledger.outages.of_league)
        assert outage is not None, "only an outage that has begun can end"
        awaited = outage.missing if origin else self._counted()
        missing = tuple(player for player in awaited if player in self.gone)
        lasted_s = round(max(now - self._held_since[origin], 0.0), 3)
        self.context.happened(
            OutageEnded(
                at=now,
                why=why,
                missing=missing,
                lasted_s=lasted_s,
                key=key,
                origin=origin,
            )
        )
        self.context.timers.clear(("outage", origin))
        if self._ledger.outages.of_league is None and not self._ledger.outages.by_address:
            self.context.timers.clear("probe players")
        if not origin:
            # While the league was held, matches of dead referees stayed where they were.
            self.assignments.reassign(now)
            self._go_on(now)

    # --- losses that do not stand -------------------------------------------------------------------------------------

    def refuses(self, match: ScheduledMatch, result: ResultAccepted) -> str | None:
        """Return why a technical loss is refused and its match played again, or None if it stands."""
        if not self.is_on:
            return None
        losers = self._excusable(match, result)
        for player in losers:
            outage = self.waits_for(player)
            # While the league waits for players, it excuses those that were or are missing.
            if outage is not None and (player in outage.missing or player in self.gone):
                return "the league waits for players that are gone"
        # A limit, or a match whose referee is restarted again and again would never end.
        if losers and match.excuses.interrupted == match.attempt and match.excuses.held < MOST_HELD:
            return "it was interrupted"
        return None

    def _excusable(self, match: ScheduledMatch, result: ResultAccepted) -> tuple[str, ...]:
        """Return the losers that an outage may excuse. A loss that we were asked about is decided."""
        return tuple(player for player in excusable(result, match.players) if player not in match.current.allowed)

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
                players=self._excusable(match, result),
                why=why,
            )
        )

    def _void(self, match: ScheduledMatch, why: str, now: float) -> None:
        self.context.happened(ResultVoided(at=now, match_id=match.match_id, why=why))
        for player in map(self.context.member, match.players):
            # Without this loss it would not have been suspended.
            if player.state == "SUSPENDED" and player.attendance.faults_in_a_row < FAULTS_THAT_SUSPEND:
                self.context.change(player, "recover", now, why)
