"""What a check finds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum

from league.conformance.clauses import Clause
from league.conformance.record import Arrival, Exchange, Record

Evidence = Exchange | Arrival
MOST_EVIDENCE = 3


class Verdict(Enum):
    """`warn`: a SHOULD is not kept, or a habit that may cost matches elsewhere."""

    PASS = "pass"
    FAIL = "fail"
    WARN = "warn"
    UNTESTABLE = "untestable"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A verdict with its reason, what to change, and what shows it."""

    verdict: Verdict
    detail: str = ""
    advice: str = ""
    evidence: tuple[Evidence, ...] = ()


def kept(detail: str = "", evidence: Iterable[Evidence] = ()) -> Outcome:
    return Outcome(Verdict.PASS, detail, evidence=tuple(evidence)[:1])


def broken(detail: str, advice: str, *evidence: Evidence) -> Outcome:
    """Not kept: a failure; of a SHOULD, a warning."""
    return Outcome(Verdict.FAIL, detail, advice, evidence[:MOST_EVIDENCE])


def odd(detail: str, advice: str, *evidence: Evidence) -> Outcome:
    """Kept, but not well."""
    return Outcome(Verdict.WARN, detail, advice, evidence[:MOST_EVIDENCE])


def untestable(reason: str) -> Outcome:
    return Outcome(Verdict.UNTESTABLE, reason)


Judge = Callable[[Record], Outcome]


@dataclass(frozen=True, slots=True)
class Check:
    """How one clause is judged, and the acts of the programme that show it."""

    judge: Judge
    acts: tuple[str, ...]
    never: str = ""
    """Why it cannot be seen from outside, where that is so."""


def judged(check: Check, clause: Clause, record: Record) -> Outcome:
    """The outcome of a check; a SHOULD never fails."""
    if check.never:
        return untestable(check.never)
    outcome = check.judge(record)
    if outcome.verdict is Verdict.FAIL and clause.level == "SHOULD":
        return replace(outcome, verdict=Verdict.WARN)
    return outcome
