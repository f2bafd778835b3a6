"""The letters of a transcript in words. A transcript masks tokens when it is written; here they are masked again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from league.protocol.message.exchanges import REPLY_TYPES
from league.protocol.safe_text import mask, without_tokens
from league.storage.transcripts.transcript import LetterNote

LONGEST_BODY: Final = 10_240
LONGEST_QUOTE: Final = 300
HIDDEN: Final = "(hidden until the match is over)"
_FAILED: Final[Mapping[str, str]] = {
    "timeout": "no answer in time",
    "refused": "the connection was refused",
    "broken": "the connection broke",
    "busy": "busy, try later",
    "not understood": "the call was not understood",
    "cancelled": "the call was cancelled",
}
_CHOICES: Final = ("CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE")
_QUOTED_FIELDS: Final = ("accept", "deadline")

Object = Mapping[str, Any]
"""JSON that others wrote (Any: it may hold anything)."""


@dataclass(frozen=True, slots=True)
class LetterText:
    """A letter in words. `agent_id` is its other end, if that is known."""

    text: str
    agent_id: str | None
    body: str | None


def body_of(letter: LetterNote, longest: int = LONGEST_BODY) -> str:
    """The body of a letter, without tokens."""
    text = mask(letter.body).decode(errors="replace")
    if len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(text)} characters)"


def clean(value: Any) -> Any:
    """A document (Any: JSON) without tokens at any depth."""
    if isinstance(value, str):
        return without_tokens(value)
    if isinstance(value, dict):
        return {without_tokens(name): _clean_field(name, inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    return value


def _clean_field(name: str, value: Any) -> Any:
    # A token of another implementation may look like anything: its field gives it away.
    if name == "auth_token" and value:
        return "…"
    return clean(value)


def content_of(letter: LetterNote) -> Object | None:
    """The message or error in a letter; None if it holds no JSON object."""
    try:
        value = json.loads(mask(letter.body))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    # The message is inside its JSON-RPC frame; others may send it without one.
    for name in ("result", "error", "params"):
        inner = value.get(name)
        if isinstance(inner, dict):
            return inner
    return value


def describe(letter: LetterNote, hidden: bool = False) -> LetterText:
    """A letter in words; `hidden` leaves out the choice, as long as the match is played."""
    content = content_of(letter)
    write = _request if letter.kind == "request" else _answer
    text = write(letter, content, hidden)
    agent_id = _other_end(letter, content)
    arrow = "→" if letter.direction == "out" else "←"
    body = None
    if letter.body and not hidden:
        body = body_of(letter)
    return LetterText(f"{arrow} {agent_id or letter.peer or 'somebody'}: {text}", agent_id, body)


def _other_end(letter: LetterNote, content: Object | None) -> str | None:
    """The agent that got the letter or sent it."""
    if letter.kind != "request" or letter.direction == "out":
        return letter.peer
    # A caller is known by its address only; its id is in the message.
    if content is None:
        return None
    sender = content.get("sender")
    if not isinstance(sender, str):
        return None
    _, _, agent_id = sender.partition(":")
    return agent_id or sender


def _request(letter: LetterNote, content: Object | None, hidden: bool) -> str:
    text = (letter.message_type or "a request") + _extra(content, hidden)
    # Some players answer by calling their referee back.
    if letter.direction == "in" and text.startswith(REPLY_TYPES):
        text += " (as a request of its own)"
    return text


def _answer(letter: LetterNote, content: Object | None, hidden: bool) -> str:
    if not letter.status.isdigit():
        return _failure(letter)
    status = ""
    if letter.status != "200":
        status = f" with HTTP status {letter.status}"
    if content is None:
        return f"answered {letter.message_type}{status} with something other than a JSON object: " + _quoted(
            letter, hidden
        )
    kind = content.get("message_type")
    if isinstance(kind, str):
        return f"{kind}{status}{_extra(content, hidden)}"
    if "code" in content and "message" in content:
        return f"the error {content['code']} ({content['message']}){status} to {letter.message_type}"
    return f"answered {letter.message_type}{status} without a message_type: {_quoted(letter, hidden)}"


def _failure(letter: LetterNote) -> str:
    """How a call failed that got no answer."""
    failure = _FAILED.get(letter.status, letter.status)
    detail = body_of(letter, LONGEST_QUOTE)
    if detail:
        return f"{failure} to {letter.message_type} ({detail})"
    return f"{failure} to {letter.message_type}"


def _quoted(letter: LetterNote, hidden: bool) -> str:
    if hidden:
        return HIDDEN
    return body_of(letter, LONGEST_QUOTE) or "(nothing)"


def _extra(content: Object | None, hidden: bool) -> str:
    """The fields of a message that matter here, after its type."""
    if content is None:
        return ""
    match content.get("message_type"):
        case "GAME_ERROR":
            name = content.get("error_name") or ""
            return f", {content.get('error_code')} {name}".rstrip()
        case "GAME_OVER":
            return f", {content.get('reason')}"
        case "MATCH_RESULT_ACK":
            return f", {content.get('status')}"
        case kind if kind in _CHOICES:
            # Nobody may learn a choice before both have chosen.
            choice = HIDDEN if hidden else _choice(content)
            return f", {choice}"
        case _:
            return "".join(f", {name} {json.dumps(content[name])}" for name in _QUOTED_FIELDS if name in content)


def _choice(content: Object) -> str:
    """The choice in an answer, under the name it has in its game."""
    move = content.get("move_data")
    if isinstance(move, dict):
        return _field_of(move, "choice")
    return _field_of(content, "parity_choice")


def _field_of(content: Object, name: str) -> str:
    if name not in content:
        return f"no {name}"
    text = json.dumps(content[name], ensure_ascii=False)
    return f"{name} {text[:LONGEST_QUOTE]}"
