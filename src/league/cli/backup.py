"""`league backup`: a consistent copy of a journal, also while it is written."""

from __future__ import annotations

import argparse
from pathlib import Path

from league.cli import CommandError, add_json_option, print_json

NAME = "backup"
HELP = "make a consistent copy of a journal, also of a running league"
EXAMPLE = """\
examples:
  league backup league-data/my_league/journal.db journal-copy.db
  league backup league-data/my_league journal-copy.db --force

A league can go on from the copy, so it holds the league's secrets: it is readable by its owner alone. Keep it so."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLE
    parser.add_argument("journal", metavar="JOURNAL", help="a journal, or the folder of the manager's")
    parser.add_argument("file", metavar="FILE", help="the copy")
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    from league.cli import tables
    from league.reports.replaying import file_of
    from league.storage.files import open_readable
    from league.storage.notices import JournalError

    target = Path(args.file)
    try:
        source = file_of(args.journal)
        open_readable(source).close()
        _refuse(source, target, args.force)
        _copy(source, target)
    except JournalError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror or error}") from error
    size = target.stat().st_size
    if args.json:
        print_json({"journal": str(source), "file": str(target), "bytes": size})
    else:
        print(f"{tables.plain(source)} copied to {tables.plain(target)}, {tables.counted(size, 'byte')}")
    return 0


def _refuse(source: Path, target: Path, force: bool) -> None:
    if target.is_dir():
        raise CommandError(f"{target} is a folder; name a file")
    if not target.exists():
        return
    if target.samefile(source):
        raise CommandError(f"{target} is the journal itself")
    if not force:
        raise CommandError(f"{target} exists already; --force replaces it")


def _copy(source: Path, target: Path) -> None:
    """What is there is replaced only by a copy that is whole."""
    from league.storage.files import backup

    if not target.exists():
        backup(source, target)
        return
    fresh = target.with_name(f"{target.name}.new")
    fresh.unlink(missing_ok=True)
    backup(source, fresh)
    # The log of the file that is replaced must never be read into the new one.
    for companion in (Path(f"{target}-wal"), Path(f"{target}-shm")):
        companion.unlink(missing_ok=True)
    fresh.replace(target)
