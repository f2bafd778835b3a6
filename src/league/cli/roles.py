"""`league manager`, `referee` and `player`: the roles as servers."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial

from league import features
from league.features import StrategyRow
from league.hosting import options
from league.terminal import USAGE, Command, CommandError


def _manager(args: argparse.Namespace) -> int:
    from league.hosting import managers

    return managers.run(options.read(args, options.ManagerOptions))


def _referee(args: argparse.Namespace) -> int:
    from league.hosting import referees

    return referees.run(options.read(args, options.RefereeOptions))


def _player(args: argparse.Namespace) -> int:
    from league.hosting import players

    chosen = options.read(args, options.PlayerOptions)
    specs = chosen.strategy.split(",")
    _refuse_foreign_options(chosen, specs)
    # With several strategies, the players take them in turn.
    entrants = [players.load(specs[number % len(specs)], chosen) for number in range(chosen.count)]
    return players.run(chosen, entrants)


def _refuse_foreign_options(chosen: options.PlayerOptions, strategies: Sequence[str]) -> None:
    """Refuse options of a strategy that does not play: they would do nothing."""
    for row in features.own(StrategyRow):
        if not row.options or row.name in strategies:
            continue
        for option in options.options_in(features.load(row.options), (chosen.role,)):
            if option.name in chosen.given:
                raise CommandError(f"{option.flag} is for --strategy {row.name}", USAGE)


COMMANDS = (
    Command(
        "manager",
        "run the League Manager",
        """\
example: league manager --players 4 --referees 2
  starts the league when four players and two referees have registered; start it again with the same --journal to
  resume the league
example: league manager --start 18:30 --enrolment approve
  starts the league at half past six with the agents that the operator has approved (league approve); the admin token
  is in the journal's folder, in --state DIR, or in LEAGUE_ADMIN_TOKEN""",
        partial(options.configure, role=options.ManagerOptions),
        _manager,
    ),
    Command(
        "referee",
        "run a referee",
        """\
example: league referee --manager http://127.0.0.1:8000/mcp
  without --journal, a referee that is killed forgets its matches, and the manager gives them to another referee""",
        partial(options.configure, role=options.RefereeOptions),
        _referee,
    ),
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
        partial(options.configure, role=options.PlayerOptions),
        _player,
    ),
)
