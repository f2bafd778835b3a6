"""The tables of journals in a PostgreSQL database: how they are reached, made, checked and read.

A journal is a schema, with the tables that a file has and one more: `writer` has one row, which says who writes the
journal (see postgres.py). The search path of each connection is that schema, so queries are the same for both kinds.

asyncpg needs an event loop, and those who read and write journals have none, or must not wait on theirs. So every
connection has a loop of its own that runs only while it is used (`Database.run`).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
from itertools import count
from threading import Lock
from typing import Any, TypeVar

from league.storage import damage, formats
from league.storage.chain import Examination, StoredRow, examine
from league.storage.journal import decode
from league.storage.notices import JournalError
from league.storage.urls import DatabasePlace
from league.version import __version__

try:
    import asyncpg
except ImportError as missing:
    raise JournalError(
        "a journal in PostgreSQL needs the package asyncpg: pip install 'agent-league[postgres]'"
    ) from missing
new_loop: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
with suppress(ImportError):
    import uvloop

    new_loop = uvloop.new_event_loop

CONNECT_S = 2.0
COMMAND_S = 30.0
"""How long a query may take, reports over whole journals included."""
CHUNK = 500

OLD_FORMAT = "format_"
"""The names of schemas that are journals as they were before they were brought up to date begin with this."""
TABLES = ("meta", "events", "secrets", "letters", "writer")
# As in files/journal_files.py; a change here, or to what an event holds, needs a new format: see storage/formats.py.
SCHEMA = (
    "CREATE TABLE meta(key text PRIMARY KEY, value text NOT NULL)",
    """CREATE TABLE events(
        seq bigint PRIMARY KEY, entry bigint NOT NULL, at float8 NOT NULL, kind text NOT NULL, body bytea NOT NULL,
        digest bytea NOT NULL)""",
    """CREATE FUNCTION refuse_changes() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'events are never changed or deleted'; END $$""",
    """CREATE TRIGGER events_are_never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON events
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_changes()""",
    "CREATE TABLE secrets(name text PRIMARY KEY, value text NOT NULL)",
    """CREATE TABLE letters(
        id bigint PRIMARY KEY, at float8 NOT NULL, direction text NOT NULL, peer text NOT NULL,
        message_type text, match_id text NOT NULL, kind text NOT NULL, status text NOT NULL,
        body bytea NOT NULL, same_as bigint NOT NULL)""",
    "CREATE INDEX letters_of_a_match ON letters(match_id) WHERE match_id <> ''",
    "CREATE INDEX remarks ON letters(kind) WHERE kind = 'remark'",
    # `stored`: the number of the group that this writer stored last.
    """CREATE TABLE writer(
        fence bigint NOT NULL, token text NOT NULL, holder text NOT NULL, backend integer NOT NULL,
        renewed_at timestamptz NOT NULL, stored bigint NOT NULL)""",
    "INSERT INTO writer VALUES (0, '', '', 0, '-infinity', 0)",
)

ERRORS = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError)
_DURABLE = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
"""An answer must mean that a group survives a crash of the server, whatever the server's usual setting is."""
_LOST = re.compile("08|57")
"""Classes of errors with which the server ends the connection, or may have."""
T = TypeVar("T")
Work = Callable[[asyncpg.Connection], Awaitable[T]]


def is_connection_lost(error: Exception) -> bool:
    """True if nobody knows what became of the statement: the connection broke, or there was no answer in time."""
    if isinstance(error, asyncpg.PostgresError):
        return error.sqlstate is None or _LOST.match(error.sqlstate) is not None
    return True


def reason(error: Exception) -> str:
    """An error of asyncpg in words."""
    if isinstance(error, TimeoutError):
        return "the server does not answer"
    return str(error).partition("\n")[0] or type(error).__name__


@contextmanager
def journal_errors(place: DatabasePlace, action: str) -> Iterator[None]:
    """Turn errors of the database into a JournalError: "PLACE cannot be ACTION: why"."""
    try:
        yield
    except asyncpg.UndefinedTableError as error:
        raise JournalError(f"there is no journal at {place}") from error
    except ERRORS as error:
        raise JournalError(f"{place} cannot be {action}: {reason(error)}") from error


class Database:
    """One connection, for callers without an event loop. Any thread may use it, one at a time."""

    def __init__(self, place: DatabasePlace) -> None:
        self._place = place
        self._loop: asyncio.AbstractEventLoop = new_loop()
        self._connection: asyncpg.Connection | None = None
        self._one_works = Lock()

    def run(self, work: Work[T], timeout_s: float = COMMAND_S) -> T:
        """Do some work with the connection, which is made if there is none. After an error that may have cost us the
        connection, the next work gets a new one."""
        with self._one_works:
            if self._loop.is_closed():
                raise asyncpg.InterfaceError("it is closed")
            if not _is_in_loop():
                return self._loop.run_until_complete(self._do(work, timeout_s))
            # A thread has one running loop at most, so another thread must do it.
            with ThreadPoolExecutor(1) as helper:
                return helper.submit(self._loop.run_until_complete, self._do(work, timeout_s)).result()

    async def _do(self, work: Work[T], timeout_s: float) -> T:
        try:
            async with asyncio.timeout(timeout_s):
                if self._connection is None:
                    self._connection = await self._connect()
                return await work(self._connection)
        except ERRORS as error:
            if self._connection is not None and is_connection_lost(error):
                self._connection.terminate()
                self._connection = None
                await asyncio.sleep(0)  # lets the transport close
            raise

    async def _connect(self) -> asyncpg.Connection:
        try:
            connection = await asyncpg.connect(
                self._place.dsn,
                timeout=CONNECT_S,
                server_settings={"search_path": self._place.schema, "application_name": "league"},
            )
        except (ValueError, asyncpg.InterfaceError) as error:
            # A URL that asyncpg does not understand. The text may repeat a part of it.
            raise JournalError(f"{self._place} cannot be reached: its URL is not one of a database") from error
        await connection.execute(_DURABLE)
        return connection

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    def close(self) -> None:
        with self._one_works:
            if self._loop.is_closed():
                return
            if self._connection is not None:
                self._connection.terminate()
                self._connection = None
                # The socket is closed in the next turn of the loop.
                if _is_in_loop():
                    with ThreadPoolExecutor(1) as helper:
                        helper.submit(self._loop.run_until_complete, asyncio.sleep(0)).result()
                else:
                    self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@lru_cache(maxsize=64)
def numbered(query: str) -> str:
    """A query with the placeholders of PostgreSQL."""
    numbers = count(1)
    return re.sub(r"\?", lambda _: f"${next(numbers)}", query)


class PostgresRows:
    """The tables of a journal in a database, for reading. Any thread may use it."""

    body_holds = "position(? in body) > 0"

    def __init__(self, place: DatabasePlace) -> None:
        self._place = place
        self._database = Database(place)
        self._in_snapshot = False

    def rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with journal_errors(self._place, "read"):
            try:
                return self._rows(query, values)
            except ERRORS as error:
                # A connection may have been cut long ago. To read once more does no harm.
                if self._in_snapshot or not is_connection_lost(error):
                    raise
                return self._rows(query, values)

    def _rows(self, query: str, values: Sequence[object]) -> list[Any]:
        return self._database.run(lambda connection: connection.fetch(numbered(query), *values))

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read everything as it is at this moment."""
        self.rows("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        self._in_snapshot = True
        try:
            yield
        finally:
            self._in_snapshot = False
            self.rows("ROLLBACK")

    def chunks(self, table: str, key: str) -> Iterator[list[Any]]:
        """All rows of a table, in the order of its key, which is its first column."""
        after: list[object] = []
        while True:
            condition = f"WHERE {key} > ?" if after else ""
            rows = self.rows(f"SELECT * FROM {table} {condition} ORDER BY {key} LIMIT {CHUNK}", after)
            if rows:
                yield rows
                after = [rows[-1][0]]
            if len(rows) < CHUNK:
                return

    def examine(self, meanwhile: Callable[[], None] = lambda: None) -> Examination:
        """Find out whether all events can be read and are as they were written. `meanwhile` is called often."""
        return examine(self._stored_rows(meanwhile))

    def _stored_rows(self, meanwhile: Callable[[], None]) -> Iterator[StoredRow | None]:
        try:
            for rows in self.chunks("events", "seq"):
                meanwhile()
                for row in rows:
                    decode(row[4])
                    yield StoredRow(*row)
        except (ValueError, TypeError):
            yield None

    def damaged(self, why: object) -> str:
        meta = dict(self.rows("SELECT key, value FROM meta"))
        return damage.sentence(self._place, why, self.examine().sound, meta.get(formats.WRITTEN_BY_KEY, ""))

    def close(self) -> None:
        self._database.close()


def open_tables(place: DatabasePlace) -> PostgresRows:
    """Open a journal for reading. One of an older format reads like the newest; it stays as it is."""
    tables = PostgresRows(place)
    try:
        _checked_format(tables, place)
    except BaseException:
        tables.close()
        raise
    return tables


def stored_format(place: DatabasePlace) -> int:
    """The format of a journal. JournalError if this version cannot read it."""
    with closing(PostgresRows(place)) as tables:
        return _checked_format(tables, place)


def _checked_format(tables: PostgresRows, place: DatabasePlace) -> int:
    if place.is_of_many:
        raise JournalError(f"{place} names several journals; name one schema")
    return check(place, dict(tables.rows("SELECT key, value FROM meta")))


def check(place: DatabasePlace, meta: Mapping[str, str]) -> int:
    """Return the format of a journal. JournalError if it is anything but a journal that this version can read."""
    stored = meta.get(formats.FORMAT_KEY, "")
    if not stored.isdecimal():
        raise JournalError(f"{place} is a schema of another program, not a journal")
    if int(stored) > formats.FORMAT:
        raise JournalError(f"{place} {formats.unknown_format(int(stored), meta.get(formats.WRITTEN_BY_KEY, ''))}")
    return int(stored)


async def create(connection: asyncpg.Connection, place: DatabasePlace, meta: Mapping[str, str]) -> bool:
    """Make the journal if there is none: whole, or not at all. Return True if it was made."""
    async with connection.transaction():
        # Somebody else may be making it.
        await connection.execute("SELECT pg_advisory_xact_lock(hashtext($1))", f"league {place.schema}")
        query = "SELECT table_name FROM information_schema.tables WHERE table_schema = $1"
        existing = {row[0] for row in await connection.fetch(query, place.schema)}
        if existing.issuperset(TABLES):
            return False
        if existing:
            raise JournalError(f"{place} is a schema of another program, not a journal; name another with ?schema=NAME")
        has_schema = await connection.fetchval("SELECT to_regnamespace($1) IS NOT NULL", place.schema)
        if not has_schema:
            await connection.execute(f"CREATE SCHEMA {place.schema}")
        for statement in SCHEMA:
            await connection.execute(statement)
        await connection.executemany("INSERT INTO meta VALUES ($1, $2)", list(meta.items()))
        return True


def new_meta(identity: Mapping[str, str]) -> dict[str, str]:
    """The facts of a new journal about itself."""
    return {**identity, formats.FORMAT_KEY: str(formats.FORMAT), formats.WRITTEN_BY_KEY: __version__}


def journals_in(place: DatabasePlace) -> list[DatabasePlace]:
    """The journals whose schemas fit the pattern of this place."""
    query = """SELECT table_schema::text FROM information_schema.tables WHERE table_name = ANY($1)
        GROUP BY table_schema HAVING count(*) = cardinality($1) ORDER BY table_schema"""
    database = Database(place)
    try:
        with journal_errors(place, "read"):
            rows = database.run(lambda connection: connection.fetch(query, list(TABLES)))
    finally:
        database.close()
    beginning = place.schema.removesuffix("*")
    schemas = [schema for (schema,) in rows if schema.startswith(beginning) and not schema.startswith(OLD_FORMAT)]
    return [DatabasePlace(place.dsn, schema) for schema in schemas]
