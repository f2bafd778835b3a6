"""Was a call understood (spec sections 6.2, 13.1)? Many agents say "unknown method" as politely as they say "received":
inside a result, or with their own word in `status`. Referee, manager and kit share this test. Pure."""

from __future__ import annotations

import re
from typing import Final

from league.gateway.readers.foreign_json import Fields, as_object, first_text
from league.protocol.errors import is_documented

UNKNOWN_METHOD: Final = -32601
INTERNAL_ERROR: Final = -32603
LONGEST_QUOTE: Final = 200

_METHOD = r"(?:method|tool|message[ _-]?type|command|action|operation)"
_WHAT = rf"(?:{_METHOD}|message|request|endpoint|route)"
_WORDS: Final = (
    rf"(?:unknown|unsupported|unrecogni[sz]ed|unhandled|no such|no handler for)[ _-]+{_WHAT}\b"
    rf"|(?:invalid|unexpected|bad|wrong|no)[ _-]+{_METHOD}\b"
    rf"|{_WHAT}\b[^.;]{{0,80}}\b(?:not|isn'?t|never)[ _-]+(?:found|supported|known|implemented|recogni[sz]ed|handled)"
    r"|not[ _-]?implemented"
)
"""Compiled on first use: that takes longer than anything else here, and agents of our own never say so."""
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


def says_unknown(content: object, number: int | None = None, *, is_error: bool = False) -> bool:
    """Does the answer say that there is no such method, tool or message there? Then nothing happened, and another word
    for the same message is harmless. `is_error`: it came as an error."""
    if number == UNKNOWN_METHOD:
        return True
    if not isinstance(content, dict):
        return False
    error = content.get("error")
    if isinstance(error, dict):
        number = error.get("code")
        if not isinstance(number, int):
            number = None
        return says_unknown(error, number, is_error=True)
    if content.get("error_code") == "E036" or _is_unknown_status(content):
        return True
    if not is_error and not is_trouble(content):
        return False
    text = first_text(content, _TEXTS) or ""
    # A tool that failed may quote anything: it was there, and the call was understood.
    return not _RAISED.match(text) and bool(re.search(_WORDS, text, re.IGNORECASE))


def is_trouble(content: object) -> bool:
    """Is this result an error, in whatever clothes?"""
    if not isinstance(content, dict):
        return False
    return (
        bool(content.get("error"))
        or content.get("success") is False
        or _status(content) in _TROUBLES
        or _is_unknown_status(content)
    )


def is_not_understood(content: object, number: int | None = None) -> bool:
    """Is this error about the call itself? Errors about requests are, and so are errors that name nothing of our
    catalogue."""
    if says_unknown(content, number, is_error=True):
        return True
    # An internal error is a bug of theirs, and they got as far as that. A number of the documents is a refusal (T-02).
    if number == INTERNAL_ERROR or is_documented(number):
        return False
    fields = _error_in(content)
    is_named = any(fields.get(name) for name in _NAMES)
    return not is_named or fields.get("error_code") in _ABOUT_REQUESTS


def words_of(content: object, number: int | None = None, message: str = "") -> str:
    """Quote the answer as it is (T-17): its code or number, its name and its sentence. `message`: that of a JSON-RPC
    error around it."""
    fields = _error_in(content)
    code = fields.get("error_code") or number
    if code is None:
        code = fields.get("code")
    name = fields.get("error_name") or fields.get("error_description")
    sentence = first_text(fields, _TEXTS)
    parts = dict.fromkeys(str(part) for part in (name, sentence) if part not in (None, ""))
    words = ": ".join(parts) or message or str(fields.get("status") or "")
    if code not in (None, ""):
        words = f"{code} {words}"
    return quoted(words)


def quoted(text: str) -> str:
    """Return a third-party text as it is shown: on one line, and not longer than people read."""
    line = " ".join(text.split())
    if len(line) <= LONGEST_QUOTE:
        return line
    return line[: LONGEST_QUOTE - 1] + "…"


def _error_in(content: object) -> Fields:
    """Return the fields of an error, which may stand one level deeper."""
    fields = as_object(content)
    error = fields.get("error")
    if isinstance(error, dict):
        return error
    return fields


def _is_unknown_status(content: Fields) -> bool:
    return bool(_STATUSES.fullmatch(_status(content)))


def _status(content: Fields) -> str:
    status = content.get("status")
    if not isinstance(status, str):
        return ""
    return status.lower().replace(" ", "_").replace("-", "_")
