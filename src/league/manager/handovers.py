"""That a referee knows its matches. Ours get their copy of the announcement until they have acknowledged it (spec
section 8.12); of those by others it is found out what makes them play (section 13.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from league.events import HandoverLearned
from league.machine import Content, Failure, Pong
from league.manager.courier import Courier, Ending, Errand, Policy
from league.manager.ledger import Ledger, Match
from league.manager.notices import Notices
from league.manager.office import Office
from league.manager.roster import Member
from league.protocol.assigning import MatchAssignment, StartMatch
from league.protocol.envelope import Unsealed
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import Message

ANNOUNCED, POLLED = "ROUND_ANNOUNCEMENT", "get_assigned_matches"
STARTS: dict[str, type[StartMatch]] = {"START_MATCH": StartMatch, "MATCH_ASSIGNMENT": MatchAssignment}
WAYS = (ANNOUNCED, *STARTS)
"""How a match may be given to a referee by others, in the order it is tried."""


@dataclass(slots=True, eq=False)
class Handover:
    """What we know of a referee and one attempt of a match that it was given."""

    referee_id: str
    match: Match
    attempt: int
    given_at: float
    limit_s: float
    """How long the match may take."""
    way: str = ANNOUNCED
    """How it is being given, or was at last."""
    ways: list[str] = field(default_factory=list)
    """Those not tried yet."""
    taken_by: str = ""
    """The last way that it acknowledged: what a report is owed to."""
    times_taken: int = 0
    under_way: bool = True
    acknowledged_at: float | None = None
    maybe_heard: bool = False


@dataclass(slots=True)
class Handovers:
    """Matches that referees were told of, in this life of the process."""

    office: Office
    courier: Courier
    notices: Notices
    _open: dict[str, Handover] = field(default_factory=dict)
    _pollers: set[str] = field(default_factory=set)
    _patience: dict[str, float] = field(default_factory=dict)
    """How long to wait for the report of a referee that is slow."""

    @property
    def _ledger(self) -> Ledger:
        return self.office.ledger

    def is_given(self, match: Match) -> bool:
        """Was the referee that holds this match told of it?"""
        handover = self._open.get(match.match_id)
        return handover is not None and handover.attempt == match.attempt

    def give(self, referee: Member, matches: Sequence[Match], limit_s: float, now: float, again: bool = False) -> None:
        """These matches are now this referee's, and each takes no longer than the limit. `again`: it may well be
        playing them, since this is another life of ours."""
        ways = self._ways(referee)
        handovers = [
            Handover(referee.agent_id, one, one.attempt, now, limit_s, ways[0], list(ways[1:])) for one in matches
        ]
        self._open.update((one.match.match_id, one) for one in handovers)
        if ways[0] == ANNOUNCED:
            self._announce(referee, handovers, now)
            return
        for one in handovers:
            if again:
                # Who is given a match one by one might play it twice: it gets the time to report first.
                one.ways, one.under_way, one.maybe_heard = list(ways), False, True
                self._await_report(one, now)
            else:
                self._start(one, now)

    def _ways(self, referee: Member) -> Sequence[str]:
        """What made it play before comes first."""
        if self._ledger.settings.profile == "strict":
            return (ANNOUNCED,)
        return sorted(WAYS, key=lambda one: one != referee.handover)

    # --- the announcement ---------------------------------------------------------------------------------------------

    def _announce(self, referee: Member, handovers: Sequence[Handover], now: float) -> None:
        first = handovers[0]
        for one in handovers:
            one.under_way = True
        errand = Errand(
            referee.agent_id,
            f"{first.match.match_id}/{first.attempt}/assign/{referee.agent_id}",
            self.notices.assignment(referee, [one.match for one in handovers], now),
            Policy(EXCHANGES[ANNOUNCED].limit_s, self._ledger.settings.retry_delays_s, spared=False),
            ended=partial(self._announced, handovers),
            stumbled=partial(self._stumbled, handovers),
            must_be_understood=not self._polls(referee.agent_id),
        )
        errand.renew = partial(self._renewed, handovers, now)
        self.courier.go([errand], now)

    def remind(self, referee: Member, match: Match, now: float) -> None:
        """The same assignment once more, with the tokens as they are now; a referee of ours takes them over."""
        label = f"{match.match_id}/{match.attempt}/remind/{referee.agent_id}"
        policy = Policy(EXCHANGES[ANNOUNCED].limit_s, self._ledger.settings.retry_delays_s, spared=False)
        message = self.notices.assignment(referee, [match], now)
        self.courier.go([Errand(referee.agent_id, label, message, policy, ended=lambda *_: None)], now)

    def _still(self, handovers: Sequence[Handover]) -> list[Handover]:
        return [one for one in handovers if self._is_open(one)]

    def _is_open(self, handover: Handover) -> bool:
        """Does this referee still hold this attempt?"""
        match = handover.match
        held = match.status == "ASSIGNED" and (match.referee_id, match.attempt) == (
            handover.referee_id,
            handover.attempt,
        )
        return held and self._open.get(match.match_id) is handover

    def _renewed(self, handovers: Sequence[Handover], now: float, errand: Errand) -> Message | None:
        """For the next attempt: only what this referee still holds."""
        matches = [one.match for one in self._still(handovers)]
        return self.notices.assignment(self.office.member(errand.agent_id), matches, now) if matches else None

    def _stumbled(self, handovers: Sequence[Handover], errand: Errand, failure: Failure, now: float) -> None:
        for one in self._still(handovers):
            if failure is not Failure.REFUSED:
                one.maybe_heard = True

    def _announced(self, handovers: Sequence[Handover], errand: Errand, ending: Ending, now: float) -> None:
        for one in self._still(handovers):
            one.under_way = False
            one.maybe_heard = one.maybe_heard or ending is Ending.REFUSED
            if ending is Ending.ACKNOWLEDGED:
                self._acknowledged(one, now)
            elif is_unreadable(errand.answer):
                self._await_report(one, now)
            elif one.maybe_heard:
                self._otherwise(one, now)

    # --- one match at a time ------------------------------------------------------------------------------------------

    def _start(self, handover: Handover, now: float) -> None:
        """A referee may answer when the match is over: the call has as long as the match. It is repeated only if it
        cannot have arrived."""
        handover.under_way = True
        match, referee = handover.match, self.office.member(handover.referee_id)
        message = self.notices.start(STARTS[handover.way], referee, match, now)
        errand = Errand(
            referee.agent_id,
            f"{match.match_id}/{handover.attempt}/start/{referee.agent_id}",
            message,
            Policy(handover.limit_s, self._ledger.settings.retry_delays_s, refused_only=True, spared=False),
            ended=partial(self._started, handover),
            stumbled=partial(self._stumbled, [handover]),
            must_be_understood=True,
        )
        errand.renew = lambda _: message if self._is_open(handover) else None
        self.courier.go([errand], now)

    def _started(self, handover: Handover, errand: Errand, ending: Ending, now: float) -> None:
        if not self._is_open(handover):
            return
        handover.under_way = False
        if ending is Ending.ACKNOWLEDGED:
            self._acknowledged(handover, now)
        elif ending is Ending.REFUSED and not is_unreadable(errand.answer):
            self._otherwise(handover, now)
        elif ending is Ending.REFUSED or handover.maybe_heard:
            self._await_report(handover, now)

    # --- what makes it play -------------------------------------------------------------------------------------------

    def _acknowledged(self, handover: Handover, now: float) -> None:
        handover.acknowledged_at, handover.taken_by = now, handover.way
        handover.times_taken += 1
        referee = self.office.member(handover.referee_id)
        if referee.handover != ANNOUNCED:
            self._await_report(handover, now)

    def _await_report(self, handover: Handover, now: float) -> None:
        """Many acknowledge whatever they are told and then do nothing. One that plays already answers the next way with
        an error, or ignores it: whatever it reports first counts."""
        if not self._is_known(handover.referee_id) and handover.ways:
            patience = self._patience.get(handover.referee_id, 0.0)
            at = now + max(self._ledger.settings.start_match_after_s, patience)
            alarm = partial(self._otherwise, handover)
            self.office.timers.set(("handover", handover.match.match_id), at, alarm)

    def _is_known(self, referee_id: str) -> bool:
        """There is nothing to find out about ours, and about those that ask for their matches."""
        return self._polls(referee_id) or self.courier.line(referee_id).is_ours

    def _polls(self, referee_id: str) -> bool:
        return referee_id in self._pollers or self.office.member(referee_id).handover == POLLED

    def _otherwise(self, handover: Handover, now: float) -> None:
        """Give it the match in the next way."""
        if not self._is_open(handover) or self._is_known(handover.referee_id) or not handover.ways:
            return
        handover.way, handover.maybe_heard = handover.ways.pop(0), False
        self._give(handover, now)

    def _give(self, handover: Handover, now: float) -> None:
        if handover.way in STARTS and not self._is_known(handover.referee_id):
            self._start(handover, now)
        else:
            handover.way = ANNOUNCED
            self._announce(self.office.member(handover.referee_id), [handover], now)

    def polled(self, referee: Member, now: float) -> list[Match]:
        """A referee asks for its matches, and so takes up all it was given."""
        self._pollers.add(referee.agent_id)
        mine = [one for one in self._open.values() if one.referee_id == referee.agent_id and self._is_open(one)]
        for one in mine:
            one.taken_by = one.way = POLLED
            one.acknowledged_at = one.acknowledged_at or now
            self.office.timers.clear(("handover", one.match.match_id))
        return [one.match for one in mine]

    def reported(self, match: Match, referee: Member, now: float) -> None:
        """A match was played: remember what made this referee play it."""
        handover = self._open.get(match.match_id)
        if handover is None or self.courier.line(referee.agent_id).is_ours:
            return
        if handover.times_taken > 1:
            # Which of them it was cannot be told. The next match shows it, if it gets the time to be played.
            self._patience[referee.agent_id] = min(2 * (now - handover.given_at), handover.limit_s / 2)
        way = handover.way if handover.under_way else handover.taken_by
        if way and way != referee.handover:
            self.office.happened(HandoverLearned(at=now, agent_id=referee.agent_id, way=way))

    def lost(self, referee_id: str) -> None:
        """A match of this referee was given up: whatever we knew of it does not hold any more."""
        self._pollers.discard(referee_id)
        self._patience.pop(referee_id, None)

    # --- pings --------------------------------------------------------------------------------------------------------

    def listed(self, referee: Member, pong: Pong, pinged_at: float, now: float) -> list[Match]:
        """A referee answered a ping: does it have all that it should have? One that lists nothing is sent its copy
        again only if the first cannot have arrived: playing twice would be worse than waiting for the lease. Returned
        is what it had and has no more."""
        held = None if pong.matches is None else set(pong.matches)
        missing, forgotten = [], []
        for match_id in list(self._ledger.holdings[referee.agent_id]):
            match, handover = self._ledger.matches[match_id], self._open.get(match_id)
            if handover is None or handover.attempt != match.attempt or handover.under_way:
                continue
            if held is not None and (match_id, match.attempt) in held:
                handover.acknowledged_at = handover.acknowledged_at or now
            elif handover.acknowledged_at is None:
                if held is not None or not handover.maybe_heard:
                    missing.append(handover)
            elif held is not None and handover.acknowledged_at < pinged_at:
                forgotten.append(match)
        for handover in missing:
            self._give(handover, now)
        return forgotten

    def forget(self, match_id: str) -> None:
        """The match is no longer in play."""
        self._open.pop(match_id, None)
        self.office.timers.clear(("handover", match_id))


def is_unreadable(answer: Content | None) -> bool:
    """It said something, and whether yes or no cannot be told: it may well be playing."""
    return isinstance(answer, Unsealed) and answer.message is None
