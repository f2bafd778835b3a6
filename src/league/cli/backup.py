"""`league backup`: a consistent copy of a journal, also of a running league."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from league.cli.source import journal_errors
from league.terminal import Command, CommandError, add_json_option, print_result
from league.terminal import tables as terminal


def _configure_backup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="a journal, or the folder of a league's journals")
    parser.add_argument("file", metavar="FILE", help="the copy; a folder (COPY/) takes all journals of a folder")
    parser.add_argument("--force", action="store_true", help="replace FILE if it is there")
    add_json_option(parser)


def _backup(args: argparse.Namespace) -> int:
    from league.storage.files import open_readable

    target = Path(args.file)
    try:
        with journal_errors():
            copies = _copies(args.journal, args.file)
            for source, copy in copies.items():
                open_readable(source).close()
                _refuse(source, copy, args.force)
            for source, copy in copies.items():
                copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _copy(source, copy)
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror or error}") from error
    sizes = {copy: copy.stat().st_size for copy in copies.values()}
    told = {"journal": str(next(iter(copies))), "file": str(target), "bytes": sum(sizes.values())}
    print_result(args.json, {**told, "files": list(map(str, sizes))}, _backup_lines(args.journal, copies, sizes))
    return 0


def _copies(location: str, target: str) -> dict[Path, Path]:
    """What is copied where. The manager's journal comes first: what it knows by then, its referees' hold too."""
    from league.reports.journals import manager_file
    from league.storage import urls

    folder, first, into = urls.parse(location).path, manager_file(location), Path(target)
    if not folder.is_dir() or not (into.is_dir() or target.endswith(("/", os.sep))):
        return {first: into}
    if into.is_dir() and into.samefile(folder):
        raise CommandError(f"{into} is a folder, and that of the journals itself")
    return {one: into / one.name for one in (first, *(one for one in sorted(folder.glob("*.db")) if one != first))}


def _backup_lines(location: str, copies: dict[Path, Path], sizes: dict[Path, int]) -> Iterator[str]:
    for source, copy in copies.items():
        yield f"{terminal.plain(source)} copied to {terminal.plain(copy)}, {terminal.counted(sizes[copy], 'byte')}"
    left = [one for one in Path(location).glob("*.db") if one not in copies]
    if left:
        others = terminal.counted(len(left), "other journal")
        yield f"{others} of the folder not copied: name a folder (COPY/) to take all"


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


COMMANDS = (
    Command(
        "backup",
        "make a consistent copy of a journal, also of a running league",
        """\
examples:
  league backup league-data/my_league/journal.db journal-copy.db
  league backup league-data/my_league journal-copy.db --force    the manager's alone
  league backup league-data/my_league copy/                      its referees' too, each under its name

A league can go on from the copy, so it holds the league's secrets: it is readable by its owner alone. Keep it so.""",
        _configure_backup,
        _backup,
    ),
)
