"""The `league` command. Only the module of the command that was asked for is imported, and for `league --help` none:
its text was generated from them.

A command is an entry in the table below, and a module here with `NAME`, `HELP`, `EXAMPLE`, `configure(parser)` and
`run(args) -> int`; or a `Command` among the `COMMANDS` of a module that has several.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module

from league import __version__
from league.cli import Command, CommandError, print_lines
from league.hosting import Parser, did_you_mean

COMMANDS: Mapping[str, str] = {
    "demo": "demo",
    "manager": "roles",
    "referee": "roles",
    "player": "roles",
    "mcp": "mcp",
    "start": "operator",
    "pause": "operator",
    "resume": "operator",
    "approve": "operator",
    "reject": "operator",
    "withdraw": "operator",
    "replay-match": "operator",
    "close": "operator",
    "watch": "watch",
    "standings": "show",
    "schedule": "show",
    "match": "show",
    "agents": "show",
    "statistics": "statistics",
    "explain": "explain",
    "validate": "validate",
    "check": "check",
    "spec": "spec",
    "new": "new",
    "spar": "spar",
    "verify": "journal",
    "replay": "journal",
    "simulate": "simulate",
    "tournament": "tournament",
    "export": "journal",
    "view": "view",
    "backup": "journal",
    "doctor": "doctor",
    "completion": "completion",
}
"""The commands in the order of `league --help`, and the module of league.cli that each is in."""


OVERVIEW = "overview.txt"
"""The file beside this one that `league --help` prints."""


class Overview(argparse.HelpFormatter):
    """Every command with its sentence beside it: argparse forgets that their names are indented."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=20, width=100)
        self._action_max_length = 4 + max(map(len, COMMANDS))


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal of few letters is no reason to fail
    asked_for = next((one for one in arguments if not one.startswith("-")), "")
    if not arguments or (not asked_for and {"-h", "--help"} & set(arguments)):
        return _show_overview()
    parser = _parser([asked_for] if asked_for in COMMANDS else [])
    try:
        if asked_for and asked_for not in COMMANDS:
            parser.error(f"there is no command {asked_for!r}{did_you_mean(asked_for, COMMANDS)}")
        args, unknown = parser.parse_known_args(arguments)
        if unknown:
            args.parser.error(f"unknown arguments: {' '.join(unknown)}{_meant_option(unknown, args.parser)}")
    except SystemExit as done:  # argparse ends --help, --version and wrong usage so
        return done.code if isinstance(done.code, int) else 1
    return _run(args.command, args)


def _show_overview() -> int:
    path = os.path.join(os.path.dirname(__file__), OVERVIEW)  # noqa: PTH118, PTH120 - pathlib costs as much as all else
    with open(path, encoding="utf-8") as overview:  # noqa: PTH123
        sys.stdout.write(overview.read())
    return 0


def overview() -> str:
    """What `league --help` prints, from the commands themselves."""
    return _parser(COMMANDS).format_help()


def _parser(names: Iterable[str]) -> Parser:
    parser = Parser(
        prog="league",
        description="Leagues of game-playing agents, by the league.v2 protocol.",
        epilog="example: league demo",
        formatter_class=Overview,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version", action="version", version=f"league {__version__}", help="print the version and exit"
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    for name in names:
        command = _command(name)
        one = commands.add_parser(
            name,
            help=command.help,
            description=command.help[0].upper() + command.help[1:] + ".",
            epilog=command.example,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,  # what is meant for another role must not be taken for a shortened option of this one
        )
        command.configure(one)
        one.set_defaults(command=command, parser=one)
    return parser


def command_parsers() -> Mapping[str, argparse.ArgumentParser]:
    """The parser of every command, in the order of `league --help`."""
    # argparse has no public way to its subcommands; its own help reads the same attributes.
    actions = _parser(COMMANDS)._actions
    return dict(next(one for one in actions if isinstance(one, argparse._SubParsersAction)).choices)


def _meant_option(unknown: Sequence[str], parser: Parser) -> str:
    option = next((one.partition("=")[0] for one in unknown if one.startswith("--")), "")
    return did_you_mean(option, parser.known_options) if option else ""


def _command(name: str) -> Command:
    module = import_module(f"league.cli.{COMMANDS[name]}")
    several: Sequence[Command] = getattr(module, "COMMANDS", ())
    for one in several:
        if one.name == name:
            return one
    return Command(module.NAME, module.HELP, module.EXAMPLE, module.configure, module.run)


def _run(command: Command, args: argparse.Namespace) -> int:
    try:
        status = command.run(args)
        sys.stdout.flush()
        return status
    except CommandError as error:
        return _failed(command, str(error), error.status)
    except KeyboardInterrupt:
        return _failed(command, "interrupted", 130)
    except BrokenPipeError:
        # Whoever read our output has gone; the interpreter must not stumble over the same pipe when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        # A command enters here: a bug of ours is told in a sentence too.
        if "LEAGUE_TRACEBACK" in os.environ:
            raise
        told = f"this is a bug in league: {type(error).__name__}: {error}; LEAGUE_TRACEBACK=1 shows where"
        return _failed(command, told, 1)


def _failed(command: Command, sentence: str, status: int) -> int:
    from league.hosting.display import Style, harmless, paint

    who = paint(f"league {command.name}:", Style.BAD)
    print_lines([f"{who} {harmless(sentence, keep=chr(10))}"], sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
