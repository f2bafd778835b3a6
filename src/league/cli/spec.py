"""`league spec`: the specification, or a section of it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from league.hosting import specification
from league.hosting.specification import Section
from league.terminal import Command, add_json_option, examples, print_result

EXAMPLE = examples(
    "league spec",
    "league spec 5.11",
    "league spec GAME_OVER",
    "league spec all",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "section",
        nargs="?",
        metavar="SECTION",
        help='its number (5.11), its title, or "all" (default: the list of sections)',
    )
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    if args.section is None:
        sections = specification.sections()
        document = [{"section": section.number, "title": section.title} for section in sections]
        print_result(args.json, document, map(_list_line, sections))
        return 0
    if args.section == "all":
        lines: Sequence[str] = specification.text().splitlines()
    else:
        lines = specification.section(args.section)
    print_result(args.json, {"section": args.section, "text": "\n".join(lines)}, lines)
    return 0


def _list_line(section: Section) -> str:
    indent = "  " if "." in section.number else ""
    return f"{indent}{section.number} {section.title}"


COMMANDS = (Command("spec", "show the specification, or a section of it", EXAMPLE, configure, run),)
