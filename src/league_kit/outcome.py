"""Checks and their outcomes: how a clause is judged, and the verdict with its reason, advice and evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum

from league_kit.clauses import Clause
from league_kit.record import Arrival, Probe, RunRecord

Evidence = Probe | Arrival
MOST_EVIDENCE = 3


class Verdict(Enum):
    """`warn`: a SHOULD is not kept, or a habit that may cost matches elsewhere."""

    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    UNTESTABLE = "untestable"


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """A verdict with its reason, what to change, and what shows it."""

    verdict: Verdict
    detail: str = ""
    advice: str = ""
    evidence: tuple[Evidence, ...] = ()
    fault: str = ""
    """What outcomes of the same fault have in common, where their details differ."""

    @property
    def alike(self) -> tuple[str, str]:
        """Outcomes that agree in this show the same fault."""
        return self.advice, self.fault or self.detail


def kept(detail: str = "", evidence: Iterable[Evidence] = ()) -> CheckOutcome:
    return CheckOutcome(Verdict.PASS, detail, evidence=tuple(evidence)[:1])


def broken(detail: str, advice: str, *evidence: Evidence) -> CheckOutcome:
    """Not kept: a failure; of a SHOULD, a warning."""
    return CheckOutcome(Verdict.FAIL, detail, advice, evidence[:MOST_EVIDENCE])


def warning(detail: str, advice: str, *evidence: Evidence) -> CheckOutcome:
    """Kept, but in a way that may cost matches elsewhere."""
    return CheckOutcome(Verdict.WARN, detail, advice, evidence[:MOST_EVIDENCE])


def untestable(reason: str) -> CheckOutcome:
    return CheckOutcome(Verdict.UNTESTABLE, reason)


Judge = Callable[[RunRecord], CheckOutcome]


@dataclass(frozen=True, slots=True)
class Check:
    """How one clause is judged, and the scenarios that must have been run for it."""

    judge: Judge
    scenarios: tuple[str, ...]
    never: str = ""
    """Why it cannot be seen from outside, where that is so."""


def judged(check: Check, clause: Clause, record: RunRecord) -> CheckOutcome:
    """The outcome of a check; a SHOULD never fails."""
    if check.never:
        return untestable(check.never)
    outcome = check.judge(record)
    if outcome.verdict is Verdict.FAIL and clause.level == "SHOULD":
        return replace(outcome, verdict=Verdict.WARN)
    return outcome
