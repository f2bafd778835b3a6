"""`league backup`: a consistent copy of a journal, even of a running league."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from league.cli.source import journal_errors
from league.storage.opening import copy, exists
from league.storage.urls import FilePlace, Place
from league.terminal import Command, CommandError, add_json_option, print_result
from league.terminal.tables import counted, plain

TRIES = 5
"""How often the journals of a running league are copied until the copies agree. Heads are sent once a round."""


def _configure_backup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("journal", metavar="JOURNAL", help="a journal, or the folder of a league's journals")
    parser.add_argument(
        "file",
        metavar="FILE",
        help="the copy, a file or postgresql://…; name a folder (COPY/) to copy all journals of a folder",
    )
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")
    add_json_option(parser)


def _backup(args: argparse.Namespace) -> int:
    from league.storage.reading import open_for_reading

    target = Path(args.file)
    try:
        with journal_errors():
            copies = _copies(args.journal, args.file)
            # Everything is checked before anything is written.
            for copied in copies:
                open_for_reading(copied.source).close()
                _refuse(copied, args.force)
            for _ in range(TRIES):
                for copied in copies:
                    _copy(copied)
                if _is_consistent(copies):
                    break
    except OSError as error:
        raise CommandError(f"{target} cannot be written: {error.strerror or error}") from error
    places = [str(copied.target) for copied in copies]
    document = {
        "journal": str(copies[0].source),
        "file": str(copies[0].target if len(copies) == 1 else target),
        "bytes": sum(copied.size for copied in copies),
        "files": places,
    }
    print_result(args.json, document, _backup_lines(args.journal, copies))
    return 0


def _is_consistent(copies: Sequence[Copied]) -> bool:
    """True if the copy of the manager's journal contains all that the copies of its members say about it.

    A member that was copied later may know a head of the manager's chain from after the manager's copy. With such a
    head, the copy would look like a journal whose end was cut off.
    """
    from league.events import LeagueEnded, RoundEnded
    from league.storage.reading import open_for_reading

    if len(copies) == 1:
        return True
    with open_for_reading(copies[0].target) as journal:
        last = journal.last_seq
    for copied in copies[1:]:
        with open_for_reading(copied.target) as journal:
            for event in journal.events():
                if isinstance(event, RoundEnded | LeagueEnded) and event.head_seq > last:
                    return False
    return True


class Copied(NamedTuple):
    """A journal, and where its copy goes."""

    source: Place
    target: Place

    @property
    def size(self) -> int:
        """The size of the copy; a database does not say."""
        return self.target.path.stat().st_size if isinstance(self.target, FilePlace) else 0


def _copies(location: str, target: str) -> list[Copied]:
    """The journals to copy, and where each of them goes.

    The manager's journal comes first: everything it knows by then is also in the journals of its referees, which are
    copied later.
    """
    from league.reading.journals import manager_place
    from league.storage import urls
    from league.storage.opening import journals_at

    source = urls.parse(location)
    first = manager_place(source)
    copy = urls.parse(target)
    is_folder = isinstance(copy, FilePlace) and (copy.is_of_many or target.endswith(("/", os.sep)))
    if not source.is_of_many or not is_folder:
        return [Copied(first, copy)]
    assert isinstance(copy, FilePlace)
    if isinstance(source, FilePlace) and copy.is_of_many and copy.path.samefile(source.path):
        raise CommandError(f"{copy} is the folder of the journals itself")
    places = [first, *(place for place in journals_at(source) if place != first)]
    return [Copied(place, FilePlace(copy.path / _file_name(place, first))) for place in places]


def _file_name(place: Place, manager: Place) -> str:
    """The name of a journal's copy in a folder."""
    from league.reading.journals import JOURNAL

    if isinstance(place, FilePlace):
        return place.path.name
    return JOURNAL if place == manager else f"{place.schema}.db"


def _backup_lines(location: str, copies: Sequence[Copied]) -> Iterator[str]:
    from league.storage import urls
    from league.storage.opening import journals_at

    for copied in copies:
        line = f"{plain(copied.source)} copied to {plain(copied.target)}"
        if copied.size:
            line += f", {counted(copied.size, 'byte')}"
        yield line
    sources = {copied.source for copied in copies}
    source = urls.parse(location)
    not_copied = [place for place in journals_at(source) if place not in sources]
    if source.is_of_many and not_copied:
        journals = counted(len(not_copied), "other journal")
        yield f"{journals} of the folder not copied: name a folder (COPY/) to copy all"


def _refuse(copied: Copied, force: bool) -> None:
    source, target = copied
    if target.is_of_many:
        raise CommandError(f"{target} is a folder; name a file")
    if not exists(target):
        return
    if target == source or (
        isinstance(source, FilePlace) and isinstance(target, FilePlace) and target.path.samefile(source.path)
    ):
        raise CommandError(f"{target} is the journal itself")
    if not force:
        raise CommandError(f"{target} exists already; --force replaces it")
    if not isinstance(target, FilePlace):
        raise CommandError(f"{target} exists already; a copy never replaces a schema: drop it, or name another")


def _copy(copied: Copied) -> None:
    """Copy a journal. An existing file is replaced only by a complete copy."""
    source, target = copied
    if not isinstance(target, FilePlace):
        copy(source, target)
        return
    target.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not exists(target):
        copy(source, target)
        return
    # A copy that fails half-way must leave the old file as it was.
    fresh = target.path.with_name(f"{target.path.name}.new")
    fresh.unlink(missing_ok=True)
    copy(source, FilePlace(fresh))
    # The log of the file that is replaced must never be read into the new one.
    for companion in (Path(f"{target}-wal"), Path(f"{target}-shm")):
        companion.unlink(missing_ok=True)
    fresh.replace(target.path)


COMMANDS = (
    Command(
        "backup",
        "make a consistent copy of a journal, even of a running league",
        """\
examples:
  league backup league-data/my_league/journal.db journal-copy.db
  league backup league-data/my_league journal-copy.db --force    only the manager's journal
  league backup league-data/my_league copy/                      the referees' journals too, under their names
  league backup postgresql://league@db/cup journal-copy.db       out of a database, and back into one:
  league backup journal-copy.db 'postgresql://league@db/cup?schema=spring'

A league can be resumed from the copy, so the copy holds its secrets. Only its owner can read it: leave it that way.""",
        _configure_backup,
        _backup,
    ),
)
