"""`league referee`: one or more referees as servers in one process."""

from __future__ import annotations

import argparse

from league.hosting import options

NAME = "referee"
HELP = "run a referee"
EXAMPLE = """\
example: league referee --manager http://127.0.0.1:8000/mcp
  without --journal a referee forgets its matches when it is killed, and the manager gives them to another"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.configure(parser, options.RefereeOptions)


def run(args: argparse.Namespace) -> int:
    from league.hosting import referees

    return referees.run(options.read(args, options.RefereeOptions))
