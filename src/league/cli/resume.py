"""`league resume`: a paused league goes on."""

from __future__ import annotations

import argparse

from league.cli import operating

NAME = "resume"
HELP = "operator: let a paused league go on"
EXAMPLE = """\
examples:
  league resume
  league resume --manager http://127.0.0.1:8000 --state league-data/my_league"""


def configure(parser: argparse.ArgumentParser) -> None:
    operating.configure(parser, EXAMPLE)


def run(args: argparse.Namespace) -> int:
    return operating.run(args, NAME, "The league goes on.")
