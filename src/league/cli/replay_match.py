"""`league replay-match`: void a match and play it again."""

from __future__ import annotations

import argparse

from league.cli import operating

NAME = "replay-match"
HELP = "operator: void a match and play it again"
EXAMPLE = """\
examples:
  league replay-match R1M1
  league replay-match R1M1 --manager http://127.0.0.1:8000 --state league-data/my_league
Nothing is erased: the void result stays in the journal. A parked match gets three more attempts."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("match_id", metavar="MATCH_ID", help="the match, such as R1M1")
    operating.configure(parser, EXAMPLE)


def run(args: argparse.Namespace) -> int:
    return operating.run(args, NAME, f"{args.match_id} is played again.", args.match_id)
