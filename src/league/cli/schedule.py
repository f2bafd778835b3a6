"""`league schedule`: all rounds with their matches."""

from __future__ import annotations

import argparse

from league.cli import looking, print_json

NAME = "schedule"
HELP = "show the rounds and matches of a league"
EXAMPLE = """\
examples:
  league schedule
  league schedule --journal league-data/my_league/journal.db"""
HEAD = ("round", "match", "A", "B", "status", "winner", "outcome", "referee")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    looking.configure(parser)


def run(args: argparse.Namespace) -> int:
    from league.cli import tables

    document = looking.source_of(args).get("/api/schedule")
    if args.json:
        print_json(document)
        return 0
    rows: list[list[object]] = []
    for one in document["rounds"]:
        names = ("round_id", "match_id", "player_A_id", "player_B_id", "status", "winner", "outcome", "referee_id")
        rows += [[match[name] for name in names] for match in one["matches"]]
        if one["bye"]:
            rows.append([one["round_id"], None, one["bye"], None, "BYE", None, None, None])
    print("\n".join(tables.table(HEAD, rows)) if rows else "There is no schedule yet: not everybody has registered.")
    return 0
