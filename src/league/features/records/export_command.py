"""`league export`: a league as files for other tools."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from league import rows
from league.cli.source import journal_errors
from league.rows import ExportRow
from league.terminal import USAGE, Command, CommandError, add_json_option, print_result, tables

if TYPE_CHECKING:
    from league.features.records.exports import Files


def _configure_export(parser: argparse.ArgumentParser) -> None:
    formats = [row.format for row in rows.every(ExportRow)]
    parser.add_argument("journal", metavar="JOURNAL", help="the manager's journal, or the folder of all journals")
    to = "the folder to write to, created if it is missing; with bundle: the file"
    parser.add_argument("--to", metavar="DIR|FILE", required=True, help=to)
    parser.add_argument("--format", choices=formats, default="shared", help="the kind of files (default: shared)")
    groups = "with csv: a class list with a line NAME,GROUP for each student, for the column `group` of grades.csv"
    parser.add_argument("--groups", metavar="FILE", type=Path, help=groups)
    add_json_option(parser)


def _export(args: argparse.Namespace) -> int:
    from league.features.records.shared.shared_files import ExportError, write_file, write_files
    from league.reading.journals import read_journals, replay

    row = next(row for row in rows.every(ExportRow) if row.format == args.format)
    export: Callable[..., Files] = rows.load(row.export)
    # Only one export takes the class list: the others have no place for it.
    if args.groups:
        if args.format != "csv":
            raise CommandError("--groups is for grades.csv: use it with --format csv", USAGE)
        export = partial(export, groups=_class_list(args.groups))
    try:
        with journal_errors():
            journals = read_journals(args.journal, letters=row.needs_letters)
            if journals.place is None:
                raise CommandError(f"{args.journal} holds no manager's journal, which an export needs")
            manager = replay(journals.place, journals.seq).manager
            write = write_file if row.is_one_file else write_files
            files = write(Path(args.to), export(manager, journals))
    except ExportError as error:
        raise CommandError(str(error)) from error
    line = f"{tables.counted(len(files), 'file')} written to {tables.plain(args.to)}"
    print_result(args.json, {"format": args.format, "to": args.to, "files": files}, [line])
    return 0


def _class_list(file: Path) -> dict[str, str]:
    """The names of a class list with their groups; a line of another shape is an error."""
    groups: dict[str, str] = {}
    try:
        with file.open(encoding="utf-8-sig", newline="") as stream:
            rows = list(csv.reader(stream))
    except (OSError, ValueError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise CommandError(f"{file} cannot be read: {reason}", USAGE) from error
    for number, row in enumerate(rows, start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if len(cells) != 2 or not cells[0]:
            raise CommandError(f"{file}: line {number} is not NAME,GROUP", USAGE)
        name, group = cells
        if name in groups:
            raise CommandError(f"{file}: line {number} repeats a name", USAGE)
        groups[name] = group
    return groups


COMMANDS = (
    Command(
        "export",
        "write a league as files for other tools",
        """\
examples:
  league export league-data/my_league --to shared-files            the files of section 13.10, one for each match
  league export league-data/my_league --to tables --format csv     standings.csv, matches.csv, agents.csv, grades.csv
  league export league-data/my_league --to tables --format csv --groups class.csv
  league export league-data/my_league/journal.db --to out --format json
  league export league-data/my_league --to site --format site      the dashboard: open site/index.html
  league export league-data/my_league --to spring.bundle --format bundle   one file for league verify, without secrets

Existing files are replaced. Tokens and secrets are never written. Transcripts need the referees' journals next to the
manager's. grades.csv is for a spreadsheet (UTF-8 with a byte order mark): names, groups, ranks and points. Students on
the class list who did not take part are listed without a rank.""",
        _configure_export,
        _export,
    ),
)
