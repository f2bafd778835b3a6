"""Which referee plays which match, and how long it may take: a lease begins with MatchAssigned (spec section 8.12)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from league.events import MatchAssigned
from league.games import registry
from league.machine import Pong
from league.manager.courier import Courier
from league.manager.handovers import Handovers
from league.manager.ledger import Ledger, Match
from league.manager.office import Office
from league.manager.roster import Member
from league.manager.standings import number_of
from league.protocol.conventions import Convention
from league.protocol.exchanges import EXCHANGES

MATCHES_IN_ONE_MESSAGE = 100
"""D4's bound for arrays; a referee with more matches gets several announcements."""
GRACE_S = 60.0
SLEPT_S = 1.0
"""An alarm that rings later than this was slept through."""


@dataclass(slots=True)
class Assignments:
    """`overdue` is called when the lease of a match has run out, or its referee forgot it."""

    office: Office
    courier: Courier
    handovers: Handovers
    overdue: Callable[[Match, str, float], None]
    _kept_back: dict[str, None] = field(default_factory=dict)
    """The referees that hold matches they were not told of yet."""

    @property
    def _ledger(self) -> Ledger:
        return self.office.ledger

    # --- who plays it -------------------------------------------------------------------------------------------------

    def available(self) -> Iterator[Member]:
        """The referees that are alive and know the game."""
        game_type, referees = self._ledger.settings.game_type, self._ledger.roster.of_role("referee")
        return (one for one in referees if one.state == "ACTIVE" and game_type in one.game_types)

    def assign_waiting(self, now: float) -> None:
        """A referee for every match that needs one now, if there is any."""
        if not self._ledger.waiting:
            return
        referees = list(self.available())
        if referees:
            self._assign([self._ledger.matches[match_id] for match_id in self._ledger.waiting], referees, now)

    def assign_voided(self, now: float) -> None:
        """Matches of finished rounds that are played again, now that no round is open."""
        referees = list(self.available())
        if referees:
            self._assign([self._ledger.matches[match_id] for match_id in self._ledger.voided], referees, now)

    def _assign(self, matches: Sequence[Match], referees: Sequence[Member], now: float) -> None:
        odd = {agent_id for agent_id, _, _ in self._ledger.deviations}
        for match in matches:
            referee = min(self._fitting(match, self._others(match, referees), odd), key=self._load)
            self.office.happened(
                MatchAssigned(at=now, match_id=match.match_id, referee_id=referee.agent_id, attempt=match.attempt + 1)
            )
            if self._ledger.round_of(match).assignments_sent:
                self._hand_over(referee, [match], now)

    def _others(self, match: Match, referees: Sequence[Member]) -> Sequence[Member]:
        """Not again the one that lost it, unless it is the only one."""
        if match.tries == 0:
            return referees
        return [one for one in referees if one.agent_id != match.referee_id] or referees

    def _fitting(self, match: Match, referees: Sequence[Member], odd: Collection[str]) -> Sequence[Member]:
        """Referees by others may know one way of speaking only: who speaks otherwise gets one of ours, if there is."""
        members = [self.office.member(player) for player in match.players]
        if all(one.convention == Convention.SPEC.value and one.agent_id not in odd for one in members):
            return referees
        return [one for one in referees if self.courier.line(one.agent_id).is_ours] or referees

    def _load(self, referee: Member) -> tuple[float, tuple[int, str]]:
        return len(self._ledger.holdings[referee.agent_id]) / referee.capacity, number_of(referee.agent_id)

    # --- that it knows ------------------------------------------------------------------------------------------------

    def hand_over_round(self, round_id: int, now: float) -> None:
        """The lead is over: every referee gets its matches of this round."""
        self._hand_over_all([one for one in self._ledger.matches_in(round_id) if one.status == "ASSIGNED"], now)

    def hand_over_again(self, now: float) -> None:
        """After a restart: all that is open, with leases that run anew."""
        held = [self._ledger.matches[one] for matches in self._ledger.holdings.values() for one in matches]
        for round_id in sorted({match.round_id for match in held}):
            if self._ledger.rounds[round_id - 1].assignments_sent:
                self._hand_over_all([match for match in held if match.round_id == round_id], now, again=True)

    def _hand_over_all(self, matches: Sequence[Match], now: float, again: bool = False) -> None:
        """Matches of one round go to a referee in one message."""
        groups: dict[tuple[str, int], list[Match]] = {}
        for match in matches:
            groups.setdefault((match.referee_id or "", match.round_id), []).append(match)
        for (referee_id, _), mine in groups.items():
            for start in range(0, len(mine), MATCHES_IN_ONE_MESSAGE):
                some = mine[start : start + MATCHES_IN_ONE_MESSAGE]
                self._hand_over(self.office.member(referee_id), some, now, again)

    def _hand_over(self, referee: Member, matches: Sequence[Match], now: float, again: bool = False) -> None:
        """Ours get all at once. Others are not relied on to keep a queue: they get what they can play at a time, and
        the next when one is reported."""
        room = len(matches) if self.courier.line(referee.agent_id).is_ours else self._room(referee)
        if len(matches) > room:
            self._kept_back[referee.agent_id] = None
            matches = matches[:room]
        if not matches:
            return
        places = {one: place for place, one in enumerate(self._ledger.holdings[referee.agent_id], start=1)}
        for match in matches:
            queued = math.ceil(places[match.match_id] / referee.capacity)
            self._lease(match, now + queued * self.duration_s())
        self.handovers.give(referee, matches, self.duration_s(), now, again)

    def show_anew(self, player: Member, now: float) -> None:
        """This player goes by another token than we thought: whoever plays a match of it now needs other ones."""
        held = (self._ledger.matches[one] for matches in self._ledger.holdings.values() for one in matches)
        for match in [one for one in held if player.agent_id in one.players and self.handovers.is_given(one)]:
            referee = self.office.member(match.referee_id or "")
            if self.courier.line(referee.agent_id).is_ours:
                self.handovers.remind(referee, match, now)

    def _room(self, referee: Member) -> int:
        held = (self._ledger.matches[one] for one in self._ledger.holdings[referee.agent_id])
        return max(referee.capacity - sum(map(self.handovers.is_given, held)), 0)

    def hand_over_next(self, now: float) -> None:
        """What was kept back, as far as there is room for it now."""
        for referee_id in list(self._kept_back):
            held = (self._ledger.matches[one] for one in self._ledger.holdings[referee_id])
            due = [one for one in held if self._ledger.round_of(one).assignments_sent]
            self._kept_back.pop(referee_id)
            self._hand_over_all([one for one in due if not self.handovers.is_given(one)], now)

    def listed(self, referee: Member, pong: Pong, pinged_at: float, now: float) -> None:
        """A referee answered a ping."""
        for match in self.handovers.listed(referee, pong, pinged_at, now):
            self.overdue(match, f"{referee.agent_id} no longer holds it", now)

    def forget(self, match_id: str) -> None:
        """The match is no longer in play."""
        self.handovers.forget(match_id)
        self.office.timers.clear(("lease", match_id))

    # --- how long it may take -----------------------------------------------------------------------------------------

    def duration_s(self) -> float:
        """The longest a legal match can take, and a minute (R-52)."""
        settings = self._ledger.settings
        game = registry.find(settings.game_type)
        attempts, pauses = len(settings.retry_delays_s) + 1, sum(settings.retry_delays_s)
        join = attempts * EXCHANGES["GAME_INVITATION"].limit_s + pauses
        move = attempts * settings.move_seconds + pauses
        return join + move * (game.turns if game else 1) + GRACE_S

    def _lease(self, match: Match, until: float, prolonged: bool = False) -> None:
        alarm = partial(self._lease_over, match, until, prolonged)
        self.office.timers.set(("lease", match.match_id), until, alarm)

    def _lease_over(self, match: Match, until: float, prolonged: bool, now: float) -> None:
        unwatched = now - until
        if unwatched > SLEPT_S and not prolonged:
            # We slept: the time in which no report could reach us does not count.
            self._lease(match, now + unwatched, prolonged=True)
        else:
            # Cleared if the match is taken away; kept if nobody else could play it.
            self._lease(match, now + self.duration_s())
            self.overdue(match, "no report in time", now)
