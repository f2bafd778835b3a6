"""Giving matches to third-party referees, which may not know the announcement (spec section 13.4).

There are several ways to give a match, and nobody can see from outside which one makes a referee play. So the ways are
tried one after the other, until a match is reported:

    announced, or started with one call per match ──▶ reported: this way is journalled, and comes first from now on
        │                         └──▶ acknowledged, and no report in time: the next way
        └──▶ refused: the next way at once; unreadable: the next way, if no report comes in time
    polled: the referee asked for its matches, and so has them; nothing else is tried

`manager/staffing/dispatch.py` owns the dispatches; only this file says in which way one is given. What must never
happen: a referee is started again while it may be playing. A referee that acknowledged an announcement in the
documents' words therefore gets the time of a whole match before another way is tried, and after a restart every referee
that is given its matches one by one gets the time to report them first. Nothing is tried with our own referees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from league.calling.delivery import Delivery, Ending, Policy
from league.calling.line import PLAIN, Line, Purpose
from league.events import DispatchLearned
from league.gateway.readers.foreign_assignments import MatchAssignment, StartMatch, spelled_out
from league.machine import Content
from league.manager.staffing.dispatch import (
    ANNOUNCED,
    POLLED,
    Dispatch,
    Dispatches,
    Giving,
)
from league.manager.staffing.leases import longest_match_s
from league.manager.state.ledger import ScheduledMatch
from league.manager.state.roster import Member
from league.protocol.message.envelope import Unsealed, seal
from league.protocol.signing.tokens import MANAGER

STARTS: Final[Mapping[str, type[StartMatch]]] = {
    "START_MATCH": StartMatch,
    "MATCH_ASSIGNMENT": MatchAssignment,
}
METHODS: Final = (ANNOUNCED, *STARTS)
"""The ways to give a match to a third-party referee, in the order they are tried."""
EMPTY_PATIENCE: Final = 4
"""How many times longer a referee may take that acknowledged its match with an empty 2xx."""
PAUSE_S: Final = 2.0
"""The pause between two ways for a referee that has acknowledged its announcement."""
NAMED_MANAGER: Final = f"{MANAGER}:LM01"
"""The manager with an id, as the documents' "type:id" has it (R-45)."""


class GatewayGiving(Giving):
    """Gives the matches of one manager, and knows the habits of the referees that get them."""

    def __init__(self, dispatches: Dispatches) -> None:
        super().__init__(dispatches)
        self._context = dispatches.context
        self._leases = dispatches.leases
        self._ledger = dispatches.context.ledger
        self._polling: set[str] = set()
        self._patience_s: dict[str, float] = {}
        """How long a referee gets that once was slow to report."""

    def begin(
        self,
        referee: Member,
        dispatches: Sequence[Dispatch],
        now: float,
        *,
        again: bool,
    ) -> bool:
        methods = self._methods(referee)
        first = methods[0]
        for dispatch in dispatches:
            dispatch.method = first
            dispatch.untried = methods[1:]
        if first == ANNOUNCED:
            return False
        for dispatch in dispatches:
            if again:
                # The referee might play this match twice: it gets the time to report first.
                dispatch.untried = list(methods)
                dispatch.is_under_way = False
                dispatch.may_have_arrived = True
                self._await_report(dispatch, now)
            else:
                self._start(dispatch, now)
        return True

    def _methods(self, referee: Member) -> list[str]:
        """Return the ways to try; the one that made it play before comes first."""
        if not self._context.accepts_deviations:
            return [ANNOUNCED]
        if referee.as_referee.dispatch_method in ("", ANNOUNCED):
            return list(METHODS)
        return sorted(METHODS, key=lambda method: method != referee.as_referee.dispatch_method)

    def taken_away(self, referee_id: str) -> None:
        self._polling.discard(referee_id)
        self._patience_s.pop(referee_id, None)

    # --- the announcement ---------------------------------------------------------------------------------------------

    def line(self, referee: Member) -> Line:
        if self._is_polling(referee.agent_id):
            return PLAIN
        return self._context.line(referee)

    def acknowledged(self, dispatch: Dispatch, now: float) -> None:
        dispatch.acknowledged_method = dispatch.method
        dispatch.acknowledgements += 1
        if self._context.member(dispatch.referee_id).as_referee.dispatch_method != ANNOUNCED:
            self._await_report(dispatch, now)

    def not_acknowledged(self, dispatch: Dispatch, answer: Content | None, now: float) -> None:
        if _is_unreadable(answer):
            dispatch.may_be_playing = True
            self._await_report(dispatch, now)
        elif dispatch.may_have_arrived:
            self._try_next_method(dispatch, now)

    # --- one match at a time ------------------------------------------------------------------------------------------

    def _start(self, dispatch: Dispatch, now: float) -> None:
        """Give one match with one call. The referee may answer when the match is over: the call has as long as the
        match, and nobody waits for its end. It is retried only if it cannot have arrived."""
        dispatch.is_under_way = True
        referee = self._context.member(dispatch.referee_id)
        message = self._start_message(STARTS[dispatch.method], referee, dispatch.match, now)
        pause_s = 0.0
        if dispatch.is_promised:
            # It may be playing already: a burst of calls in other forms would only disturb it.
            pause_s = PAUSE_S

        def compose(_: Delivery, __: float) -> StartMatch | None:
            if self._dispatches.is_open(dispatch):
                return message
            return None

        delivery = Delivery(
            referee.agent_id,
            f"{dispatch.match.match_id}/{dispatch.attempt}/start/{referee.agent_id}",
            message,
            Policy(
                dispatch.limit_s,
                self._context.retries(refused_only=True),
                is_waited_for=False,
            ),
            address=lambda: self._context.address(referee),
            on_end=partial(self._started, dispatch),
            on_attempt_failed=partial(self._dispatches.attempt_failed, [dispatch]),
            compose=compose,
            line=self._context.line(referee, Purpose.START, pause_s),
        )
        self._context.calls.deliver([delivery], now)

    def _started(self, dispatch: Dispatch, delivery: Delivery, outcome: Ending, now: float) -> None:
        if not self._dispatches.is_open(dispatch):
            return
        dispatch.is_under_way = False
        if outcome is Ending.REFUSED:
            dispatch.may_have_arrived = True
        if outcome is Ending.ANSWERED:
            dispatch.acknowledged_at = now
            self.acknowledged(dispatch, now)
        elif outcome is Ending.REFUSED and not _is_unreadable(delivery.answer):
            dispatch.note_refusal(delivery)
            self._refused(dispatch, now)
        elif dispatch.may_have_arrived:
            dispatch.may_be_playing = True
            dispatch.note_refusal(delivery)
            self._await_report(dispatch, now)

    def _start_message(
        self,
        kind: type[StartMatch],
        referee: Member,
        match: ScheduledMatch,
        now: float,
    ) -> StartMatch:
        """Write one match in all the spellings that the referee may look for. START_MATCH names the manager with an id,
        MATCH_ASSIGNMENT without: some referees know only one of the two."""
        messages = self._dispatches.messages
        player_a = self._context.member(match.player_a)
        player_b = self._context.member(match.player_b)
        envelope = seal(
            MANAGER,
            now,
            f"conv-assign-{match.match_id.lower()}-{match.attempt}",
        )
        if kind is StartMatch:
            envelope["sender"] = NAMED_MANAGER
        return kind(
            **envelope,
            referee_endpoint=referee.endpoint,
            move_seconds=self._ledger.settings.move_seconds,
            player_A_token=messages.token_for(player_a, referee, match),
            player_B_token=messages.token_for(player_b, referee, match),
            player_A_other_tokens=messages.other_tokens_for(player_a, referee, match),
            player_B_other_tokens=messages.other_tokens_for(player_b, referee, match),
            **self.listed(match),
        )

    def listed(self, match: ScheduledMatch) -> Mapping[str, Any]:
        # It holds no token, because it is sent to anybody who asks.
        homes = [(player, self._context.member(player).endpoint) for player in match.players]
        return {
            "league_id": self._context.ledger.settings.league_id,
            "round_id": match.round_id,
            "match_id": match.match_id,
            "game_type": self._ledger.settings.game_type,
            "referee_id": match.referee_id,
            "attempt": match.attempt,
            **spelled_out(homes),
        }

    # --- the next way -------------------------------------------------------------------------------------------------

    def _is_known(self, referee_id: str) -> bool:
        """Is there nothing to find out? So it is with our referees, and with those that ask for their matches."""
        return self._leases.is_ours(referee_id) or self._is_polling(referee_id)

    def _is_polling(self, referee_id: str) -> bool:
        return referee_id in self._polling or self._context.member(referee_id).as_referee.dispatch_method == POLLED

    def _await_report(self, dispatch: Dispatch, now: float) -> None:
        """Wait for the report, and try the next way if none comes. After the last way the operator is told."""
        # Many referees acknowledge everything and then do nothing. A referee that plays already answers the next way
        # with an error, or ignores it: its first report counts.
        if not self._is_known(dispatch.referee_id):
            self._try_next_at(dispatch, now + self._report_expected_in(dispatch))

    def _report_expected_in(self, dispatch: Dispatch) -> float:
        """Return the seconds that a referee gets before it is given the match in another way."""
        settings = self._ledger.settings
        patience_s = settings.move_seconds / 2
        if dispatch.is_empty:
            patience_s *= EMPTY_PATIENCE
        if dispatch.is_promised:
            # Its GAME_OVER and its report may take as long as a move.
            patience_s = longest_match_s(settings) + settings.move_seconds
        return max(patience_s, self._patience_s.get(dispatch.referee_id, 0.0))

    def _refused(self, dispatch: Dispatch, now: float) -> None:
        """Try the next way at once, unless the referee may be playing already."""
        if dispatch.is_promised:
            self._try_next_at(dispatch, now + PAUSE_S)
        else:
            self._try_next_method(dispatch, now)

    def _try_next_at(self, dispatch: Dispatch, at: float) -> None:
        name = ("dispatch", dispatch.match.match_id)
        self._context.timers.set(name, at, partial(self._try_next_method, dispatch))

    def _try_next_method(self, dispatch: Dispatch, now: float) -> None:
        if not self._dispatches.is_open(dispatch) or self._is_known(dispatch.referee_id):
            return
        if not dispatch.untried:
            self._tell_operator(dispatch, now)
            return
        dispatch.method = dispatch.untried.pop(0)
        dispatch.may_have_arrived = False
        if dispatch.is_promised:
            self._dispatches.on_begun_anew(dispatch.match, now)
        if not self.repeat(dispatch, now):
            self._dispatches.announce(self._context.member(dispatch.referee_id), [dispatch], now)

    def _tell_operator(self, dispatch: Dispatch, now: float) -> None:
        """Say that the referee was given the match in every way that we know, and accepted none."""
        if dispatch.acknowledgements or dispatch.is_told or not dispatch.refusal:
            return
        dispatch.is_told = True
        methods = self._methods(self._context.member(dispatch.referee_id))
        advice = f"It must accept one of {', '.join(methods)}, or ask for its matches with {POLLED}"
        self._dispatches.on_refused(dispatch, advice, now)

    def repeat(self, dispatch: Dispatch, now: float) -> bool:
        if dispatch.method in STARTS and not self._is_known(dispatch.referee_id):
            self._start(dispatch, now)
            return True
        dispatch.method = ANNOUNCED
        return False

    # --- what makes it play -------------------------------------------------------------------------------------------

    def polled(self, referee: Member, dispatches: Sequence[Dispatch]) -> None:
        self._polling.add(referee.agent_id)
        for dispatch in dispatches:
            dispatch.method = POLLED
            dispatch.acknowledged_method = POLLED
            self._context.timers.clear(("dispatch", dispatch.match.match_id))

    def reported(self, dispatch: Dispatch, referee: Member, now: float) -> None:
        if dispatch.acknowledgements > 1:
            # Nobody knows which of the ways it was. The next match shows it, if it gets the time to be played.
            twice_s = 2 * (now - dispatch.begun_at)
            self._patience_s[referee.agent_id] = min(twice_s, dispatch.limit_s / 2)
        method = dispatch.acknowledged_method
        if dispatch.is_under_way:
            method = dispatch.method
        if method and method != referee.as_referee.dispatch_method:
            self._context.happened(DispatchLearned(at=now, agent_id=referee.agent_id, method=method))


def _is_unreadable(answer: Content | None) -> bool:
    """Did the referee say something that is neither yes nor no? It may well be playing."""
    return isinstance(answer, Unsealed) and answer.message is None
