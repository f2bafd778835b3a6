"""`league pause`: running matches finish, nothing new begins."""

from __future__ import annotations

import argparse

from league.cli import operating

NAME = "pause"
HELP = "operator: let running matches finish and begin nothing new"
EXAMPLE = """\
examples:
  league pause
  LEAGUE_ADMIN_TOKEN=... league pause --manager http://127.0.0.1:8000"""


def configure(parser: argparse.ArgumentParser) -> None:
    operating.configure(parser, EXAMPLE)


def run(args: argparse.Namespace) -> int:
    return operating.run(args, NAME, "The league is paused: running matches finish, nothing new begins.")
