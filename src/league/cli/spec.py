"""`league spec`: the specification, whole or a section of it."""

from __future__ import annotations

import argparse

from league.hosting import specification
from league.terminal import Command, add_json_option, examples, print_result

EXAMPLE = examples("league spec", "league spec 5.11", "league spec GAME_OVER", "league spec all")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "section",
        nargs="?",
        metavar="SECTION",
        help='its number (5.11), its title, or "all" (default: the list of sections)',
    )
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    text = specification.text()
    if args.section is None:
        found = list(specification.sections(text))
        listed = [{"section": number, "title": title} for number, title, _ in found]
        print_result(args.json, listed, (f"{'  ' * ('.' in one)}{one} {title}" for one, title, _ in found))
        return 0
    shown = text.splitlines() if args.section == "all" else specification.section(text, args.section)
    print_result(args.json, {"section": args.section, "text": "\n".join(shown)}, shown)
    return 0


COMMANDS = (Command("spec", "show the specification, or a section of it", EXAMPLE, configure, run),)
