"""What a player reports about the language model that plays for it (spec section 8.17): the conditions of the
experiment, and how each choice came about. Both are optional and for the record only: if they cannot be read, nobody
loses anything."""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from league.protocol.message.fields import Count, Text

Amount = Annotated[float, Meta(ge=0, le=1e9)]
Digest = Annotated[str, Meta(pattern="^([0-9a-f]{64})?$")]
Words = Annotated[str, Meta(max_length=100)]
T = TypeVar("T")


class Conditions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The conditions card of an experiment: `conditions` of a registration."""

    model: Text
    provider: str = ""
    """The host of the model."""
    prompt: str = ""
    prompt_sha256: str = ""
    system: str = ""
    """What it is told before the prompt."""
    request: str = ""
    """Further fields of the body of every request, such as a reasoning effort, as JSON."""
    options_shown: bool = True
    corrections: Count = 0
    """How often the model gets another try after an unreadable answer."""
    temperature: Amount | None = None
    """None: the provider's own."""


class Provenance(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How choices came about: in an answer, that one choice; in a report, all choices of a player."""

    choices: Count = 1
    fallbacks: Count = 0
    """The number of choices that the model did not make."""
    provider_errors: Count = 0
    """The number of choices during which the provider failed at least once."""
    tokens: Count = 0
    tokens_estimated: Count = 0
    """The part of `tokens` that the provider did not report."""
    thinking_s: Amount = 0.0
    """Not counting `waited_s`."""
    waited_s: Amount = 0.0
    """Because of a rate limit."""
    cost: Amount = 0.0
    """By the player's own prices."""
    fallback_reason: Words = ""
    """Why the model did not choose; several reasons are separated by commas."""
    conversation_sha256: Digest = ""
    """The digest of what was said, which the player keeps. For several choices, the digest of the digests so far and
    the next one."""

    def plus(self, other: Provenance) -> Provenance:
        """The sums of both; `other` comes later."""
        sums: dict[str, Any] = {}
        for name in _NUMBERS:
            amount = getattr(other, name)
            # A default plus a default stays one, and is left out of messages.
            sums[name] = getattr(self, name) + amount if amount else getattr(self, name)
        reasons = dict.fromkeys(filter(None, (*self.fallback_reason.split(", "), *other.fallback_reason.split(", "))))
        digest = self.conversation_sha256 or other.conversation_sha256
        if self.conversation_sha256 and other.conversation_sha256:
            digest = sha256(f"{self.conversation_sha256}{other.conversation_sha256}".encode()).hexdigest()
        return Provenance(**sums, fallback_reason=", ".join(reasons), conversation_sha256=digest)


_NUMBERS = tuple(
    name for name in Provenance.__struct_fields__ if name not in ("fallback_reason", "conversation_sha256")
)


def said(kind: type[T], value: object) -> T | None:
    """Read what a peer said; None if it said nothing that can be read."""
    # The value is for the record only, so a mistake in it is not an error.
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def written(value: Conditions | Provenance | None) -> dict[str, Any] | None:
    """The value as it goes into a message (Any: the codec's edge)."""
    return None if value is None else msgspec.to_builtins(value)
