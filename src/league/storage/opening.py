"""The door to journals of both kinds: everything that depends on where a journal is kept starts here.

A file and a schema of a database are journals alike. Only this module and the two implementations know the difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from league.storage.files import journal_files
from league.storage.files.file_lock import FileLock
from league.storage.files.sqlite import SqliteJournal
from league.storage.group_commit import KeptJournal
from league.storage.notices import JournalInUseError, Notify
from league.storage.urls import FilePlace, Place
from league.storage.write_queue import Settings

# Modules about PostgreSQL are imported where they are needed: they need a package that few installations have.


def open_for_writing(
    place: Place,
    notify: Notify,
    *,
    identity: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> KeptJournal:
    """Open a journal to be written, and make it if there is none. JournalInUseError if another process writes it."""
    if isinstance(place, FilePlace):
        return SqliteJournal(place.path, notify, identity=identity, settings=settings)
    from league.storage.database.postgres import PostgresJournal

    return PostgresJournal(place, notify, identity=identity, settings=settings)


def exists(place: Place) -> bool:
    """True if there is something at this place."""
    if isinstance(place, FilePlace):
        return place.path.exists()
    from league.storage.database.postgres_tables import journals_in

    return place in journals_in(place)


def journals_at(place: Place) -> list[Place]:
    """All journals that a place names: those of a folder, those whose schemas fit a pattern, or the one itself."""
    if not place.is_of_many:
        return [place]
    if isinstance(place, FilePlace):
        return files_in(place.path)
    from league.storage.database.postgres_tables import journals_in

    return list(journals_in(place))


def files_in(folder: Path) -> list[Place]:
    """The journals of a folder."""
    return [FilePlace(file) for file in sorted(folder.glob("*.db"))]


def journals_beside(place: Place) -> list[Place]:
    """All journals in the same folder or database, this one included."""
    if isinstance(place, FilePlace):
        return files_in(place.path.parent)
    from league.storage.database.postgres_tables import journals_in

    return list(journals_in(place.all_beside))


def stored_format(place: Place) -> int:
    """The format of a journal. JournalError if this version cannot read it."""
    if isinstance(place, FilePlace):
        return journal_files.stored_format(place.path)
    from league.storage.database.postgres_tables import stored_format

    return stored_format(place)


def copy(source: Place, target: Place) -> None:
    """Make a consistent copy, also while the journal is being written, from either kind into either kind. It is whole
    and verified, or it is not there; it holds the secrets too, since a league must be able to go on from it."""
    if isinstance(source, FilePlace) and isinstance(target, FilePlace):
        journal_files.backup(source.path, target.path)
        return
    from league.storage.database.postgres_copies import copy

    copy(source, target)


class HoldWatch(Protocol):
    """Finds out, as often as it is asked, whether a process writes a journal."""

    def is_held(self) -> bool:
        """True while a process writes the journal, or while that cannot be found out."""

    def close(self) -> None: ...


class _FileWatch:
    def __init__(self, path: Path) -> None:
        self._path = path.resolve()

    def is_held(self) -> bool:
        if not self._path.exists():
            return False
        try:
            FileLock(self._path).release()
        except JournalInUseError:
            return True
        return False

    def close(self) -> None:
        """Nothing is open."""


@contextmanager
def watch_hold(place: Place) -> Iterator[HoldWatch]:
    """Watch whether somebody writes a journal."""
    watch: HoldWatch
    if isinstance(place, FilePlace):
        watch = _FileWatch(place.path)
    else:
        from league.storage.database.postgres import DatabaseWatch

        watch = DatabaseWatch(place)
    try:
        yield watch
    finally:
        watch.close()
