"""`league manager`: the League Manager as a server."""

from __future__ import annotations

import argparse
from functools import partial

from league.hosting.settings import options
from league.hosting.settings.manager_options import ManagerOptions
from league.terminal import Command


def _run(args: argparse.Namespace) -> int:
    from league.hosting.manager import managers  # imported here so that --help is quick

    return managers.run(options.read(args, ManagerOptions))


COMMANDS = (
    Command(
        "manager",
        "run the League Manager",
        """\
example: league manager --players 4 --referees 2
  starts the league when four players and two referees have registered; start it again with the same --journal to
  resume the league
example: league manager --start 18:30 --enrolment approve
  starts the league at half past six with the agents that the operator has approved (league approve); the admin token
  is in the journal's folder, in --state DIR, or in LEAGUE_ADMIN_TOKEN""",
        partial(options.configure, role=ManagerOptions),
        _run,
    ),
)
