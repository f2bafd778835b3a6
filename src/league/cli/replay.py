"""`league replay`: the league's state at any point of its journal."""

from __future__ import annotations

import argparse

from league.cli import USAGE, CommandError, add_json_option, print_json

NAME = "replay"
HELP = "show a league as it was at any point of its journal"
EXAMPLE = """\
examples:
  league replay league-data/my_league
  league replay league-data/my_league/journal.db --until 40 --json

The digest is of the whole state: the same journal up to the same event gives the same digest, on any machine."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    parser.add_argument("journal", metavar="JOURNAL", help="the manager's journal, or the folder it is in")
    parser.add_argument("--until", type=int, metavar="SEQ", help="the last event to replay (default: all)")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league.cli import tables
    from league.reports import views
    from league.reports.replaying import replay
    from league.storage.notices import JournalError

    if args.until is not None and args.until < 1:
        raise CommandError("--until: events are numbered from 1", USAGE)
    try:
        replayed = replay(args.journal, args.until)
    except JournalError as error:
        raise CommandError(str(error)) from error
    league = views.league(replayed.manager, replayed.seq)
    rows = views.standings(replayed.manager)["standings"]
    if args.json:
        shown = {"seq": replayed.seq, "events": replayed.events, "digest": replayed.digest}
        print_json({**shown, "league": league, "standings": rows})
        return 0
    print("\n".join(tables.table(tables.STANDINGS, tables.standings_rows(rows))))
    print(f"\n{league['league_id']} after event {replayed.seq} of {replayed.events}: {tables.progress(league)}")
    print(f"digest {replayed.digest}")
    return 0
