"""The results of a check: breaches, a finding for each promise, and the report of all promises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from league.events import Event, ResultAccepted
from league.features.audit.promises.grounds.event_log import EventLog
from league.features.audit.promises.grounds.evidence import Evidence, RecordedCall
from league.protocol.signing.tokens import MANAGER

Judge = Callable[[Any], Iterator[str] | None]
"""Takes events of one kind into account (Any: each the kind it is listed under), and says what is wrong with them."""
Verdict = Literal["kept", "broken", "unobservable"]


def no_manager_journal(evidence: Evidence) -> str | None:
    if not evidence.manager:
        return "there is no manager's journal"
    return None


def no_traffic(evidence: Evidence) -> str | None:
    if evidence.traffic is None:
        return "the traffic was not recorded"
    if not evidence.is_recorded(MANAGER):
        return f"the manager's traffic is not on record: {evidence.unrecorded[MANAGER]}"
    return None


def no_referee_traffic(evidence: Evidence) -> str | None:
    """Why the matches cannot be followed letter by letter."""
    if evidence.traffic is None:
        return "the traffic was not recorded"
    results = evidence.manager.of_kind(ResultAccepted)
    referees = {*evidence.referees, *(result.referee_id for result in results)}
    if not referees:
        return "there is no referee's journal"
    for referee in sorted(referees):
        if not evidence.referees.get(referee):
            return f"there is no journal of {referee}"
        if not evidence.is_recorded(referee):
            return f"the traffic of {referee} is not on record: {evidence.unrecorded[referee]}"
    return None


@dataclass(frozen=True, slots=True)
class Breach:
    """One violation: what is wrong, and the event or message that shows it."""

    detail: str
    where: str


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise and its check."""

    number: int
    sentence: str
    breaches: Callable[[Evidence], Iterator[Breach]]
    unobservable: Callable[[Evidence], str | None] = no_manager_journal
    """Why the evidence does not suffice to call the promise kept; None if it does."""


@dataclass(frozen=True, slots=True)
class PromiseFinding:
    """The verdict on one promise; if it is broken, with the first breach."""

    promise: int
    verdict: Verdict
    detail: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True)
class PromiseReport:
    """A finding for every promise."""

    findings: Sequence[PromiseFinding]

    @property
    def broken(self) -> Sequence[PromiseFinding]:
        return [finding for finding in self.findings if finding.verdict == "broken"]

    def verdict(self, promise: int) -> Verdict:
        return next(finding.verdict for finding in self.findings if finding.promise == promise)

    def __str__(self) -> str:
        return "\n".join(map(_line, self.findings))


def _line(finding: PromiseFinding) -> str:
    line = f"{finding.promise:2} {finding.verdict}"
    if finding.detail:
        line += f": {finding.detail}"
    if finding.where:
        line += f" [{finding.where}]"
    return line


def breaches_in(
    manager: EventLog,
    judges: Mapping[type[Event], Judge],
) -> Iterator[Breach]:
    """The breaches in the manager's events of these kinds, judged one after the other."""
    for position, event in manager.places(*judges):
        for detail in judges[type(event)](event) or ():
            yield Breach(detail, event_at("manager", position))


def breaches_at(
    where: str,
    details: Iterable[str],
) -> Iterator[Breach]:
    """A breach for each of these details, all at one place."""
    for detail in details:
        yield Breach(detail, where)


def event_at(journal: str, position: int) -> str:
    """Name an event for people: by its journal and its number there, counted from 1."""
    return f"{journal} #{position + 1}"


def call_at(call: RecordedCall) -> str:
    """Name a call for people."""
    return f"{call.kind or 'call'} {call.sender_node} to {call.receiver_node} at {call.sent_at:.3f}"
