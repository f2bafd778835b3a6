"""Was a call understood (spec sections 6.2, 13.1)? Many say "unknown method" as politely as they say "received": inside
a result, or by a word of their own in `status`. One test for referee, manager and kit. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

UNKNOWN_METHOD: Final = -32601
INTERNAL_ERROR: Final = -32603
LONGEST_QUOTE: Final = 200

_METHOD = r"(?:method|tool|message[ _-]?type|command|action|operation)"
_WHAT = rf"(?:{_METHOD}|message|request|endpoint|route)"
_WORDS: Final = re.compile(
    rf"(?:unknown|unsupported|unrecogni[sz]ed|unhandled|no such|no handler for)[ _-]+{_WHAT}\b"
    rf"|(?:invalid|unexpected|bad|wrong|no)[ _-]+{_METHOD}\b"
    rf"|{_WHAT}\b[^.;]{{0,80}}\b(?:not|isn'?t|never)[ _-]+(?:found|supported|known|implemented|recogni[sz]ed|handled)"
    r"|not[ _-]?implemented",
    re.IGNORECASE,
)
_RAISED: Final = re.compile(r"Error (?:executing|calling) tool ")
"""So begins what MCP servers say of a tool that is there, and failed."""
_STATUSES: Final = re.compile(
    r"unknown.*|unsupported.*|unrecogni[sz]ed.*|unhandled.*|invalid_method|not_(?:supported|implemented|found)"
)
_TROUBLES: Final = frozenset({"error", "failed", "failure"})
_TEXTS: Final = ("error_detail", "message", "reason", "detail", "error", "error_message", "text")
_NAMES: Final = ("error_code", "error_name", "error_description")

Fields = Mapping[str, Any]
"""JSON of others (Any: whatever they say)."""


def says_unknown(content: object, number: int | None = None, *, is_error: bool = False) -> bool:
    """Does it say that there is no such method, tool or message there? Then nothing happened, and another word for the
    same message is harmless. `is_error`: it came as an error."""
    if number == UNKNOWN_METHOD:
        return True
    if not isinstance(content, dict):
        return False
    inner = content.get("error")
    if isinstance(inner, dict):
        code = inner.get("code")
        return says_unknown(inner, code if isinstance(code, int) else None, is_error=True)
    if content.get("error_code") == "E036" or _is_unknown_status(content):
        return True
    said = _text_in(content)
    return (is_error or is_trouble(content)) and not _RAISED.match(said) and bool(_WORDS.search(said))


def is_trouble(content: object) -> bool:
    """Is this result an error, in whatever clothes?"""
    if not isinstance(content, dict):
        return False
    return (
        content.get("error") is not None
        or content.get("success") is False
        or _word(content) in _TROUBLES
        or _is_unknown_status(content)
    )


def is_not_understood(content: object, number: int | None = None) -> bool:
    """Does this error rather mean the call itself? So does one that names nothing of our catalogue, and those about
    requests. An internal error is a bug of theirs."""
    if says_unknown(content, number, is_error=True):
        return True
    if number == INTERNAL_ERROR:
        return False
    fields: Fields = content if isinstance(content, dict) else {}
    inner = fields.get("error")
    fields = inner if isinstance(inner, dict) else fields
    named = next((fields[name] for name in _NAMES if fields.get(name)), None)
    return not named or fields.get("error_code") in ("E034", "E035", "E036")


def words_of(content: object, number: int | None = None) -> str:
    """What it says, in its own words: its number and its sentence."""
    fields: Fields = content if isinstance(content, dict) else {}
    inner = fields.get("error")
    fields = inner if isinstance(inner, dict) else fields
    given = number if number is not None else fields.get("code", fields.get("error_code"))
    said = _text_in(fields) or (str(fields.get("status") or fields.get("error_description") or ""))
    parts = [str(one) for one in (given, said) if one not in (None, "")]
    return " ".join(" ".join(parts).split())[:LONGEST_QUOTE]


def _is_unknown_status(content: Fields) -> bool:
    return bool(_STATUSES.fullmatch(_word(content)))


def _word(content: Fields) -> str:
    status = content.get("status")
    return status.lower().replace(" ", "_").replace("-", "_") if isinstance(status, str) else ""


def _text_in(content: Fields) -> str:
    return next((text for name in _TEXTS if isinstance(text := content.get(name), str) and text), "")
