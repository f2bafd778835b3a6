"""The options of a player that asks, beside those of every player."""

from __future__ import annotations

from dataclasses import dataclass, fields

from league.hosting.settings.options import NUMBER, TEXT, WHOLE, option
from league.hosting.settings.player_options import PlayerOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """The mind that is asked, how it is asked, and what it may cost."""

    ask: str = option(
        TEXT,
        "",
        "who makes the choices: a language model (llm:NAME), a program (exec:COMMAND), an MCP server (mcp+http://…, or "
        "mcp:COMMAND) or an A2A agent (a2a+http://…)",
        placeholder="llm:MODEL|mcp+URL|mcp:COMMAND|a2a+URL|exec:COMMAND",
    )
    tool: str = option(
        TEXT, "", "ask an MCP server: the tool that answers (default: the player looks for it)", placeholder="NAME"
    )
    base_url: str = option(
        TEXT,
        "",
        "llm: the provider's address, such as https://api.example.org/v1",
        placeholder="URL",
    )
    model: str = option(TEXT, "", "llm: the name of the model, as in --ask llm:NAME", placeholder="NAME")
    prompt: str = option(TEXT, "", "ask: a file with your own prompt", only_in_file=True)
    system: str = option(TEXT, "", "ask: a file with a system prompt", only_in_file=True)
    request: str = option(
        TEXT,
        "",
        'llm: further fields of the body of every request, such as {"reasoning_effort": "low"}',
        only_in_file=True,
    )
    temperature: float | None = option(
        NUMBER,
        None,
        "llm: the model's temperature (default: the provider decides)",
        least=0,
        only_in_file=True,
    )
    max_tokens: int | None = option(
        WHOLE,
        None,
        "llm: stop asking the model after this many tokens in a league",
        least=1,
    )
    max_cost: float | None = option(
        NUMBER,
        None,
        "llm: stop asking the model after this cost in a league, by the prices in --prices",
        least=0,
    )
    prices: str = option(
        TEXT,
        "",
        "llm: a TOML file with a table for each model: prompt and completion are the prices of a million tokens",
        placeholder="FILE",
    )
    cache: str = option(
        TEXT,
        "",
        "ask: keep all answers in this file, and ask nobody twice for the same choice with the same prompt",
        only_in_file=True,
    )

    @classmethod
    def of(cls, options: PlayerOptions) -> ModelOptions:
        """Return the options of a player for whom it asks."""
        return cls(**{declared.name: options.more[declared.name] for declared in fields(cls)})
