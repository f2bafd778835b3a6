"""Was a call understood (spec sections 6.2, 13.1)? Many agents say "unknown method" as politely as they say "received":
inside a result, or by a word of their own in `status`. One test for referee, manager and kit. Pure."""

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
"""MCP servers begin like this when a tool is there, and failed."""
_STATUSES: Final = re.compile(
    r"unknown.*|unsupported.*|unrecogni[sz]ed.*|unhandled.*|invalid_method|not_(?:supported|implemented|found)"
)
_TROUBLES: Final = frozenset({"error", "failed", "failure"})
_TEXTS: Final = (
    "error_detail",
    "message",
    "reason",
    "detail",
    "error",
    "error_message",
    "text",
)
_NAMES: Final = ("error_code", "error_name", "error_description")
_ABOUT_REQUESTS: Final = ("E034", "E035", "E036")

Fields = Mapping[str, Any]
"""JSON of others (Any: whatever they say)."""


def says_unknown(content: object, number: int | None = None, *, is_error: bool = False) -> bool:
    """Does the answer say that there is no such method, tool or message there? Then nothing happened, and another word
    for the same message is harmless. `is_error`: it came as an error."""
    if number == UNKNOWN_METHOD:
        return True
    if not isinstance(content, dict):
        return False
    error = content.get("error")
    if isinstance(error, dict):
        code = error.get("code")
        number = code if isinstance(code, int) else None
        return says_unknown(error, number, is_error=True)
    if content.get("error_code") == "E036" or _is_unknown_status(content):
        return True
    if not is_error and not is_trouble(content):
        return False
    text = _text_in(content)
    return not _RAISED.match(text) and bool(_WORDS.search(text))


def is_trouble(content: object) -> bool:
    """Is this result an error, in whatever clothes?"""
    if not isinstance(content, dict):
        return False
    return (
        content.get("error") is not None
        or content.get("success") is False
        or _status(content) in _TROUBLES
        or _is_unknown_status(content)
    )


def is_not_understood(content: object, number: int | None = None) -> bool:
    """Does this error rather mean the call itself? So does one that names nothing of our catalogue, and those about
    requests. An internal error is a bug of theirs."""
    if says_unknown(content, number, is_error=True):
        return True
    if number == INTERNAL_ERROR:
        return False
    fields = _error_in(content)
    is_named = any(fields.get(name) for name in _NAMES)
    return not is_named or fields.get("error_code") in _ABOUT_REQUESTS


def words_of(content: object, number: int | None = None) -> str:
    """Return what the answer says, in its own words: its number and its sentence."""
    fields = _error_in(content)
    if number is None:
        number = fields.get("code", fields.get("error_code"))
    sentence = _text_in(fields) or fields.get("status") or fields.get("error_description") or ""
    parts = [str(part) for part in (number, sentence) if part not in (None, "")]
    return " ".join(" ".join(parts).split())[:LONGEST_QUOTE]


def _error_in(content: object) -> Fields:
    """Return the fields of an error, which may stand one level deeper."""
    if not isinstance(content, dict):
        return {}
    error = content.get("error")
    return error if isinstance(error, dict) else content


def _is_unknown_status(content: Fields) -> bool:
    return bool(_STATUSES.fullmatch(_status(content)))


def _status(content: Fields) -> str:
    status = content.get("status")
    if not isinstance(status, str):
        return ""
    return status.lower().replace(" ", "_").replace("-", "_")


def _text_in(content: Fields) -> str:
    for name in _TEXTS:
        text = content.get(name)
        if isinstance(text, str) and text:
            return text
    return ""
