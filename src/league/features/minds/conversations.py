"""The record of what was said for one choice. A player keeps it in its journal, and the league keeps its digest.

A record is a JSON document, and its digest is that of its text. So whoever has the text can prove that it is what the
player told the league about, and nobody can change a word of it afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from league.features.minds.asked.transports import Answer, NoAnswer
from league.protocol.safe_text import without_tokens

LONGEST_REPLY: Final = 65_536
"""Characters of a reply that are kept."""
REPORTED: Final = "reported"
ESTIMATED: Final = "estimated"


class MindExchange(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One request, and what became of it."""

    request: Any
    """As it was sent, without credentials."""
    outcome: str
    """`choice`, `refusal`, `tool_call`, `truncated`, `empty`, `unreadable`, `late` or `provider_failure`."""
    rule: str = ""
    """The rule of the reader that found the choice; empty if there is none."""
    reply: str = ""
    """All that came back."""
    reply_length: int = 0
    """In characters, if the reply is longer than what is kept of it."""
    detail: str = ""
    """What went wrong."""
    finish_reason: str = ""
    model: str = ""
    """The model that the reply names."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    tokens_are: str = ""
    """`reported` by the provider, or `estimated`."""
    latency_s: float = 0.0
    attempt: int = 1
    """Counted anew for each request of the conversation."""
    is_cached: bool = False


class Conversation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All requests for one choice."""

    match_id: str
    turn: int
    player_id: str
    game_type: str
    options: tuple[str, ...]
    asked: str
    """The model, program or tool, and where it is."""
    exchanges: Sequence[MindExchange] = ()
    choice: str | None = None
    """What the player chose; None if it declined."""
    fallback_reason: str = ""
    """Why the choice is not that of the model; empty if it is."""
    declined: str = ""
    """Why the player declined."""


def digest_of(text: str) -> str:
    """Return the SHA-256 of a conversation's text."""
    return hashlib.sha256(text.encode()).hexdigest()


def kept(conversation: Conversation) -> str:
    """Write a conversation as it is kept."""
    # A model may have been shown anything: tokens of the league are masked before anything is hashed.
    return without_tokens(msgspec.json.encode(conversation).decode())


def read(text: str) -> Conversation:
    """Read a conversation. msgspec.MsgspecError if it is none."""
    return msgspec.json.decode(text, type=Conversation)


def exchange(
    request: Any,
    reply: Answer | NoAnswer,
    outcome: str,
    *,
    rule: str,
    latency_s: float,
    attempt: int,
    is_cached: bool = False,
) -> MindExchange:
    """Record what became of a request (Any: JSON)."""
    facts: dict[str, Any] = {}
    if isinstance(reply, Answer):
        facts = {"finish_reason": reply.finish_reason, "model": reply.model}
        if reply.usage is not None:
            facts["prompt_tokens"] = reply.usage.prompt
            facts["completion_tokens"] = reply.usage.completion
            facts["tokens_are"] = ESTIMATED if reply.usage.is_estimate else REPORTED
    else:
        facts = {"detail": reply.detail}
    if len(reply.raw) > LONGEST_REPLY:
        facts["reply_length"] = len(reply.raw)
    return MindExchange(
        request=request,
        outcome=outcome,
        rule=rule,
        reply=reply.raw[:LONGEST_REPLY],
        latency_s=round(latency_s, 3),
        attempt=attempt,
        is_cached=is_cached,
        **facts,
    )
