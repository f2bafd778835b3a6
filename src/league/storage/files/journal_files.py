"""The journal's file: its schema, how it is opened, checked and copied.

It holds secrets: it, its companions (-wal, -shm) and its copies are for their owner alone.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from itertools import chain, count
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from league.storage import damage, formats
from league.storage.chain import StoredRow, examine
from league.storage.files import bounds
from league.storage.journal import decode
from league.storage.notices import JournalError, UnfitEventError
from league.storage.urls import DatabasePlace
from league.version import __version__

APPLICATION = 0x4C475632
"""Marks a database file as a journal (PRAGMA application_id)."""
OWNER_ONLY = 0o600
OPENED_KEY = "opened"
"""The number of the last letter, each time the journal was opened to be written."""
OPENINGS_KEPT = 1000
WAL_LEFT_OVER = 64 << 20
"""After a burst the write-ahead log is cut back to this size."""

# A change here, or to what an event holds, needs a new format: see storage/formats.py.
SCHEMA = (
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # `digest`: of all events up to this one, in the last event of each group: damage that SQLite does not see.
    """CREATE TABLE events(
        seq INTEGER PRIMARY KEY, entry INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL,
        digest BLOB NOT NULL)""",
    """CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never changed'); END""",
    """CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END""",
    # Also against INSERT OR REPLACE, which would not fire the trigger above.
    """CREATE TRIGGER events_are_added_at_the_end BEFORE INSERT ON events
        WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events)
        BEGIN SELECT RAISE(ABORT, 'events are added at the end only'); END""",
    "CREATE TABLE secrets(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    # A body that a letter shortly before had too is not stored again: `same_as` is the id of that letter, or 0.
    """CREATE TABLE letters(
        id INTEGER PRIMARY KEY, at REAL NOT NULL, direction TEXT NOT NULL, peer TEXT NOT NULL,
        message_type TEXT, match_id TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL,
        body BLOB NOT NULL, same_as INTEGER NOT NULL)""",
    "CREATE INDEX letters_of_a_match ON letters(match_id) WHERE match_id <> ''",
    "CREATE INDEX remarks ON letters(kind) WHERE kind = 'remark'",
)
TABLES = frozenset({"meta", "events", "secrets", "letters"})


DISK_ERRORS = (sqlite3.Error, UnicodeError, MemoryError)
"""The errors SQLite raises; the text of an error in a damaged file need not even be UTF-8."""
OUT_OF_BOUNDS = (sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_INTERRUPT)
NO_ROOM = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL)

blob = bytearray
"""The type of bodies bound to a statement: sqlite3 looks for an adapter of `bytes` each time, which takes longer than
all the rest."""
NO_BLOB = blob()
INSERTED_AT_ONCE = 32


def insert(connection: sqlite3.Connection, table: str, rows: Sequence[Sequence[object]]) -> None:
    """Add rows, many with one statement: that is cheaper, and between two statements sqlite3 lets other threads run."""
    for first in range(0, len(rows), INSERTED_AT_ONCE):
        chunk = rows[first : first + INSERTED_AT_ONCE]
        statement = _insertion(table, len(chunk), len(chunk[0]))
        connection.execute(statement, list(chain.from_iterable(chunk)))


@cache
def _insertion(table: str, rows: int, columns: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return f"INSERT INTO {table} VALUES {', '.join([row] * rows)}"


@contextmanager
def journal_errors(path: Path | DatabasePlace, action: str) -> Iterator[None]:
    """Turn errors of the disk and the database into a JournalError: "PATH cannot be ACTION: why"."""
    try:
        yield
    except DISK_ERRORS as error:
        if code_of(error) == sqlite3.SQLITE_NOTADB:
            raise JournalError(f"{path} is not a journal, or its beginning is damaged") from error
        if code_of(error) in OUT_OF_BOUNDS:
            raise JournalError(f"{path} was not made by this program: {_out_of_bounds(error)}") from error
        if code_of(error) == sqlite3.SQLITE_CORRUPT or isinstance(error, UnicodeError):
            sentence = damaged(path, error) if isinstance(path, Path) else f"{path} is damaged: {error}"
            raise JournalError(sentence) from error
        raise JournalError(f"{path} cannot be {action}: {error}") from error
    except OSError as error:
        raise JournalError(f"{path} cannot be {action}: {error.strerror or error}") from error


def code_of(error: Exception) -> int | None:
    """The primary result code of an error of SQLite (SQLITE_FULL, SQLITE_IOERR …), if it is one."""
    if not isinstance(error, sqlite3.Error) or not hasattr(error, "sqlite_errorcode"):
        return None
    return error.sqlite_errorcode & 0xFF


def _out_of_bounds(error: Exception) -> str:
    if code_of(error) == sqlite3.SQLITE_TOOBIG:
        return f"one of its values has more than {bounds.VALUE_BYTES >> 20} MB"
    return "reading it takes far longer than its size explains"


def make_folders(path: Path) -> None:
    """Make the folders above a journal, so that they survive a power cut."""
    with journal_errors(path, "opened"):
        missing = [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        for folder in missing:
            _sync(folder.parent)


def create(path: Path, identity: Mapping[str, str]) -> None:
    """Make the journal if there is none: whole, or not at all. So an empty file is one that was emptied."""
    with journal_errors(path, "opened"):
        if path.exists():
            return
        part = path.with_name(f"{path.name}.{os.getpid()}.new")
        part.unlink(missing_ok=True)
        try:
            os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
            with closing(_connect(part, "rw", 5.0)) as connection:
                connection.execute("BEGIN IMMEDIATE")
                _build(connection, identity)
                connection.execute("COMMIT")
            _sync(part)
            with suppress(FileExistsError):  # somebody else was faster
                os.link(part, path)
        finally:
            part.unlink(missing_ok=True)
        _sync(path.parent)


class Upgrade(NamedTuple):
    """A journal of an older format was brought up to date; `backup` is a copy of it as it was."""

    old_format: int
    backup: Path | DatabasePlace


class OpenedJournal(NamedTuple):
    """A journal that can be written."""

    connection: sqlite3.Connection
    upgrade: Upgrade | None


def open_writable(path: Path, identity: Mapping[str, str], busy_s: float) -> OpenedJournal:
    """Open the journal at `path`, and bring it up to date if its format is older. The caller holds its lock."""
    with journal_errors(path, "opened"):
        _keep_private(path)
        _refuse_empty(path)
        connection = _connect(path, "rw", busy_s)
        try:
            check(connection, path)
            _compare(connection, path, identity)
            upgrade = _upgrade(connection, path)
            if upgrade is None:
                verify_events(connection, path)
            _prepare(connection, path)
            # Also if nothing is new: a file that may only be read shows itself here.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                """INSERT INTO meta VALUES (?, ?)
                    ON CONFLICT DO UPDATE SET value = excluded.value WHERE value <> excluded.value""",
                (formats.WRITTEN_BY_KEY, __version__),
            )
            _note_opening(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
    return OpenedJournal(connection, upgrade)


def _note_opening(connection: sqlite3.Connection) -> None:
    last_letter = connection.execute("SELECT coalesce(max(id), 0) FROM letters").fetchone()[0]
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (OPENED_KEY,)).fetchone()
    openings = with_opening(row[0] if row else "", last_letter)
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (OPENED_KEY, openings))


def with_opening(openings: str, last_letter: int) -> str:
    """Add a number to those of the letters behind which the journal was opened: a process that starts again may repeat
    what it said."""
    return " ".join([*openings.split(), str(last_letter)][-OPENINGS_KEPT:])


def _upgrade(connection: sqlite3.Connection, path: Path) -> Upgrade | None:
    """Bring a journal of an older format up to date, after a copy of it was made beside it."""
    old_format = formats.format_of(connection)
    if old_format == formats.FORMAT:
        return None
    backup_path = _free_name(path, f"format-{old_format}")
    copy_to(connection, path, backup_path)
    # One transaction: whenever this process dies, the file is in its old format or in the new one.
    connection.execute("BEGIN IMMEDIATE")
    try:
        formats.migrate(connection)
        verify_events(connection, path)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return Upgrade(old_format, backup_path)


def _free_name(path: Path, suffix: str) -> Path:
    """The name of a copy beside a journal. Not *.db, which would make it one of the folder's journals."""
    names = chain(
        [path.with_name(f"{path.name}.{suffix}")],
        (path.with_name(f"{path.name}.{suffix}-{number}") for number in count(2)),
    )
    return next(name for name in names if not name.exists())


def open_readable(path: Path) -> sqlite3.Connection:
    """Open the journal at `path` for reading only; another process may be writing it.

    One of an older format reads like the newest; the file stays as it is.
    """
    if not path.is_file():
        raise JournalError(f"there is no journal at {path}")
    with journal_errors(path, "read"):
        _refuse_empty(path)
        try:
            return _checked(_connect(path, "ro", 5.0), path)
        except sqlite3.OperationalError as error:
            # On a medium that is full or cannot be written there is no room for the -shm file; nobody writes there.
            if code_of(error) not in NO_ROOM or _has_log(path):
                raise
            return _checked(_connect(path, "ro&immutable=1", 5.0), path)


def stored_format(path: Path) -> int:
    """Return the format of the journal at `path`. JournalError if this version cannot read it."""
    with journal_errors(path, "read"), closing(open_readable(path)) as connection:
        return formats.format_of(connection)


def check(connection: sqlite3.Connection, path: Path) -> None:
    """Raise JournalError if this is anything but a journal that this version can read."""
    application: int = connection.execute("PRAGMA application_id").fetchone()[0]
    if application != APPLICATION:
        raise JournalError(f"{path} is a database of another program, not a journal")
    problem = formats.unreadable_format(connection)
    if problem:
        raise JournalError(f"{path} {problem}")
    foreign_object = bounds.foreign_object(connection, SCHEMA)
    if foreign_object:
        raise JournalError(f"{path} was not made by this program: {foreign_object} is not part of a journal")
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    missing = TABLES - tables
    if missing:
        raise JournalError(f"{path} is not a journal, or it is damaged: it has no table {min(missing)}")


class SqliteRows:
    """The tables of a journal in a file, for reading. Any thread may use it."""

    body_holds = "instr(body, ?) > 0"

    def __init__(self, journal: Path, connection: sqlite3.Connection) -> None:
        self._journal = journal
        self.connection = connection
        self._one_reads = Lock()

    def rows(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        with self._one_reads, journal_errors(self._journal, "read"):
            return self.connection.execute(query, values).fetchall()

    def damaged(self, why: object) -> str:
        return damaged(self._journal, why)

    def close(self) -> None:
        with self._one_reads:
            self.connection.close()


def backup(path: Path, target: Path) -> None:
    """Make a consistent copy, also while the journal is being written. It is whole and verified, or it is not there;
    it holds the secrets too, since a league must be able to go on from it."""
    if target.exists():
        raise JournalError(f"{target} exists already; a backup never replaces a file")
    with journal_errors(path, "read"), closing(open_readable(path)) as source:
        copy_to(source, path, target)


def rescue(source: sqlite3.Connection, path: Path) -> Path:
    """Copy a journal whose file is gone, from the connection that is still open, to beside its place."""
    target = path.with_name(f"{path.name}.rescued-{os.getpid()}")
    copy_to(source, path, target)
    return target


def copy_to(source: sqlite3.Connection, path: Path, target: Path) -> None:
    """Copy a journal from a connection into a new file. `path` names the journal in errors."""
    part = target.with_name(f"{target.name}.part")
    # Under another name until it is whole: an interrupted copy is never taken for a backup.
    with journal_errors(target, "written"):
        part.unlink(missing_ok=True)
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
        try:
            with closing(_connect(part, "rw", 5.0)) as copy:
                source.backup(copy)
                _verify(copy, path)
            _sync(part)
            part.rename(target)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        _sync(target.absolute().parent)


def _verify(copy: sqlite3.Connection, path: Path) -> None:
    """A copy of a damaged journal is damaged: better to know it now."""
    with journal_errors(path, "copied"):
        check(copy, path)
        verdict = copy.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if verdict != "ok":
            raise JournalError(damaged(path, verdict))
        verify_events(copy, path)


# --- damage -----------------------------------------------------------------------------------------------------------


def damaged(path: Path, why: object) -> str:
    """Say what is wrong with a journal, how much of it is sound, and what to do."""
    sound = 0
    written_by = ""
    with suppress(*DISK_ERRORS, OSError), closing(_connect(path, "ro", 5.0)) as connection:
        sound = why.seq - 1 if isinstance(why, UnfitEventError) else examine(_stored_rows(connection)).sound
        written_by = formats.written_by(connection)
    return damage.sentence(path, why, sound, written_by)


def _stored_rows(connection: sqlite3.Connection) -> Iterator[StoredRow | None]:
    """The rows of all events; None where one cannot be read."""
    try:
        for row in connection.execute("SELECT seq, entry, at, kind, body, digest FROM events ORDER BY seq"):
            decode(row[4])
            yield StoredRow(*row)
    except (*DISK_ERRORS, ValueError, TypeError):
        yield None


def verify_events(connection: sqlite3.Connection, journal: Path | DatabasePlace) -> None:
    """Raise JournalError if any event cannot be read, or is not as it was written."""
    examination = examine(_stored_rows(connection))
    if not examination.is_whole:
        raise JournalError(
            damage.sentence(
                journal,
                f"what follows event {examination.sound} is not as it was written",
                examination.sound,
                formats.written_by(connection),
            )
        )


# --- steps of opening -------------------------------------------------------------------------------------------------


def _keep_private(path: Path) -> None:
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm")):
        if file.exists() and file.stat().st_mode & 0o077:
            file.chmod(OWNER_ONLY)


def _refuse_empty(path: Path) -> None:
    if path.stat().st_size == 0:
        raise JournalError(
            f"{path} is empty, which no journal is: something has emptied it. To go on with its league put a copy made "
            "by 'league backup' in its place; to begin anew remove it"
        )


def _sync(path: Path) -> None:
    is_folder = path.is_dir()
    if is_folder and sys.platform == "win32":
        return  # folders can't be opened there, and their entries are on disk when their files are
    file = os.open(path, os.O_RDONLY if is_folder else os.O_RDWR)  # Windows syncs only what may be written
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _connect(path: Path, mode: str, busy_s: float) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    if mode != "rw":
        # A file that is only read may be anybody's.
        return bounds.connect(uri, lambda: _size(path), busy_s)
    # Its users take turns by locks of their own; transactions are begun and ended by hand.
    return sqlite3.connect(
        uri,
        uri=True,
        timeout=busy_s,
        isolation_level=None,
        check_same_thread=False,
    )


def _checked(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        check(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _has_log(path: Path) -> bool:
    return _log_size(path) > 0


def _log_size(path: Path) -> int:
    log = Path(f"{path}-wal")
    return log.stat().st_size if log.exists() else 0


def _size(path: Path) -> int:
    return path.stat().st_size + _log_size(path)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    mode: str = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise JournalError(f"{path} cannot be opened: its file system or its mode allows no write-ahead log")
    connection.execute("PRAGMA synchronous = FULL")
    # Without this a commit on macOS survives a crash but no power cut; elsewhere it does nothing.
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_LEFT_OVER}")


def _build(connection: sqlite3.Connection, identity: Mapping[str, str]) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {formats.FORMAT}")
    rows = {**identity, formats.FORMAT_KEY: str(formats.FORMAT), formats.WRITTEN_BY_KEY: __version__}
    connection.executemany("INSERT INTO meta VALUES (?, ?)", rows.items())


def _compare(connection: sqlite3.Connection, path: Path, identity: Mapping[str, str]) -> None:
    stored = dict(connection.execute("SELECT key, value FROM meta WHERE key IN ('role', 'league_id')"))
    require_identity(str(path), stored, identity)


def require_identity(journal: str, stored: Mapping[str, str], identity: Mapping[str, str]) -> None:
    """Refuse the journal of another role or another league."""
    for key, words in (("role", "role"), ("league_id", "league")):
        expected = identity.get(key)
        actual = stored.get(key)
        if expected and actual and expected != actual:
            raise JournalError(f"{journal} is the journal of the {words} {actual}, not {expected}")
