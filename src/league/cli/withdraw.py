"""`league withdraw`: take a player out."""

from __future__ import annotations

import argparse

from league.cli import operating

NAME = "withdraw"
HELP = "operator: take a player out of the league"
EXAMPLE = """\
examples:
  league withdraw P02
  league withdraw P02 --manager http://127.0.0.1:8000 --state league-data/my_league
Its results stand; the matches it has not finished are won by its opponents."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("player_id", metavar="PLAYER_ID", help="the player, such as P02")
    operating.configure(parser, EXAMPLE)


def run(args: argparse.Namespace) -> int:
    return operating.run(
        args, NAME, f"{args.player_id} is withdrawn: its open matches are won by its opponents.", args.player_id
    )
