"""The report for programs: JSON as the interface says, and JUnit XML for continuous integration."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from league.protocol.safe_text import escaped
from league_kit.evidence import as_json, full_text, sent_and_received
from league_kit.outcome import Verdict
from league_kit.runner import CheckReport, CheckResult
from league_kit.text import COUNTED


def json_document(report: CheckReport) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "target": report.record.target,
        "role": report.role,
        "dialect": report.dialect,
        "checks": [_check(one, report) for one in report.results],
        "summary": {one.value: report.counts[one] for one in COUNTED},
    }


def _check(one: CheckResult, report: CheckReport) -> dict[str, Any]:
    return {
        "id": one.name,
        "requirement": one.clause.id,
        "level": one.clause.level,
        "verdict": one.verdict.value,
        "detail": full_text(one.outcome),
        "evidence": [as_json(piece, report.record) for piece in one.outcome.evidence],
    }


def junit_document(report: CheckReport) -> bytes:
    """A test case per check; warnings pass, with their text as output."""
    suite = Element(
        "testsuite",
        name=f"league.v2 {report.role} {report.record.target}",
        tests=str(len(report.results)),
        failures=str(report.counts[Verdict.FAIL]),
        errors="0",
        skipped=str(report.counts[Verdict.UNTESTABLE]),
        time=f"{report.seconds:.3f}",
    )
    for one in report.results:
        suite.append(_case(one, report))
    suites = Element("testsuites")
    suites.append(suite)
    indent(suites)
    return bytes(tostring(suites, encoding="utf-8", xml_declaration=True))


def _case(one: CheckResult, report: CheckReport) -> Element:
    case = Element("testcase", classname=f"league.{report.role}.{one.clause.section}", name=one.name, time="0")
    message = _plain(full_text(one.outcome))
    match one.verdict:
        case Verdict.FAIL:
            failure = SubElement(case, "failure", message=message, type=one.clause.level)
            failure.text = _plain(_long(one, report))
        case Verdict.UNTESTABLE:
            SubElement(case, "skipped", message=message)
        case Verdict.WARN:
            SubElement(case, "system-out").text = f"warning: {message}"
        case Verdict.PASS:
            pass
    return case


def _long(one: CheckResult, report: CheckReport) -> str:
    text = f"{one.clause.section} {one.clause.level}: {one.clause.sentence}\n{full_text(one.outcome)}\n"
    for piece in one.outcome.evidence:
        sent, received = sent_and_received(piece, report.record)
        text += f"\nsent:\n{sent}\n\nreceived:\n{received}\n"
    return text


def _plain(text: str) -> str:
    """XML has no way to write most control characters."""
    return escaped(text, keep="\n")
