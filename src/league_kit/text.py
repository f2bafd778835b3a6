"""The report in the terminal: summary, failures, warnings, what was not tested, and counts."""

from __future__ import annotations

from collections.abc import Iterator

from league_kit.conventions import DOCUMENTED
from league_kit.evidence import sent_and_received
from league_kit.outcome import Evidence, Verdict
from league_kit.record import Probe, RunRecord
from league_kit.runner import CheckReport, CheckResult

COUNTED = (Verdict.PASS, Verdict.FAIL, Verdict.WARN, Verdict.UNTESTABLE)
ROBUSTNESS = "Warnings about requests that no right caller makes"
BODY_LINES = 12
MOST_NAMED = 20
"""So many ids of one fault are named; --json and the page have all of them."""
WIDTH = 160


def lines(report: CheckReport) -> Iterator[str]:
    """The whole report."""
    yield summary(report)
    yield from about(report)
    for number, alike in enumerate(_by_fault(report.of(Verdict.FAIL)), 1):
        yield ""
        yield from _failure(number, alike[0], report.record)
        yield from _others(alike)
    yield from _warnings(report.of(Verdict.WARN))
    yield ""
    yield from _untestable(report.of(Verdict.UNTESTABLE))
    yield counts(report)


def summary(report: CheckReport) -> str:
    failed = len(report.of(Verdict.FAIL))
    target = report.record.target
    if not failed:
        return f"{target} keeps every MUST that could be tested."
    return f"{target} breaks {failed} {'MUST' if failed == 1 else 'MUSTs'}."


def counts(report: CheckReport) -> str:
    numbers = ", ".join(f"{report.counts[one]} {one.value}" for one in COUNTED)
    return f"{numbers}; {effort(report)}"


def effort(report: CheckReport) -> str:
    return f"{len(report.record.probes) + len(report.record.tried)} requests in {report.seconds:.1f} s"


def about(report: CheckReport) -> Iterator[str]:
    """Who it is, in sentences."""
    convention = report.record.convention
    if convention is not None:
        unreached = "" if convention in DOCUMENTED else ": agents that go by the documents do not reach it"
        yield f"It speaks {convention.value}{unreached}."
    member = report.record.member
    if member is not None:
        yield f"It registered as {member.meta.get('display_name')!r} and was given the id {member.id}."
    elif report.record.listening:
        yield f"Registration was not tested: {report.record.listening}."


def _by_fault(results: list[CheckResult]) -> list[list[CheckResult]]:
    """The results, those that show the same fault together."""
    found: dict[tuple[str, str], list[CheckResult]] = {}
    for one in results:
        found.setdefault(one.outcome.alike, []).append(one)
    return list(found.values())


def _others(alike: list[CheckResult]) -> Iterator[str]:
    """All of one fault but the first, which is shown in full: how many, and which."""
    others = [one.name for one in alike[1:]]
    if others:
        named = ", ".join(others[:MOST_NAMED]) + (", …" if len(others) > MOST_NAMED else "")
        yield f"   and {len(others)} more like it: {named}"


def _failure(number: int, one: CheckResult, record: RunRecord) -> Iterator[str]:
    clause, outcome = one.clause, one.outcome
    yield f"{number}. {one.name}: {outcome.detail}"
    yield f"   The specification says ({clause.section}, {clause.level}): {clause.sentence}"
    if outcome.advice:
        yield f"   What to change: {outcome.advice}"
    for evidence in outcome.evidence[:1]:
        yield from _evidence(evidence, record)


def _evidence(evidence: Evidence, record: RunRecord) -> Iterator[str]:
    sent, received = (_short(text) for text in sent_and_received(evidence, record))
    if isinstance(evidence, Probe):
        why = f" ({evidence.response.detail})" if evidence.trouble is not None else ""
        yield f"   The kit sent ({evidence.label}):"
        yield from _block(sent)
        yield f"   and got, after {evidence.response.seconds:.2f} s{why}:"
        yield from _block(received)
    else:
        yield f"   The player sent to {evidence.place}:"
        yield from _block(received)


def _short(http: str) -> str:
    """The first line and the body; the page and the JSON document have the rest."""
    head, end, body = http.partition("\n\n")
    return f"{head.partition(chr(10))[0]} …\n\n{body}" if end and body else http


def _block(text: str) -> Iterator[str]:
    shown = text.rstrip("\n").split("\n")
    for line in shown[:BODY_LINES]:
        for start in range(0, max(len(line), 1), WIDTH):
            yield f"     | {line[start : start + WIDTH]}"
    if len(shown) > BODY_LINES:
        yield f"     | … {len(shown) - BODY_LINES} more lines"


def _warnings(results: list[CheckResult]) -> Iterator[str]:
    """What may matter, with its advice; what no right caller would ever see, in a line each."""
    for robust, title in ((False, "Warnings"), (True, ROBUSTNESS)):
        found = [one for one in results if one.is_robustness is robust]
        if found:
            yield ""
            yield title
        for alike in _by_fault(found):
            one = alike[0]
            yield f"  {one.name} ({one.clause.section}): {one.outcome.detail}"
            if one.outcome.advice and not robust:
                yield f"      {one.outcome.advice}"
            yield from _others(alike)


def _untestable(results: list[CheckResult]) -> Iterator[str]:
    """Reasons, each with how many clauses it concerns."""
    if not results:
        return
    yield "Not tested"
    by_reason: dict[str, list[str]] = {}
    for one in results:
        by_reason.setdefault(one.outcome.detail, []).append(one.name)
    for reason, names in by_reason.items():
        some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield f"  {reason}: {some}"
    yield ""
