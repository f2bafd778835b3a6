"""The `league` command. Only the module of the command that was asked for is imported.

A command is a module here with `NAME`, `HELP`, `configure(parser)` and `run(args) -> int`, and one entry in COMMANDS.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import NoReturn, Protocol, cast

from league.cli import CommandError
from league.hosting import Parser

COMMANDS = (
    "demo",
    "manager",
    "referee",
    "player",
    "start",
    "pause",
    "resume",
    "approve",
    "withdraw",
    "replay-match",
    "standings",
    "schedule",
    "match",
    "agents",
    "explain",
    "validate",
    "check",
    "new",
    "spar",
    "verify",
    "replay",
    "simulate",
    "export",
    "backup",
    "doctor",
)
"""The commands in the order of `league --help`; each is a module of league.cli (with _ for -)."""


class Command(Protocol):
    """What a command's module offers; its example stands in the parser's epilog."""

    NAME: str
    HELP: str

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


class Overview(argparse.HelpFormatter):
    """Every command with its sentence beside it: argparse forgets that their names are indented."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=20)
        self._action_max_length = 4 + max(map(len, COMMANDS))


class ShowVersion(argparse.Action):
    """Looks the version up only when somebody asks for it."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version

        print(f"league {version('agent-league')}")
        parser.exit()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal of few letters is no reason to fail
    asked_for = next((one for one in arguments if not one.startswith("-")), "")
    parser = _parser([asked_for] if asked_for in COMMANDS else COMMANDS)
    try:
        args, unknown = parser.parse_known_args(arguments)
        if unknown:
            args.parser.error(f"unknown arguments: {' '.join(unknown)}")
    except SystemExit as done:  # argparse ends --help, --version and wrong usage so
        return done.code if isinstance(done.code, int) else 1
    return _run(args.command, args)


def _parser(names: Iterable[str]) -> Parser:
    parser = Parser(
        prog="league",
        description="Leagues of game-playing agents, by the league.v2 protocol.",
        epilog="example: league demo",
        formatter_class=Overview,
    )
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="print the version and exit")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    for name in names:
        command = cast(Command, import_module(f"league.cli.{name.replace('-', '_')}"))
        one = commands.add_parser(
            command.NAME,
            help=command.HELP,
            description=command.HELP[0].upper() + command.HELP[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.configure(one)
        one.set_defaults(command=command, parser=one)
    return parser


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
    print(f"league {command.NAME}: {sentence}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
