"""The report as one HTML page that needs nothing else: no scripts, no fonts, nothing from the network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Final

from league_kit.kit_evidence import sent_and_received
from league_kit.outcome import Evidence, Verdict
from league_kit.record import Probe, RunRecord
from league_kit.runner import CheckReport, CheckResult
from league_kit.text import COUNTED, ROBUSTNESS, about, effort, summary

# Everything that comes from an agent goes through `escape`: a report is opened in a browser, and agents are strangers.
CODE: Final = re.compile("`([^`]+)`")
STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --fail: #b3261e; --warn: #8a5a00; --pass: #1b6e3c; --quiet: #6b6b6b; }
@media (prefers-color-scheme: dark) { :root { --fail: #ff8a80; --warn: #ffc266; --pass: #7fd6a0; --quiet: #a0a0a0; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.numbers { display: flex; flex-wrap: wrap; gap: .75rem; padding: 0; list-style: none; }
.numbers li { border: 1px solid var(--line); border-radius: .5rem; padding: .5rem 1rem; }
.numbers .none { color: var(--quiet); } .numbers b { font-size: 1.5rem; display: block; }
article { border: 1px solid var(--line); border-left: .3rem solid currentcolor; border-radius: .5rem;
  padding: 0 1rem; margin: 1rem 0; }
article > * { color: CanvasText; } article h3 { font-size: 1rem; }
article > :last-child { margin-bottom: 1rem; } article p { overflow-wrap: anywhere; }
code { font-size: .9em; background: #8882; padding: .1em .3em; border-radius: .25rem; }
summary { cursor: pointer; }
.fail { color: var(--fail); } .warn { color: var(--warn); } .pass { color: var(--pass); }
.untestable { color: var(--quiet); }
blockquote { margin: 0; padding-left: 1rem; border-left: 2px solid var(--line); }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; padding: .75rem;
  border-radius: .5rem; font-size: .8rem; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; } .wide { overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: .35rem .5rem; border-bottom: 1px solid var(--line); }
dt { font-weight: 600; } dd { margin: 0 0 .5rem; }
@media (max-width: 42rem) {
  thead { display: none; }
  tr { display: flex; flex-wrap: wrap; border-bottom: 1px solid var(--line); padding: .5rem 0; }
  td { border: 0; padding: 0 .75rem 0 0; } td:first-child, td:last-child { flex-basis: 100%; }
  td:first-child { font-weight: 600; } }
"""


def html_document(report: CheckReport) -> str:
    """Return the whole page."""
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(report.record.target)}: league.v2 conformance</title><style>{STYLE}</style></head><body>\n"
    )
    return head + "\n".join(_body(report)) + "\n</body></html>\n"


def _body(report: CheckReport) -> Iterator[str]:
    yield f"<h1>{escape(summary(report))}</h1>"
    yield f"<p>{' '.join(map(_marked, about(report)))}</p>"
    yield '<ul class="numbers">'
    for verdict in COUNTED:
        number = report.counts[verdict]
        style = verdict.value if number else "none"
        yield f'<li class="{style}"><b>{number}</b>{verdict.value}</li>'
    yield "</ul>"
    warnings = report.of(Verdict.WARN)
    for title, results in (
        ("Failures", report.of(Verdict.FAIL)),
        ("Warnings", [warning for warning in warnings if not warning.is_robustness]),
        (ROBUSTNESS, [warning for warning in warnings if warning.is_robustness]),
    ):
        if results:
            yield f"<h2>{title}</h2>"
            yield from (_article(result, report.record) for result in results)
    yield '<h2>All checks</h2><div class="wide"><table><thead>'
    yield "<tr><th>clause</th><th>verdict</th><th>level</th><th>section</th><th>detail</th></tr></thead><tbody>"
    yield from map(_row, report.results)
    yield f"</tbody></table></div><p>{effort(report)}</p>"


def _article(result: CheckResult, record: RunRecord) -> str:
    clause = result.clause
    outcome = result.outcome
    detail = _marked(f"{outcome.detail[:1].upper()}{outcome.detail[1:]}.")
    parts = [
        f'<article class="{result.verdict.value}"><h3>{_breakable(result.name)}</h3><p>{detail}</p>',
        f"<blockquote>Section {clause.section}, {clause.level}: {_marked(clause.sentence)}</blockquote>",
    ]
    if outcome.advice:
        parts.append(f"<p><strong>What to change:</strong> {_marked(outcome.advice)}</p>")
    parts += [_evidence(piece, record) for piece in outcome.evidence]
    return "".join(parts) + "</article>"


def _evidence(piece: Evidence, record: RunRecord) -> str:
    exchange = sent_and_received(piece, record)
    if isinstance(piece, Probe):
        title = f"{piece.label}, {piece.response.seconds:.2f} s"
        blocks = _block("sent by the kit", exchange.by_kit)
        blocks += _block("answered by the agent", exchange.by_agent)
    else:
        title = f"request of the player to {piece.place}"
        blocks = _block("sent by the player", exchange.by_agent)
        blocks += _block("answered by the kit", exchange.by_kit)
    return f"<details><summary>{escape(title)}</summary><dl>{blocks}</dl></details>"


def _block(title: str, text: str) -> str:
    return f"<dt>{title}</dt><dd><pre>{escape(text)}</pre></dd>"


def _row(result: CheckResult) -> str:
    clause = result.clause
    verdict = result.verdict.value
    cells = (
        f'<td title="{escape(clause.sentence)}">{_breakable(result.name)}</td>'
        f'<td class="{verdict}">{verdict}</td><td>{clause.level}</td><td>{clause.section}</td>'
    )
    return f"<tr>{cells}<td>{_marked(result.outcome.detail)}</td></tr>"


def _breakable(name: str) -> str:
    """Return an id with places where a line may break."""
    return re.sub(r"([._])", r"\1<wbr>", escape(name))


def _marked(text: str) -> str:
    """Escape a text; words between backticks become code."""
    return CODE.sub(r"<code>\1</code>", escape(text))
