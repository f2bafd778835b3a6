"""Which referee is to play which match, which one plays it, and for how long: a lease begins with MatchAssigned. What
becomes of a match whose lease has run out or whose referee is dead: it is reassigned, or parked after three attempts
that count, until a referee is back (spec section 8.12).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from league.calling.delivery import Delivery, Ending, Policy
from league.events import MatchAssigned, MatchLost, MatchParked, MatchUnparked, RefereesNamed
from league.machine import Address, Pong
from league.manager.context import ManagerPart
from league.manager.dispatch import Dispatches, RefereeHabits, longest_match_s
from league.manager.ledger import ScheduledMatch
from league.manager.roster import Member
from league.manager.standings import number_of
from league.protocol.conventions import Convention
from league.protocol.exchanges import ONCE
from league.settings import LeagueSettings

ATTEMPTS = 3
MATCHES_IN_ONE_MESSAGE = 100
"""D4's bound for arrays; a referee with more matches gets several announcements."""
INTRODUCTION_S = 2.0
"""So long a match waits until its players have heard of a referee that they could not know otherwise."""
GRACE_S = 60.0
LATE_S = 1.0
"""A timer that expires later than this was slept through."""


def lease_s(settings: LeagueSettings) -> float:
    """The longest a legal match can take, and a minute (R-52)."""
    return longest_match_s(settings) + GRACE_S


@dataclass(slots=True)
class Leases(ManagerPart):
    """How long a referee may keep a match without reporting it. `on_expired` is told of one that took too long."""

    on_expired: Callable[[ScheduledMatch, str, float], None]

    @property
    def duration_s(self) -> float:
        return lease_s(self._ledger.settings)

    def begin(self, match: ScheduledMatch, until: float, *, is_prolonged: bool = False) -> None:
        action = partial(self._expired, match, until, is_prolonged)
        self.context.timers.set(("lease", match.match_id), until, action)

    def end(self, match_id: str) -> None:
        self.context.timers.clear(("lease", match_id))

    def _expired(self, match: ScheduledMatch, until: float, is_prolonged: bool, now: float) -> None:
        unwatched = now - until
        if unwatched > LATE_S and not is_prolonged:
            # We slept: the time in which no report could reach us does not count.
            self.begin(match, now + unwatched, is_prolonged=True)
        else:
            # Ended if the match is taken away; kept if nobody else could play it.
            self.begin(match, now + self.duration_s)
            self.on_expired(match, "no report in time", now)


@dataclass(slots=True)
class Assignments(ManagerPart):
    """Assigns, dispatches, takes away and reassigns."""

    dispatches: Dispatches
    habits: RefereeHabits
    _leases: Leases = field(init=False)
    _kept_back: dict[str, None] = field(default_factory=dict)
    """The referees that hold matches not dispatched to them yet."""
    _named_among: Sequence[str] = ()
    """The referees among whom the matches of the rounds to come are shared out."""
    _named_at: int = -1
    """How the roster stood then."""

    def __post_init__(self) -> None:
        ManagerPart.__post_init__(self)
        self._leases = Leases(self.context, self.failed)
        self.dispatches.on_begun_anew = self._begun_anew

    # --- assigning ----------------------------------------------------------------------------------------------------

    def available(self) -> list[Member]:
        """The referees that are alive and know the game."""
        game_type, referees = self._ledger.settings.game_type, self._ledger.roster.of_role("referee")
        return [one for one in referees if one.state == "ACTIVE" and game_type in one.game_types]

    def _answering(self) -> Iterator[Member]:
        """Those of them that could be given a match now: nothing is assigned to one whose last ping failed."""
        return (one for one in self.available() if not self.habits.is_silent(one.agent_id))

    @property
    def is_possible(self) -> bool:
        """Is there a referee that could play a match?"""
        return next(self._answering(), None) is not None

    def catch_up(self, now: float) -> None:
        """With referees that came or went, and with those that have finished a match."""
        if self._named_at != self._ledger.roster.changes:
            self._named_at = self._ledger.roster.changes
            self._name_referees(now)
        if self._kept_back:
            self._dispatch_next(now)

    def _name_referees(self, now: float) -> None:
        """Share out the matches of the rounds to come, anew when referees came or went."""
        among = [one.agent_id for one in self.available()]
        if among and among != self._named_among:
            self._named_among = among
            self.share_out(range(self._ledger.current_round + 1, len(self._ledger.rounds) + 1), now)

    def share_out(self, rounds: Iterable[int], now: float) -> None:
        """Name referees for the matches of these rounds, by what is known of players and referees now."""
        referees, unusual = self.available(), self._unusual()
        if not referees:
            return
        named: dict[str, str] = {}
        for round_id in rounds:
            named.update(self._shared_out(round_id, referees, unusual))
        if named:
            self.context.happened(RefereesNamed(at=now, referees=named))

    def _shared_out(
        self, round_id: int, referees: Sequence[Member], unusual: Collection[str]
    ) -> Iterator[tuple[str, str]]:
        """The matches of a round that get another referee than they have."""
        shares: Counter[str] = Counter()
        for match in self._ledger.matches_in(round_id):
            if match.result is None:
                fitting = self._fitting(match, referees, unusual)
                referee_id = min(fitting, key=lambda one: _share(one, shares[one.agent_id])).agent_id
                shares[referee_id] += 1
                if match.referee_id != referee_id:
                    yield match.match_id, referee_id

    def assign_waiting(self, now: float) -> None:
        """A referee for every match that needs one now, if there is any."""
        self._assign(self._ledger.in_play.waiting, now)

    def assign_voided(self, now: float) -> None:
        """Matches of finished rounds that are played again, now that no round is open."""
        self._assign(self._ledger.in_play.voided, now)

    def _assign(self, match_ids: Collection[str], now: float) -> None:
        referees = list(self._answering()) if match_ids else []
        if not referees:
            return
        unusual = self._unusual()
        for match in [self._ledger.matches[one] for one in match_ids]:
            referee = self._best(match, self._fitting(match, self._others(match, referees), unusual))
            self.context.happened(
                MatchAssigned(at=now, match_id=match.match_id, referee_id=referee.agent_id, attempt=match.attempt + 1)
            )
            if self._ledger.round_of(match).assignments_sent:
                self._dispatch(referee, [match], now)

    def _unusual(self) -> Collection[str]:
        """Who deviates, or is called in another convention than that of the documents."""
        usual, members = Convention.SPEC.value, self._ledger.roster.members.values()
        deviating = {agent_id for agent_id, _, _ in self._ledger.deviations}
        return deviating | {one.agent_id for one in members if one.convention != usual}

    def _best(self, match: ScheduledMatch, referees: Sequence[Member]) -> Member:
        """The one that was named, if it can; or else the one with the least to do."""
        if match.attempt == 0:
            for one in referees:
                if one.agent_id == match.referee_id:
                    return one
        return min(referees, key=self._load)

    def _others(self, match: ScheduledMatch, referees: Sequence[Member]) -> Sequence[Member]:
        """Not again the one that lost it, unless it is the only one; nor one that lost any other and has proven nothing
        since."""
        referees = [one for one in referees if self.habits.is_reliable(one.agent_id)] or referees
        if match.tries == 0:
            return referees
        return [one for one in referees if one.agent_id != match.referee_id] or referees

    def _fitting(self, match: ScheduledMatch, referees: Sequence[Member], unusual: Collection[str]) -> Sequence[Member]:
        """Referees by others may know one convention only: a player that deviates gets one of ours, if there is."""
        if match.player_a not in unusual and match.player_b not in unusual:
            return referees
        return [one for one in referees if self.habits.is_ours(one.agent_id)] or referees

    def _load(self, referee: Member) -> tuple[float, tuple[int, str]]:
        return _share(referee, len(self._ledger.in_play.holdings[referee.agent_id]))

    # --- dispatching --------------------------------------------------------------------------------------------------

    def dispatch_round(self, round_id: int, now: float, *, again: bool) -> None:
        """The lead is over: every referee gets its matches of this round."""
        assigned = [one for one in self._ledger.matches_in(round_id) if one.status == "ASSIGNED"]
        self._dispatch_all(assigned, now, again=again)

    def dispatch_again(self, now: float) -> None:
        """After a restart: all that is open, with leases that run anew."""
        held = [match for referee_id in self._ledger.in_play.holdings for match in self._ledger.held_by(referee_id)]
        for round_id in sorted({match.round_id for match in held}):
            if self._ledger.rounds[round_id - 1].assignments_sent:
                self._dispatch_all([match for match in held if match.round_id == round_id], now, again=True)

    def _dispatch_all(self, matches: Sequence[ScheduledMatch], now: float, *, again: bool = False) -> None:
        """Matches of one round go to a referee in one message."""
        groups: dict[tuple[str, int], list[ScheduledMatch]] = {}
        for match in matches:
            groups.setdefault((match.referee_id or "", match.round_id), []).append(match)
        for (referee_id, _), mine in groups.items():
            for start in range(0, len(mine), MATCHES_IN_ONE_MESSAGE):
                some = mine[start : start + MATCHES_IN_ONE_MESSAGE]
                self._dispatch(self.context.member(referee_id), some, now, again=again)

    def _dispatch(self, referee: Member, matches: Sequence[ScheduledMatch], now: float, *, again: bool = False) -> None:
        """Ours get all at once. Others are not relied on to keep a queue: they get what they can play at a time, and
        the next when one is reported."""
        room = len(matches) if self.habits.is_ours(referee.agent_id) else self._room(referee)
        if len(matches) > room:
            self._kept_back[referee.agent_id] = None
            matches = matches[:room]
        if not matches:
            return
        holdings, duration_s = self._ledger.in_play.holdings[referee.agent_id], self._leases.duration_s
        places = {one: place for place, one in enumerate(holdings, start=1)}
        for match in matches:
            queued = math.ceil(places[match.match_id] / referee.capacity)
            self._leases.begin(match, now + queued * duration_s)
        known = [one for one in matches if self.dispatches.messages.is_known_to_players(one)]
        if known:
            self.dispatches.dispatch(referee, known, duration_s, now, again=again)
        for match in matches:
            if match not in known:
                self._introduce(referee, match, again, now)

    def _introduce(self, referee: Member, match: ScheduledMatch, again: bool, now: float) -> None:
        """Players listen to a referee that shows no derived tokens only if they were told of it (section 9.2): it gets
        the match when both have answered, or can't be reached."""
        message, attempt = self.dispatches.messages.announcement_of(match, now), match.attempt
        waiting = set(match.players)

        def told(delivery: Delivery, _: Ending, then: float) -> None:
            waiting.discard(delivery.peer)
            is_ours = (match.status, match.referee_id, match.attempt) == ("ASSIGNED", referee.agent_id, attempt)
            if not waiting and is_ours and not self.dispatches.is_dispatched(match):
                self.dispatches.dispatch(referee, [match], self._leases.duration_s, then, again=again)

        policy = Policy(INTRODUCTION_S, ONCE)
        self.context.calls.deliver(
            [
                Delivery(player, "introduce", message, policy, address=partial(self._address, player), on_end=told)
                for player in match.players
            ],
            now,
        )

    def _address(self, agent_id: str) -> Address | None:
        return self.context.address(self.context.member(agent_id))

    def _begun_anew(self, match: ScheduledMatch, now: float) -> None:
        """It is given to its referee otherwise, which begins to play it only now."""
        self._leases.begin(match, now + self._leases.duration_s)

    def _room(self, referee: Member) -> int:
        held = map(self.dispatches.is_dispatched, self._ledger.held_by(referee.agent_id))
        return max(referee.capacity - sum(held), 0)

    def _dispatch_next(self, now: float) -> None:
        """What was kept back, as far as there is room for it now."""
        for referee_id in list(self._kept_back):
            due = [one for one in self._ledger.held_by(referee_id) if self._ledger.round_of(one).assignments_sent]
            self._kept_back.pop(referee_id)
            self._dispatch_all([one for one in due if not self.dispatches.is_dispatched(one)], now)

    def show_new_token(self, player: Member, now: float) -> list[ScheduledMatch]:
        """This player uses another token than we thought: whoever plays a match of it now needs other ones. What is
        returned are the matches of referees by others: told of them once more, those might play them once more."""
        untold = []
        for referee in self._ledger.roster.of_role("referee"):
            for match in self._ledger.held_by(referee.agent_id):
                if player.agent_id in match.players and self.dispatches.is_dispatched(match):
                    if self.habits.is_ours(referee.agent_id):
                        self.dispatches.remind(referee, match, now)
                    else:
                        untold.append(match)
        return untold

    # --- taking away and reassigning ----------------------------------------------------------------------------------

    def ping_answered(self, referee: Member, pong: Pong, pinged_at: float, now: float) -> None:
        """What the referee should have and lists no more is lost."""
        for match in self.dispatches.compare(referee, pong, pinged_at, now):
            self._overdue(match, f"{referee.agent_id} no longer holds it", now)

    def has_arrived(self, referee: Member) -> bool:
        """Does it know of all matches that it was to be told of?"""
        return all(map(self.dispatches.has_arrived, self._ledger.held_by(referee.agent_id)))

    def forget(self, match_id: str) -> None:
        """The match is no longer in play."""
        self.dispatches.forget(match_id)
        self._leases.end(match_id)

    def reassign(self, now: float) -> None:
        """Matches of dead referees go to live ones. While there is none they stay: their referee may come back and
        report, and nobody else could play them."""
        if self._ledger.is_held or not self.is_possible:
            return
        for referee in self._ledger.roster.of_role("referee"):
            if referee.state == "SUSPENDED":
                for match in self._ledger.held_by(referee.agent_id):
                    self._lose(match, f"{referee.agent_id} is silent", now)

    def came_back(self, now: float) -> None:
        """A referee is back, or a new one came: what others lost is played again, also what was parked."""
        self.reassign(now)
        for match_id in list(self._ledger.in_play.parked):
            self.context.happened(MatchUnparked(at=now, match_id=match_id))

    def failed(self, match: ScheduledMatch, why: str, now: float) -> None:
        """Its referee did not get it done, and nothing more will come: it gets no other before it has proven itself,
        and what was kept back for it goes to others."""
        referee_id = match.referee_id or ""
        self._overdue(match, why, now, counts=True)
        if match.status == "ASSIGNED":
            return
        self.habits.lapsed(referee_id)
        if any(self.habits.is_reliable(one.agent_id) for one in self._answering()):
            for other in self._ledger.held_by(referee_id):
                if not self.dispatches.is_dispatched(other):
                    self._overdue(other, f"{referee_id} did not finish {match.match_id}", now)

    def _overdue(self, match: ScheduledMatch, why: str, now: float, *, counts: bool = False) -> None:
        """Nothing is taken away while nobody could play it."""
        if self._ledger.is_running and not self._ledger.is_held and self.is_possible:
            self._lose(match, why, now, counts=counts)

    def _lose(self, match: ScheduledMatch, why: str, now: float, *, counts: bool = False) -> None:
        """`counts` as an attempt even if it was never acknowledged: a referee that is alive had the time for it."""
        counts = counts or self.dispatches.is_acknowledged(match)
        self.forget(match.match_id)
        self.dispatches.giving.taken_away(match.referee_id or "")
        self.context.happened(MatchLost(at=now, match_id=match.match_id, attempt=match.attempt, why=why, counts=counts))
        if match.tries >= ATTEMPTS:
            self.context.happened(MatchParked(at=now, match_id=match.match_id))


def _share(referee: Member, matches: int) -> tuple[float, tuple[int, str]]:
    """How much it has to do with so many matches; among equals the lower number comes first."""
    return matches / referee.capacity, number_of(referee.agent_id)
