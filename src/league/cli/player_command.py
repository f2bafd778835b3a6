"""`league player`: players as servers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

from league import rows
from league.hosting.settings import options
from league.hosting.settings.player_options import PlayerOptions
from league.rows import StrategyRow
from league.terminal import USAGE, Command, CommandError


def _run(args: argparse.Namespace) -> int:
    from league.hosting.member import players  # imported here so that --help is quick

    chosen = options.read(args, PlayerOptions)
    specs = chosen.strategy.split(",")
    _refuse_foreign_options(chosen, specs)
    # With several strategies, the players take them in turn.
    entrants = [players.load(specs[number % len(specs)], chosen) for number in range(chosen.count)]
    return players.run(chosen, entrants)


def _refuse_foreign_options(chosen: PlayerOptions, strategies: Sequence[str]) -> None:
    """Refuse options of a strategy that does not play: they would do nothing."""
    for row in rows.own(StrategyRow):
        if not row.options or row.name in strategies:
            continue
        for option in options.options_in(rows.load(row.options), (chosen.role,)):
            if option.name in chosen.given:
                raise CommandError(f"{option.flag} is for --strategy {row.name}", USAGE)


COMMANDS = (
    Command(
        "player",
        "run a player",
        """\
examples:
  league player --manager http://127.0.0.1:8000/mcp --strategy frequency
  league player --strategy my_module:MyPlayer --name "My player"
  league player --count 10 --strategy random,mirror
  league player --strategy mcp --name "My assistant"
  league player --ask llm:llama3.2 --base-url http://127.0.0.1:11434/v1
  league player --ask "exec:python3 my_program.py"
  league player --ask mcp+http://127.0.0.1:9000/mcp

built-in strategies: random, always_even, always_odd, alternate, mirror, frequency,
human (asks in this terminal), mcp (asks a person or an assistant that is connected over MCP), llm
Your own strategy is a league.Player (from league import Player, serve), or any class with a method choose(self, turn)
that returns one of turn.options. Each player gets an object of its own, made without arguments; methods may be async.
Errors in your code are shown here in full, with the message that caused them.
A language model (--ask llm:MODEL) can be from any OpenAI-compatible provider; the API key is in LEAGUE_LLM_KEY.
A program (--ask exec:COMMAND) reads {"prompt", "options"} as one line of JSON and answers with one line of text.
An MCP server is asked through one of its tools; its bearer token is in LEAGUE_MCP_TOKEN.""",
        partial(options.configure, role=PlayerOptions),
        _run,
    ),
)
