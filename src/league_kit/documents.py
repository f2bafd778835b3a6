"""The report for programs: JSON, and JUnit XML for continuous integration."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from league.protocol.safe_text import escaped
from league_kit.kit_evidence import as_json, full_text, sent_and_received
from league_kit.outcome import Verdict
from league_kit.runner import CheckReport, CheckResult
from league_kit.text import COUNTED


def json_document(report: CheckReport) -> dict[str, Any]:
    """Return the document that `--json` prints."""
    return {
        "target": report.record.target,
        "role": report.role,
        "dialect": report.dialect,
        "would_play": report.playing.would_play,
        "findings": report.record.findings.in_words() if report.record.findings else "",
        "checks": [_check(result, report) for result in report.results],
        "summary": {verdict.value: report.counts[verdict] for verdict in COUNTED},
    }


def _check(result: CheckResult, report: CheckReport) -> dict[str, Any]:
    return {
        "id": result.name,
        "requirement": result.clause.id,
        "level": result.clause.level,
        "verdict": result.verdict.value,
        "detail": full_text(result.outcome),
        "evidence": [as_json(piece, report.record) for piece in result.outcome.evidence],
    }


def junit_document(report: CheckReport) -> bytes:
    """Return a test case per check; warnings pass, with their text as output."""
    suite = Element(
        "testsuite",
        name=f"league.v2 {report.role} {report.record.target}",
        tests=str(len(report.results)),
        failures=str(report.counts[Verdict.FAIL]),
        errors="0",
        skipped=str(report.counts[Verdict.UNTESTABLE]),
        time=f"{report.seconds:.3f}",
    )
    for result in report.results:
        suite.append(_case(result, report))
    suites = Element("testsuites")
    suites.append(suite)
    indent(suites)
    return bytes(tostring(suites, encoding="utf-8", xml_declaration=True))


def _case(result: CheckResult, report: CheckReport) -> Element:
    case = Element(
        "testcase",
        classname=f"league.{report.role}.{result.clause.section}",
        name=result.name,
        time="0",
    )
    message = _plain(full_text(result.outcome))
    match result.verdict:
        case Verdict.FAIL:
            failure = SubElement(case, "failure", message=message, type=result.clause.level)
            failure.text = _plain(_long(result, report))
        case Verdict.UNTESTABLE:
            SubElement(case, "skipped", message=message)
        case Verdict.WARN:
            # JUnit has no warnings: the case passes, and its output says why it is worth a look.
            SubElement(case, "system-out").text = f"warning: {message}"
        case Verdict.PASS:
            pass
    return case


def _long(result: CheckResult, report: CheckReport) -> str:
    clause = result.clause
    text = f"{clause.section} {clause.level}: {clause.sentence}\n{full_text(result.outcome)}\n"
    for piece in result.outcome.evidence:
        exchange = sent_and_received(piece, report.record)
        text += f"\nsent:\n{exchange.by_kit}\n\nreceived:\n{exchange.by_agent}\n"
    return text


def _plain(text: str) -> str:
    """Escape control characters: XML has no way to write most of them."""
    return escaped(text, keep="\n")
