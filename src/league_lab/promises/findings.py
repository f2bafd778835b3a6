"""What a check finds: breaches, a finding for each promise, and the report of all promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from league.events import Event
from league_lab.promises.evidence import Evidence, RecordedCall

Verdict = Literal["kept", "broken", "unobservable"]


def no_manager_journal(evidence: Evidence) -> str | None:
    return None if evidence.manager else "there is no manager's journal"


def no_traffic(evidence: Evidence) -> str | None:
    return "the traffic was not recorded" if evidence.traffic is None else None


@dataclass(frozen=True, slots=True)
class Breach:
    """One violation: what is wrong, and which event or message shows it."""

    detail: str
    where: str


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise, the search for its breaches, and why the evidence is not enough to call it kept (None if it is)."""

    number: int
    sentence: str
    breaches: Callable[[Evidence], Iterator[Breach]]
    unobservable: Callable[[Evidence], str | None] = no_manager_journal


@dataclass(frozen=True, slots=True)
class PromiseFinding:
    """The verdict on one promise; of a broken one, the first breach."""

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
        return [one for one in self.findings if one.verdict == "broken"]

    def verdict(self, promise: int) -> Verdict:
        return next(one.verdict for one in self.findings if one.promise == promise)

    def __str__(self) -> str:
        lines = [f"{one.promise:2} {one.verdict}: {one.detail}".rstrip(": ") for one in self.findings]
        shown = [f" [{one.where}]" if one.where else "" for one in self.findings]
        return "\n".join(line + place for line, place in zip(lines, shown, strict=True))


def breaches_in(manager: Sequence[Event], judge: Callable[[Event], Iterator[str]]) -> Iterator[Breach]:
    """What is wrong with the manager's events, judged one after the other."""
    for position, event in enumerate(manager):
        yield from (Breach(detail, event_at("manager", position)) for detail in judge(event))


def event_at(journal: str, position: int) -> str:
    """Where an event is, for people: its journal and its number there, from 1."""
    return f"{journal} #{position + 1}"


def call_at(call: RecordedCall) -> str:
    """Which call it is, for people."""
    return f"{call.kind or 'call'} {call.sender_node} to {call.receiver_node} at {call.sent_at:.3f}"
