"""Players that ask somebody else for their choices: a person, a language model, a program, or an MCP server.

`asking.py` is the player that asks. It has one prompt and one reader of answers (`prompts.py`), one record of what was
said (`conversations.py`), and a transport: `chat.py` asks a model, `program.py` a program, `mcp_server.py` a server.
`connecting.py` makes such a player for the command line, `scripting.py` for scripts.
"""

from __future__ import annotations

from league.features import ExportRow, Feature, ScriptRow, StrategyRow

FEATURE = Feature(
    name="minds",
    about="People, language models, programs and MCP servers as players.",
    page="docs/how-to/play-with-a-language-model.md",
    rows=(
        StrategyRow("human", "a person at this terminal", "league_minds.human:entrant"),
        StrategyRow(
            name="llm",
            about="a language model, a program or an MCP server that is asked",
            make="league_minds.connecting:entrant",
            options="league_minds.model_options:ModelOptions",
            needs_server=True,
            chosen_by="ask",
        ),
        ScriptRow("audit", "league_minds.audit:audit"),
        ScriptRow("LLM", "league_minds.scripting:LLM"),
        ScriptRow("Ask", "league_minds.scripting:Ask"),
        ExportRow(
            "conversations",
            "what models said for each choice, as JSON Lines (and as Parquet where pyarrow is installed)",
            "league_minds.conversation_export:export",
        ),
    ),
)
