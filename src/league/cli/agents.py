"""`league agents`: everybody who registered."""

from __future__ import annotations

import argparse

from league.cli import looking, print_json

NAME = "agents"
HELP = "show the players and referees of a league"
EXAMPLE = """\
examples:
  league agents
  league agents --manager http://127.0.0.1:8000 --json"""
HEAD = ("agent", "role", "name", "state", "technical losses", "deviations", "endpoint")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    looking.configure(parser)


def run(args: argparse.Namespace) -> int:
    from league.cli import tables

    document = looking.source_of(args).get("/api/agents")
    if args.json:
        print_json(document)
        return 0
    rows = [
        [
            *(one[name] for name in ("agent_id", "role", "display_name", "state", "technical_losses")),
            ", ".join(sorted({deviation["requirement"] for deviation in one["deviations"]})) or None,
            one["endpoint"],
        ]
        for one in sorted(document["agents"], key=lambda one: (one["role"], len(one["agent_id"]), one["agent_id"]))
    ]
    print("\n".join(tables.table(HEAD, rows)) if rows else "Nobody has registered yet.")
    return 0
