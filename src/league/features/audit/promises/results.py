"""Promises 2, 3, 8 and 11: where a result comes from, and what may end it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from league import events as e
from league.features.audit.promises.grounds.event_history import (
    TABLE_CHANGES,
    Result,
    Slot,
    has_technical_loss,
    inner,
    is_handed_in,
    schedule_of,
    text,
    whole,
    word_of,
)
from league.features.audit.promises.grounds.evidence import SAME_MOMENT_S, Evidence, RecordedCall
from league.features.audit.promises.grounds.promise_findings import (
    Breach,
    Judge,
    breaches_in,
    event_at,
    no_manager_journal,
)
from league.protocol.signing.tokens import MANAGER

# --- promise 2: a match has one result --------------------------------------------------------------------------------


def more_than_one(evidence: Evidence) -> Iterator[Breach]:
    in_force: dict[str, int] = {}
    is_over = False
    is_closed = False
    ends = (e.LeagueFinished, e.LeagueReopened, e.OrderCarriedOut)
    for place, event in evidence.manager.places(*TABLE_CHANGES, *ends):
        if isinstance(event, Result):
            if event.match_id in in_force:
                first = event_at("manager", in_force[event.match_id])
                yield Breach(f"{event.match_id} has a second result beside {first}", event_at("manager", place))
            in_force[event.match_id] = place
        elif isinstance(event, e.ResultVoided):
            if is_over:
                yield Breach(f"{event.match_id} was voided after the end of the league", event_at("manager", place))
            in_force.pop(event.match_id, None)
        elif isinstance(event, e.LeagueFinished | e.LeagueReopened):
            is_over = isinstance(event, e.LeagueFinished)
            if is_closed and not is_over:
                yield Breach("the league was reopened after it was closed", event_at("manager", place))
        elif isinstance(event, e.OrderCarriedOut):
            is_closed = is_closed or event.order == "close"


# --- promise 3: a result comes from the current referee and attempt, or is a walkover ---------------------------------


def not_current(evidence: Evidence) -> Iterator[Breach]:
    return breaches_in(evidence.manager, _Leases(schedule_of(evidence.manager)).judges)


class _Lease(NamedTuple):
    """A referee has a match, as this attempt."""

    referee_id: str
    attempt: int


class _Leases:
    """The current lease of each match, according to the manager's journal."""

    def __init__(self, schedule: Mapping[str, Slot]) -> None:
        self._schedule = schedule
        self._leases: dict[str, _Lease] = {}
        self._withdrawn: set[str] = set()
        self.judges: Mapping[type[e.Event], Judge] = {
            e.MatchAssigned: self._assigned,
            e.ResultVoided: self._voided,
            e.OrderCarriedOut: self._ordered,
            e.ResultAccepted: self._accepted,
            e.WalkoverDecided: self._walkover,
        }

    def _assigned(self, event: e.MatchAssigned) -> None:
        self._leases[event.match_id] = _Lease(event.referee_id, event.attempt)

    def _voided(self, event: e.ResultVoided) -> None:
        # A voided result must not come back: only a new assignment can bring a result.
        self._leases.pop(event.match_id, None)

    def _ordered(self, event: e.OrderCarriedOut) -> None:
        if event.order == "withdraw":
            self._withdrawn.add(event.target)

    def _accepted(self, event: e.ResultAccepted) -> Iterator[str]:
        lease = self._leases.get(event.match_id, _Lease("nobody", 0))
        if lease != (event.referee_id, event.attempt):
            yield f"{event.match_id} was with {lease.referee_id}, attempt {lease.attempt}"

    def _walkover(self, event: e.WalkoverDecided) -> Iterator[str]:
        slot = self._schedule.get(event.match_id)
        players = set(slot.players) if slot else set()
        gone = set(event.withdrawn)
        if not gone or not gone <= players & self._withdrawn:
            yield f"a walkover in {event.match_id} though not all of {sorted(gone)} were withdrawn"
        staying = players - gone
        winner = min(staying) if len(staying) == 1 else None
        if event.winner != winner:
            yield f"the walkover in {event.match_id} went to {event.winner}"


# --- promise 8: nothing is invented -----------------------------------------------------------------------------------


def invented(evidence: Evidence) -> Iterator[Breach]:
    return breaches_in(evidence.manager, _Origins(evidence).judges)


class _Origins:
    """The registrations, assignments and reports from which a result can come."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._schedule = schedule_of(evidence.manager)
        self._registered: set[str] = set()
        self._leases: set[tuple[str, str, int]] = set()
        self._reports: dict[str, list[RecordedCall]] = {}
        """By match."""
        for call in evidence.to_manager("MATCH_RESULT_REPORT"):
            self._reports.setdefault(text(call.message, "match_id") or "", []).append(call)
        self.judges: Mapping[type[e.Event], Judge] = {
            e.AgentRegistered: self._enters,
            e.MatchAssigned: self._assigned,
            e.ResultAccepted: self._accepted,
            e.WalkoverDecided: self._parties,
        }

    def _enters(self, event: e.AgentRegistered) -> None:
        self._registered.add(event.agent_id)

    def _assigned(self, event: e.MatchAssigned) -> None:
        self._leases.add((event.match_id, event.referee_id, event.attempt))

    def _parties(self, result: Result) -> Iterator[str]:
        slot = self._schedule.get(result.match_id)
        if slot is None:
            yield f"there is no match {result.match_id}"
            return
        parties = {*slot.players}
        if isinstance(result, e.ResultAccepted):
            parties.add(result.referee_id)
        if not parties <= self._registered:
            yield f"never registered: {', '.join(sorted(parties - self._registered))}"

    def _accepted(self, result: e.ResultAccepted) -> Iterator[str]:
        yield from self._parties(result)
        referee = result.referee_id
        if (result.match_id, referee, result.attempt) not in self._leases:
            yield f"{result.match_id} was never assigned to {referee} as attempt {result.attempt}"
        evidence = self._evidence
        # Without recorded traffic there is nothing to compare with.
        if not evidence.is_recorded(MANAGER) or evidence.may_lack_letters(result.at):
            return
        reports = self._reports.get(result.match_id, [])
        # By its origin alone, anybody at that address may have sent it.
        if not result.origin:
            reports = [call for call in reports if evidence.agent(call.sender_node) == referee]
        if not is_handed_in(evidence.manager, result) and not any(_says(call, result) for call in reports):
            yield f"no report from {referee} says what is stored of {result.match_id}"


WORDS_FOR_A_DRAW = ("DRAW", "TIE", "")


def winner_in(report: RecordedCall) -> str | None:
    """The winner that a report names; some referees write DRAW for none."""
    winner = text(inner(report.message, "result"), "winner")
    return None if winner in WORDS_FOR_A_DRAW else winner


def is_readable(report: RecordedCall) -> bool:
    """Whether a report names its winner as the protocol has it, and the manager took it as it was."""
    names_winner = "winner" in inner(report.message, "result")
    return names_winner and "corrected" not in (report.accepted or {})


def _says(report: RecordedCall, result: e.ResultAccepted) -> bool:
    return (
        whole(report.message, "attempt") in (None, result.attempt)
        and (winner_in(report) == result.winner or not is_readable(report))
        and report.delivered > 0
        and report.sent_at <= result.at + SAME_MOMENT_S
    )


# --- promise 11: a player loses technically only through its own fault ------------------------------------------------


def losers_without_fault(evidence: Evidence) -> Iterator[Breach]:
    """Only accepted results count, not the decisions of referees that had lost the match."""
    if evidence.simulator.faulted is None:
        return
    schedule = schedule_of(evidence.manager)
    for place, result in evidence.manager.places(e.ResultAccepted):
        slot = schedule.get(result.match_id)
        # Nobody knows who reported a result that counts by an address: the operator accepts that. A dishonest referee
        # may let anybody lose; promise 21 tells whether that is called by its right name.
        is_dishonest = result.referee_id in evidence.simulator.dishonest
        is_known = not result.origin and not (is_dishonest and word_of(evidence.manager, result) != "proven")
        if result.status == "TECHNICAL_LOSS" and slot is not None and is_known:
            losers = set(slot.players) - {result.winner}
            for player in sorted(losers - evidence.simulator.faulted):
                yield Breach(
                    f"{player} lost {result.match_id} without a fault",
                    event_at("manager", place),
                )


def faults_unobservable(evidence: Evidence) -> str | None:
    reason = no_manager_journal(evidence)
    if reason is None and evidence.simulator.faulted is None and has_technical_loss(evidence.manager):
        return "who was made to fail is not known"
    return reason
