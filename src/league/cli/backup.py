"""`league backup`: a consistent copy of a journal, also of a running league."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from league.cli.source import journal_errors
from league.terminal import Command, CommandError, add_json_option, print_result
from league.terminal.tables import counted, plain


def _configure_backup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="a journal, or the folder of a league's journals")
    parser.add_argument("file", metavar="FILE", help="the copy; name a folder (COPY/) to copy all journals of a folder")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    add_json_option(parser)


def _backup(args: argparse.Namespace) -> int:
    from league.storage.journal_files import open_readable

    target = Path(args.file)
    try:
        with journal_errors():
            copies = _copies(args.journal, args.file)
            # Everything is checked before anything is written.
            for source, copy in copies.items():
                open_readable(source).close()
                _refuse(source, copy, args.force)
            for source, copy in copies.items():
                copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _copy(source, copy)
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror or error}") from error
    sizes = {copy: copy.stat().st_size for copy in copies.values()}
    document = {
        "journal": str(next(iter(copies))),
        "file": str(target),
        "bytes": sum(sizes.values()),
        "files": [str(copy) for copy in sizes],
    }
    print_result(args.json, document, _backup_lines(args.journal, copies, sizes))
    return 0


def _copies(location: str, target: str) -> dict[Path, Path]:
    """The journals to copy, and where each of them goes.

    The manager's journal comes first: everything it knows by then is also in the journals of its referees, which are
    copied later.
    """
    from league.reports.journals import manager_file
    from league.storage import urls

    source = urls.parse(location).path
    first = manager_file(location)
    copy = Path(target)
    is_folder = copy.is_dir() or target.endswith(("/", os.sep))
    if not source.is_dir() or not is_folder:
        return {first: copy}
    if copy.is_dir() and copy.samefile(source):
        raise CommandError(f"{copy} is the folder of the journals itself")
    copies = {first: copy / first.name}
    for file in sorted(source.glob("*.db")):
        copies[file] = copy / file.name
    return copies


def _backup_lines(location: str, copies: dict[Path, Path], sizes: dict[Path, int]) -> Iterator[str]:
    for source, copy in copies.items():
        yield f"{plain(source)} copied to {plain(copy)}, {counted(sizes[copy], 'byte')}"
    not_copied = [file for file in Path(location).glob("*.db") if file not in copies]
    if not_copied:
        journals = counted(len(not_copied), "other journal")
        yield f"{journals} of the folder not copied: name a folder (COPY/) to copy all"


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
    """Copy a journal. An existing file is replaced only by a complete copy."""
    from league.storage.journal_files import backup

    if not target.exists():
        backup(source, target)
        return
    # A copy that fails half-way must leave the old file as it was.
    fresh = target.with_name(f"{target.name}.new")
    fresh.unlink(missing_ok=True)
    backup(source, fresh)
    # The log of the file that is replaced must never be read into the new one.
    for companion in (Path(f"{target}-wal"), Path(f"{target}-shm")):
        companion.unlink(missing_ok=True)
    fresh.replace(target)


COMMANDS = (
    Command(
        "backup",
        "make a consistent copy of a journal, also of a running league",
        """\
examples:
  league backup league-data/my_league/journal.db journal-copy.db
  league backup league-data/my_league journal-copy.db --force    only the manager's journal
  league backup league-data/my_league copy/                      the referees' journals too, under their names

A league can be resumed from the copy, so the copy holds its secrets. Only its owner can read it: keep it so.""",
        _configure_backup,
        _backup,
    ),
)
