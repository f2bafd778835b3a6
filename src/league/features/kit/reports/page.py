"""The reports that are made from templates: one HTML page that needs nothing else, and JUnit XML for continuous
integration.

The templates escape everything that comes from an agent: reports are opened in browsers, and agents are strangers.
"""

from __future__ import annotations

import re
from functools import partial

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from league.features.kit.checks.outcome import CheckVerdict
from league.features.kit.reports.evidence import full_text, sent_and_received
from league.features.kit.reports.text import ROBUSTNESS, about, effort, summary
from league.features.kit.runner import CheckReport
from league.protocol.safe_text import escaped


def html_document(report: CheckReport) -> str:
    """Return a page without scripts, without fonts, with nothing from the network."""
    return _rendered("page.html", report)


def junit_document(report: CheckReport) -> str:
    """Return a test case per check; warnings pass, with their text as output."""
    return _rendered("junit.xml", report)


def _rendered(template: str, report: CheckReport) -> str:
    loader = PackageLoader("league.features.kit", "reports")
    environment = Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters |= {"marked": _marked, "breakable": _breakable, "plain": partial(escaped, keep="\n")}
    warnings = report.of(CheckVerdict.WARN)
    return environment.get_template(template).render(
        report=report,
        summary=summary(report),
        about=about(report),
        sections=(
            ("Failures", report.of(CheckVerdict.FAIL)),
            ("Warnings", [warning for warning in warnings if not warning.is_robustness]),
            (ROBUSTNESS, [warning for warning in warnings if warning.is_robustness]),
        ),
        sent_and_received=sent_and_received,
        full_text=full_text,
        effort=effort(report),
        Verdict=CheckVerdict,
    )


def _breakable(name: str) -> Markup:
    """Return an id with places where a line may break."""
    return Markup(re.sub(r"([._])", r"\1<wbr>", str(escape(name))))


def _marked(text: str) -> Markup:
    """Escape a text; words between backticks become code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))
