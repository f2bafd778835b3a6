"""What a player says of the language model that plays for it (spec section 8.17): under which conditions, and how each
choice came about. Both are optional and for the record alone: what cannot be read costs nobody anything."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from league.protocol.fields import Count, Text

Amount = Annotated[float, Meta(ge=0, le=1e9)]
T = TypeVar("T")


class Conditions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The conditions card of an experiment: `conditions` of a registration."""

    model: Text
    provider: str = ""
    """The host that is asked."""
    prompt: str = ""
    prompt_sha256: str = ""
    options_shown: bool = True
    corrections: Count = 0
    """How often the model is asked again after an answer that cannot be read."""
    temperature: Amount | None = None
    """None: the provider's own."""


class Provenance(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How choices came about: `provenance` of an answer is of one choice, that of a report of all of a player."""

    choices: Count = 1
    fallbacks: Count = 0
    """Those that the model did not make."""
    provider_errors: Count = 0
    """Those in which the provider failed at least once."""
    tokens: Count = 0
    thinking_s: Amount = 0.0
    """Without what was waited."""
    waited_s: Amount = 0.0
    """Because of a rate limit."""

    def plus(self, other: Provenance) -> Provenance:
        """Those and these."""
        return Provenance(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


def said(kind: type[T], value: object) -> T | None:
    """What a peer said of this kind; None if it said nothing that can be read."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None


def written(value: Conditions | Provenance | None) -> dict[str, Any] | None:
    """As it stands in a message (Any: the codec's edge)."""
    return None if value is None else msgspec.to_builtins(value)
