"""The command line: a command parses, calls and prints. Here is what all commands share."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TextIO

from league.hosting import USAGE, CommandError

__all__ = [
    "USAGE",
    "Command",
    "CommandError",
    "add_json_option",
    "examples",
    "journal_errors",
    "print_json",
    "print_lines",
    "print_result",
]


class Command(NamedTuple):
    """A command of `league`: `configure` adds its arguments to a parser, `run` returns its exit status. No dataclass:
    those are costly to import, and `league --help` needs none."""

    name: str
    help: str
    example: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def examples(*lines: str, note: str = "") -> str:
    """What the help of a command ends with."""
    return "\n  ".join(("examples:", *lines)) + (f"\n{note}" if note else "")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """`--json`: one JSON document on stdout, nothing else."""
    parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")


def print_json(document: object) -> None:
    """Print the one document of `--json`."""
    import json

    json.dump(document, sys.stdout, indent=2)
    sys.stdout.write("\n")


def print_lines(lines: Iterable[str], stream: TextIO | None = None) -> None:
    """Print what people read (to stdout unless another stream is named)."""
    from league.hosting.display import show

    show("\n".join(lines), stream)


def print_result(as_json: bool, document: object, lines: Iterable[str]) -> None:
    """Print what a command found: the document for `--json`, the lines for people."""
    if as_json:
        print_json(document)
    else:
        print_lines(lines)


@contextmanager
def journal_errors() -> Iterator[None]:
    """A journal that cannot be read is told in its own sentence."""
    from league.storage.notices import JournalError

    try:
        yield
    except JournalError as error:
        raise CommandError(str(error)) from error
