"""`league start`: the league begins with whoever is registered."""

from __future__ import annotations

import argparse

from league.cli import operating

NAME = "start"
HELP = "operator: start the league with whoever is registered"
EXAMPLE = """\
examples:
  league start
  league start --manager http://127.0.0.1:8000 --state league-data/my_league"""


def configure(parser: argparse.ArgumentParser) -> None:
    operating.configure(parser, EXAMPLE)


def run(args: argparse.Namespace) -> int:
    return operating.run(args, NAME, "The league starts.")
