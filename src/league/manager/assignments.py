"""Which referee plays which match, and that it knows: a lease begins with MatchAssigned, the referee gets its copy of
the announcement, and gets it again until it has acknowledged it (spec section 8.12).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from league.events import MatchAssigned
from league.games import registry
from league.machine import Failure, Pong
from league.manager.courier import Courier, Ending, Errand, Policy
from league.manager.ledger import Ledger, Match
from league.manager.notices import Notices
from league.manager.office import Office
from league.manager.roster import Member
from league.manager.standings import number_of
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import Message

MATCHES_IN_ONE_MESSAGE = 100
"""D4's bound for arrays; a referee with more matches gets several announcements."""
GRACE_S = 60.0
SLEPT_S = 1.0
"""An alarm that rings later than this was slept through."""


@dataclass(slots=True)
class Handover:
    """What we know of a referee and its copy of one attempt."""

    attempt: int
    under_way: bool = True
    acknowledged_at: float | None = None
    maybe_heard: bool = False


@dataclass(slots=True)
class Assignments:
    """`overdue` is called when the lease of a match has run out, or its referee forgot it."""

    office: Office
    courier: Courier
    notices: Notices
    overdue: Callable[[Match, str, float], None]
    _handovers: dict[str, Handover] = field(default_factory=dict)

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
        for match in matches:
            referee = min(self._others(match, referees), key=self._load)
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
                self._hand_over_all([match for match in held if match.round_id == round_id], now)

    def _hand_over_all(self, matches: Sequence[Match], now: float) -> None:
        by_referee: dict[str, list[Match]] = {}
        for match in matches:
            by_referee.setdefault(match.referee_id or "", []).append(match)
        for referee_id, mine in by_referee.items():
            for start in range(0, len(mine), MATCHES_IN_ONE_MESSAGE):
                self._hand_over(self.office.member(referee_id), mine[start : start + MATCHES_IN_ONE_MESSAGE], now)

    def _hand_over(self, referee: Member, matches: Sequence[Match], now: float) -> None:
        places = {one: place for place, one in enumerate(self._ledger.holdings[referee.agent_id], start=1)}
        for match in matches:
            self._handovers[match.match_id] = Handover(match.attempt)
            queued = math.ceil(places[match.match_id] / referee.capacity)
            self._lease(match, now + queued * self.duration_s())
        self._send(referee, matches, now)

    def _send(self, referee: Member, matches: Sequence[Match], now: float) -> None:
        leases = [(match, match.attempt) for match in matches]
        row = EXCHANGES["ROUND_ANNOUNCEMENT"]
        errand = Errand(
            referee.agent_id,
            f"{matches[0].match_id}/{matches[0].attempt}/assign/{referee.agent_id}",
            self.notices.assignment(referee, matches, now),
            Policy(row.limit_s, self._ledger.settings.retry_delays_s, spared=False),
            ended=partial(self._ended, leases),
            stumbled=partial(self._stumbled, leases),
        )
        errand.renew = partial(self._renewed, leases, now)
        self.courier.go([errand], now)

    def _open(self, leases: Sequence[tuple[Match, int]], referee_id: str) -> list[Match]:
        return [match for match, attempt in leases if self._is_held(match, referee_id, attempt)]

    def _is_held(self, match: Match, referee_id: str, attempt: int) -> bool:
        return match.status == "ASSIGNED" and (match.referee_id, match.attempt) == (referee_id, attempt)

    def _renewed(self, leases: Sequence[tuple[Match, int]], now: float, errand: Errand) -> Message | None:
        """For the next attempt: only what this referee still holds."""
        matches = self._open(leases, errand.agent_id)
        return self.notices.assignment(self.office.member(errand.agent_id), matches, now) if matches else None

    def _stumbled(self, leases: Sequence[tuple[Match, int]], errand: Errand, failure: Failure, now: float) -> None:
        for match in self._open(leases, errand.agent_id):
            if failure is not Failure.REFUSED:
                self._handovers[match.match_id].maybe_heard = True

    def _ended(self, leases: Sequence[tuple[Match, int]], errand: Errand, ending: Ending, now: float) -> None:
        for match in self._open(leases, errand.agent_id):
            handover = self._handovers[match.match_id]
            handover.under_way = False
            if ending is Ending.ACKNOWLEDGED:
                handover.acknowledged_at = now
            elif ending is Ending.REFUSED:
                handover.maybe_heard = True

    def listed(self, referee: Member, pong: Pong, pinged_at: float, now: float) -> None:
        """A referee answered a ping: does it have all that it should have? One that lists nothing is sent its copy
        again only if the first cannot have arrived: playing twice would be worse than waiting for the lease."""
        held = None if pong.matches is None else set(pong.matches)
        missing = []
        for match_id in list(self._ledger.holdings[referee.agent_id]):
            match, handover = self._ledger.matches[match_id], self._handovers.get(match_id)
            if handover is None or handover.attempt != match.attempt or handover.under_way:
                continue
            if held is not None and (match_id, match.attempt) in held:
                handover.acknowledged_at = handover.acknowledged_at or now
            elif handover.acknowledged_at is None:
                if held is not None or not handover.maybe_heard:
                    missing.append(match)
            elif held is not None and handover.acknowledged_at < pinged_at:
                self.overdue(match, f"{referee.agent_id} no longer holds it", now)
        for match in missing:
            self._handovers[match.match_id].under_way = True
            self._send(referee, [match], now)

    def forget(self, match_id: str) -> None:
        """The match is no longer in play."""
        self._handovers.pop(match_id, None)
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
