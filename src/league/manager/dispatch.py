"""Dispatch: that a referee knows the matches it was assigned. Ours get their copy of the announcement until they have
acknowledged it (spec section 8.12); of those by others it is found out which method makes them play (section 13.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from msgspec import Struct

from league.calling.delivery import Delivery, Ending, FailedAttempt, Policy
from league.dialects.assignments import MatchAssignment, StartMatch
from league.dialects.negotiation import RUN_MATCH_PATH, Negotiation, bare_route, routes
from league.events import DispatchLearned
from league.games import registry
from league.machine import Content, Failure, Pong
from league.manager.context import ManagerPart
from league.manager.ledger import ScheduledMatch
from league.manager.messages import Messages
from league.manager.roster import Member
from league.protocol.conventions import Convention, convention_of
from league.protocol.envelope import Unsealed
from league.protocol.exchanges import EXCHANGES
from league.protocol.messages import Message, RoundAnnouncementAck
from league.settings import LeagueSettings

ANNOUNCED, POLLED = "ROUND_ANNOUNCEMENT", "get_assigned_matches"
STARTS: dict[str, type[StartMatch]] = {"START_MATCH": StartMatch, "MATCH_ASSIGNMENT": MatchAssignment}
METHODS = (ANNOUNCED, *STARTS)
"""How a match may be dispatched to a referee by others, in the order they are tried."""
REPORT_S = 30.0
"""So long a referee may take for GAME_OVER and its report."""
PAUSE_S = 2.0
"""Between two ways to give a match to a referee that has acknowledged its announcement."""


def longest_match_s(settings: LeagueSettings) -> float:
    """From the invitation to the last choice, with all retries (spec section 6.4)."""
    game = registry.find(settings.game_type)
    attempts, pauses = len(settings.retry_delays_s) + 1, sum(settings.retry_delays_s)
    join = attempts * EXCHANGES["GAME_INVITATION"].limit_s + pauses
    move = attempts * settings.move_seconds + pauses
    return join + move * (game.turns if game else 1)


class Dispatch(Struct, eq=False):
    """One attempt of a match on its way to its referee."""

    referee_id: str
    match: ScheduledMatch
    attempt: int
    begun_at: float
    limit_s: float
    """How long the match may take."""
    method: str
    """By which it is being dispatched, or was at last."""
    untried: list[str]
    """The methods that are left."""
    acknowledged_method: str = ""
    """The last that was acknowledged: a report is owed to it."""
    is_promised: bool = False
    """Was its announcement acknowledged in the documents' words? That outranks every guess."""
    acknowledgements: int = 0
    acknowledged_at: float | None = None
    is_under_way: bool = True
    may_have_arrived: bool = False


@dataclass(slots=True)
class RefereeHabits(ManagerPart):
    """What was seen of each referee in this life of the process: is it one of ours, or what does it do instead?"""

    _ours: set[str] = field(default_factory=set)
    _polling: set[str] = field(default_factory=set)
    _patience: dict[str, float] = field(default_factory=dict)
    _running: set[str] = field(default_factory=set)
    _lapsed: set[str] = field(default_factory=set)
    _silent: set[str] = field(default_factory=set)

    def listed_matches(self, referee_id: str) -> None:
        """It answered a ping with its matches."""
        self._ours.add(referee_id)

    def is_ours(self, referee_id: str) -> bool:
        """Only our referees answer pings with their matches (R-52)."""
        return referee_id in self._ours

    def polled(self, referee_id: str) -> None:
        """It asked for its matches."""
        self._polling.add(referee_id)

    def is_polling(self, referee_id: str) -> bool:
        return referee_id in self._polling or self.context.member(referee_id).dispatch_method == POLLED

    def is_known(self, referee_id: str) -> bool:
        """There is nothing to find out about ours, and about those that ask for their matches."""
        return self.is_ours(referee_id) or self.is_polling(referee_id)

    def starting(self, referee: Member, pause_s: float = 0.0) -> Negotiation | None:
        """How it may be given one match: in every convention, and at a page of its own for that."""
        negotiation = self.context.negotiation(referee, pause_s)
        if negotiation is None:
            return None
        page = bare_route(referee.endpoint, RUN_MATCH_PATH)
        understood, known = negotiation.on_understood, routes(referee.endpoint, convention_of(referee.convention))
        candidates = (page, *known) if referee.agent_id in self._running else (*known, page)
        found = Negotiation(candidates, is_proven=True, pause_s=pause_s)

        def learn(convention: Convention, now: float) -> None:
            if found.route == page:
                self._running.add(referee.agent_id)
            else:
                understood(convention, now)

        found.on_understood = learn
        return found

    def ping_failed(self, referee_id: str) -> None:
        """It did not answer its last ping."""
        self._silent.add(referee_id)

    def heard(self, referee_id: str) -> bool:
        """It said anything; had its last ping failed?"""
        was_silent = referee_id in self._silent
        self._silent.discard(referee_id)
        return was_silent

    def is_silent(self, referee_id: str) -> bool:
        """Did its last ping fail, and was nothing heard since?"""
        return referee_id in self._silent

    def lapsed(self, referee_id: str) -> None:
        """It did not finish a match that it was given."""
        self._lapsed.add(referee_id)

    def proved(self, referee_id: str) -> None:
        """It reported a match, or came back."""
        self._lapsed.discard(referee_id)

    def is_reliable(self, referee_id: str) -> bool:
        return referee_id not in self._lapsed

    def was_slow(self, referee_id: str, patience_s: float) -> None:
        """Before it is given a match by another method it gets so long to report it."""
        self._patience[referee_id] = patience_s

    def patience_s(self, referee_id: str, is_promised: bool) -> float:
        settings = self._ledger.settings
        usual = settings.start_match_after_s
        if is_promised:
            said = settings.referee_patience_s
            usual = longest_match_s(settings) + REPORT_S if said is None else said
        return max(usual, self._patience.get(referee_id, 0.0))

    def forget(self, referee_id: str) -> None:
        """A match was taken away from it: what it did before does not hold any more."""
        self._polling.discard(referee_id)
        self._patience.pop(referee_id, None)


@dataclass(slots=True)
class Dispatches(ManagerPart):
    """The matches that were dispatched in this life of the process."""

    messages: Messages
    habits: RefereeHabits
    on_begun_anew: Callable[[ScheduledMatch, float], None] = lambda *_: None
    """Is told of a match that is dispatched by another method."""
    _open: dict[str, Dispatch] = field(default_factory=dict)

    def is_dispatched(self, match: ScheduledMatch) -> bool:
        dispatch = self._open.get(match.match_id)
        return dispatch is not None and dispatch.attempt == match.attempt

    def is_acknowledged(self, match: ScheduledMatch) -> bool:
        """Does its referee know that it is to play this attempt?"""
        dispatch = self._open.get(match.match_id)
        return self.is_dispatched(match) and dispatch is not None and dispatch.acknowledged_at is not None

    def has_arrived(self, match: ScheduledMatch) -> bool:
        """Is nothing left to be done for its referee to know of it?"""
        dispatch = self._open.get(match.match_id)
        return dispatch is None or dispatch.is_under_way or self.is_acknowledged(match)

    def dispatch(
        self, referee: Member, matches: Sequence[ScheduledMatch], limit_s: float, now: float, *, again: bool = False
    ) -> None:
        """Let the referee know of these matches, each of which takes no longer than the limit. `again`: we were
        restarted, and it may well be playing them."""
        first, *others = self._methods(referee)
        made = [Dispatch(referee.agent_id, one, one.attempt, now, limit_s, first, list(others)) for one in matches]
        self._open.update({one.match.match_id: one for one in made})
        if first == ANNOUNCED:
            self._announce(referee, made, now)
            return
        for one in made:
            if again:
                # Who gets its matches one by one might play this one twice: it gets the time to report first.
                one.untried, one.is_under_way, one.may_have_arrived = [first, *others], False, True
                self._await_report(one, now)
            else:
                self._start(one, now)

    def _methods(self, referee: Member) -> Sequence[str]:
        """What made it play before comes first."""
        if not self.context.accepts_deviations:
            return (ANNOUNCED,)
        if referee.dispatch_method in ("", ANNOUNCED):
            return METHODS
        return sorted(METHODS, key=lambda one: one != referee.dispatch_method)

    def forget(self, match_id: str) -> None:
        """The match is no longer in play."""
        self._open.pop(match_id, None)
        self.context.timers.clear(("dispatch", match_id))

    # --- the announcement ---------------------------------------------------------------------------------------------

    def _announce(self, referee: Member, dispatches: Sequence[Dispatch], now: float) -> None:
        for one in dispatches:
            one.is_under_way = True
        delivery = self._announcement(referee, [one.match for one in dispatches], "assign", now)
        delivery.on_end = partial(self._announced, dispatches)
        delivery.on_attempt_failed = partial(self._attempt_failed, dispatches)
        if not self.habits.is_polling(referee.agent_id):
            delivery.negotiation = self.context.negotiation(referee)
        self.context.calls.deliver([delivery], now)
        delivery.compose = partial(self._still_assigned, referee, dispatches, now)  # anew for each further call

    def remind(self, referee: Member, match: ScheduledMatch, now: float) -> None:
        """The same assignment once more, with the tokens as they are now; a referee of ours takes them over."""
        self.context.calls.deliver([self._announcement(referee, [match], "remind", now)], now)

    def _announcement(self, referee: Member, matches: Sequence[ScheduledMatch], what: str, now: float) -> Delivery:
        return Delivery(
            referee.agent_id,
            f"{matches[0].match_id}/{matches[0].attempt}/{what}/{referee.agent_id}",
            self.messages.assignment(referee, matches, now),
            Policy(EXCHANGES[ANNOUNCED].limit_s, self.context.retries()),
            address=lambda: self.context.address(referee),
        )

    def _still_open(self, dispatches: Sequence[Dispatch]) -> list[Dispatch]:
        return [one for one in dispatches if self._is_open(one)]

    def _is_open(self, dispatch: Dispatch) -> bool:
        """Does this referee still hold this attempt?"""
        match = dispatch.match
        is_current = (match.referee_id, match.attempt) == (dispatch.referee_id, dispatch.attempt)
        return match.status == "ASSIGNED" and is_current and self._open.get(match.match_id) is dispatch

    def _still_assigned(
        self, referee: Member, dispatches: Sequence[Dispatch], begun_at: float, _: Delivery, now: float
    ) -> Message | None:
        """For the next call: only what this referee still holds."""
        matches = [one.match for one in self._still_open(dispatches)]
        return self.messages.assignment(referee, matches, begun_at) if matches else None

    def _attempt_failed(self, dispatches: Sequence[Dispatch], _: Delivery, failed: FailedAttempt, now: float) -> None:
        if failed.failure is not Failure.REFUSED:
            for one in self._still_open(dispatches):
                one.may_have_arrived = True

    def _announced(self, dispatches: Sequence[Dispatch], delivery: Delivery, outcome: Ending, now: float) -> None:
        for one in self._still_open(dispatches):
            one.is_under_way = False
            one.may_have_arrived = one.may_have_arrived or outcome is Ending.REFUSED
            if outcome is Ending.ANSWERED:
                one.is_promised = one.is_promised or _is_well_formed(delivery.answer)
                self._acknowledged(one, now)
            elif _is_unreadable(delivery.answer):
                self._await_report(one, now)
            elif one.may_have_arrived:
                self._try_next_method(one, now)

    # --- one match at a time ------------------------------------------------------------------------------------------

    def _start(self, dispatch: Dispatch, now: float) -> None:
        """A referee may answer when the match is over: the call has as long as the match, and nobody waits for its end.
        It is retried only if it cannot have arrived."""
        dispatch.is_under_way = True
        match, referee = dispatch.match, self.context.member(dispatch.referee_id)
        message = self.messages.start(STARTS[dispatch.method], referee, match, now)
        delivery = Delivery(
            referee.agent_id,
            f"{match.match_id}/{dispatch.attempt}/start/{referee.agent_id}",
            message,
            Policy(dispatch.limit_s, self.context.retries(refused_only=True), is_waited_for=False),
            address=lambda: self.context.address(referee),
            on_end=partial(self._started, dispatch),
            on_attempt_failed=partial(self._attempt_failed, [dispatch]),
            compose=lambda *_: message if self._is_open(dispatch) else None,
            negotiation=self.habits.starting(referee, PAUSE_S if dispatch.is_promised else 0.0),
        )
        self.context.calls.deliver([delivery], now)

    def _started(self, dispatch: Dispatch, delivery: Delivery, outcome: Ending, now: float) -> None:
        if not self._is_open(dispatch):
            return
        dispatch.is_under_way = False
        if outcome is Ending.ANSWERED:
            self._acknowledged(dispatch, now)
        elif outcome is Ending.REFUSED and not _is_unreadable(delivery.answer):
            self._refused(dispatch, now)
        elif outcome is Ending.REFUSED or dispatch.may_have_arrived:
            self._await_report(dispatch, now)

    # --- what makes it play -------------------------------------------------------------------------------------------

    def _acknowledged(self, dispatch: Dispatch, now: float) -> None:
        dispatch.acknowledged_at, dispatch.acknowledged_method = now, dispatch.method
        dispatch.acknowledgements += 1
        if self.context.member(dispatch.referee_id).dispatch_method != ANNOUNCED:
            self._await_report(dispatch, now)

    def _await_report(self, dispatch: Dispatch, now: float) -> None:
        """Many acknowledge whatever they get and then do nothing. One that plays already answers the next method with
        an error, or ignores it: whatever it reports first counts."""
        if not self.habits.is_known(dispatch.referee_id) and dispatch.untried:
            self._try_next_at(dispatch, now + self.habits.patience_s(dispatch.referee_id, dispatch.is_promised))

    def _refused(self, dispatch: Dispatch, now: float) -> None:
        """The next method at once, unless it may be playing already."""
        if dispatch.is_promised:
            self._try_next_at(dispatch, now + PAUSE_S)
        else:
            self._try_next_method(dispatch, now)

    def _try_next_at(self, dispatch: Dispatch, at: float) -> None:
        self.context.timers.set(("dispatch", dispatch.match.match_id), at, partial(self._try_next_method, dispatch))

    def _try_next_method(self, dispatch: Dispatch, now: float) -> None:
        if not self._is_open(dispatch) or self.habits.is_known(dispatch.referee_id) or not dispatch.untried:
            return
        dispatch.method, dispatch.may_have_arrived = dispatch.untried.pop(0), False
        if dispatch.is_promised:
            self.on_begun_anew(dispatch.match, now)
        self._redispatch(dispatch, now)

    def _redispatch(self, dispatch: Dispatch, now: float) -> None:
        if dispatch.method in STARTS and not self.habits.is_known(dispatch.referee_id):
            self._start(dispatch, now)
        else:
            dispatch.method = ANNOUNCED
            self._announce(self.context.member(dispatch.referee_id), [dispatch], now)

    def polled(self, referee: Member, now: float) -> list[ScheduledMatch]:
        """A referee asks for its matches, and so takes all that were dispatched to it."""
        self.habits.polled(referee.agent_id)
        mine = [one for one in self._open.values() if one.referee_id == referee.agent_id and self._is_open(one)]
        for one in mine:
            one.acknowledged_method = one.method = POLLED
            one.acknowledged_at = one.acknowledged_at or now
            self.context.timers.clear(("dispatch", one.match.match_id))
        return [one.match for one in mine]

    def reported(self, match: ScheduledMatch, referee: Member, now: float) -> None:
        """A match was played: remember what made this referee play it."""
        dispatch = self._open.get(match.match_id)
        self.habits.proved(referee.agent_id)
        if dispatch is None or self.habits.is_ours(referee.agent_id):
            return
        if dispatch.acknowledgements > 1:
            # Which of them it was is not known. The next match shows it, if it gets the time to be played.
            self.habits.was_slow(referee.agent_id, min(2 * (now - dispatch.begun_at), dispatch.limit_s / 2))
        method = dispatch.method if dispatch.is_under_way else dispatch.acknowledged_method
        if method and method != referee.dispatch_method:
            self.context.happened(DispatchLearned(at=now, agent_id=referee.agent_id, method=method))

    # --- pings --------------------------------------------------------------------------------------------------------

    def compare(self, referee: Member, pong: Pong, pinged_at: float, now: float) -> list[ScheduledMatch]:
        """A referee answered a ping: does it have all that it should have? One that lists nothing is sent its copy
        again only if the first cannot have arrived: playing twice would be worse than waiting for the lease. Returned
        is what it had and has no more."""
        held = None if pong.matches is None else set(pong.matches)
        missing, forgotten = [], []
        for match in self._ledger.held_by(referee.agent_id):
            dispatch = self._open.get(match.match_id)
            if dispatch is None or dispatch.attempt != match.attempt or dispatch.is_under_way:
                continue
            if held is not None and (match.match_id, match.attempt) in held:
                dispatch.acknowledged_at = dispatch.acknowledged_at or now
            elif dispatch.acknowledged_at is None:
                if held is not None or not dispatch.may_have_arrived:
                    missing.append(dispatch)
            elif held is not None and dispatch.acknowledged_at < pinged_at:
                forgotten.append(match)
        for dispatch in missing:
            self._redispatch(dispatch, now)
        return forgotten


def _is_well_formed(answer: Content | None) -> bool:
    """Is it the acknowledgement of the documents?"""
    return isinstance(answer, Unsealed) and isinstance(answer.message, RoundAnnouncementAck)


def _is_unreadable(answer: Content | None) -> bool:
    """It said something, and whether yes or no is not known: it may well be playing."""
    return isinstance(answer, Unsealed) and answer.message is None
