"""`league spec`: the specification, whole or a section of it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path

from league.cli import CommandError, add_json_option, examples, print_result
from league.hosting import did_you_mean

NAME = "spec"
HELP = "show the specification, or a section of it"
EXAMPLE = examples("league spec", "league spec 5.11", "league spec GAME_OVER", "league spec all")

_HEADING = re.compile(r"^(#{2,3}) ((?:\d+(?:\.\d+)?|[A-Z])(?=\s)) ?(.*)$")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "section",
        nargs="?",
        metavar="SECTION",
        help='its number (5.11), its title, or "all" (default: the list of sections)',
    )
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    text = _specification()
    if args.section is None:
        found = list(sections(text))
        listed = [{"section": number, "title": title} for number, title, _ in found]
        print_result(args.json, listed, (f"{'  ' * ('.' in one)}{one} {title}" for one, title, _ in found))
        return 0
    shown = text.splitlines() if args.section == "all" else _section(text, args.section)
    print_result(args.json, {"section": args.section, "text": "\n".join(shown)}, shown)
    return 0


def _specification() -> str:
    """It is part of the package; in a checkout it stands beside it."""
    for place in (files("league") / "spec" / "league-v2.md", Path(__file__).parents[3] / "spec" / "league-v2.md"):
        if place.is_file():
            return place.read_text("utf-8")
    raise CommandError("the specification is missing from this installation")


def sections(text: str) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Number, title and lines of every section; those of a chapter are all of its sections'."""
    lines = text.splitlines()
    heads = [(at, found) for at, line in enumerate(lines) if (found := _HEADING.match(line)) is not None]
    for position, (at, head) in enumerate(heads):
        after = (end for end, other in heads[position + 1 :] if len(other[1]) <= len(head[1]))
        yield head[2], head[3], lines[at : next(after, len(lines))]


def _section(text: str, wanted: str) -> Sequence[str]:
    known: dict[str, Sequence[str]] = {}
    for number, title, lines in sections(text):
        known |= {number: lines, title.lower(): lines}
    found = known.get(wanted.lower().rstrip(".").removeprefix("§"))
    if found is None:
        near = did_you_mean(wanted.lower(), known) or "; `league spec` lists them"
        raise CommandError(f"the specification has no section {wanted!r}{near}")
    return found
