"""The report in the terminal: summary, failures, warnings, untested clauses, and counts."""

# The summary comes first, because most people read no further; the counts come last, because a terminal shows the end.
# Failures are numbered and shown with their first piece of evidence, warnings in a line or two. Results of the same
# fault are shown once and counted.

from __future__ import annotations

from collections.abc import Iterator

from league.features.kit.checks.outcome import CheckVerdict, Evidence, first_of
from league.features.kit.driver.conventions import DOCUMENTED
from league.features.kit.driver.record import Probe, RunRecord
from league.features.kit.reports.evidence import sent_and_received
from league.features.kit.runner import CheckReport, CheckResult

ROBUSTNESS = "Warnings about requests that no correct caller makes"
DEEDS = {"player": "play in a league", "referee": "referee in a league", "manager": "run a league"}
BODY_LINES = 12
MOST_NAMED = 20
"""Maximum number of ids that are named for one fault; --json and the page have all of them."""
MOST_EXAMPLES = 3
WIDTH = 160


def lines(report: CheckReport) -> Iterator[str]:
    """Return the whole report, line by line."""
    yield summary(report)
    yield from about(report)
    for number, alike in enumerate(_by_fault(report.of(CheckVerdict.FAIL)), 1):
        yield ""
        yield from _failure(number, alike[0], report.record)
        yield from _more_like_it(alike)
    yield from _warnings(report.of(CheckVerdict.WARN))
    yield ""
    yield from _untestable(report.of(CheckVerdict.UNTESTABLE))
    yield counts(report)


def summary(report: CheckReport) -> str:
    """Say in one line whether the agent would play, and how many clauses it breaks."""
    failures = len(report.of(CheckVerdict.FAIL))
    target = report.record.target
    clauses = "keeps every MUST that could be tested"
    if failures:
        noun = "MUST" if failures == 1 else "MUSTs"
        clauses = f"breaks {failures} {noun}"
    playing = report.playing
    if playing.would_play is None:
        return f"{target} {clauses}."
    deed = DEEDS[report.role]
    if not playing.would_play:
        return f"{target} would not {deed}: {playing.reason}. It {clauses}."
    if failures:
        clauses += " that cost it nothing today" if failures > 1 else " that costs it nothing today"
    return f"{target} would {deed}. It {clauses}."


def counts(report: CheckReport) -> str:
    numbers = ", ".join(f"{report.counts[verdict]} {verdict.value}" for verdict in CheckVerdict)
    return f"{numbers}; {effort(report)}"


def effort(report: CheckReport) -> str:
    requests = len(report.record.probes) + len(report.record.tried)
    return f"{requests} requests in {report.seconds:.1f} s"


def about(report: CheckReport) -> Iterator[str]:
    """Say in sentences which agent this is."""
    findings = report.record.findings
    if findings is not None and findings.in_words():
        yield f"A manager that probes it finds: {findings.in_words()}."
    convention = report.record.convention
    if convention in DOCUMENTED:
        yield f"It speaks {report.dialect}."
    elif convention is not None:
        yield f"It speaks {report.dialect}, which no document prints as the way to call a {report.role}."
    member = report.record.member
    if member is not None:
        yield f"It registered as {member.meta.get('display_name')!r} and got the id {member.id}."
    elif report.record.listening:
        yield f"Registration was not tested: {report.record.listening}."


def _by_fault(results: list[CheckResult]) -> list[list[CheckResult]]:
    """Group the results that show the same fault."""
    groups: dict[tuple[str, str], list[CheckResult]] = {}
    for result in results:
        groups.setdefault(result.outcome.alike, []).append(result)
    return list(groups.values())


def _more_like_it(alike: list[CheckResult]) -> Iterator[str]:
    """Count and name all results of one fault but the first, which is shown in full."""
    names = [result.name for result in alike[1:]]
    if not names:
        return
    examples = ", ".join(names[:MOST_NAMED])
    if len(names) > MOST_NAMED:
        examples += ", …"
    yield f"   and {len(names)} more like it: {examples}"


def _failure(number: int, result: CheckResult, record: RunRecord) -> Iterator[str]:
    clause = result.clause
    outcome = result.outcome
    yield f"{number}. {result.name}: {outcome.detail}"
    yield f"   The specification says ({clause.section}, {clause.level}): {clause.sentence}"
    if outcome.advice:
        yield f"   What to change: {outcome.advice}"
    for evidence in outcome.evidence[:1]:
        yield from _evidence(evidence, record)


def _evidence(evidence: Evidence, record: RunRecord) -> Iterator[str]:
    exchange = sent_and_received(evidence, record)
    if not isinstance(evidence, Probe):
        yield f"   The {record.role} sent to {evidence.place}:"
        yield from _block(_short(exchange.by_agent))
        return
    yield f"   The kit sent ({evidence.label}):"
    yield from _block(_short(exchange.by_kit))
    reason = f" ({evidence.response.detail})" if evidence.trouble is not None else ""
    yield f"   and got, after {evidence.response.seconds:.2f} s{reason}:"
    yield from _block(_short(exchange.by_agent))


def _short(http: str) -> str:
    """Return the first line and the body; the page and the JSON document have the rest."""
    head, _, body = http.partition("\n\n")
    if not body:
        return http
    first_line = head.partition("\n")[0]
    return f"{first_line} …\n\n{body}"


def _block(text: str) -> Iterator[str]:
    lines = text.rstrip("\n").split("\n")
    for line in lines[:BODY_LINES]:
        for start in range(0, max(len(line), 1), WIDTH):
            yield f"     | {line[start : start + WIDTH]}"
    if len(lines) > BODY_LINES:
        yield f"     | … {len(lines) - BODY_LINES} more lines"


def _warnings(results: list[CheckResult]) -> Iterator[str]:
    """List the warnings that may matter with their advice; those that no correct caller sees, in one line each."""
    for is_robustness, title in ((False, "Warnings"), (True, ROBUSTNESS)):
        warnings = [result for result in results if result.is_robustness is is_robustness]
        if warnings:
            yield ""
            yield title
        for alike in _by_fault(warnings):
            first = alike[0]
            yield f"  {first.name} ({first.clause.section}): {first.outcome.detail}"
            if first.outcome.advice and not is_robustness:
                yield f"      {first.outcome.advice}"
            yield from _more_like_it(alike)


def _untestable(results: list[CheckResult]) -> Iterator[str]:
    """List the reasons, each with the clauses it concerns."""
    if not results:
        return
    yield "Not tested"
    by_reason: dict[str, list[str]] = {}
    for result in results:
        by_reason.setdefault(result.outcome.detail, []).append(result.name)
    for reason, names in by_reason.items():
        yield f"  {reason}: {first_of(names, MOST_EXAMPLES, ', ')}"
    yield ""
