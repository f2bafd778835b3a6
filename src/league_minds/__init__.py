"""Players that ask somebody else for their choices: a person at the terminal, or a language model."""

from __future__ import annotations

from league.features import Feature, StrategyRow

FEATURE = Feature(
    name="minds",
    about="People and language models as players.",
    page="docs/how-to/play-with-a-language-model.md",
    rows=(
        StrategyRow("human", "a person at this terminal", "league_minds.human:entrant"),
        StrategyRow(
            name="llm",
            about="a language model",
            make="league_minds.connecting:entrant",
            options="league_minds.model_options:ModelOptions",
            needs_server=True,
        ),
    ),
)
