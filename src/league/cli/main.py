"""The `league` command.

A command is a row of a feature (`league.features`). Only the module of the command that was asked for is imported. For
`league --help` and `league --version` none is: the overview was generated from the commands.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module

from league import __version__
from league.terminal import Command, CommandError, Parser, did_you_mean, print_lines

GROUPS = (
    "Play a league",
    "Write a player",
    "Watch and understand",
    "Run a league",
    "Compare strategies",
    "Audit",
    "This machine",
)
"""The groups of `league --help`, in their order; groups of other features follow."""
OVERVIEW = "overview.txt"
"""The file beside this one that `league --help` prints."""
INTRODUCTION = "Leagues of game-playing agents, by the league.v2 protocol."
NAME_WIDTH = 16
NEW_OBJECTS = 100_000
"""New objects after which Python first looks for garbage; its own number is 700. To import the modules of a command
makes many objects and no garbage: looking for it takes 7 % of a player's start."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    _accept_any_text(sys.stdout, sys.stderr)
    gc.set_threshold(NEW_OBJECTS)
    name = next((argument for argument in arguments if not argument.startswith("-")), "")
    if not arguments or (not name and {"-h", "--help"} & set(arguments)):
        return _show_overview()
    if not name and "--version" in arguments:
        print(f"league {__version__}")
        return 0
    try:
        parser = parser_for(_known_command(name))
        args, unknown = parser.parse_known_args(arguments)
        if unknown:
            args.parser.error(f"unknown arguments: {' '.join(unknown)}{_meant_option(unknown, args.parser)}")
    except SystemExit as end:  # argparse ends --help and wrong usage so
        return end.code if isinstance(end.code, int) else 1
    return _run(args.command, args)


def _accept_any_text(*streams: object) -> None:
    """Replace characters that a terminal cannot show, instead of failing."""
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


# --- the commands -----------------------------------------------------------------------------------------------------


def modules() -> dict[str, str]:
    """The module of each of our own commands, in the order of `league --help`."""
    return {name: module for _, names in _grouped() for name, module in names.items()}


def _grouped() -> Iterator[tuple[str, Mapping[str, str]]]:
    """The groups of our own commands, each with its names and their modules, sorted by name."""
    from league.rows import CommandRow, own

    groups: dict[str, dict[str, str]] = {group: {} for group in GROUPS}
    for row in sorted(own(CommandRow)):
        groups.setdefault(row.group, {})[row.name] = row.module
    return iter(groups.items())


def _modules_by_others() -> dict[str, str]:
    from league.rows import CommandRow, every

    return {row.name: row.module for row in every(CommandRow)}


def _known_command(name: str) -> Command | None:
    """The command of this name; None if no name was given. An unknown name is wrong usage."""
    from league.rows import problems

    if not name:
        return None
    module = modules().get(name)
    if module is None:
        everything = _modules_by_others()
        module = everything.get(name)
        if module is None:
            trouble = "".join(f"; {problem}" for problem in problems())
            parser_for(None).error(f"there is no command {name!r}{did_you_mean(name, everything)}{trouble}")
    return _command(name, module)


def _command(name: str, module: str) -> Command:
    commands: Sequence[Command] = import_module(module).COMMANDS
    return next(command for command in commands if command.name == name)


def parser_for(*commands: Command | None) -> Parser:
    """A parser that knows these commands."""
    parser = Parser(prog="league", description=INTRODUCTION, epilog="example: league demo", allow_abbrev=False)
    parser.add_argument(
        "--version", action="version", version=f"league {__version__}", help="print the version and exit"
    )
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True, title="commands")
    for command in commands:
        if command is None:
            continue
        subparser = subparsers.add_parser(
            command.name,
            help=command.help,
            description=command.help[0].upper() + command.help[1:] + ".",
            epilog=command.example,
            allow_abbrev=False,  # an option of another role must not pass for a shortened option of this one
        )
        command.configure(subparser)
        subparser.set_defaults(command=command, parser=subparser)
    return parser


def full_parser(with_others: bool = False) -> Parser:
    """A parser that knows all commands of ours, or those of all installed features."""
    modules_by_name = modules()
    if with_others:
        modules_by_name |= _modules_by_others()
    return parser_for(*(_command(name, module) for name, module in modules_by_name.items()))


def command_parsers() -> Mapping[str, argparse.ArgumentParser]:
    """The parser of every command of ours, in the order of `league --help`."""
    return subparsers_of(full_parser())


def subparsers_of(parser: Parser) -> Mapping[str, argparse.ArgumentParser]:
    """The parsers of the commands that a parser knows."""
    # argparse has no public way to its subcommands; its own help reads the same attributes.
    subparsers = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return dict(subparsers.choices)


def _meant_option(unknown: Iterable[str], parser: Parser) -> str:
    for argument in unknown:
        if argument.startswith("--"):
            return did_you_mean(argument.partition("=")[0], parser.known_options)
    return ""


# --- the overview -----------------------------------------------------------------------------------------------------


def _show_overview() -> int:
    path = os.path.join(os.path.dirname(__file__), OVERVIEW)  # noqa: PTH118, PTH120 - pathlib costs as much as all else
    with open(path, encoding="utf-8") as overview:  # noqa: PTH123
        sys.stdout.write(overview.read())
    return 0


def overview() -> str:
    """The text of `league --help`, made from the commands."""
    lines = ["usage: league COMMAND [OPTIONS]", "", INTRODUCTION]
    for group, commands in _grouped():
        lines += ["", f"{group}:"]
        for name, module in commands.items():
            lines.append(f"  {name:{NAME_WIDTH}}{_command(name, module).help}")
    lines += [
        "",
        "options:",
        f"  {'-h, --help':{NAME_WIDTH}}show this overview; after a command, its options and examples",
        f"  {'--version':{NAME_WIDTH}}print the version and exit",
        "",
        "example: league demo",
    ]
    return "\n".join(lines) + "\n"


# --- running a command ------------------------------------------------------------------------------------------------


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
        # The reader of our output has gone; the interpreter must not stumble over the same pipe when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        # The outermost place of a command: a bug of ours is reported in one sentence too.
        if "LEAGUE_TRACEBACK" in os.environ:
            raise
        sentence = f"this is a bug in league: {type(error).__name__}: {error}; LEAGUE_TRACEBACK=1 shows where"
        return _failed(command, sentence, 1)


def _failed(command: Command, sentence: str, status: int) -> int:
    from league.terminal.display import Style, harmless, paint

    prefix = paint(f"league {command.name}:", Style.BAD)
    print_lines([f"{prefix} {harmless(sentence, keep=chr(10))}"], sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
