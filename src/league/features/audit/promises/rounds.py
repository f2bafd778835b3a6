"""Promise 10: rounds come in order, and there is one LEAGUE_COMPLETED for each end.

Each player gets the final standings of a round, ROUND_COMPLETED and the next announcement in this order, each when the
one before has ended, or 2 seconds after it was sent.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from league import events as e
from league.features.audit.promises.grounds.event_history import (
    TABLE_CHANGES,
    Result,
    Slot,
    is_introduction,
    members,
    schedule_of,
    tables_of,
    whole,
)
from league.features.audit.promises.grounds.evidence import (
    ON_ITS_WAY_S,
    SAME_MOMENT_S,
    Evidence,
    RecordedCall,
)
from league.features.audit.promises.grounds.promise_findings import Breach, Judge, breaches_in, call_at
from league.features.audit.promises.standings import updates_in
from league.protocol.signing.tokens import MANAGER

DECISIONS = (*TABLE_CHANGES, e.RoundFinished, e.RoundOpened)
REPEATABLE = ("refused", "busy")
BEFORE_THE_END = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED")
NEXT_AFTER_S = 2.0
TIME_TO_LEAVE_S = 0.5
"""How much longer than the next message a message may have waited before it left."""


def breaches(evidence: Evidence) -> Iterator[Breach]:
    yield from breaches_in(evidence.manager, _Rounds(schedule_of(evidence.manager)).judges)
    if evidence.traffic is None:
        return
    yield from _completed_after_standings(evidence)
    decisions = sorted(event.at for event in evidence.manager.of_kind(*DECISIONS))
    for calls in _sent_to_players(evidence):
        yield from _in_order(calls)
        yield from _one_after_another(evidence, calls, decisions)
    yield from _completed_once(evidence)
    yield from _completed_last(evidence)


class _Rounds:
    """The rounds according to the manager's journal."""

    def __init__(self, schedule: Mapping[str, Slot]) -> None:
        self._rounds = {match_id: slot.round_id for match_id, slot in schedule.items()}
        self._undecided: dict[int, set[str]] = {}
        for match_id, round_id in self._rounds.items():
            self._undecided.setdefault(round_id, set()).add(match_id)
        self._opened = 0
        self._finished: set[int] = set()
        # Finished rounds with a voided result: they may be opened and finished once more.
        self._reopened: set[int] = set()
        self._over = False
        self.judges: Mapping[type[e.Event], Judge] = {
            e.ResultAccepted: self._accept,
            e.WalkoverDecided: self._decide,
            e.ResultVoided: self._void,
            e.RoundOpened: self._open,
            e.AssignmentsSent: self._send,
            e.RoundFinished: self._finish,
            e.LeagueReopened: self._reopen,
            e.LeagueFinished: self._finish_league,
        }

    def _open(self, event: e.RoundOpened) -> Iterator[str]:
        yield from self._after_the_end(event)
        round_id = event.round_id
        if round_id != self._opened + 1 and round_id not in self._reopened:
            yield f"round {round_id} was opened after round {self._opened}"
        unfinished = [number for number in range(1, round_id) if number not in self._finished]
        if unfinished:
            yield f"round {round_id} was opened before round {unfinished[0]} was finished"
        self._opened = max(self._opened, round_id)

    def _after_the_end(self, event: e.RoundOpened | e.RoundFinished | e.ResultAccepted) -> Iterator[str]:
        if self._over:
            yield f"{type(event).__name__} after the end of the league"

    def _send(self, event: e.AssignmentsSent) -> Iterator[str]:
        if event.round_id > self._opened:
            yield f"referees got round {event.round_id} before it was opened"

    def _reopen(self, _: e.LeagueReopened) -> None:
        self._over = False

    def _void(self, event: e.ResultVoided) -> None:
        round_id = self._rounds.get(event.match_id, 0)
        self._undecided.setdefault(round_id, set()).add(event.match_id)
        if round_id in self._finished:
            self._reopened.add(round_id)

    def _decide(self, event: Result) -> None:
        # A walkover may come early: a withdrawn player loses all its matches at once.
        self._undecided.get(self._rounds.get(event.match_id, 0), set()).discard(event.match_id)

    def _accept(self, event: e.ResultAccepted) -> Iterator[str]:
        yield from self._after_the_end(event)
        self._decide(event)
        round_id = self._rounds.get(event.match_id, 0)
        if round_id > self._opened:
            yield f"{event.match_id} has a result before round {round_id} was opened"

    def _finish(self, event: e.RoundFinished) -> Iterator[str]:
        yield from self._after_the_end(event)
        round_id = event.round_id
        if round_id > self._opened:
            yield f"round {round_id} was finished before it was opened"
        if round_id in self._finished - self._reopened:
            yield f"round {round_id} was finished twice"
        if self._undecided.get(round_id):
            yield f"round {round_id} was finished without {', '.join(sorted(self._undecided[round_id]))}"
        self._finished.add(round_id)
        self._reopened.discard(round_id)

    def _finish_league(self, _: e.LeagueFinished) -> Iterator[str]:
        if self._over:
            yield "the league was finished twice"
        missing = sorted(match for matches in self._undecided.values() for match in matches)
        if missing:
            yield f"the league was finished without {', '.join(missing)}"
        unfinished = sorted(set(self._rounds.values()) - self._finished)
        if unfinished:
            yield f"the league was finished before round {unfinished[0]} was"
        self._over = True


# --- what agents were sent --------------------------------------------------------------------------------------------


def _by_receiver(calls: Sequence[RecordedCall]) -> Mapping[str, list[RecordedCall]]:
    by_receiver: dict[str, list[RecordedCall]] = {}
    for call in calls:
        by_receiver.setdefault(call.receiver_node, []).append(call)
    return by_receiver


def _sent_to_players(evidence: Evidence) -> Iterator[list[RecordedCall]]:
    """The manager's messages to each player about rounds, in the order of sending."""
    about_rounds = [call for call in evidence.traffic or () if call.kind in BEFORE_THE_END]
    from_manager = [call for call in about_rounds if evidence.agent(call.sender_node) == MANAGER]
    from_manager = [call for call in from_manager if not is_introduction(call.message)]
    players = members(evidence.manager, "player")
    for node, calls in _by_receiver(from_manager).items():
        if evidence.agent(node) in players:
            yield calls


class _Milestone(NamedTuple):
    """The announcement or the completion of a round; milestones are ordered."""

    round_id: int
    is_completion: bool

    def __str__(self) -> str:
        word = "completion" if self.is_completion else "announcement"
        return f"the {word} of round {self.round_id}"


def _in_order(calls: Sequence[RecordedCall]) -> Iterator[Breach]:
    """Announcement 1, completion 1, announcement 2 and so on.

    A repetition may come after what was sent in time. A completion is missing only where calls had failed before.
    """
    last = _Milestone(0, is_completion=True)
    has_failed = False
    for call in calls:
        if call.kind != "LEAGUE_STANDINGS_UPDATE":
            round_id = whole(call.message, "round_id") or 0
            milestone = _Milestone(round_id, call.kind == "ROUND_COMPLETED")
            if milestone < last:
                word = "completed" if milestone.is_completion else "announced"
                yield Breach(f"round {round_id} was called {word} after {last}", call_at(call))
            elif round_id > last.round_id and not last.is_completion and not has_failed:
                yield Breach(f"round {round_id} follows {last}", call_at(call))
            last = max(last, milestone)
        has_failed = has_failed or call.outcome != "answered"


def _one_after_another(
    evidence: Evidence,
    calls: Sequence[RecordedCall],
    decisions: Sequence[float],
) -> Iterator[Breach]:
    """Only the first call of a message waits, and is waited for: a message that is repeated has failed."""
    sent_messages: set[tuple[str, int | None, int | None]] = set()
    before: RecordedCall | None = None
    for call in calls:
        round_id = whole(call.message, "round_id")
        version = whole(call.message, "version")
        name = (call.kind, round_id, version)
        if name in sent_messages:
            continue
        sent_messages.add(name)
        if before is not None:
            is_early = call.sent_at < _next_may_leave(before, decisions) - SAME_MOMENT_S
            if is_early and not _may_say_again(evidence, before, call):
                yield Breach(f"sent while {before.kind} was under way", call_at(call))
        before = call


def _next_may_leave(call: RecordedCall, decisions: Sequence[float]) -> float:
    """When the message after this one may leave at the earliest."""
    # On a slow disk a message waits for its events, and the time runs from their decision on.
    place = bisect_right(decisions, call.sent_at)
    decided_at = decisions[place - 1] if place else call.sent_at
    latest = decided_at + NEXT_AFTER_S - TIME_TO_LEAVE_S
    if call.outcome == "answered" and call.answered_at is not None:
        return min(call.answered_at, latest)
    # Of all failures, only a timeout is known to take longer than that.
    if call.outcome in ("timeout", "open"):
        return latest
    return call.sent_at


def _completed_after_standings(evidence: Evidence) -> Iterator[Breach]:
    tables = tables_of(evidence.manager)
    players = members(evidence.manager, "player")
    final_prefixes: dict[int, int] = {}
    for place, event in evidence.manager.places(e.RoundFinished):
        final_prefixes.setdefault(event.round_id, tables.upto(place))
    newest_told = _NewestTold(evidence)
    for node, calls in _by_receiver(evidence.from_manager("ROUND_COMPLETED")).items():
        if evidence.agent(node) not in players:
            continue
        for call in calls:
            final_prefix = final_prefixes.get(whole(call.message, "round_id") or 0)
            if final_prefix is None:
                yield Breach(
                    "a round was called completed that never was finished",
                    call_at(call),
                )
                continue
            # A newer table than the final one of the round will do, too.
            if newest_told.at(node, call.sent_at + SAME_MOMENT_S) < final_prefix:
                yield Breach("sent before the final standings of the round", call_at(call))


class _NewestTold:
    """The newest table that each receiver was told, at any time."""

    def __init__(self, evidence: Evidence) -> None:
        self._sent_at: dict[str, list[float]] = {}
        self._prefixes: dict[str, list[int]] = {}
        for update in sorted(updates_in(evidence), key=lambda update: update.at):
            node = update.call.receiver_node
            prefixes = self._prefixes.setdefault(node, [-1])
            prefixes.append(max((prefixes[-1], *update.table.prefixes)))
            self._sent_at.setdefault(node, []).append(update.at)

    def at(self, node: str, until: float) -> int:
        """Return the prefix of the newest table; -1 if there was none."""
        sent = bisect_right(self._sent_at.get(node, ()), until)
        return self._prefixes[node][sent] if sent else -1


def _completed_once(evidence: Evidence) -> Iterator[Breach]:
    ends = [event.at for event in evidence.manager.of_kind(e.LeagueFinished)]
    # Without an end, every call comes too early.
    finished_at = min(ends, default=math.inf)
    for calls in _by_receiver(evidence.from_manager("LEAGUE_COMPLETED")).values():
        if calls[0].sent_at < finished_at - SAME_MOMENT_S:
            yield Breach("sent before the league was finished", call_at(calls[0]))
        for earlier, later in pairwise(calls):
            if earlier.outcome not in REPEATABLE and not _may_say_again(evidence, earlier, later):
                yield Breach(f"sent again though the first was {earlier.outcome}", call_at(later))


def _completed_last(evidence: Evidence) -> Iterator[Breach]:
    completed = _by_receiver(evidence.from_manager("LEAGUE_COMPLETED"))
    for kind in BEFORE_THE_END:
        for node, calls in _by_receiver(evidence.from_manager(kind)).items():
            if node not in completed:
                continue
            completion = completed[node][0]
            is_late = calls[-1].sent_at > completion.sent_at + SAME_MOMENT_S
            if is_late and not _may_say_again(evidence, completion, calls[-1]):
                yield Breach("sent after LEAGUE_COMPLETED", call_at(calls[-1]))


def _may_say_again(evidence: Evidence, earlier: RecordedCall, later: RecordedCall) -> bool:
    """Whether the manager went back to its journal or was started again in between, or the league was reopened."""
    for recovery in evidence.simulator.recoveries or ():
        is_between = earlier.sent_at <= recovery.at <= later.sent_at
        if is_between and evidence.agent(recovery.node) == MANAGER:
            return True
    if any(earlier.sent_at <= at <= later.sent_at for at in evidence.restarts):
        return True
    for event in evidence.manager.of_kind(e.LeagueReopened):
        # What was decided before the reopening may leave the process a little later.
        if earlier.sent_at - ON_ITS_WAY_S <= event.at <= later.sent_at:
            return True
    return False
