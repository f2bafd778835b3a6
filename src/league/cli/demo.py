"""`league demo`: not in this version yet."""

import argparse

from league.cli import CommandError

NAME, HELP = "demo", "play a whole league on this machine"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = "example: league demo"


def run(_args: argparse.Namespace) -> int:
    raise CommandError("this version cannot play a league yet")
