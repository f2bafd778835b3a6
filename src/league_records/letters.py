"""Letters of a transcript in words. Tokens are masked in a transcript already, and once more here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from league.protocol.exchanges import REPLY_TYPES
from league.protocol.safe_text import mask, without_tokens
from league.storage.transcript import LetterNote

LONGEST_BODY: Final = 10_240
LONGEST_QUOTE: Final = 300
HIDDEN: Final = "(hidden until the match is over)"
_FAILED: Final[Mapping[str, str]] = {
    "timeout": "no answer in time",
    "refused": "the connection was refused",
    "broken": "the connection broke",
    "busy": "busy, try later",
    "not understood": "the call was not understood",
    "cancelled": "the call was broken off",
}
_CHOICES: Final = ("CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE")

Object = Mapping[str, Any]
"""JSON that others wrote (Any: it may hold anything)."""


@dataclass(frozen=True, slots=True)
class LetterText:
    """A letter in words. `agent_id` is whom it went to or came from, where that is known."""

    text: str
    agent_id: str | None
    body: str | None


def body_of(letter: LetterNote, longest: int = LONGEST_BODY) -> str:
    """The body of a letter, without tokens."""
    text = mask(letter.body).decode(errors="replace")
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"


def clean(value: Any) -> Any:
    """A document (Any: JSON) without tokens at any depth."""
    if isinstance(value, str):
        return without_tokens(value)
    if isinstance(value, dict):
        return {
            without_tokens(name): "…" if name == "auth_token" and one else clean(one) for name, one in value.items()
        }
    return [clean(one) for one in value] if isinstance(value, list | tuple) else value


def content_of(letter: LetterNote) -> Object | None:
    """The message or error in a letter; None if it holds no JSON object."""
    try:
        value = json.loads(mask(letter.body))
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        for name in ("result", "error", "params"):
            if isinstance(value.get(name), dict):
                inner: Object = value[name]
                return inner
        return value
    return None


def describe(letter: LetterNote, hidden: bool = False) -> LetterText:
    """A letter in words; `hidden` while a match is played: without the choice."""
    content = content_of(letter)
    asks = letter.kind == "request"
    arrow = "→" if letter.direction == "out" else "←"
    # Who calls us is known by its address only; who it is stands in the message.
    agent_id = _sender(content) if asks and letter.direction == "in" else letter.peer
    if asks:
        told = letter.message_type or "a request"
        told += _extra(content, hidden)
        told += " (as a request of its own)" if letter.direction == "in" and told.startswith(REPLY_TYPES) else ""
    else:
        told = _answer(letter, content, hidden)
    body = None if hidden or not letter.body else body_of(letter)
    return LetterText(f"{arrow} {agent_id or letter.peer or 'somebody'}: {told}", agent_id, body)


def _sender(content: Object | None) -> str | None:
    sender = content.get("sender") if content else None
    return sender.partition(":")[2] or sender if isinstance(sender, str) else None


def _answer(letter: LetterNote, content: Object | None, hidden: bool) -> str:
    if not letter.status.isdigit():
        said = body_of(letter, LONGEST_QUOTE)
        return f"{_FAILED.get(letter.status, letter.status)} to {letter.message_type}" + (f" ({said})" if said else "")
    status = "" if letter.status == "200" else f" with HTTP status {letter.status}"
    if content is None:
        return f"answered {letter.message_type}{status} with what is no JSON object: {_quoted(letter, hidden)}"
    kind = content.get("message_type")
    if isinstance(kind, str):
        return f"{kind}{status}{_extra(content, hidden)}"
    if "code" in content and "message" in content:
        return f"the error {content['code']} ({content['message']}){status} to {letter.message_type}"
    return f"answered {letter.message_type}{status} without a message_type: {_quoted(letter, hidden)}"


def _quoted(letter: LetterNote, hidden: bool) -> str:
    return HIDDEN if hidden else body_of(letter, LONGEST_QUOTE) or "(nothing)"


def _extra(content: Object | None, hidden: bool) -> str:
    """The fields of a message that matter here, after its type."""
    if content is None:
        return ""
    kind = content.get("message_type")
    if kind == "GAME_ERROR":
        return f", {content.get('error_code')} {content.get('error_name') or ''}".rstrip()
    if kind == "GAME_OVER":
        return f", {content.get('reason')}"
    if kind in _CHOICES:
        return f", {HIDDEN}" if hidden else f", {_choice(content)}"
    if kind == "MATCH_RESULT_ACK":
        return f", {content.get('status')}"
    shown = [f"{name} {json.dumps(content[name])}" for name in ("accept", "deadline") if name in content]
    return ", " + ", ".join(shown) if shown else ""


def _choice(content: Object) -> str:
    moved = content.get("move_data")
    name = "choice" if isinstance(moved, dict) else "parity_choice"
    source = moved if isinstance(moved, dict) else content
    if name not in source:
        return f"no {name}"
    text = json.dumps(source[name], ensure_ascii=False)
    return f"{name} {text[:LONGEST_QUOTE]}"
