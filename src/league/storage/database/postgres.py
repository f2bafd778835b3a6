"""The journal in a PostgreSQL database: each group is one statement, with the fence inside.

Theory of operation. The table `writer` has one row: the number `fence`, who holds it, and when it was last confirmed.
A process becomes the writer by raising the fence. It may do so if the holder let go, has no connection to the server
any more, or has not confirmed for `LEASE_S` seconds by the server's clock (a stopped process, a lost host); after a
restart of the server the holder has `RESTART_S` seconds to connect anew. Every group
is stored by one statement that first updates this row `WHERE fence = ours`, and inserts only if that hit; if nothing
is to be stored, the writer thread confirms the fence at least every `RENEW_S` seconds in the same way. So a writer
whose fence was raised by another stores nothing more, whatever it believes, and learns so by its next statement
(`JournalLostError`). Nothing leaves an agent before it is stored, so nothing that only the old writer knows can leave.

When the connection breaks while a group is on its way, nobody knows whether the group was stored, and the old statement
may still be running. The writer then connects anew and raises its own fence: this waits for a statement that runs, and
bars one that has not begun. The row says which group was stored last (`stored`), and now that is certain: a group that
was not stored is stored once more. If no new connection can be made, the group counts as failed. Callers get E041, and
the machine is built anew from the journal once the server is back, with the group or without it.

What must never happen: that two writers store groups in turn; that a group is stored twice, or stored after its callers
were told that it was not and the machine was built anew.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from typing import TYPE_CHECKING, Any

import asyncpg

from league.storage import formats
from league.storage.database import postgres_tables as tables
from league.storage.database.postgres_copies import upgrade
from league.storage.database.postgres_tables import Database, PostgresRows, is_connection_lost, reason
from league.storage.files.journal_files import OPENED_KEY, require_identity, with_opening
from league.storage.group_commit import GroupRows, GroupWriter, KeptJournal
from league.storage.leases import holder_token, lease_time
from league.storage.notices import (
    JournalError,
    JournalInUseError,
    JournalLostError,
    Notify,
    StorageError,
)
from league.storage.urls import DatabasePlace
from league.storage.write_queue import Settings, WriteGroup
from league.version import __version__

if TYPE_CHECKING:
    from league.storage.transcripts.pruning import Statement

LEASE_S = 3.0
"""A writer that has not confirmed its fence for this long may be replaced."""
RESTART_S = 6.0
"""The time that a writer has after the start of the server, recovery from a crash included."""
GONE_S = 1.0
"""A writer without a connection may be replaced after this time: it may be connecting anew."""
RENEW_S = 0.5
POLL_S = 0.25
SHORTEST_WAIT_S = 1.0
"""How long a group may take, even if the lease ends earlier."""
PRUNE_S = 600.0
"""How long it may take to remove letters."""
WRITE_ERRORS = (*tables.ERRORS, JournalError, StorageError)

# Nobody could confirm a fence while the server was down, so the holder gets time to connect anew.
_IS_FREE = f"""(token = ''
    OR (renewed_at < clock_timestamp() - interval '{LEASE_S} s'
        AND (renewed_at > pg_postmaster_start_time()
            OR pg_postmaster_start_time() < clock_timestamp() - interval '{RESTART_S} s'))
    OR (renewed_at < clock_timestamp() - interval '{GONE_S} s' AND renewed_at > pg_postmaster_start_time()
        AND NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = backend)))"""
_TAKE = f"""UPDATE writer SET fence = fence + 1, token = $1, holder = $2, backend = pg_backend_pid(),
    renewed_at = clock_timestamp(), stored = 0 WHERE {_IS_FREE} RETURNING fence"""
_TAKE_ONCE_MORE = """UPDATE writer SET fence = fence + 1, backend = pg_backend_pid(), renewed_at = clock_timestamp()
    WHERE token = $1 RETURNING fence, stored"""
_CONFIRM = "UPDATE writer SET renewed_at = clock_timestamp() WHERE fence = $1 RETURNING fence"
_LET_GO = "UPDATE writer SET token = '', backend = 0, renewed_at = '-infinity' WHERE fence = $1"
_SET = "INSERT INTO meta VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
_PROBE = """INSERT INTO meta SELECT 'probe', string_agg(md5(random()::text), '') FROM generate_series(1, $1::int / 32)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value"""


# --- the statement of a group -----------------------------------------------------------------------------------------

_FENCE = "fence AS (UPDATE writer SET renewed_at = clock_timestamp(), stored = $2 WHERE fence = $1 RETURNING 1)"
_EVENTS = """added AS (INSERT INTO events
    SELECT seq, entry, at, kind, body, CASE seq WHEN {last} THEN {digest}::bytea ELSE ''::bytea END
    FROM fence, unnest({seq}::bigint[], {entry}::bigint[], {at}::float8[], {kind}::text[], {body}::bytea[])
        AS event(seq, entry, at, kind, body))"""
_SECRETS = """kept AS (INSERT INTO secrets SELECT name, value FROM fence, unnest({name}::text[], {value}::text[])
        AS secret(name, value)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value)"""
_LETTERS = """noted AS (INSERT INTO letters SELECT letter.* FROM fence, unnest(
        {id}::bigint[], {at}::float8[], {direction}::text[], {peer}::text[], {message_type}::text[], {match_id}::text[],
        {kind}::text[], {status}::text[], {body}::bytea[], {same_as}::bigint[]) AS letter)"""
_META = """counted AS (INSERT INTO meta SELECT key, value FROM fence, unnest({key}::text[], {value}::text[])
        AS fact(key, value)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value)"""


@cache
def _statement(with_events: bool, with_secrets: bool, with_letters: bool, with_meta: bool) -> str:
    """The statement that stores the parts a group has. Its values come in the order of the names below."""
    number = 2
    parts = [_FENCE]
    for is_used, part, names in (
        (with_events, _EVENTS, "last digest seq entry at kind body"),
        (with_secrets, _SECRETS, "name value"),
        (with_letters, _LETTERS, "id at direction peer message_type match_id kind status body same_as"),
        (with_meta, _META, "key value"),
    ):
        if is_used:
            places = {name: f"${number + place}" for place, name in enumerate(names.split(), start=1)}
            parts.append(part.format(**places))
            number += len(places)
    return f"WITH {', '.join(parts)} SELECT count(*) FROM fence"


def _values(rows: GroupRows) -> list[object]:
    values: list[object] = []
    if rows.events:
        values += [rows.head.seq, rows.head.digest]
        values += zip(*rows.events, strict=True)
    if rows.secrets:
        # A statement may write a row only once: the newest value of a name counts.
        newest = dict(rows.secrets)
        values += [list(newest), list(newest.values())]
    if rows.transcript.letters:
        values += zip(*rows.transcript.letters, strict=True)
    if rows.transcript.meta:
        values += [list(rows.transcript.meta), list(rows.transcript.meta.values())]
    return values


# --- the writer -------------------------------------------------------------------------------------------------------


class _DatabaseWriter(GroupWriter):
    """Writes groups into the schema of a journal. It holds the fence from its start to `close`."""

    renew_s = RENEW_S

    def __init__(self, place: DatabasePlace, database: Database, transcript_bytes: int) -> None:
        super().__init__(transcript_bytes)
        self._place = place
        self._database = database
        self._token = holder_token()
        self._group = 0
        """The number of the group that was sent last."""
        self._stored = 0
        """The number of the group that is known to be stored; read when the fence is raised."""
        self._fence = self._take()

    # --- the fence ----------------------------------------------------------------------------------------------------

    def _take(self) -> int:
        """Become the writer. A holder that confirms its fence while we wait is alive."""
        holder = f"process {os.getpid()} on {socket.gethostname()}"
        first = None
        while True:
            sent_at = lease_time()
            fence = self._value(_TAKE, self._token, holder)
            if fence is not None:
                self.lease_until = sent_at + LEASE_S
                return int(fence)
            renewed_at, holder_now = self._row("SELECT renewed_at, holder FROM writer")
            if first is not None and renewed_at > first:
                raise JournalInUseError(f"{self._place} is in use by {holder_now}")
            first = renewed_at
            time.sleep(POLL_S)

    def _take_once_more(self) -> None:
        """Raise our own fence: whatever an earlier connection of ours sent is stored now, or never will be."""
        sent_at = lease_time()
        row = self._row(_TAKE_ONCE_MORE, self._token)
        if row is None:
            raise self._lost()
        self._fence, self._stored = row
        self.lease_until = sent_at + LEASE_S

    def note_opening(self, meta: Mapping[str, str]) -> None:
        """Remember who opened the journal, and behind which letter."""
        last_letter = self._value("SELECT coalesce(max(id), 0) FROM letters")
        openings = with_opening(meta.get(OPENED_KEY, ""), last_letter)
        for key, value in ((formats.WRITTEN_BY_KEY, __version__), (OPENED_KEY, openings)):
            self._value(_SET, key, value)

    def keep_lease(self) -> None:
        """Confirm the fence if that is due."""
        if lease_time() > self.lease_until - LEASE_S + RENEW_S:
            self.store(WriteGroup())

    def _lost(self) -> JournalLostError:
        self.lease_until = 0.0
        holder = "another process"
        with suppress(*tables.ERRORS):
            holder = self._value("SELECT holder FROM writer") or holder
        return JournalLostError(
            f"{self._place} is written by {holder} now, because this process did not confirm its lock for {LEASE_S:g} "
            "seconds; nothing was lost. To take turns, start both with --standby"
        )

    # --- groups -------------------------------------------------------------------------------------------------------

    def _store(self, rows: GroupRows) -> None:
        self._group += 1
        # If the last group failed, it may be the server that is new, and not only the connection.
        if not self._database.is_connected:
            self._take_once_more()
        parts = (rows.events, rows.secrets, rows.transcript.letters, rows.transcript.meta)
        statement = _statement(*map(bool, parts))
        values = _values(rows)
        try:
            self._send(statement, values)
        except tables.ERRORS as error:
            if not is_connection_lost(error):
                raise
            self._take_once_more()
            if self._stored != self._group:
                self._send(statement, values)

    def _send(self, statement: str, values: list[object]) -> None:
        sent_at = lease_time()
        wait_s = max(self.lease_until - sent_at, SHORTEST_WAIT_S)
        hits = self._database.run(
            lambda connection: connection.fetchval(statement, self._fence, self._group, *values), wait_s
        )
        if not hits:
            raise self._lost()
        self.lease_until = sent_at + LEASE_S

    def change_letters(self, statements: Sequence[Statement]) -> None:
        async def change(connection: asyncpg.Connection) -> bool:
            # The row of the fence stays locked until the end: nobody else becomes the writer before.
            async with connection.transaction():
                if await connection.fetchval(_CONFIRM, self._fence) is None:
                    return False
                for query, values in statements:
                    await connection.execute(tables.numbered(query), *values)
                return True

        if not self._database.run(change, PRUNE_S):
            raise self._lost()

    def give_up(self, error: Exception) -> str:
        self.can_read_after = not is_connection_lost(error)
        if isinstance(error, JournalLostError):
            return str(error)
        return f"{self._place} cannot be written: {reason(error)}"

    def probe(self, size: int) -> None:
        self._take_once_more()
        self._value(_PROBE, size)
        self._value("DELETE FROM meta WHERE key = 'probe'")

    def close(self) -> None:
        with suppress(*WRITE_ERRORS):
            if self._database.is_connected:
                self._value(_LET_GO, self._fence, timeout_s=SHORTEST_WAIT_S)
        self._database.close()

    # --- queries ------------------------------------------------------------------------------------------------------

    def _select(self, query: str) -> list[Any]:
        return self._database.run(lambda connection: connection.fetch(query))

    def _value(self, query: str, *values: object, timeout_s: float = LEASE_S) -> Any:
        return self._database.run(lambda connection: connection.fetchval(query, *values), timeout_s)

    def _row(self, query: str, *values: object) -> Any:
        return self._database.run(lambda connection: connection.fetchrow(query, *values), LEASE_S)


class DatabaseWatch:
    """Finds out whether a process writes a journal in a database."""

    def __init__(self, place: DatabasePlace) -> None:
        self._tables = PostgresRows(place)

    def is_held(self) -> bool:
        """True while a process writes the journal, and while the server cannot be reached."""
        try:
            rows = self._tables.rows(f"SELECT {_IS_FREE} FROM writer")
        except JournalError as error:
            return not isinstance(error.__cause__, asyncpg.UndefinedTableError)  # nobody has made it yet
        return not rows[0][0]

    def close(self) -> None:
        self._tables.close()


class PostgresJournal(KeptJournal):
    """The journal in a schema of a database, made if there is none."""

    def __init__(
        self,
        place: DatabasePlace,
        notify: Notify,
        *,
        identity: Mapping[str, str] | None = None,
        settings: Settings | None = None,
    ) -> None:
        """`identity`: role, league_id and created, as kept in a new journal; an old one must not contradict them."""
        settings = settings or Settings()
        if place.is_of_many:
            raise JournalError(f"{place} names several journals; name one schema")
        with ExitStack() as opened, tables.journal_errors(place, "opened"):
            database = Database(place)
            opened.callback(database.close)
            meta = _prepare(database, place, identity or {})
            writer = _DatabaseWriter(place, database, settings.transcript_bytes)
            opened.callback(writer.close)
            self.upgrade = upgrade(database, place, meta)
            reading = PostgresRows(place)
            opened.callback(reading.close)
            _verify(reading, writer)
            writer.note_opening(meta)
            writer.find_end()
            super().__init__(place, reading, writer, WRITE_ERRORS, notify, settings)
            opened.pop_all()


def _prepare(database: Database, place: DatabasePlace, identity: Mapping[str, str]) -> Mapping[str, str]:
    """Make the journal if there is none, and refuse one that is not what we expect."""
    database.run(lambda connection: tables.create(connection, place, tables.new_meta(identity)))
    meta = dict(database.run(lambda connection: connection.fetch("SELECT key, value FROM meta")))
    tables.check(place, meta)
    require_identity(str(place), meta, identity)
    return meta


def _verify(reading: PostgresRows, writer: _DatabaseWriter) -> None:
    # A long journal takes longer than the lease.
    examination = reading.examine(writer.keep_lease)
    if not examination.is_whole:
        raise JournalError(reading.damaged(f"what follows event {examination.sound} is not as it was written"))
