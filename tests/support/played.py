"""A league that was really played, with all its journals, and what may be done to them afterwards."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from league.storage.chain import digest_after
from tests.support.processes import WATCHDOG_S, Processes

PAGE = "page.html"
"""The page of the league as it was when the league was over, beside the folder of its journals."""
GUARDS = ("events_are_never_changed", "events_are_never_deleted", "events_are_added_at_the_end")


def play(folder: Path, players: int = 4, game: str = "even_odd", strategy: str = "random") -> Path:
    """Play a league of real processes, all of which keep a journal, and close it; return the folder of the journals."""
    journals = folder / "journals"
    journals.mkdir()
    with Processes(journals) as processes:
        manager = processes.manager(players=players, game=game)
        names = [f"player-{number}" for number in range(1, players + 1)]
        started = [
            processes.players(manager, name, journal=processes.journal(name), strategy=strategy) for name in names
        ]
        referee = processes.referee(manager, game=game)
        for player in started:
            assert player.wait() == 0
        assert referee.wait() == 0
        with urlopen(manager.endpoint.removesuffix("mcp"), timeout=WATCHDOG_S) as page:
            (folder / PAGE).write_bytes(page.read())
        closed = processes.run("close", "--manager", manager.endpoint, "--state", journals)
        assert closed.returncode == 0, closed.stderr
        assert manager.stop() == 0
    for journal in journals.glob("*.db"):
        with closing(sqlite3.connect(journal)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return journals


def copy(journals: Path, folder: Path) -> Path:
    """Copy the journals into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for journal in journals.glob("*.db"):
        shutil.copy(journal, folder)
    return folder


@contextmanager
def opened(journal: Path) -> Iterator[sqlite3.Connection]:
    """Open a journal without its guards, as somebody who wants to change it would."""
    with closing(sqlite3.connect(journal)) as connection:
        for guard in GUARDS:
            connection.execute(f"DROP TRIGGER IF EXISTS {guard}")
        yield connection
        connection.commit()


def change(journal: Path, kind: str, edit: Callable[[dict[str, Any]], None], number: int = 0) -> None:
    """Edit an event of a kind, and compute all digests anew."""
    with opened(journal) as connection:
        rows = connection.execute("SELECT seq, body FROM events WHERE kind = ? ORDER BY seq", (kind,)).fetchall()
        seq, body = rows[number]
        event = json.loads(body)
        edit(event)
        written = json.dumps(event, separators=(",", ":")).encode()
        connection.execute("UPDATE events SET body = ? WHERE seq = ?", (written, seq))
        reseal(connection)


def reseal(connection: sqlite3.Connection) -> None:
    """Compute the digests anew, for the same groups."""
    digest = b""
    group: list[tuple[Any, ...]] = []
    for *row, stored in connection.execute(
        "SELECT seq, entry, at, kind, body, digest FROM events ORDER BY seq"
    ).fetchall():
        group.append(tuple(row))
        if stored:
            digest = digest_after(digest, group)
            connection.execute("UPDATE events SET digest = ? WHERE seq = ?", (digest, row[0]))
            group = []


# --- random changes ---------------------------------------------------------------------------------------------------


def mutate(connection: sqlite3.Connection, dice: random.Random) -> str:
    """Make one random change to the events; return what it was, or "" if nothing changed."""
    last = connection.execute("SELECT max(seq) FROM events").fetchone()[0]
    seq = dice.randint(1, last)
    before = connection.execute("SELECT * FROM events").fetchall()
    deed = dice.choice(DEEDS)
    deed(connection, seq, dice)
    after = connection.execute("SELECT * FROM events").fetchall()
    return "" if after == before else f"{deed.__name__} {seq}"


def _body(connection: sqlite3.Connection, seq: int) -> bytes:
    body: bytes = connection.execute("SELECT body FROM events WHERE seq = ?", (seq,)).fetchone()[0]
    return body


def _flip(connection: sqlite3.Connection, seq: int, dice: random.Random) -> None:
    changed = bytearray(_body(connection, seq))
    changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(7)
    connection.execute("UPDATE events SET body = ? WHERE seq = ?", (bytes(changed), seq))


def _replace_value(connection: sqlite3.Connection, seq: int, dice: random.Random) -> None:
    event = json.loads(_body(connection, seq))
    event[dice.choice(list(event))] = dice.choice((None, 0, 7, "P01", [], {}))
    written = json.dumps(event, separators=(",", ":")).encode()
    connection.execute("UPDATE events SET body = ? WHERE seq = ?", (written, seq))


def _change_column(connection: sqlite3.Connection, seq: int, dice: random.Random) -> None:
    change_made = dice.choice(("at = at + 1", "kind = 'LeagueEnded'", "entry = entry + 1", "digest = zeroblob(32)"))
    connection.execute(f"UPDATE events SET {change_made} WHERE seq = ?", (seq,))


def _remove(connection: sqlite3.Connection, seq: int, _: random.Random) -> None:
    connection.execute("DELETE FROM events WHERE seq = ?", (seq,))


def _exchange(connection: sqlite3.Connection, seq: int, dice: random.Random) -> None:
    other = dice.randint(1, connection.execute("SELECT max(seq) FROM events").fetchone()[0])
    mine = _body(connection, seq)
    theirs = _body(connection, other)
    connection.execute("UPDATE events SET body = ? WHERE seq = ?", (theirs, seq))
    connection.execute("UPDATE events SET body = ? WHERE seq = ?", (mine, other))


def _add(connection: sqlite3.Connection, seq: int, _: random.Random) -> None:
    insert = "INSERT INTO events SELECT (SELECT max(seq) + 1 FROM events), entry, at, kind, body, x'' FROM events"
    connection.execute(f"{insert} WHERE seq = ?", (seq,))


def _cut(connection: sqlite3.Connection, seq: int, _: random.Random) -> None:
    connection.execute("DELETE FROM events WHERE seq >= ?", (seq,))


DEEDS = (_flip, _replace_value, _change_column, _remove, _exchange, _add, _cut)
