"""What `league player --strategy llm` can be told beside the options of every player."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from league.hosting.options import FLAG, NUMBER, TEXT, WHOLE, Option, PlayerOptions

_PLAYER = ("player",)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The provider and the model, and how the model is asked."""

    OPTIONS: ClassVar[tuple[Option, ...]] = (
        Option("base_url", TEXT, "", "llm: where the provider is, such as https://api.example.org/v1", _PLAYER),
        Option("model", TEXT, "", "llm: the model's name", _PLAYER),
        Option("prompt", TEXT, "", "llm: a file with another prompt", _PLAYER),
        Option(
            "temperature", NUMBER, None, "llm: the model's temperature (default: the provider's own)", _PLAYER, least=0
        ),
        Option(
            "corrections",
            WHOLE,
            2,
            "llm: how often to ask again after an answer that cannot be read",
            _PLAYER,
            (),
            0,
            10,
        ),
        Option("no_options", FLAG, False, "llm: do not show the model the legal choices", _PLAYER),
        Option(
            "max_tokens",
            WHOLE,
            None,
            "llm: do not ask the model any more after so many tokens in a league",
            _PLAYER,
            least=1,
        ),
    )

    base_url: str
    model: str
    prompt: str
    temperature: float | None
    corrections: int
    no_options: bool
    max_tokens: int | None

    @classmethod
    def of(cls, options: PlayerOptions) -> ModelOptions:
        """Those of a player."""
        return cls(**{option.name: options.more[option.name] for option in cls.OPTIONS})
