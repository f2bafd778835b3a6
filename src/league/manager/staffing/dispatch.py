"""Dispatch: a referee learns of the matches that it was assigned.

A dispatch is one attempt of a match on its way to its referee:

    under way ──▶ acknowledged: the referee knows of it, and owes a report
        └──────▶ not acknowledged: a ping shows later whether the referee has it; if it has not, it is sent again

The documents' way is a copy of the announcement, repeated until it is acknowledged (spec section 8.12). Referees by
others may need another way (section 13.4): `giving` knows those, and is told of everything that becomes of a dispatch.
Nothing here survives a crash: after a restart every match that is assigned is dispatched again. What must never happen:
a referee that may be playing a match is made to play it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from msgspec import Struct

from league.calling.delivery import (
    Delivery,
    Ending,
    FailedAttempt,
    Policy,
)
from league.calling.line import Line
from league.events import AgentProbed
from league.machine import Acknowledged, Content, Failure, Pong, Refusal
from league.manager.manager_context import ManagerPart
from league.manager.staffing.leases import Leases
from league.manager.state.ledger import ScheduledMatch
from league.manager.state.roster import Member
from league.manager.telling.manager_messages import Messages
from league.protocol.message.envelope import Unsealed
from league.protocol.message.exchanges import EXCHANGES
from league.protocol.message.messages import Message, RoundAnnouncementAck

UNKNOWN_METHOD: Final = "E036"
ANNOUNCED: Final = "ROUND_ANNOUNCEMENT"
POLLED: Final = "get_assigned_matches"
ONE_BY_ONE: Final = frozenset({"START_MATCH", "MATCH_ASSIGNMENT"})
"""The methods, as the journal names them, that give a referee one match at a time."""
TIMERS: Final = ("lease", "half", "dispatch")
"""The timers of a match in play: those of its lease, and that of its next way to its referee."""


class Dispatch(Struct, eq=False):
    """One attempt of a match on its way to its referee."""

    referee_id: str
    match: ScheduledMatch
    attempt: int
    begun_at: float
    limit_s: float
    """How long the match may take."""
    is_promised: bool = False
    """True if its announcement was acknowledged in the documents' words, or with an empty 2xx by a referee that has
    reported a match before: that outranks every guess."""
    is_empty: bool = False
    """True if its announcement was acknowledged with an empty 2xx. Any web server may answer so."""
    acknowledged_at: float | None = None
    is_under_way: bool = True
    may_have_arrived: bool = False
    may_be_playing: bool = False
    """True if an answer was neither yes nor no."""
    refusal: str = ""
    """A clause that says how the referee answered the last call that it did not accept, in its own words."""
    method: str = ANNOUNCED
    """The way in which it is being given, or was at last. This and the following only `Giving` changes."""
    untried: list[str] = []
    acknowledged_method: str = ""
    """The last way that was acknowledged: a report is owed to it."""
    acknowledgements: int = 0
    is_told: bool = False
    """True if the operator was told that the referee refuses it in every way."""

    def note_refusal(self, delivery: Delivery) -> None:
        answer = delivery.answer
        if isinstance(answer, Refusal):
            # An answer to a form that it knows says more than its answers to all the others.
            if answer.code != UNKNOWN_METHOD or not self.refusal:
                self.refusal = f"it answered: {answer.in_words()}"
        elif delivery.refusal:
            self.refusal = f"it {delivery.refusal}"
        elif isinstance(answer, Unsealed):
            details = [violation.detail for violation in answer.violations]
            self.refusal = f"its answer is {'; '.join(details)}"


class Giving:
    """The ways to give a match to a referee. This one knows the documents' way; third-party referees need others."""

    def __init__(self, dispatches: Dispatches) -> None:
        self._dispatches = dispatches

    def begin(
        self,
        referee: Member,
        dispatches: Sequence[Dispatch],
        now: float,
        *,
        again: bool,
    ) -> bool:
        """Begin to give these matches; False: they are to be announced. `again`: we were restarted, and the referee may
        well be playing them."""
        return False

    def line(self, referee: Member) -> Line:
        """Open the line for an announcement."""
        return self._dispatches.context.line(referee)

    def acknowledged(self, dispatch: Dispatch, now: float) -> None:
        """The announcement was acknowledged."""

    def not_acknowledged(self, dispatch: Dispatch, answer: Content | None, now: float) -> None:
        """The announcement was not acknowledged."""

    def repeat(self, dispatch: Dispatch, now: float) -> bool:
        """Give the match in the same way once more; False: it is to be announced."""
        return False

    def polled(self, referee: Member, dispatches: Sequence[Dispatch]) -> None:
        """The referee asked for its matches."""

    def listed(self, match: ScheduledMatch) -> Mapping[str, Any]:
        """Return a match as an answer to that question (Any: it becomes part of a JSON object)."""
        return {"match_id": match.match_id, "attempt": match.attempt}

    def reported(self, dispatch: Dispatch, referee: Member, now: float) -> None:
        """A referee that is not ours played the match."""

    def taken_away(self, referee_id: str) -> None:
        """A match was taken away from this referee: what it did before does not hold any more."""


@dataclass(slots=True)
class Dispatches(ManagerPart):
    """The matches that were dispatched in this life of the process."""

    messages: Messages
    leases: Leases
    open_giving: Callable[[Dispatches], Giving]
    on_begun_anew: Callable[[ScheduledMatch, float], None] = lambda *_: None
    """Told of a match that is dispatched in another way."""
    on_refused: Callable[[Dispatch, str, float], None] = lambda *_: None
    """Told of a match that its referee accepts in no way, and what the referee must change."""
    giving: Giving = field(init=False)
    _open: dict[str, Dispatch] = field(default_factory=dict)
    _missed_reminder: set[str] = field(default_factory=set)
    """Matches whose referees were gone when they should have learned of a new token."""

    def __post_init__(self) -> None:
        ManagerPart.__post_init__(self)
        self.giving = self.open_giving(self)

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

    def is_open(self, dispatch: Dispatch) -> bool:
        """Does this referee still hold this attempt?"""
        match = dispatch.match
        is_current = match.referee_id == dispatch.referee_id and match.attempt == dispatch.attempt
        return match.status == "ASSIGNED" and is_current and self._open.get(match.match_id) is dispatch

    def dispatch(
        self,
        referee: Member,
        matches: Sequence[ScheduledMatch],
        limit_s: float,
        now: float,
        *,
        again: bool = False,
    ) -> None:
        """Let the referee know of these matches, each of which takes no longer than the limit. `again`: we were
        restarted, and it may well be playing them."""
        dispatches = [Dispatch(referee.agent_id, match, match.attempt, now, limit_s) for match in matches]
        for dispatch in dispatches:
            self._open[dispatch.match.match_id] = dispatch
        if not self.giving.begin(referee, dispatches, now, again=again):
            self.announce(referee, dispatches, now)

    def left_play(self, match_id: str) -> None:
        """Forget a match that is no longer in play, and its lease."""
        self._open.pop(match_id, None)
        self._missed_reminder.discard(match_id)
        for timer in TIMERS:
            self.context.timers.clear((timer, match_id))

    # --- the announcement ---------------------------------------------------------------------------------------------

    def announce(
        self,
        referee: Member,
        dispatches: Sequence[Dispatch],
        now: float,
    ) -> None:
        """Send the referee its copy of the announcement."""
        for dispatch in dispatches:
            dispatch.is_under_way = True
        matches = [dispatch.match for dispatch in dispatches]
        delivery = self._announcement(referee, matches, "assign", now)
        delivery.on_end = partial(self._announced, dispatches)
        delivery.on_attempt_failed = partial(self.attempt_failed, dispatches)
        delivery.line = self.giving.line(referee)
        self.context.calls.deliver([delivery], now)
        # Each further call names only the matches that the referee still holds.
        delivery.compose = partial(self._still_assigned, referee, dispatches, now)

    def remind(self, referee: Member, match: ScheduledMatch, now: float) -> None:
        """Send the same assignment once more, with the tokens as they are now, in the way that it was given."""
        dispatch = self._open.get(match.match_id)
        if dispatch is not None and not self.leases.is_ours(referee.agent_id) and self.giving.repeat(dispatch, now):
            return
        reminder = self._announcement(referee, [match], "remind", now)
        reminder.on_end = partial(self._reminded, match.match_id)
        self.context.calls.deliver([reminder], now)

    def _reminded(self, match_id: str, _: Delivery, outcome: Ending, now: float) -> None:
        if outcome is Ending.ANSWERED:
            self._missed_reminder.discard(match_id)
        elif match_id in self._open:
            self._missed_reminder.add(match_id)

    def make_up(self, referee: Member, match: ScheduledMatch, now: float) -> None:
        """Send a referee that is back the reminder that it missed."""
        if match.match_id in self._missed_reminder:
            self._missed_reminder.discard(match.match_id)
            self.remind(referee, match, now)

    def _announcement(
        self,
        referee: Member,
        matches: Sequence[ScheduledMatch],
        purpose: str,
        now: float,
    ) -> Delivery:
        return Delivery(
            referee.agent_id,
            f"{matches[0].match_id}/{matches[0].attempt}/{purpose}/{referee.agent_id}",
            self.messages.assignment(referee, matches, now),
            Policy(EXCHANGES[ANNOUNCED].limit_s, self.context.retries()),
            address=lambda: self.context.address(referee),
        )

    def _still_open(self, dispatches: Sequence[Dispatch]) -> list[Dispatch]:
        return [dispatch for dispatch in dispatches if self.is_open(dispatch)]

    def _still_assigned(
        self,
        referee: Member,
        dispatches: Sequence[Dispatch],
        begun_at: float,
        _: Delivery,
        now: float,
    ) -> Message | None:
        matches = [dispatch.match for dispatch in self._still_open(dispatches)]
        if not matches:
            return None
        # With the same time each time: it is the same announcement.
        return self.messages.assignment(referee, matches, begun_at)

    def attempt_failed(
        self,
        dispatches: Sequence[Dispatch],
        _: Delivery,
        failed: FailedAttempt,
        now: float,
    ) -> None:
        """Note that a call without an answer may have arrived, unless the connection was refused."""
        if failed.failure is not Failure.REFUSED:
            for dispatch in self._still_open(dispatches):
                dispatch.may_have_arrived = True
                dispatch.refusal = f"the last call failed: {failed.in_words}"
                if failed.failure is Failure.SERVER_ERROR:
                    dispatch.refusal = f"it {failed.detail}"

    def _announced(
        self,
        dispatches: Sequence[Dispatch],
        delivery: Delivery,
        outcome: Ending,
        now: float,
    ) -> None:
        for dispatch in self._still_open(dispatches):
            dispatch.is_under_way = False
            if outcome is Ending.REFUSED:
                dispatch.may_have_arrived = True
                dispatch.note_refusal(delivery)
            if outcome is Ending.ANSWERED:
                dispatch.acknowledged_at = now
                if _is_well_formed(delivery.answer):
                    dispatch.is_promised = True
                elif isinstance(delivery.answer, Acknowledged) and delivery.answer.is_empty:
                    dispatch.is_empty = True
                    dispatch.is_promised = self._ledger.has_reported(dispatch.referee_id)
                self.giving.acknowledged(dispatch, now)
            else:
                self.giving.not_acknowledged(dispatch, delivery.answer, now)

    # --- what becomes of it -------------------------------------------------------------------------------------------

    def polled(self, referee: Member, now: float) -> list[ScheduledMatch]:
        """Return the matches of a referee that asks for them, and so takes all that were dispatched to it."""
        to_referee = [dispatch for dispatch in self._open.values() if dispatch.referee_id == referee.agent_id]
        dispatches = self._still_open(to_referee)
        for dispatch in dispatches:
            dispatch.acknowledged_at = dispatch.acknowledged_at or now
        self.giving.polled(referee, dispatches)
        return [dispatch.match for dispatch in dispatches]

    def reported(self, match: ScheduledMatch, referee: Member, now: float) -> None:
        """Note that a match was played."""
        dispatch = self._open.get(match.match_id)
        self.leases.reported(referee, now)
        if referee.probed.in_trouble:
            self.context.happened(AgentProbed(at=now, agent_id=referee.agent_id, findings=""))
        if dispatch is not None and not self.leases.is_ours(referee.agent_id):
            self.giving.reported(dispatch, referee, now)

    # --- pings --------------------------------------------------------------------------------------------------------

    def compare(self, referee: Member, pong: Pong, pinged_at: float, now: float) -> list[ScheduledMatch]:
        """Compare what a referee should have with its answer to a ping, and send it what is missing; return the matches
        that it had and has no more."""
        lists_matches = pong.matches is not None
        listed = set(pong.matches or ())
        missing = []
        forgotten = []
        for dispatch in self._awaiting_reports(referee):
            if (dispatch.match.match_id, dispatch.attempt) in listed:
                dispatch.acknowledged_at = dispatch.acknowledged_at or now
            elif dispatch.acknowledged_at is None:
                # A referee that lists nothing gets its copy again only if the first cannot have arrived: playing twice
                # would be worse than waiting for the lease.
                if lists_matches or not dispatch.may_have_arrived:
                    missing.append(dispatch)
            elif lists_matches and dispatch.acknowledged_at < pinged_at:
                forgotten.append(dispatch.match)
        for dispatch in missing:
            if not self.giving.repeat(dispatch, now):
                self.announce(referee, [dispatch], now)
        return forgotten

    def _awaiting_reports(self, referee: Member) -> list[Dispatch]:
        """Return the dispatches of the matches this referee holds, except those that it is being told of just now."""
        awaiting = []
        for match in self._ledger.held_by(referee.agent_id):
            dispatch = self._open.get(match.match_id)
            if dispatch is None or dispatch.attempt != match.attempt:
                continue
            if not dispatch.is_under_way:
                awaiting.append(dispatch)
        return awaiting


def _is_well_formed(answer: Content | None) -> bool:
    """Is it the acknowledgement of the documents?"""
    return isinstance(answer, Unsealed) and isinstance(answer.message, RoundAnnouncementAck)
