"""Players that ask somebody else: a person, a language model, a program, an MCP server, or an A2A agent.

`asking.py` is the player that asks. It has one prompt (`prompts.py`), one reader of answers (`reading.py`), one record
of what was said (`conversations.py`), and a transport: `asked/chat.py` asks a model, `asked/program.py` a program,
`asked/mcp_server.py` a server, `asked/a2a_agent.py` an agent. `connecting.py` makes such a player for the command line,
`scripting.py` for scripts.
"""

from __future__ import annotations

from league.rows import ExportRow, Feature, ScriptRow, StrategyRow

PUBLIC = (
    "asked.chat",
    "asked.mcp_server",
    "asked.transports",
    "asking",
    "conversations",
)
"""The modules that other packages may import."""

FEATURE = Feature(
    name="minds",
    about="People, language models, programs, MCP servers and A2A agents as players.",
    page="docs/how-to/play-with-a-language-model.md",
    rows=(
        StrategyRow("human", "a person at this terminal", "league.features.minds.human:entrant"),
        StrategyRow(
            name="llm",
            about="a language model, a program, an MCP server or an A2A agent that is asked",
            make="league.features.minds.connecting:entrant",
            options="league.features.minds.model_options:ModelOptions",
            needs_server=True,
            chosen_by="ask",
        ),
        ScriptRow("LLM", "league.features.minds.scripting:LLM"),
        ScriptRow("Ask", "league.features.minds.scripting:Ask"),
        ExportRow(
            "conversations",
            "what models said for each choice, as JSON Lines (and as Parquet where pyarrow is installed)",
            "league.features.minds.conversation_export:export",
        ),
    ),
)
