"""Evidence for people and programs: bytes as readable text, without control characters and other agents' tokens; and
the document that `--json` prints."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final, NamedTuple

from league.features.kit.checks.outcome import CheckOutcome, CheckVerdict, Evidence
from league.features.kit.driver.record import Probe, RunRecord, tokens_known
from league.features.kit.runner import CheckReport, CheckResult
from league.protocol.safe_text import escaped
from league.protocol.signing.tokens import masked
from league.protocol.timestamps import write

MOST: Final = 2000
"""Maximum number of characters that are shown of a body."""
_TOKEN: Final = re.compile(r'("auth_token"\s*:\s*")((?:[^"\\]|\\.)+)(")')


class EvidenceText(NamedTuple):
    """Both directions of one piece of evidence, as text."""

    by_kit: str
    by_agent: str


def text_of(raw: bytes, public_tokens: Collection[str], most: int = MOST) -> str:
    """Return bytes as text: line breaks stay, other invisible characters are escaped, tokens of others are masked."""

    def mask(field: re.Match[str]) -> str:
        if field[2] in public_tokens:
            return field[0]
        return f"{field[1]}{masked(field[2])}{field[3]}"

    # Tokens are masked before the text is cut: the pattern does not find half a token.
    whole = raw[: most * 4].decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    whole = _TOKEN.sub(mask, whole)
    text = escaped(whole[:most], keep="\n")
    if len(raw) > most and len(whole) > most:
        text += f"… ({len(raw) - most} more bytes)"
    return text


def sent_and_received(evidence: Evidence, record: RunRecord) -> EvidenceText:
    """Return both directions: a request of the kit and its answer, or a request of the agent and its answer."""
    tokens = tokens_known(record)
    if isinstance(evidence, Probe):
        received = text_of(evidence.response.raw, tokens) or "nothing"
        return EvidenceText(text_of(evidence.sent, tokens), received)
    answer = "the connection was closed"
    if evidence.answer is not None:
        answer = text_of(evidence.answer, tokens)
    return EvidenceText(answer, text_of(evidence.head + evidence.body, tokens))


def as_json(evidence: Evidence, record: RunRecord) -> dict[str, Any]:
    """Return one piece of evidence for programs."""
    exchange = sent_and_received(evidence, record)
    if not isinstance(evidence, Probe):
        return {
            "step": f"request of the {record.role} to {evidence.place}",
            "at": write(evidence.at),
            "received": exchange.by_agent,
            "answered": exchange.by_kit,
        }
    document = {
        "step": evidence.label,
        "at": write(evidence.at),
        "seconds": round(evidence.seconds, 3),
        "limit_seconds": evidence.limit_s,
        "sent": exchange.by_kit,
        "received": exchange.by_agent,
    }
    posted = evidence.posted
    if posted is not None:
        # The answer came as a request of its own: the response above is only an acknowledgement.
        document["posted"] = text_of(posted.head + posted.body, tokens_known(record))
    return document


def full_text(outcome: CheckOutcome) -> str:
    """Return detail and advice as one text."""
    detail = outcome.detail[:1].upper() + outcome.detail[1:]
    return f"{detail}. {outcome.advice}" if outcome.advice else detail


def json_document(report: CheckReport) -> dict[str, Any]:
    """Return the document that `--json` prints."""
    return {
        "target": report.record.target,
        "role": report.role,
        "dialect": report.dialect,
        "would_play": report.playing.would_play,
        "findings": report.record.findings.in_words() if report.record.findings else "",
        "checks": [_check(result, report) for result in report.results],
        "summary": {verdict.value: report.counts[verdict] for verdict in CheckVerdict},
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
