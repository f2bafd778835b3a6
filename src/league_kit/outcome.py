"""Checks and their outcomes: how a clause is judged, and a verdict with its reason, advice and evidence."""

# A check returns one of four outcomes: kept, broken, warning, untestable. It never knows the level of its clause:
# `judged` turns the failure of a SHOULD into a warning. Details are parts of sentences ("an answer has 9 bytes"), which
# reports put after the id of the clause; advice is one or more whole sentences that address the author.

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
    """A verdict with its reason, advice on what to change, and evidence."""

    verdict: Verdict
    detail: str = ""
    advice: str = ""
    evidence: tuple[Evidence, ...] = ()
    fault: str = ""
    """The same for all outcomes of one fault, where their details differ."""

    @property
    def alike(self) -> tuple[str, str]:
        """Outcomes that agree in this show the same fault."""
        return self.advice, self.fault or self.detail


def kept(detail: str = "", evidence: Iterable[Evidence] = ()) -> CheckOutcome:
    return CheckOutcome(Verdict.PASS, detail, evidence=tuple(evidence)[:1])


def broken(detail: str, advice: str, *evidence: Evidence) -> CheckOutcome:
    """The clause is broken: a failure; of a SHOULD, a warning."""
    return CheckOutcome(Verdict.FAIL, detail, advice, evidence[:MOST_EVIDENCE])


def warning(detail: str, advice: str, *evidence: Evidence) -> CheckOutcome:
    """The clause is kept, but in a way that may cost matches elsewhere."""
    return CheckOutcome(Verdict.WARN, detail, advice, evidence[:MOST_EVIDENCE])


def untestable(reason: str) -> CheckOutcome:
    return CheckOutcome(Verdict.UNTESTABLE, reason)


def first_of(texts: list[str], most: int, separator: str) -> str:
    """Join the first of these texts, and count the rest."""
    joined = separator.join(texts[:most])
    if len(texts) > most:
        joined += f" and {len(texts) - most} more"
    return joined


Judge = Callable[[RunRecord], CheckOutcome]


@dataclass(frozen=True, slots=True)
class Check:
    """How one clause is judged, and the scenarios that must have been run for it."""

    judge: Judge
    scenarios: tuple[str, ...]
    never: str = ""
    """Why it cannot be seen from outside, if it cannot."""


def judged(check: Check, clause: Clause, record: RunRecord) -> CheckOutcome:
    """Return the outcome of a check; a SHOULD never fails."""
    if check.never:
        return untestable(check.never)
    outcome = check.judge(record)
    if outcome.verdict is Verdict.FAIL and clause.level == "SHOULD":
        return replace(outcome, verdict=Verdict.WARN)
    return outcome
