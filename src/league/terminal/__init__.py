"""The parts that all commands share: errors as one sentence, printing, the parser, and the shape of a command. It
touches the terminal alone.

This package is a leaf: it imports neither agents nor their hosting, so that a command may use it without knowing them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from io import TextIOBase
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TextIO, cast

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

PUBLIC = ("addresses", "console", "display", "tables")
"""The modules that other packages may import."""

USAGE = 2
"""The exit status for wrong usage; 0 is success, 1 failure."""


class LeagueError(Exception):
    """Something cannot be done; the sentence says why. Scripts know it as `league.LeagueError`."""


class CommandError(LeagueError):
    """A command cannot do its work; the sentence is for the person who ran it."""

    def __init__(self, sentence: str, status: int = 1) -> None:
        super().__init__(sentence)
        self.status = status


class Command(NamedTuple):
    """A command of `league`. `configure` adds its arguments to a parser, `run` returns the exit status.

    This is not a dataclass: importing dataclasses takes longer than all of `league --help`.
    """

    name: str
    help: str
    example: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def terminal_size() -> os.terminal_size:
    """The size of the terminal, as `shutil.get_terminal_size` finds it.

    Importing shutil loads the libraries of three archive formats, which takes 2 % of a player's start.
    """
    columns = _positive(os.environ.get("COLUMNS", ""))
    lines = _positive(os.environ.get("LINES", ""))
    if columns and lines:
        return os.terminal_size((columns, lines))
    actual = os.terminal_size((0, 0))
    if sys.__stdout__ is not None:
        with suppress(ValueError, OSError):  # it is closed, or not a terminal
            actual = os.get_terminal_size(sys.__stdout__.fileno())
    return os.terminal_size((columns or actual.columns or 80, lines or actual.lines or 24))


def _positive(text: str) -> int:
    try:
        return max(int(text), 0)
    except ValueError:
        return 0


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formats help texts at the width of the terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_size().columns - 2)


class Parser(argparse.ArgumentParser):
    """Reports an error in one sentence instead of printing the whole usage."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=HelpFormatter, **settings)
        self.removed_options: Mapping[str, str] = {}
        """By options that earlier versions had, what to use instead."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        known, unknown = super().parse_known_args(args, namespace)
        for argument in unknown:
            option = argument.partition("=")[0]
            if option in self.removed_options:
                self.exit(USAGE, f"{self.prog}: {option} is gone: {self.removed_options[option]}\n")
        return known, unknown

    @property
    def known_options(self) -> Iterable[str]:
        """The options as they are typed: --players, --help, …"""
        return self._option_string_actions

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Everything that argparse prints passes here."""
        from league.terminal.display import shown

        if isinstance(file, TextIOBase):
            message = shown(message, cast("TextIO", file))
        super()._print_message(message, file)

    def error(self, message: str) -> NoReturn:
        # A message that asks "did you mean …?" has ended already.
        advice = "; see"
        if message.endswith("?"):
            advice = " See"
        self.exit(USAGE, f"{self.prog}: {message}{advice} {self.prog} --help\n")


def did_you_mean(word: str, known_words: Iterable[str], likeness: float = 0.6) -> str:
    """Return a suggestion to end a sentence with, or nothing if no known word is close."""
    from difflib import get_close_matches  # imported here because only mistakes need it

    matches = get_close_matches(word, list(known_words), n=1, cutoff=likeness)
    if not matches:
        return ""
    return f"; did you mean {matches[0]}?"


def examples(*lines: str, note: str = "") -> str:
    """Return the end of a command's help: its examples, and a note below them."""
    text = "\n  ".join(("examples:", *lines))
    if note:
        text += f"\n{note}"
    return text


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add `--json`: one JSON document on stdout, nothing else."""
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")


def print_json(document: object) -> None:
    """Print the document of `--json`."""
    import json  # imported here because most commands print text

    json.dump(document, sys.stdout, indent=2)
    sys.stdout.write("\n")


def print_lines(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Print lines for people, to stdout unless another stream is given."""
    from league.terminal.display import show

    show("\n".join(lines), stream)


def print_result(as_json: bool, document: object, lines: Iterable[str]) -> None:
    """Print a command's result: the document for `--json`, the lines for people."""
    if as_json:
        print_json(document)
    else:
        print_lines(lines)
