"""`league player`: one or more players as servers in one process, with a built-in strategy or your own."""

from __future__ import annotations

import argparse

from league.hosting import options

NAME = "player"
HELP = "run a player"
EXAMPLE = """\
examples:
  league player --manager http://127.0.0.1:8000/mcp --strategy frequency
  league player --strategy my_module:MyPlayer --name "My player"
  league player --count 10 --strategy random,mirror
  league player --strategy mcp --name "My assistant"
  league player --strategy llm --base-url http://127.0.0.1:11434/v1 --model llama3.2

built-in strategies: random, always_even, always_odd, alternate, mirror, frequency,
human (asks in this terminal), mcp (asks whoever is connected over MCP: a person or an assistant), llm
Your own is a league.Player (from league import Player, serve), or any class with a method choose(self, turn)
that returns one of turn.options. It is made without arguments, one for each player; its methods may be async.
What goes wrong in it is shown here in full, with the message that caused it.
A language model (llm) is asked through any OpenAI-compatible provider; the key is in LEAGUE_LLM_KEY."""


def configure(parser: argparse.ArgumentParser) -> None:
    options.configure(parser, options.PlayerOptions)


def run(args: argparse.Namespace) -> int:
    from league.hosting import language_models, players

    chosen = options.read(args, options.PlayerOptions)
    specs = chosen.strategy.split(",")
    language_models.check_options(chosen)
    return players.run(chosen, [players.load(specs[number % len(specs)], chosen) for number in range(chosen.count)])
