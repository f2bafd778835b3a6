"""Copies of journals into and out of databases, and journals of an older format in databases.

A copy holds the same rows as its source, so its chain of digests is the same. A copy in a database is made in one
transaction: it is whole, or it is not there.

A writer copies a journal of an older format into a new schema, and keeps the old one under another name.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import asyncpg

from league.storage import formats
from league.storage.database import postgres_tables
from league.storage.database.postgres_tables import CHUNK, Database, PostgresRows
from league.storage.files import journal_files
from league.storage.files.journal_files import Upgrade
from league.storage.notices import JournalError
from league.storage.urls import DatabasePlace, FilePlace, Place

KEYS: Final = {"meta": "key", "events": "seq", "secrets": "name", "letters": "id"}
"""The tables of a copy, and the first column of each, by which its rows are sorted."""
COPY_S = 600.0


def copy(source: Place, target: Place) -> None:
    """Copy a journal from a file or database into a file or database."""
    with closing(_as_sqlite(source)) as connection:
        if isinstance(target, FilePlace):
            _into_file(connection, target.path)
        else:
            _into_database(connection, target)


def _as_sqlite(place: Place) -> sqlite3.Connection:
    """A connection to the journal: to the file itself, or to a temporary copy."""
    if isinstance(place, FilePlace):
        return journal_files.open_readable(place.path)
    with closing(postgres_tables.open_tables(place)) as tables:
        return _in_sqlite(tables)


def _in_sqlite(tables: PostgresRows) -> sqlite3.Connection:
    # An empty name is a database that only this connection sees, and that is gone with it.
    copied = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    try:
        copied.execute("BEGIN")
        for statement in journal_files.SCHEMA:
            copied.execute(statement)
        with tables.snapshot():
            for table, key in KEYS.items():
                for rows in tables.chunks(table, key):
                    journal_files.insert(copied, table, rows)
        stored = copied.execute("SELECT value FROM meta WHERE key = ?", (formats.FORMAT_KEY,)).fetchone()
        copied.execute(f"PRAGMA user_version = {int(stored[0])}")
        copied.execute(f"PRAGMA application_id = {journal_files.APPLICATION}")
        copied.execute("COMMIT")
    except BaseException:
        copied.close()
        raise
    return copied


def _into_file(connection: sqlite3.Connection, target: Path) -> None:
    if target.exists():
        raise JournalError(f"{target} exists already; a backup never replaces a file")
    journal_files.copy_to(connection, target, target)


def _into_database(connection: sqlite3.Connection, target: DatabasePlace) -> None:
    async def fill(database: asyncpg.Connection) -> bool:
        async with database.transaction():
            if not await postgres_tables.create(database, target, {}):
                return False
            await _insert(database, target, connection)
            return True

    with closing(Database(target)) as database, postgres_tables.journal_errors(target, "written"):
        if not database.run(fill, COPY_S):
            raise JournalError(f"{target} exists already; a copy never replaces a journal")


async def _insert(database: asyncpg.Connection, target: DatabasePlace, source: sqlite3.Connection) -> None:
    """Put all rows of a journal into empty tables, and make sure that they are sound."""
    journal_files.verify_events(source, target)
    # One read transaction: the file may be written meanwhile.
    source.execute("BEGIN")
    try:
        for table, key in KEYS.items():
            for rows in _chunks(source, table, key):
                await database.copy_records_to_table(table, schema_name=target.schema, records=rows)
    finally:
        source.execute("ROLLBACK")


def _chunks(source: sqlite3.Connection, table: str, key: str) -> Iterator[list[tuple[Any, ...]]]:
    condition = "WHERE key <> 'probe'" if table == "meta" else ""
    cursor = source.execute(f"SELECT * FROM {table} {condition} ORDER BY {key}")
    while rows := cursor.fetchmany(CHUNK):
        yield rows


# --- older formats ----------------------------------------------------------------------------------------------------


def upgrade(database: Database, place: DatabasePlace, meta: Mapping[str, str]) -> Upgrade | None:
    """Bring a journal of an older format up to date. Its old schema stays, under another name. The caller holds the
    fence, which stays as it is."""
    old_format = int(meta[formats.FORMAT_KEY])
    if old_format == formats.FORMAT:
        return None
    with closing(PostgresRows(place)) as tables, closing(_in_sqlite(tables)) as newest:
        formats.migrate(newest)

        async def replace(connection: asyncpg.Connection) -> DatabasePlace:
            async with connection.transaction():
                backup = await _free_schema(connection, place, old_format)
                await connection.execute(f"ALTER SCHEMA {place.schema} RENAME TO {backup.schema}")
                await postgres_tables.create(connection, place, {})
                await _insert(connection, place, newest)
                await connection.execute("DELETE FROM writer")
                await connection.execute(f"INSERT INTO writer SELECT * FROM {backup.schema}.writer")
                return backup

        backup = database.run(replace, COPY_S)
    return Upgrade(old_format, backup)


async def _free_schema(connection: asyncpg.Connection, place: DatabasePlace, old_format: int) -> DatabasePlace:
    """A name that no pattern takes for one of the league's journals."""
    rows = await connection.fetch("SELECT nspname::text FROM pg_namespace")
    taken = {row[0] for row in rows}
    name = f"{postgres_tables.OLD_FORMAT}{old_format}_{place.schema}"[:60]
    number = 1
    free = name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return DatabasePlace(place.dsn, free)
