"""`league manager`: the League Manager as a server."""

from __future__ import annotations

import argparse

from league.hosting import options

NAME = "manager"
HELP = "run the League Manager"
EXAMPLE = """\
example: league manager --players 4 --referees 2
  starts the league when four players and two referees have registered; the same --journal given again resumes it
example: league manager --start 18:30 --enrolment approve
  starts it at half past six with whoever the operator let in (league approve); the admin token is told at the first
  start and kept in the journal's folder, or in --state DIR, or is what LEAGUE_ADMIN_TOKEN says"""


def configure(parser: argparse.ArgumentParser) -> None:
    options.configure(parser, options.ManagerOptions)


def run(args: argparse.Namespace) -> int:
    from league.hosting import managers

    return managers.run(options.read(args, options.ManagerOptions))
