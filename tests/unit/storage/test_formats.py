"""Journals of older formats are read as they are, brought up to date in one step, and never called damaged."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import groupby, pairwise
from pathlib import Path

import msgspec
import pytest

from league import __version__
from league.cli.main import main
from league.events import BulletinsDelivered, LeagueCreated, MatchTaken, Registered
from league.reports.journals import read_events, replay
from league.storage import formats
from league.storage.chain import digest_after
from league.storage.formats import FORMAT, MigrationRecord
from league.storage.journal_files import stored_format
from league.storage.notices import JournalError
from league.storage.reading import open_for_reading
from league.storage.sqlite import SqliteJournal
from tests.support.journals import Notices
from tests.support.old_journals import OLD_FORMATS, unpack

CHAMPIONS = {1: "P02", 2: "P01", 3: "P02"}
POINTS = {
    1: {"P02": 7, "P04": 5, "P03": 3, "P01": 1},
    2: {"P01": 5, "P03": 5, "P02": 3, "P04": 2},
    3: {"P02": 9, "P01": 4, "P03": 3, "P04": 1},
}
READERS = ("verify", "replay", "standings --journal", "schedule --journal", "explain R1M1 --journal")

DYING = """
import os, signal, sqlite3, sys
from league.storage import formats, journal_files
from league.storage.sqlite import SqliteJournal

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

moment = sys.argv[2]
if moment == "before the backup":
    journal_files.copy_to = die
elif moment == "after the backup":
    formats.migrate = die
elif moment == "between two steps":
    last = max(formats.MIGRATIONS)
    formats.MIGRATIONS = {**formats.MIGRATIONS, last: formats.MIGRATIONS[last]._replace(step=die)}
else:
    journal_files.verify_events = die
    journal_files._verify = lambda *_: None
SqliteJournal(sys.argv[1], lambda notice: None)
"""


@pytest.fixture(params=OLD_FORMATS)
def number(request: pytest.FixtureRequest) -> int:
    found: int = request.param
    return found


@pytest.fixture
def finished(number: int, tmp_path: Path) -> Path:
    return unpack(number, "finished", tmp_path / "finished")


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_a_new_journal_has_the_newest_format(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with SqliteJournal(path, Notices()) as journal:
        assert journal.upgrade is None
        assert journal.meta["written_by"] == __version__
    assert rows(path, "PRAGMA user_version") == [(FORMAT,)]
    assert stored_format(path) == FORMAT


def test_reports_read_an_older_journal_and_leave_it_alone(
    finished: Path, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {file.name: file.read_bytes() for file in finished.glob("*.db")}
    for command in READERS:
        assert main([*command.split(), str(finished)]) == 0, capsys.readouterr().err
    league = replay(str(finished)).manager
    assert league.ledger.champion == CHAMPIONS[number]
    assert {row.player_id: row.points for row in league.standings} == POINTS[number]
    assert {file.name: file.read_bytes() for file in finished.glob("*.db")} == before


def test_a_migrated_journal_replays_to_the_same_league(
    finished: Path, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    digest = replay(str(finished)).digest
    letters = {}
    for file in finished.glob("*.db"):
        with open_for_reading(file) as journal:
            letters[file.name] = list(journal.letters())
    original = (finished / "journal.db").read_bytes()
    assert main(["migrate", str(finished)]) == 0
    assert f"journal.db: migrated from format {number} to {FORMAT}; backup: " in capsys.readouterr().out
    assert (finished / f"journal.db.format-{number}").stat().st_mode & 0o077 == 0
    assert replay(str(finished)).digest == digest
    # The copy can be read, and has the bytes of every event.
    assert replay(str(finished / f"journal.db.format-{number}")).digest == digest
    (finished / "original").write_bytes(original)
    events = "SELECT seq, entry, at, kind, body FROM events"
    assert rows(finished / f"journal.db.format-{number}", events) == rows(finished / "original", events)
    for name, stored in letters.items():
        with open_for_reading(finished / name) as journal:
            assert list(journal.letters()) == stored
            assert len(stored) > 20
    assert main(["verify", str(finished)]) == 0
    capsys.readouterr()
    assert main(["migrate", str(finished)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all(f"nothing to do, it is in format {FORMAT}" in line for line in lines)


def test_the_tables_of_a_migrated_journal_are_those_of_a_new_one(finished: Path, tmp_path: Path) -> None:
    SqliteJournal(tmp_path / "new.db", Notices()).close()
    assert main(["migrate", str(finished / "journal.db")]) == 0
    schema = "SELECT type, name, sql FROM sqlite_master ORDER BY name"
    migrated = [(kind, name, " ".join(str(sql).split())) for kind, name, sql in rows(finished / "journal.db", schema)]
    assert migrated == [
        (kind, name, " ".join(str(sql).split())) for kind, name, sql in rows(tmp_path / "new.db", schema)
    ]


def test_the_chain_can_be_followed_through_a_migration(finished: Path, number: int) -> None:
    assert main(["migrate", str(finished / "journal.db")]) == 0
    with open_for_reading(finished / "journal.db") as journal:
        records = msgspec.json.decode(journal.meta["migrations"], type=list[MigrationRecord])
    assert [record.old_format for record in records] == list(range(number, FORMAT))
    old = rows(finished / f"journal.db.format-{number}", "SELECT seq, entry, at, kind, body FROM events")
    new = rows(finished / "journal.db", "SELECT seq, entry, at, kind, body FROM events")
    changed = [row for row, old_row in zip(new, old, strict=True) if row != old_row]
    assert sum(record.events_rewritten for record in records) == len(changed)
    if number == 1:
        old_head = b""
        for _, group in groupby(old, lambda row: row[1]):
            old_head = digest_after(old_head, group)
        assert 0 < len(changed) < len(new)
    else:
        backup = finished / f"journal.db.format-{number}"
        [(stored,)] = rows(backup, "SELECT digest FROM events ORDER BY seq DESC LIMIT 1")
        assert isinstance(stored, bytes)
        old_head = stored
    assert records[0].old_head == old_head.hex()
    for earlier, later in pairwise(records):
        assert earlier.new_head == later.old_head
    [(head,)] = rows(finished / "journal.db", "SELECT hex(digest) FROM events ORDER BY seq DESC LIMIT 1")
    assert records[-1].new_head == str(head).lower()


def test_what_the_first_format_left_unsaid_means_what_it_meant(tmp_path: Path) -> None:
    folder = unpack(1, "finished", tmp_path)
    events = read_events(folder / "journal.db")
    assert isinstance(events[0], LeagueCreated)
    assert events[0].settings.enrolment == "open"
    delivered = [event.bulletins for event in events if isinstance(event, BulletinsDelivered)]
    assert {bulletin.kind for bulletins in delivered for bulletin in bulletins.values()} == {
        "round_completed",
        "league_completed",
    }
    with open_for_reading(folder / "referee.db") as journal:
        taken = [event for event in journal.events() if isinstance(event, MatchTaken)]
        passes = msgspec.json.decode(journal.secrets()[f"match/{taken[0].match_id}/1"])
    assert [len(tokens) for tokens in passes["shown"]] == [1, 1]
    assert isinstance(read_events(folder / "player-1.db")[0], Registered)


@pytest.mark.parametrize("moment", ["before the backup", "after the backup", "between two steps", "before the commit"])
def test_whenever_migrating_is_killed_the_journal_is_whole(finished: Path, number: int, moment: str) -> None:
    path = finished / "journal.db"
    digest = replay(str(path)).digest
    done = subprocess.run([sys.executable, "-c", DYING, str(path), moment], check=False)
    assert done.returncode == -signal.SIGKILL
    assert stored_format(path) == number
    assert replay(str(path)).digest == digest
    assert main(["migrate", str(path)]) == 0
    assert stored_format(path) == FORMAT
    assert replay(str(path)).digest == digest


def test_a_damaged_journal_of_an_older_format_is_called_damaged_and_not_migrated(finished: Path, number: int) -> None:
    path = finished / "journal.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER events_are_never_changed")
        connection.execute("UPDATE events SET body = x'7b' WHERE seq = 20")
    before = path.read_bytes()
    # In format 1 the sound part ends with the event; later formats know it by the group.
    with pytest.raises(JournalError, match=r"is damaged: .*its events 1 to 1\d can be read"):
        SqliteJournal(path, Notices())
    assert path.read_bytes() == before
    assert [file.name for file in finished.glob("journal.db.*")] == []
    with pytest.raises(JournalError, match="is damaged"):
        read_events(path)
    assert replay(str(path), 10).seq == 10


def test_a_journal_in_use_is_not_migrated(
    finished: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = finished / "journal.db"
    with SqliteJournal(path, Notices()):
        monkeypatch.setattr("league.storage.journal_files.stored_format", lambda _: 1)
        assert main(["migrate", str(path)]) == 1
    assert f"is in use by process {os.getpid()}" in capsys.readouterr().err


def test_a_newer_format_is_an_error_of_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "journal.db"
    SqliteJournal(path, Notices()).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    for command in ("replay", "verify", "migrate", "standings --journal"):
        assert main([*command.split(), str(path)]) == 1
        error = capsys.readouterr().err
        assert f"was written by version {__version__} in format 99" in error
        assert f"reads formats {formats.OLDEST} to {FORMAT}" in error
        assert "damaged" not in error
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
