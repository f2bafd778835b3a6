"""Promise 10: rounds in order, one LEAGUE_COMPLETED for each end; to each player the final standings of a round,
ROUND_COMPLETED and the next announcement in this order, each when the one before has ended, or 2 s later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from league import events as e
from league.protocol.tokens import MANAGER
from league_lab.promises.evidence import ON_ITS_WAY_S, SAME_MOMENT_S, Evidence, RecordedCall
from league_lab.promises.findings import Breach, breaches_in, call_at
from league_lab.promises.history import Slot, TableHistory, members, places, schedule_of, whole
from league_lab.promises.standings import rows_in

REPEATABLE = ("refused", "busy")
BEFORE_THE_END = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED")
NEXT_AFTER_S = 2.0
TIME_TO_LEAVE_S = 0.5
"""So much longer than the next one a message may have waited before it left."""


def breaches(evidence: Evidence) -> Iterator[Breach]:
    yield from breaches_in(evidence.manager, _Rounds(schedule_of(evidence.manager)).take)
    if evidence.traffic is not None:
        yield from _completed_after_standings(evidence)
        for calls in _told_to_players(evidence):
            yield from _in_order(calls)
            yield from _one_after_another(evidence, calls)
        yield from _completed_once_and_last(evidence)


class _Rounds:
    """The rounds as the manager's journal tells them."""

    def __init__(self, schedule: Mapping[str, Slot]) -> None:
        self._rounds = {match_id: slot.round_id for match_id, slot in schedule.items()}
        self._undecided: dict[int, set[str]] = {}
        for match_id, round_id in self._rounds.items():
            self._undecided.setdefault(round_id, set()).add(match_id)
        self._opened = 0
        self._finished: set[int] = set()
        self._again: set[int] = set()
        """Finished rounds of which the operator voided a result: they may be opened and finished once more."""
        self._over = False

    def take(self, event: e.Event) -> Iterator[str]:
        if self._over and isinstance(event, e.RoundOpened | e.RoundFinished | e.ResultAccepted):
            yield f"{type(event).__name__} after the end of the league"
        if isinstance(event, e.RoundOpened):
            yield from self._open(event.round_id)
        elif isinstance(event, e.AssignmentsSent):
            if event.round_id > self._opened:
                yield f"referees got round {event.round_id} before it was opened"
        elif isinstance(event, e.RoundFinished):
            yield from self._finish(event.round_id)
        elif isinstance(event, e.LeagueReopened | e.LeagueFinished):
            yield from self._finish_league() if isinstance(event, e.LeagueFinished) else ()
            self._over = isinstance(event, e.LeagueFinished)
        elif isinstance(event, e.ResultAccepted | e.WalkoverDecided | e.ResultVoided):
            yield from self._decide(event)

    def _open(self, round_id: int) -> Iterator[str]:
        if round_id != self._opened + 1 and round_id not in self._again:
            yield f"round {round_id} was opened after round {self._opened}"
        unfinished = [number for number in range(1, round_id) if number not in self._finished]
        if unfinished:
            yield f"round {round_id} was opened before round {unfinished[0]} was finished"
        self._opened = max(self._opened, round_id)

    def _decide(self, event: e.ResultAccepted | e.WalkoverDecided | e.ResultVoided) -> Iterator[str]:
        round_id = self._rounds.get(event.match_id, 0)
        if isinstance(event, e.ResultVoided):
            self._undecided.setdefault(round_id, set()).add(event.match_id)
            self._again |= {round_id} & self._finished
            return
        self._undecided.setdefault(round_id, set()).discard(event.match_id)
        if isinstance(event, e.ResultAccepted) and round_id > self._opened:
            yield f"{event.match_id} has a result before round {round_id} was opened"

    def _finish(self, round_id: int) -> Iterator[str]:
        if round_id > self._opened:
            yield f"round {round_id} was finished before it was opened"
        if round_id in self._finished - self._again:
            yield f"round {round_id} was finished twice"
        if self._undecided.get(round_id):
            yield f"round {round_id} was finished without {', '.join(sorted(self._undecided[round_id]))}"
        self._finished.add(round_id)
        self._again.discard(round_id)

    def _finish_league(self) -> Iterator[str]:
        if self._over:
            yield "the league was finished twice"
        missing = sorted(match for matches in self._undecided.values() for match in matches)
        if missing:
            yield f"the league was finished without {', '.join(missing)}"
        unfinished = sorted(set(self._rounds.values()) - self._finished)
        if unfinished:
            yield f"the league was finished before round {unfinished[0]} was"


# --- what agents were sent --------------------------------------------------------------------------------------------


def _by_receiver(calls: Sequence[RecordedCall]) -> Mapping[str, list[RecordedCall]]:
    found: dict[str, list[RecordedCall]] = {}
    for call in calls:
        found.setdefault(call.receiver_node, []).append(call)
    return found


def _told_to_players(evidence: Evidence) -> Iterator[list[RecordedCall]]:
    """What the manager told each player about rounds, in the order of sending."""
    told = [call for call in evidence.traffic or () if call.kind in BEFORE_THE_END]
    from_manager = [call for call in told if evidence.agent(call.sender_node) == MANAGER]
    players = members(evidence.manager, "player")
    yield from (calls for node, calls in _by_receiver(from_manager).items() if evidence.agent(node) in players)


def _in_order(calls: Sequence[RecordedCall]) -> Iterator[Breach]:
    """Announcement 1, completion 1, announcement 2 and so on; a repetition may come after what was sent in time. A
    completion is missing only where calls had failed before."""
    last, has_failed = (0, True), False
    for call in calls:
        round_id, is_completed = whole(call.message, "round_id") or 0, call.kind == "ROUND_COMPLETED"
        if call.kind != "LEAGUE_STANDINGS_UPDATE":
            if (round_id, is_completed) < last:
                what = "completed" if is_completed else "announced"
                yield Breach(f"round {round_id} was called {what} after {_named(last)}", call_at(call))
            elif round_id > last[0] and not last[1] and not has_failed:
                yield Breach(f"round {round_id} follows {_named(last)}", call_at(call))
            last = max(last, (round_id, is_completed))
        has_failed = has_failed or call.outcome != "answered"


def _named(place: tuple[int, bool]) -> str:
    return f"the {'completion' if place[1] else 'announcement'} of round {place[0]}"


def _one_after_another(evidence: Evidence, calls: Sequence[RecordedCall]) -> Iterator[Breach]:
    """Only the first call of a message waits, and is waited for: one that is repeated has failed."""
    seen: set[tuple[str, int | None, int | None]] = set()
    before: RecordedCall | None = None
    for call in calls:
        name = (call.kind, whole(call.message, "round_id"), whole(call.message, "version"))
        is_first = name not in seen
        seen.add(name)
        is_early = before is not None and call.sent_at < _next_may_leave(before) - SAME_MOMENT_S
        if before is not None and is_first and is_early and not _may_say_again(evidence, before, call):
            yield Breach(f"sent while {before.kind} was under way", call_at(call))
        before = call if is_first else before


def _next_may_leave(call: RecordedCall) -> float:
    """Of failures only the time limit is known to take longer than that."""
    latest = call.sent_at + NEXT_AFTER_S - TIME_TO_LEAVE_S
    if call.outcome == "answered" and call.answered_at is not None:
        return min(call.answered_at, latest)
    return latest if call.outcome in ("timeout", "open") else call.sent_at


def _completed_after_standings(evidence: Evidence) -> Iterator[Breach]:
    tables, players = TableHistory(evidence.manager), members(evidence.manager, "player")
    finals: dict[int, int] = {}
    for place, event in places(evidence.manager, e.RoundFinished):
        finals.setdefault(event.round_id, tables.upto(place))
    updates = _by_receiver(evidence.from_manager("LEAGUE_STANDINGS_UPDATE"))
    for node, calls in _by_receiver(evidence.from_manager("ROUND_COMPLETED")).items():
        ended = [
            (call.sent_at, max(tables.prefixes(rows_in(call.message, "standings")), default=-1))
            for call in updates.get(node, ())
        ]
        for call in calls if evidence.agent(node) in players else ():
            final = finals.get(whole(call.message, "round_id") or 0)
            if final is None:
                yield Breach("a round was called completed that never was finished", call_at(call))
            elif not any(at <= call.sent_at + SAME_MOMENT_S and prefix >= final for at, prefix in ended):
                yield Breach("sent before the final standings of the round", call_at(call))


def _completed_once_and_last(evidence: Evidence) -> Iterator[Breach]:
    finished = next((event.at for _, event in places(evidence.manager, e.LeagueFinished)), None)
    completed = _by_receiver(evidence.from_manager("LEAGUE_COMPLETED"))
    for calls in completed.values():
        if finished is None or calls[0].sent_at < finished - SAME_MOMENT_S:
            yield Breach("sent before the league was finished", call_at(calls[0]))
        for earlier, later in pairwise(calls):
            if earlier.outcome not in REPEATABLE and not _may_say_again(evidence, earlier, later):
                yield Breach(f"sent again though the first was {earlier.outcome}", call_at(later))
    for kind in BEFORE_THE_END:
        for node, calls in _by_receiver(evidence.from_manager(kind)).items():
            last = completed.get(node, [calls[-1]])[0]
            if calls[-1].sent_at > last.sent_at + SAME_MOMENT_S and not _may_say_again(evidence, last, calls[-1]):
                yield Breach("sent after LEAGUE_COMPLETED", call_at(calls[-1]))


def _may_say_again(evidence: Evidence, earlier: RecordedCall, later: RecordedCall) -> bool:
    """Did the manager go back to its journal in between, or was the league reopened?"""
    recovered = [one.at for one in evidence.recoveries or () if evidence.agent(one.node) == MANAGER]
    # What was decided before the reopening may leave the process a little later.
    reopened = [event.at + ON_ITS_WAY_S for _, event in places(evidence.manager, e.LeagueReopened)]
    return any(earlier.sent_at <= at <= later.sent_at for at in recovered) or any(
        earlier.sent_at <= at <= later.sent_at + ON_ITS_WAY_S for at in reopened
    )
