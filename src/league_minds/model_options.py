"""The options of `league player --strategy llm`, beside those of every player."""

from __future__ import annotations

from dataclasses import dataclass, fields

from league.hosting.options import FLAG, NUMBER, TEXT, WHOLE, PlayerOptions, option


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The provider and the model, and how the model is asked."""

    base_url: str = option(
        TEXT,
        "",
        "llm: the provider's address, such as https://api.example.org/v1",
        placeholder="URL",
    )
    model: str = option(TEXT, "", "llm: the name of the model", placeholder="NAME")
    prompt: str = option(TEXT, "", "llm: a file with your own prompt", placeholder="FILE")
    temperature: float | None = option(
        NUMBER,
        None,
        "llm: the model's temperature (default: the provider decides)",
        least=0,
    )
    corrections: int = option(
        WHOLE,
        2,
        "llm: how often to ask again after an answer without a legal choice",
        least=0,
        most=10,
    )
    no_options: bool = option(FLAG, False, "llm: do not show the legal choices to the model")
    max_tokens: int | None = option(
        WHOLE,
        None,
        "llm: stop asking the model after this many tokens in a league",
        least=1,
    )

    @classmethod
    def of(cls, options: PlayerOptions) -> ModelOptions:
        """Return the options of a player for its model."""
        return cls(**{declared.name: options.more[declared.name] for declared in fields(cls)})
