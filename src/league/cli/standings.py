"""`league standings`: the table."""

from __future__ import annotations

import argparse

from league.cli import looking, print_json

NAME = "standings"
HELP = "show the table of a league"
EXAMPLE = """\
examples:
  league standings
  league standings --journal league-data/my_league --json"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    looking.configure(parser)


def run(args: argparse.Namespace) -> int:
    from league.cli import tables

    source = looking.source_of(args)
    rows = source.get("/api/standings")["standings"]
    if args.json:
        print_json(rows)
        return 0
    league = source.get("/api/league")
    print("\n".join(tables.table(tables.STANDINGS, tables.standings_rows(rows))))
    print(f"\n{tables.plain(league['league_id'])}: {tables.progress(league)}")
    return 0
