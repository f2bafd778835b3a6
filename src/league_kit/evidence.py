"""Evidence for people and programs: bytes as readable text, without control characters and without tokens of others."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from league.protocol.safe_text import escaped
from league.protocol.timestamps import write
from league.protocol.tokens import masked
from league_kit.outcome import CheckOutcome, Evidence
from league_kit.record import Probe, RunRecord, tokens_known

MOST: Final = 2000
"""The most characters of a body that are shown."""
_TOKEN: Final = re.compile(r'("auth_token"\s*:\s*")((?:[^"\\]|\\.)+)(")')


def text_of(raw: bytes, known: Collection[str], most: int = MOST) -> str:
    """Bytes as text: line breaks stay, other invisible characters are escaped, tokens of others are masked."""
    # Tokens are masked before the text is cut: the pattern does not find half a token.
    whole = raw[: most * 4].decode("utf-8", "backslashreplace").replace("\r\n", "\n")
    whole = _TOKEN.sub(
        lambda found: found[0] if found[2] in known else f"{found[1]}{masked(found[2])}{found[3]}", whole
    )
    shown = escaped(whole[:most], keep="\n")
    left = len(raw) - most
    return f"{shown}… ({left} more bytes)" if left > 0 and len(whole) > most else shown


def sent_and_received(evidence: Evidence, record: RunRecord) -> tuple[str, str]:
    """What the kit sent (or answered), and what the agent answered (or sent)."""
    known = tokens_known(record)
    if isinstance(evidence, Probe):
        return text_of(evidence.sent, known), text_of(evidence.response.raw, known) or "nothing"
    answer = "the connection was closed" if evidence.answer is None else text_of(evidence.answer, known)
    return answer, text_of(evidence.head + evidence.body, known)


def as_json(evidence: Evidence, record: RunRecord) -> dict[str, Any]:
    """One piece of evidence for programs."""
    sent, received = sent_and_received(evidence, record)
    if isinstance(evidence, Probe):
        times = {"at": write(evidence.at), "seconds": round(evidence.seconds, 3), "limit_seconds": evidence.limit_s}
        posted = evidence.posted
        own = {"posted": text_of(posted.head + posted.body, tokens_known(record))} if posted else {}
        return {"step": evidence.label, **times, "sent": sent, "received": received, **own}
    return {
        "step": f"request of the player to {evidence.place}",
        "at": write(evidence.at),
        "received": received,
        "answered": sent,
    }


def full_text(outcome: CheckOutcome) -> str:
    """Detail and advice as one text."""
    detail = outcome.detail[:1].upper() + outcome.detail[1:]
    return f"{detail}. {outcome.advice}" if outcome.advice else detail
