"""`league export`: a league as files for other tools."""

from __future__ import annotations

import argparse
from pathlib import Path

from league.cli import USAGE, CommandError, add_json_option, print_json

NAME = "export"
HELP = "write a league as files for other tools"
EXAMPLE = """\
examples:
  league export league-data/my_league --to shared-files            the files of section 8.14, one for each match
  league export league-data/my_league --to tables --format csv     standings.csv, matches.csv, agents.csv
  league export league-data/my_league/journal.db --to out --format json

Files that are there are replaced. No token and no secret is ever written. Transcripts need the referees' journals
beside the manager's."""
FORMATS = ("shared", "csv", "json", "site")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    parser.add_argument("journal", metavar="JOURNAL", help="the manager's journal, or the folder of all journals")
    parser.add_argument("--to", metavar="DIR", required=True, help="the folder to write into; made if it is missing")
    parser.add_argument("--format", choices=FORMATS, default="shared", help="which files (default: shared)")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league.cli import tables
    from league.reports import exports
    from league.reports.files import ExportError, write_files
    from league.reports.journals import read_journals
    from league.reports.replaying import replay
    from league.storage.notices import JournalError

    if args.format == "site":
        raise CommandError("the dashboard as static pages is not in this version; use shared, csv or json", USAGE)
    made = {"shared": exports.shared, "csv": exports.as_csv, "json": exports.as_json}[args.format]
    try:
        journals = read_journals(args.journal, letters=args.format == "shared")
        if journals.path is None:
            raise CommandError(f"{args.journal} holds no manager's journal; a league is exported from that")
        manager = replay(str(journals.path), journals.seq).manager
        written = write_files(Path(args.to), made(manager, journals))
    except (JournalError, ExportError) as error:
        raise CommandError(str(error)) from error
    if args.json:
        print_json({"format": args.format, "to": args.to, "files": written})
    else:
        print(f"{tables.counted(len(written), 'file')} written to {tables.plain(args.to)}")
    return 0
