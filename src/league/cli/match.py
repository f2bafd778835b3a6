"""`league match`: one match with its result."""

from __future__ import annotations

import argparse
import json
from datetime import UTC, datetime
from urllib.parse import quote

from league.cli import CommandError, looking, print_json

NAME = "match"
HELP = "show one match of a league"
EXAMPLE = """\
examples:
  league match R1M1
  league match R1M1 --journal league-data/my_league --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    parser.add_argument("match_id", metavar="MATCH_ID", help="the match, such as R1M1")
    looking.configure(parser)


def run(args: argparse.Namespace) -> int:
    from league.cli import tables

    source = looking.source_of(args)
    found = source.get(f"/api/matches/{quote(args.match_id, safe='')}")
    if found is None:
        raise CommandError(f"there is no match {args.match_id!r} in this league")
    found.pop("records", None)  # what its referees told is a long story: `league explain` tells it
    if args.json:
        print_json(found)
        return 0
    rows = [[name.replace("_", " "), _text(value)] for name, value in _flat(found)]
    print("\n".join(tables.table(("", ""), rows)[1:]))
    return 0


def _flat(match: dict[str, object]) -> list[tuple[str, object]]:
    """The details of a game stand below the match's own fields."""
    shown = {name: value for name, value in match.items() if name != "details"}
    if isinstance(match["decided_at"], float):
        shown["decided_at"] = f"{datetime.fromtimestamp(match['decided_at'], UTC):%Y-%m-%d %H:%M:%S UTC}"
    details = match["details"]
    if isinstance(details, dict):
        shown |= {name: value for name, value in details.items() if name not in shown}
    return list(shown.items())


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
