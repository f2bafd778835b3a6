"""The formats of journals in SQLite files, and how an older one is brought up to date.

Theory of operation. The format of a file is a number. It stands in the file's header (`PRAGMA user_version`), so a
program can read it before it knows anything else about the file. Files from before there was a number have a 0 there;
their tables tell which of the first two formats they have.

    1  0.1.0, early: no digests; bodies of letters in a table of their own; events with other names and fields
    2  0.1.0, late: a chain of digests; letters hold their bodies
    3  0.2.0: the number in the header; the journal knows which version wrote it
    4  since 0.3.0: events of receipts, draws, pauses, probes and models

`MIGRATIONS` has one step from each older format to the next. `migrate` takes all that are needed. The caller begins and
ends the transaction, so a file has its old format or the newest one and never anything between, whenever the process
is killed. A step changes the connection that it gets and nothing else, so it works on the file itself (when
`journal_files` opens it to be written) and on a temporary copy (`current_form`, for readers, who change no file).

Steps do not judge. What they cannot read, they leave as it is: damage is found afterwards, by the same check as in any
other journal. A step that rewrites events must find a sound chain before it, or it would hide damage under new digests
(format 1 has no chain to check).

The chain can be followed through a migration. Events that need no change keep their bytes and digests. Each step adds
a `MigrationRecord` to the list `migrations` in the table meta: how many events it rewrote, and the head of the chain
before it and after it. The backup that is made before has the old head. Format 1 has no digests; its old head is the
one its rows would have had, with each entry as one group.

What must never happen: that a step is changed after a release has run it, or that an old journal is called damaged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

from league.storage import bounds
from league.storage.chain import digest_after
from league.version import __version__

OLDEST = 1
FORMAT = 4
"""The format that this version writes. CONTRIBUTING.md says when there must be a new one."""
FORMAT_KEY = "schema_version"
"""The format of a journal in a database, and the first place where old programs look in a file."""
MIGRATIONS_KEY = "migrations"
WRITTEN_BY_KEY = "written_by"
"""The version of the program that opened the journal last to write it."""

Fields = dict[str, Any]
"""An event as JSON: in older formats there is no class for it."""


class MigrationRecord(msgspec.Struct, frozen=True):
    """What a step did to a journal."""

    old_format: int
    new_format: int
    program: str
    """The version of the program that took the step."""
    events_rewritten: int
    old_head: str
    """The digest of the last event before the step, in hexadecimal digits; "" if there was no event."""
    new_head: str


class Migration(NamedTuple):
    """A step from one format to the next."""

    step: Callable[[sqlite3.Connection], int]
    """Changes tables and rows, and returns the number of events that it rewrote."""
    old_head: Callable[[sqlite3.Connection], bytes]
    is_needed_to_read: bool
    """False if this version can read the older format as it is."""


def format_of(connection: sqlite3.Connection) -> int:
    """Return the format of a journal."""
    number: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if number != 0:
        return number
    columns = [row[1] for row in connection.execute("PRAGMA table_info(events)")]
    return 2 if "digest" in columns or not columns else 1


def newer_format(connection: sqlite3.Connection) -> str:
    """Say what is wrong with a journal of a newer format, or "" if it is not newer."""
    number = format_of(connection)
    if OLDEST <= number <= FORMAT:
        return ""
    writer = None
    with suppress(sqlite3.Error):  # a newer format may have another table
        row = connection.execute("SELECT value FROM meta WHERE key = ?", (WRITTEN_BY_KEY,)).fetchone()
        writer = row[0] if row else None
    return unknown_format(number, writer)


def unknown_format(number: int, writer: str | None) -> str:
    """Say that a journal has a format that this version does not know."""
    program = f"version {writer}" if writer else "another version"
    return (
        f"was written by {program} in format {number}; this version, {__version__}, reads formats {OLDEST} to {FORMAT}"
    )


def current_form(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Return a connection that reads like a journal of today: this one, or one to a temporary copy."""
    number = format_of(connection)
    steps = [MIGRATIONS[older] for older in range(number, FORMAT)]
    if not any(step.is_needed_to_read for step in steps):
        return connection
    # An empty name is a database that only this connection sees, and that is gone with it.
    copy = bounds.connect("", lambda: _bytes_of(connection))
    try:
        connection.backup(copy)
        copy.execute("BEGIN")
        migrate(copy)
        copy.execute("COMMIT")
    except BaseException:
        copy.close()
        raise
    return copy


def _bytes_of(connection: sqlite3.Connection) -> int:
    pages: int = connection.execute("PRAGMA page_count").fetchone()[0]
    page_bytes: int = connection.execute("PRAGMA page_size").fetchone()[0]
    return pages * page_bytes


def migrate(connection: sqlite3.Connection) -> None:
    """Bring a journal to the newest format, within the caller's transaction."""
    records = _records(connection)
    for number in range(format_of(connection), FORMAT):
        migration = MIGRATIONS[number]
        old_head = migration.old_head(connection)
        rewritten = migration.step(connection)
        new_head = _head(connection)
        records.append(
            MigrationRecord(number, number + 1, __version__, rewritten, old_head.hex(), new_head.hex()),
        )
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    entries = {
        # Programs from before there was a number look here, and refuse a number that they do not know.
        FORMAT_KEY: str(FORMAT),
        MIGRATIONS_KEY: msgspec.json.encode(records).decode(),
    }
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", entries.items())


def _records(connection: sqlite3.Connection) -> list[MigrationRecord]:
    row = connection.execute("SELECT value FROM meta WHERE key = ?", (MIGRATIONS_KEY,)).fetchone()
    return msgspec.json.decode(row[0], type=list[MigrationRecord]) if row else []


def _head(connection: sqlite3.Connection) -> bytes:
    row = connection.execute("SELECT digest FROM events ORDER BY seq DESC LIMIT 1").fetchone()
    return bytes(row[0]) if row else b""


OLD_SCHEMA = (
    """CREATE TABLE events(
        seq INTEGER PRIMARY KEY, entry INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL)""",
    "CREATE TABLE bodies(digest BLOB PRIMARY KEY, body BLOB NOT NULL)",
    """CREATE TABLE letters(
        id INTEGER PRIMARY KEY, at REAL NOT NULL, direction TEXT NOT NULL, peer TEXT NOT NULL,
        message_type TEXT, match_id TEXT, kind TEXT NOT NULL, status TEXT NOT NULL,
        digest BLOB NOT NULL REFERENCES bodies(digest))""",
    "CREATE INDEX letters_of_a_match ON letters(match_id) WHERE match_id IS NOT NULL",
)
"""What journals of older formats have and today's have not."""

# --- from format 1 to 2 -----------------------------------------------------------------------------------------------

_OLD_ROWS = "SELECT seq, entry, at, kind, body FROM {} ORDER BY seq"
_ENTRY_OF = itemgetter(1)


def _head_without_digests(connection: sqlite3.Connection) -> bytes:
    digest = b""
    for _, rows in groupby(connection.execute(_OLD_ROWS.format("events")), _ENTRY_OF):
        digest = digest_after(digest, rows)
    return digest


def _from_1_to_2(connection: sqlite3.Connection) -> int:
    rewritten = _rewrite_events(connection)
    _rewrite_passes(connection)
    _join_bodies(connection)
    return rewritten


def _rewrite_events(connection: sqlite3.Connection) -> int:
    """Copy the events into a table with digests, some of them with today's names and fields."""
    for trigger in ("events_are_never_changed", "events_are_never_deleted", "events_are_added_at_the_end"):
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    connection.execute("ALTER TABLE events RENAME TO events_1")
    connection.execute(
        """CREATE TABLE events(
        seq INTEGER PRIMARY KEY, entry INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, body BLOB NOT NULL,
        digest BLOB NOT NULL)"""
    )
    rewritten = 0
    digest = b""
    for _, old_rows in groupby(connection.execute(_OLD_ROWS.format("events_1")), _ENTRY_OF):
        group = []
        for seq, entry, at, old_kind, old_body in old_rows:
            kind, body = _rewrite_event(old_kind, old_body)
            rewritten += body is not old_body
            group.append((seq, entry, at, kind, body))
        digest = digest_after(digest, group)
        last = len(group) - 1
        for place, row in enumerate(group):
            stored = digest if place == last else b""
            connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", (*row, stored))
    connection.execute("DROP TABLE events_1")
    for statement in _TRIGGERS:
        connection.execute(statement)
    return rewritten


_TRIGGERS = (
    """CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never changed'); END""",
    """CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
        BEGIN SELECT RAISE(ABORT, 'events are never deleted'); END""",
    """CREATE TRIGGER events_are_added_at_the_end BEFORE INSERT ON events
        WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events)
        BEGIN SELECT RAISE(ABORT, 'events are added at the end only'); END""",
)


def _rewrite_event(kind: str, body: bytes) -> tuple[str, bytes]:
    """Return the kind and body of an event in format 2; the same objects if nothing changes."""
    rewrite = _REWRITTEN.get(kind)
    if rewrite is None:
        return kind, body
    try:
        fields = rewrite(msgspec.json.decode(body, type=Fields))
    except (ValueError, TypeError, LookupError, AttributeError):
        return kind, body  # damaged: whoever reads it will find out
    if fields is None:
        return kind, body
    return fields["event"], msgspec.json.encode(fields)


def _open_enrolment(fields: Fields) -> Fields | None:
    """A league without the setting was open; today it would be guarded."""
    if "enrolment" in fields["settings"]:
        return None
    return {**fields, "settings": {**fields["settings"], "enrolment": "open"}}


def _registered(fields: Fields) -> Fields:
    return {**fields, "event": "Registered"}


def _dispatch_learned(fields: Fields) -> Fields:
    method = fields.pop("way")
    return {**fields, "event": "DispatchLearned", "method": method}


def _round_announced_or_ended(fields: Fields) -> Fields:
    is_completed = fields.pop("completed")
    return {**fields, "event": "RoundEnded" if is_completed else "RoundAnnounced"}


def _stated_attempt(fields: Fields) -> Fields | None:
    if "said" not in fields:
        return None
    stated_attempt = fields.pop("said")
    return {**fields, "stated_attempt": stated_attempt}


def _bulletins_delivered(fields: Fields) -> Fields:
    """Completions were numbered: 2r was ROUND_COMPLETED of round r, and the odd one after the last LEAGUE_COMPLETED."""
    round_id, is_last = divmod(fields["upto"], 2)
    kind = "league_completed" if is_last else "round_completed"
    bulletin = {"kind": kind, "round_id": round_id}
    return {"event": "BulletinsDelivered", "at": fields["at"], "bulletins": {fields["agent_id"]: bulletin}}


_REWRITTEN: Mapping[str, Callable[[Fields], Fields | None]] = {
    "LeagueCreated": _open_enrolment,
    "Enrolled": _registered,
    "HandoverLearned": _dispatch_learned,
    "RoundTold": _round_announced_or_ended,
    "InvitationAnswered": _stated_attempt,
    "Told": _bulletins_delivered,
}


def _rewrite_passes(connection: sqlite3.Connection) -> None:
    """A referee may show each player several tokens now; it had one for each."""
    passes = connection.execute("SELECT name, value FROM secrets WHERE name LIKE 'match/%'").fetchall()
    for name, value in passes:
        with suppress(msgspec.MsgspecError, TypeError, KeyError):
            fields = msgspec.json.decode(value, type=Fields)
            fields["shown"] = list(_lists(fields["shown"]))
            connection.execute(
                "UPDATE secrets SET value = ? WHERE name = ?",
                (msgspec.json.encode(fields).decode(), name),
            )


def _lists(tokens: list[object]) -> Iterator[object]:
    for token in tokens:
        yield token if isinstance(token, list) else [token]


def _join_bodies(connection: sqlite3.Connection) -> None:
    """The first letter with a body holds it; later ones with the same body name that letter."""
    connection.execute("DROP INDEX IF EXISTS letters_of_a_match")
    connection.execute("DROP INDEX IF EXISTS remarks")
    connection.execute("ALTER TABLE letters RENAME TO letters_1")
    connection.execute(
        """CREATE TABLE letters(
        id INTEGER PRIMARY KEY, at REAL NOT NULL, direction TEXT NOT NULL, peer TEXT NOT NULL,
        message_type TEXT, match_id TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL,
        body BLOB NOT NULL, same_as INTEGER NOT NULL)"""
    )
    connection.execute(
        """INSERT INTO letters
        SELECT id, at, direction, peer, message_type, coalesce(match_id, ''), kind, status,
            CASE id WHEN first_id THEN coalesce(body, x'') ELSE x'' END,
            CASE id WHEN first_id THEN 0 ELSE first_id END
        FROM letters_1
        JOIN (SELECT digest, min(id) AS first_id FROM letters_1 GROUP BY digest) USING (digest)
        LEFT JOIN bodies USING (digest)
        ORDER BY id"""
    )
    connection.execute("DROP TABLE letters_1")
    connection.execute("DROP TABLE bodies")
    connection.execute("CREATE INDEX letters_of_a_match ON letters(match_id) WHERE match_id <> ''")
    connection.execute("CREATE INDEX remarks ON letters(kind) WHERE kind = 'remark'")


# --- from format 2 to 3, and from 3 to 4 ------------------------------------------------------------------------------


def _nothing_rewritten(_: sqlite3.Connection) -> int:
    """Only the number is new, which `migrate` writes: the older journals lack what is new, and read as they are."""
    return 0


MIGRATIONS: Mapping[int, Migration] = {
    1: Migration(_from_1_to_2, _head_without_digests, is_needed_to_read=True),
    2: Migration(_nothing_rewritten, _head, is_needed_to_read=False),
    3: Migration(_nothing_rewritten, _head, is_needed_to_read=False),
}
"""By the older format."""
