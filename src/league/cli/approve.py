"""`league approve`: let an applicant in."""

from __future__ import annotations

import argparse

from league.cli import operating

NAME = "approve"
HELP = "operator: let an agent in that waits for approval"
EXAMPLE = """\
examples:
  league approve A01
  league approve "Ann's player" --state league-data/my_league
`league agents` shows who waits. The agent becomes a member when it registers the next time."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help="its applicant id (A01), name or endpoint")
    operating.configure(parser, EXAMPLE)


def run(args: argparse.Namespace) -> int:
    return operating.run(args, NAME, f"{args.agent} is approved: its next registration is accepted.", args.agent)
