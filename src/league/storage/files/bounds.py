"""Bounds on reading a journal file that a stranger may have made.

Theory of operation. A journal is an SQLite file, and SQLite does whatever the file's schema says: a view in the place
of a table can run forever, a trigger or an expression can call functions, a value can be larger than our memory. So a
file is read only within bounds:

    its schema   holds the tables, indexes and triggers that some version of this program made, word for word
    its values   have at most `VALUE_BYTES` (SQLite refuses to build a larger one)
    a statement  takes at most a number of steps that grows with the file (a crafted file may lead in circles)

What must never happen: that a file hangs its reader, or that reading it runs anything the file brought along.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable

VALUE_BYTES = 64 << 20
"""No event of ours comes near: the schedule of a thousand players has 25 MB."""
STEPS = 20_000_000
STEPS_PER_BYTE = 10
"""A row takes more bytes than this program's statements take steps to read it."""
STEPS_AT_A_TIME = 100_000


class BoundedConnection(sqlite3.Connection):
    """A connection to a file that need not be trusted."""

    def bound(self, size: Callable[[], int]) -> None:
        """Set the bounds. `size` measures the file, which may grow while it is read."""
        self.size = size
        self._steps = 0
        self._most_steps = STEPS
        self.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, VALUE_BYTES)
        self.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        self.set_progress_handler(self._progress, STEPS_AT_A_TIME)
        sqlite3.Connection.execute(self, "PRAGMA trusted_schema = OFF")

    def execute(self, *arguments: object) -> sqlite3.Cursor:
        self._steps = 0
        return super().execute(*arguments)  # type: ignore[arg-type]  # passed on as they came

    def _progress(self) -> bool:
        """Called by SQLite now and then; True stops the statement."""
        self._steps += STEPS_AT_A_TIME
        if self._steps > self._most_steps:
            self._most_steps = STEPS + STEPS_PER_BYTE * self.size()
        return self._steps > self._most_steps


def connect(target: str, size: Callable[[], int], busy_s: float = 5.0) -> BoundedConnection:
    """Open a database, by its URI, within the bounds for a file of a size."""
    # Its users take turns by locks of their own; transactions are begun and ended by hand.
    connection = sqlite3.connect(
        target,
        uri=True,
        timeout=busy_s,
        isolation_level=None,
        check_same_thread=False,
        factory=BoundedConnection,
    )
    connection.bound(size)
    return connection


def foreign_object(connection: sqlite3.Connection, statements: Iterable[str]) -> str | None:
    """Name something in the schema that none of these statements made; None if there is nothing."""
    ours = {_normalised(statement) for statement in statements}
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_schema"):
        # SQLite's own objects: an index that belongs to a key has no statement; ANALYZE makes tables for statistics.
        is_internal = str(name).startswith("sqlite_") and (sql is None or str(name).startswith("sqlite_stat"))
        if not is_internal and _normalised(str(sql)) not in ours:
            return f"the {kind} {name}"
    return None


def _normalised(statement: str) -> str:
    return " ".join(statement.split())
