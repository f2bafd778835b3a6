"""Homes of journals, one of each kind, with what can happen to them: the same tests run against all."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from league.storage import opening, urls
from league.storage.group_commit import KeptJournal
from league.storage.notices import Notify
from league.storage.reading import JournalReader, open_for_reading
from league.storage.urls import Place
from league.storage.write_queue import Settings
from tests.support.journals import locked_by_another
from tests.support.postgres import PostgresServer


class Home(Protocol):
    """The home of one journal."""

    @property
    def place(self) -> Place: ...

    def refusing(self) -> AbstractContextManager[None]:
        """Commits fail for real, and work again afterwards."""

    def change(self, *statements: str) -> None:
        """Somebody else writes into the tables of the journal."""


class FileHome:
    """A journal in an SQLite file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "journal.db"
        self.place: Place = urls.FilePlace(self._path)

    def refusing(self) -> AbstractContextManager[None]:
        return locked_by_another(self._path)

    def change(self, *statements: str) -> None:
        with closing(sqlite3.connect(self._path)) as other, other:
            for statement in statements:
                other.execute(statement)


class DatabaseHome:
    """A journal in a schema of PostgreSQL."""

    def __init__(self, server: PostgresServer) -> None:
        place = urls.parse(server.new_url())
        assert isinstance(place, urls.DatabasePlace)
        self._server = server
        self._schema = place.schema
        self.place: Place = place

    @contextmanager
    def refusing(self) -> Iterator[None]:
        tables = ("events", "meta")
        self.change(*(f"ALTER TABLE {table} ADD CONSTRAINT refused CHECK (false) NOT VALID" for table in tables))
        yield
        self.change(*(f"ALTER TABLE {table} DROP CONSTRAINT refused" for table in tables))

    def change(self, *statements: str) -> None:
        self._server.sql(";".join((f"SET search_path TO {self._schema}", *statements)))


def write(home: Home, notify: Notify, identity: dict[str, str] | None = None, **settings: Any) -> KeptJournal:
    """Open the journal of a home to write it."""
    return opening.open_for_writing(
        home.place, notify, identity=identity, settings=Settings(**{"busy_s": 0, **settings})
    )


def read(home: Home) -> JournalReader:
    """Open the journal of a home to read it."""
    return open_for_reading(home.place)
