"""Journals of older formats are read as they are, brought up to date in one step, and never called damaged."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from league import __version__
from league.cli.main import main
from league.events import (
    AssignmentCompleted,
    Event,
    LeagueCreated,
    LeagueEnded,
    LeagueSettings,
    MatchParked,
    OrderCarriedOut,
    ResultAccepted,
    SettingsChanged,
)
from league.manager.state.ledger import NO_LONGER_CHECKED, Basis
from league.reading.journals import read_events, replay
from league.storage import formats, retired
from league.storage.files.journal_files import stored_format
from league.storage.files.sqlite import SqliteJournal
from league.storage.formats import FORMAT
from league.storage.journal import decode
from league.storage.notices import JournalError
from league.storage.reading import open_for_reading
from tests.support.journals import Notices
from tests.support.old_journals import OLD_FORMATS, unpack

CHAMPIONS = {2: "P01", 3: "P02", 4: "P02"}
POINTS = {
    2: {"P01": 5, "P03": 5, "P02": 3, "P04": 2},
    3: {"P02": 9, "P01": 4, "P03": 3, "P04": 1},
    4: {"P02": 5, "P04": 5, "P03": 4, "P01": 1},
}
READERS = ("verify", "replay", "standings --journal", "schedule --journal", "explain R1M1 --journal")

DYING = """
import os, signal, sqlite3, sys
from league.storage import formats
from league.storage.files import journal_files
from league.storage.files.sqlite import SqliteJournal

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

moment = sys.argv[2]
if moment == "before the backup":
    journal_files.copy_to = die
elif moment == "after the backup":
    formats.migrate = die
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


def test_a_migration_changes_no_event_and_no_digest(finished: Path, number: int) -> None:
    assert main(["migrate", str(finished / "journal.db")]) == 0
    events = "SELECT * FROM events"
    assert rows(finished / "journal.db", events) == rows(finished / f"journal.db.format-{number}", events)


def test_the_first_format_is_an_error_of_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "journal.db"
    SqliteJournal(path, Notices()).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("ALTER TABLE events DROP COLUMN digest")
        connection.execute("PRAGMA user_version = 0")
    for command in ("replay", "verify", "migrate"):
        assert main([*command.split(), str(path)]) == 1
        error = capsys.readouterr().err
        assert f"in format 1; this version, {__version__}, reads formats 2 to {FORMAT}" in error
        assert "`league migrate` of version 0.3.0" in error
        assert "damaged" not in error


# --- events that are gone ---------------------------------------------------------------------------------------------


class Recorded(NamedTuple):
    """A league of 0.3.0 with events that later versions do without, and its points as 0.3.0 showed them."""

    events: set[str]
    points: dict[str, int]
    orders: tuple[str, ...]


SPECIAL = {
    "addresses": Recorded(
        {"ReportHeld", "ReportDisputed", "MatchUnparked", "LeaguePaused", "LeagueResumed"},
        {"P02": 5, "P04": 4, "P03": 4, "P01": 3},
        ("pause", "resume", "replay-match R2M1"),
    ),
    "orders": Recorded(
        {
            "AgentApproved",
            "AgentReadmitted",
            "AgentRejected",
            "LeaguePaused",
            "LeagueResumed",
            "LeagueStartOrdered",
            "PlayerWithdrawn",
            "SecretReplaced",
        },
        {"P01": 4, "P02": 4, "P04": 3, "P03": 1},
        (
            "reject player-5",
            "approve the referee",
            *(f"approve player-{number}" for number in (1, 2, 3, 4)),
            *("start", "pause", "resume", "readmit player-4", "withdraw P03", "rotate-token admin"),
            *("replay-match R1M1", "rotate-token admin", "replay-match R1M1"),
        ),
    ),
    "outages": Recorded(
        {"MatchHeld", "MatchInterrupted", "OutageBegan", "OutageEnded", "PlayersProbed", "ProtestReceived"},
        {"P02": 9, "P03": 9, "P01": 7, "P04": 3, "P05": 1},
        ("replay-match R1M2",),
    ),
}


@pytest.fixture(params=SPECIAL)
def special(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Recorded]:
    league: str = request.param
    folder = unpack(4, league, tmp_path)
    kinds = {kind for (kind,) in rows(folder / "journal.db", "SELECT DISTINCT kind FROM events")}
    assert kinds >= SPECIAL[league].events
    return folder, SPECIAL[league]


def test_a_league_with_events_that_are_gone_is_what_it_was(
    special: tuple[Path, Recorded], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, recorded = special
    for command in READERS[1:]:
        assert main([*command.split(), str(folder)]) == 0, capsys.readouterr().err
    league = replay(str(folder))
    assert {row.player_id: row.points for row in league.manager.standings} == recorded.points
    assert tuple(league.manager.ledger.controls.orders.values()) == recorded.orders
    assert main(["migrate", str(folder)]) == 0
    assert replay(str(folder)).digest == league.digest
    capsys.readouterr()
    main(["verify", str(folder), "--json"])
    assert json.loads(capsys.readouterr().out)["chain"] == "whole"


def test_results_of_then_are_by_the_referees_word(special: tuple[Path, Recorded]) -> None:
    """Receipts of 0.3.0 were checked with keys that nobody needs any more."""
    folder, _ = special
    matches = replay(str(folder)).manager.ledger.matches.values()
    played = [match for match in matches if isinstance(match.result, ResultAccepted)]
    assert played
    assert all(match.basis == Basis("by_referee", (), NO_LONGER_CHECKED) for match in played)


def test_each_order_of_an_earlier_version_is_one_of_today() -> None:
    bodies = (
        b'{"event": "LeagueClosed", "at": 1, "key": "k"}',
        b'{"event": "AgentApproved", "at": 1, "key": "k", "applicant_id": "A01", "target": "Ann"}',
        b'{"event": "PlayerWithdrawn", "at": 1, "key": "k", "agent_id": "P01"}',
    )
    assert [decode(body) for body in bodies] == [
        OrderCarriedOut(at=1.0, order="close", key="k"),
        OrderCarriedOut(at=1.0, order="approve", target="A01", key="k", named="Ann"),
        OrderCarriedOut(at=1.0, order="withdraw", target="P01", key="k"),
    ]


def test_an_event_of_another_version_is_read_only_if_it_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    rows_for_old_events = {
        "Parked": lambda fields: {"event": "MatchParked", "at": fields["at"], "match_id": fields["match"]},
        "Gone": lambda _: None,
    }
    monkeypatch.setattr(retired, "RETIRED", rows_for_old_events)
    assert decode(b'{"event": "Gone", "at": 1}') == Event(at=1.0)
    assert decode(b'{"event": "Parked", "at": 1, "match": "R1M1"}') == MatchParked(at=1.0, match_id="R1M1")
    for body in (
        b'{"event": "Gone", "at": "now"}',
        b'{"event": "Gone"}',
        b'{"event": "Parked", "at": 1}',
        b'{"event": "Parked", "at": 1, "match": 5}',
        b'{"event": "Unknown", "at": 1}',
        b'{"event": [], "at": 1}',
        b"[]",
    ):
        with pytest.raises(ValueError, match=r"."):
            decode(body)


@pytest.mark.parametrize(
    ("name", "fields", "meaning"),
    [
        ("PlayersLocated", {"endpoints": ["a", "b"], "source": "x"}, {"endpoints": ("a", "b"), "source": "x"}),
        ("RecordsShown", {"records": [{"wins": 1}, {}]}, {"records": ({"wins": 1}, {})}),
    ],
)
def test_what_an_assignment_did_not_say_is_one_event_now(
    name: str, fields: dict[str, object], meaning: dict[str, Any]
) -> None:
    written = json.dumps({"event": name, "at": 1, "match_id": "R1M1", "attempt": 1, **fields}).encode()
    assert decode(written) == AssignmentCompleted(at=1.0, match_id="R1M1", attempt=1, **meaning)


def test_who_was_withdrawn_has_reached_the_end() -> None:
    assert decode(b'{"event": "Withdrawn", "at": 1}') == LeagueEnded(at=1.0, withdrawn=True)


@pytest.mark.parametrize("moment", ["before the backup", "after the backup", "before the commit"])
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
        monkeypatch.setattr("league.storage.files.journal_files.stored_format", lambda _: 1)
        assert main(["migrate", str(path)]) == 1
    assert f"is in use by process {os.getpid()}" in capsys.readouterr().err


def test_an_event_of_a_later_version_is_no_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = unpack(4, "finished", tmp_path) / "journal.db"
    assert main(["migrate", str(path)]) == 0
    capsys.readouterr()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER events_are_never_changed")
        body = b'{"event": "OrderCarriedOut", "at": 1, "order": "an order of 9.0.0", "key": "k"}'
        connection.execute("UPDATE events SET body = ? WHERE kind = 'LeagueClosed'", (body,))
    with pytest.raises(JournalError, match="is damaged"):
        SqliteJournal(path, Notices())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE meta SET value = '9.0.0' WHERE key = 'written_by'")
    for command in READERS:
        assert main([*command.split(), str(path)]) == 1
        assert f"was written by version 9.0.0, and this version, {__version__}, cannot" in capsys.readouterr().err
    with pytest.raises(JournalError, match=r"was written by version 9\.0\.0"):
        SqliteJournal(path, Notices())


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


def test_a_league_with_settings_that_are_gone_has_those_that_mean_the_same_now() -> None:
    settings = {
        "league_id": "spring",
        "start": "at",
        "start_at": 1_700_000_000.0,
        "endpoints": "lan",
        "allow_endpoint": ["10.1.0.0/16"],
        "late_referees": False,
        "referee_patience_s": 20.0,
    }
    created = decode(json.dumps({"event": "LeagueCreated", "at": 1.0, "settings": settings}).encode())
    assert created == LeagueCreated(
        at=1.0,
        settings=LeagueSettings(league_id="spring", start=1_700_000_000.0, endpoints=("lan", "10.1.0.0/16")),
    )
    narrowed = {"event": "EndpointsChanged", "at": 2.0, "endpoints": "local", "allow_endpoint": []}
    assert decode(json.dumps(narrowed).encode()) == SettingsChanged(at=2.0, endpoints=("local",))
    doubted = {"event": "TrustChanged", "at": 3.0, "trust": "tokens"}
    assert decode(json.dumps(doubted).encode()) == SettingsChanged(at=3.0, trust="tokens")


def test_a_league_with_a_setting_that_never_was_cannot_be_read() -> None:
    settings = {"league_id": "spring", "luck": 7}
    with pytest.raises(ValueError, match="luck"):
        decode(json.dumps({"event": "LeagueCreated", "at": 1.0, "settings": settings}).encode())
