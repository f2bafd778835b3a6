"""Promises 2, 3, 8 and 11: where a result comes from, and what alone may end it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from league import events as e
from league_lab.promises.evidence import SAME_MOMENT_S, Evidence, RecordedCall
from league_lab.promises.findings import Breach, breaches_in, event_at, no_manager_journal
from league_lab.promises.history import Slot, inner, places, schedule_of, text, whole

# --- promise 2: one result in force per match -------------------------------------------------------------------------


def more_than_one(evidence: Evidence) -> Iterator[Breach]:
    in_force: dict[str, int] = {}
    over = closed = False
    for place, event in enumerate(evidence.manager):
        where = event_at("manager", place)
        if isinstance(event, e.ResultAccepted | e.WalkoverDecided):
            if event.match_id in in_force:
                first = event_at("manager", in_force[event.match_id])
                yield Breach(f"{event.match_id} has a second result beside {first}", where)
            in_force[event.match_id] = place
        elif isinstance(event, e.ResultVoided):
            if over:
                yield Breach(f"{event.match_id} was voided after the end of the league", where)
            in_force.pop(event.match_id, None)
        elif isinstance(event, e.LeagueReopened) and closed:
            yield Breach("the league was reopened after it was closed", where)
        over = (over or isinstance(event, e.LeagueFinished)) and not isinstance(event, e.LeagueReopened)
        closed = closed or isinstance(event, e.LeagueClosed)


# --- promise 3: from the current referee and attempt, or a walkover ---------------------------------------------------


def not_current(evidence: Evidence) -> Iterator[Breach]:
    return breaches_in(evidence.manager, _Leases(schedule_of(evidence.manager)).take)


class _Leases:
    """Who holds each match, as the manager's journal tells it."""

    def __init__(self, schedule: Mapping[str, Slot]) -> None:
        self._schedule = schedule
        self._holders: dict[str, tuple[str, int]] = {}
        self._withdrawn: set[str] = set()

    def take(self, event: e.Event) -> Iterator[str]:
        if isinstance(event, e.MatchAssigned):
            self._holders[event.match_id] = (event.referee_id, event.attempt)
        elif isinstance(event, e.ResultVoided):
            # What was voided must not come back: only a new assignment can bring a result.
            self._holders.pop(event.match_id, None)
        elif isinstance(event, e.PlayerWithdrawn):
            self._withdrawn.add(event.agent_id)
        elif isinstance(event, e.ResultAccepted):
            holder = self._holders.get(event.match_id, ("nobody", 0))
            if holder != (event.referee_id, event.attempt):
                yield f"{event.match_id} was with {holder[0]}, attempt {holder[1]}"
        elif isinstance(event, e.WalkoverDecided):
            slot = self._schedule.get(event.match_id)
            yield from _walkover(event, set(slot.players) if slot else set(), self._withdrawn)


def _walkover(event: e.WalkoverDecided, players: set[str], withdrawn: set[str]) -> Iterator[str]:
    gone = set(event.withdrawn)
    if not gone or not gone <= players & withdrawn:
        yield f"a walkover in {event.match_id} though not all of {sorted(gone)} were withdrawn"
    staying = players - gone
    if event.winner != (min(staying) if len(staying) == 1 else None):
        yield f"the walkover in {event.match_id} went to {event.winner}"


# --- promise 8: nothing is invented -----------------------------------------------------------------------------------


def invented(evidence: Evidence) -> Iterator[Breach]:
    return breaches_in(evidence.manager, _Origins(evidence).take)


class _Origins:
    """The registrations, assignments and reports that a result can come from."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._schedule = schedule_of(evidence.manager)
        self._registered: set[str] = set()
        self._leases: set[tuple[str, str, int]] = set()
        self._reports: dict[tuple[str, str], list[RecordedCall]] = {}
        for call in evidence.to_manager("MATCH_RESULT_REPORT"):
            key = (text(call.message, "match_id") or "", evidence.agent(call.sender_node))
            self._reports.setdefault(key, []).append(call)

    def take(self, event: e.Event) -> Iterator[str]:
        if isinstance(event, e.AgentRegistered):
            self._registered.add(event.agent_id)
        elif isinstance(event, e.MatchAssigned):
            self._leases.add((event.match_id, event.referee_id, event.attempt))
        elif isinstance(event, e.ResultAccepted):
            yield from self._parties(event.match_id, {event.referee_id})
            yield from self._result(event)
        elif isinstance(event, e.WalkoverDecided):
            yield from self._parties(event.match_id, set())

    def _parties(self, match_id: str, referees: set[str]) -> Iterator[str]:
        slot = self._schedule.get(match_id)
        if slot is None:
            yield f"there is no match {match_id}"
            return
        strangers = ({*slot.players} | referees) - self._registered
        if strangers:
            yield f"never registered: {', '.join(sorted(strangers))}"

    def _result(self, result: e.ResultAccepted) -> Iterator[str]:
        referee = result.referee_id
        if (result.match_id, referee, result.attempt) not in self._leases:
            yield f"{result.match_id} was never assigned to {referee} as attempt {result.attempt}"
        reports = self._reports.get((result.match_id, referee), ())
        if self._evidence.traffic is not None and not any(_says(call, result) for call in reports):
            yield f"no report from {referee} says what is stored of {result.match_id}"


def _says(report: RecordedCall, result: e.ResultAccepted) -> bool:
    winner = text(inner(report.message, "result"), "winner")
    return (
        whole(report.message, "attempt") in (None, result.attempt)
        and (None if winner == "DRAW" else winner) == result.winner
        and report.delivered > 0
        and report.sent_at <= result.at + SAME_MOMENT_S
    )


# --- promise 11: a technical loss only through the player's own fault -------------------------------------------------


def losers_without_fault(evidence: Evidence) -> Iterator[Breach]:
    """Only results in force count: a loss decided by the referee of a superseded attempt is none."""
    if evidence.faulted is None:
        return
    schedule = schedule_of(evidence.manager)
    for place, result in places(evidence.manager, e.ResultAccepted):
        slot = schedule.get(result.match_id)
        if result.status == "TECHNICAL_LOSS" and slot is not None:
            losers = set(slot.players) - {result.winner}
            for player in sorted(losers - evidence.faulted):
                yield Breach(f"{player} lost {result.match_id} without a fault", event_at("manager", place))


def faults_unobservable(evidence: Evidence) -> str | None:
    some = any(result.status == "TECHNICAL_LOSS" for _, result in places(evidence.manager, e.ResultAccepted))
    unknown = "who was made to fail is not known" if evidence.faulted is None and some else None
    return no_manager_journal(evidence) or unknown
