"""`league referee`: a referee as a server."""

from __future__ import annotations

import argparse
from functools import partial

from league.hosting.settings import options
from league.hosting.settings.referee_options import RefereeOptions
from league.terminal import Command


def _run(args: argparse.Namespace) -> int:
    from league.hosting.member import referees  # imported here so that --help is quick

    return referees.run(options.read(args, RefereeOptions))


COMMANDS = (
    Command(
        "referee",
        "run a referee",
        """\
example: league referee --manager http://127.0.0.1:8000/mcp
  without --journal, a referee that is killed forgets its matches, and the manager gives them to another referee""",
        partial(options.configure, role=RefereeOptions),
        _run,
    ),
)
