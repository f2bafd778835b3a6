"""Promise 10: rounds in order, one LEAGUE_COMPLETED, ROUND_COMPLETED only after the final standings of its round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from league.events import (
    AgentRegistered,
    AssignmentsSent,
    Event,
    LeagueFinished,
    ResultAccepted,
    ResultVoided,
    RoundFinished,
    RoundOpened,
    WalkoverDecided,
)
from league.promises.evidence import SAME_MOMENT_S, Evidence, RecordedCall
from league.promises.findings import Breach, breaches_in, call_at
from league.promises.history import Slot, TableHistory, places, schedule_of, whole
from league.promises.standings import rows_in
from league.protocol.tokens import MANAGER

REPEATABLE = ("refused", "busy")
BEFORE_THE_END = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED")


def breaches(evidence: Evidence) -> Iterator[Breach]:
    yield from breaches_in(evidence.manager, _Rounds(schedule_of(evidence.manager)).take)
    if evidence.traffic is not None:
        yield from _announced_in_order(evidence)
        yield from _completed_after_standings(evidence)
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

    def take(self, event: Event) -> Iterator[str]:
        if self._over and isinstance(event, RoundOpened | RoundFinished | ResultAccepted):
            yield f"{type(event).__name__} after the end of the league"
        if isinstance(event, RoundOpened):
            yield from self._open(event.round_id)
        elif isinstance(event, AssignmentsSent):
            if event.round_id > self._opened:
                yield f"referees got round {event.round_id} before it was opened"
        elif isinstance(event, RoundFinished):
            yield from self._finish(event.round_id)
        elif isinstance(event, LeagueFinished):
            yield from self._finish_league()
        elif isinstance(event, ResultAccepted | WalkoverDecided | ResultVoided):
            yield from self._decide(event)

    def _open(self, round_id: int) -> Iterator[str]:
        if round_id != self._opened + 1 and round_id not in self._again:
            yield f"round {round_id} was opened after round {self._opened}"
        unfinished = [number for number in range(1, round_id) if number not in self._finished]
        if unfinished:
            yield f"round {round_id} was opened before round {unfinished[0]} was finished"
        self._opened = max(self._opened, round_id)

    def _decide(self, event: ResultAccepted | WalkoverDecided | ResultVoided) -> Iterator[str]:
        round_id = self._rounds.get(event.match_id, 0)
        if isinstance(event, ResultVoided):
            self._undecided.setdefault(round_id, set()).add(event.match_id)
            self._again |= {round_id} & self._finished
            return
        self._undecided.setdefault(round_id, set()).discard(event.match_id)
        if isinstance(event, ResultAccepted) and round_id > self._opened:
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
        self._over = True


# --- what agents were sent --------------------------------------------------------------------------------------------


def _by_receiver(calls: Sequence[RecordedCall]) -> Mapping[str, list[RecordedCall]]:
    found: dict[str, list[RecordedCall]] = {}
    for call in calls:
        found.setdefault(call.receiver_node, []).append(call)
    return found


def _players(evidence: Evidence) -> set[str]:
    return {event.agent_id for _, event in places(evidence.manager, AgentRegistered) if event.role == "player"}


def _announced_in_order(evidence: Evidence) -> Iterator[Breach]:
    players = _players(evidence)
    for node, calls in _by_receiver(evidence.from_manager("ROUND_ANNOUNCEMENT")).items():
        seen = [0]
        for call in calls if evidence.agent(node) in players else ():
            round_id = whole(call.message, "round_id") or 0
            if round_id not in seen and round_id < seen[-1]:
                yield Breach(f"round {round_id} was announced after round {seen[-1]}", call_at(call))
            seen.append(round_id)


def _completed_after_standings(evidence: Evidence) -> Iterator[Breach]:
    tables, players = TableHistory(evidence.manager), _players(evidence)
    finals: dict[int, int] = {}
    for place, event in places(evidence.manager, RoundFinished):
        finals.setdefault(event.round_id, tables.upto(place))
    updates = _by_receiver(evidence.from_manager("LEAGUE_STANDINGS_UPDATE"))
    for node, calls in _by_receiver(evidence.from_manager("ROUND_COMPLETED")).items():
        ended = [
            (call.answered_at or call.sent_at, max(tables.prefixes(rows_in(call.message, "standings")), default=-1))
            for call in updates.get(node, ())
        ]
        for call in calls if evidence.agent(node) in players else ():
            final = finals.get(whole(call.message, "round_id") or 0)
            if final is None:
                yield Breach("a round was called completed that never was finished", call_at(call))
            elif not any(at <= call.sent_at + SAME_MOMENT_S and prefix >= final for at, prefix in ended):
                yield Breach("sent before the final standings of the round", call_at(call))


def _completed_once_and_last(evidence: Evidence) -> Iterator[Breach]:
    finished = next((event.at for _, event in places(evidence.manager, LeagueFinished)), None)
    completed = _by_receiver(evidence.from_manager("LEAGUE_COMPLETED"))
    for calls in completed.values():
        if finished is None or calls[0].sent_at < finished - SAME_MOMENT_S:
            yield Breach("sent before the league was finished", call_at(calls[0]))
        for earlier, later in pairwise(calls):
            if earlier.outcome not in REPEATABLE and not _recovered_between(evidence, earlier, later):
                yield Breach(f"sent again though the first was {earlier.outcome}", call_at(later))
    for kind in BEFORE_THE_END:
        for node, calls in _by_receiver(evidence.from_manager(kind)).items():
            last = completed.get(node, [calls[-1]])[0]
            if calls[-1].sent_at > last.sent_at + SAME_MOMENT_S and not _recovered_between(evidence, last, calls[-1]):
                yield Breach("sent after LEAGUE_COMPLETED", call_at(calls[-1]))


def _recovered_between(evidence: Evidence, earlier: RecordedCall, later: RecordedCall) -> bool:
    """Did the manager go back to its journal in between? Then it may send again what it had sent."""
    return any(
        evidence.agent(one.node) == MANAGER and earlier.sent_at <= one.at <= later.sent_at
        for one in evidence.recoveries or ()
    )
