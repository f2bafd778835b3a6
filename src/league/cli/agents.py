"""`league agents`: everybody who registered."""

from __future__ import annotations

import argparse

from league.cli import looking, print_json

NAME = "agents"
HELP = "show the players and referees of a league, and who waits for approval"
EXAMPLE = """\
examples:
  league agents
  league agents --manager http://127.0.0.1:8000 --json"""
HEAD = ("agent", "role", "name", "state", "technical losses", "speaks", "deviations", "endpoint")
WAITING = ("applicant_id", "role", "display_name", "origin", "endpoint")


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
            one.get("convention"),  # a manager of an earlier version does not say
            ", ".join(sorted({deviation["requirement"] for deviation in one["deviations"]})) or None,
            one["endpoint"],
        ]
        for one in sorted(document["agents"], key=lambda one: (one["role"], len(one["agent_id"]), one["agent_id"]))
    ]
    print("\n".join(tables.table(HEAD, rows)) if rows else "Nobody has registered yet.")
    # A manager of an earlier version has no applicants.
    waiting = [[one[name] for name in WAITING] for one in document.get("applicants", [])]
    if waiting:
        head = [name.replace("_", " ") for name in WAITING]
        print("\nWaiting for the operator (league approve APPLICANT_ID):")
        print("\n".join(tables.table(head, waiting)))
    return 0
