"""The journal on disk: epochs, who may open it, following it, and copies."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from league.storage.files import file_lock
from league.storage.files.journal_files import backup
from league.storage.files.sqlite import Settings, SqliteJournal
from league.storage.notices import JournalError, WriteFailed
from league.storage.reading import Recent, open_for_reading
from tests.support.journals import WATCHDOG_S, Notices, entry, event, locked_by_another


@pytest.fixture
def journal(path: Path, notices: Notices) -> Iterator[SqliteJournal]:
    with SqliteJournal(path, notices, settings=Settings(busy_s=0)) as opened:
        yield opened


def _fail(journal: SqliteJournal, notices: Notices, number: int = 100) -> WriteFailed:
    with locked_by_another(journal.path):
        journal.append(entry(number))
        return notices.failed()


# --- epochs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["gone", "replaced"])
@pytest.mark.parametrize("which", ["", "-wal"])
def test_a_journal_whose_files_are_lost_takes_nothing_more_and_loses_nothing(
    path: Path, notices: Notices, what: str, which: str
) -> None:
    with SqliteJournal(path, notices) as journal:
        journal.append(entry(1))
        notices.durable(1)
        lost = Path(f"{path}{which}")
        lost.rename(f"{path}.elsewhere")
        if what == "replaced":
            lost.write_bytes(b"")
        journal.append(entry(2))
        failed = notices.failed()
        assert failed.is_final
        assert ("is gone" if what == "gone" else "another file is in the place of") in failed.error
        assert not journal.try_again(failed)
        (found,) = path.parent.glob("*.rescued-*") if not which else [path]
        assert f"all that was stored is in {found};" in failed.error
        with open_for_reading(found) as rescued:
            assert list(rescued.events()) == [event(1)]
            assert rescued.secrets() == {"token/1": "secret 1"}


# --- the queue --------------------------------------------------------------------------------------------------------


@pytest.mark.requirement("KEEPING.bounded")
@pytest.mark.parametrize(
    "limits", [Settings(queue_entries=10, busy_s=WATCHDOG_S), Settings(queue_bytes=500, busy_s=WATCHDOG_S)]
)
def test_a_full_queue_says_so_and_drops_nothing(path: Path, notices: Notices, limits: Settings) -> None:
    with SqliteJournal(path, notices, settings=limits) as journal:
        with locked_by_another(path):
            was_full = [journal.is_full]
            for number in range(1, 13):
                journal.append(entry(number))
            was_full.append(journal.is_full)
        notices.durable(12)
        assert [*was_full, journal.is_full] == [False, True, False]
        assert list(journal.events()) == [event(number) for number in range(1, 13)]


# --- the file ---------------------------------------------------------------------------------------------------------


def _modes(path: Path) -> set[int]:
    return {stat.S_IMODE(one.stat().st_mode) for one in path.parent.glob(f"{path.name}*")}


def test_the_journal_and_its_companions_are_for_the_owner_alone(path: Path, notices: Notices) -> None:
    mask = os.umask(0)
    try:
        with SqliteJournal(path, notices) as journal:
            journal.append(entry(1))
            notices.durable(1)
            assert sorted(one.name.removeprefix(path.name) for one in path.parent.iterdir()) == [
                "", "-shm", "-wal",
            ]  # fmt: skip
            assert _modes(path) == {0o600}
        path.chmod(0o644)
        with SqliteJournal(path, notices) as journal:
            assert _modes(path) == {0o600}
        backup(path, path.with_name("journal.db.copy"))
        assert _modes(path) == {0o600}
    finally:
        os.umask(mask)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET at = 0",
        "DELETE FROM events WHERE seq = 2",
        "INSERT OR REPLACE INTO events VALUES (1, 1, 0, '', x'', x'')",
        "INSERT INTO events VALUES (9, 1, 0, '', x'', x'')",
    ],
)
def test_the_database_itself_refuses_to_change_an_event(
    journal: SqliteJournal, notices: Notices, statement: str
) -> None:
    for number in (1, 2, 3):
        journal.append(entry(number))
    notices.durable(3)
    with closing(sqlite3.connect(journal.path)) as other, pytest.raises(sqlite3.IntegrityError, match="events are"):
        other.execute(statement)
    assert list(journal.events()) == [event(1), event(2), event(3)]


def test_a_second_writer_is_told_who_holds_the_journal(journal: SqliteJournal, notices: Notices) -> None:
    alias = journal.path.with_name("alias.db")
    alias.symlink_to(journal.path)
    other = journal.path.parent / "folder" / "other.db"
    other.parent.mkdir()
    other.hardlink_to(journal.path)
    for name in (journal.path, alias, other):
        with pytest.raises(JournalError, match=f"is in use by process {os.getpid()}$"):
            SqliteJournal(name, notices)
    journal.append(entry(1))
    assert notices.durable(1).entries == 1


def _other_program(path: Path) -> None:
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE cookies(name)")


def _text_file(path: Path) -> None:
    path.write_text("not a database, though long enough for one: " * 100)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [(_other_program, "of another program"), (_text_file, "is not a journal"), (Path.mkdir, "journal")],
)
def test_a_file_that_is_not_ours_is_refused_and_stays_as_it_is(
    path: Path, notices: Notices, make: type[Path], sentence: str
) -> None:
    make(path)
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(JournalError, match=sentence):
        SqliteJournal(path, notices)
    with pytest.raises(JournalError, match="journal"):
        open_for_reading(path)
    assert before == (path.read_bytes() if path.is_file() else b"")


def test_a_file_that_was_emptied_is_refused_and_stays_as_it_is(path: Path, notices: Notices) -> None:
    path.touch()
    with pytest.raises(JournalError, match=r"is empty, .* put a copy made by 'league backup' in its place"):
        open_for_reading(path)
    with pytest.raises(JournalError, match="is empty"):
        SqliteJournal(path, notices)
    assert [(one.name, one.stat().st_size) for one in path.parent.iterdir()] == [(path.name, 0)]


def test_folders_above_a_new_journal_are_made(folder: Path, notices: Notices) -> None:
    path = folder / "league-data" / "spring" / "journal.db"
    SqliteJournal(path, notices).close()
    assert path.is_file()
    with pytest.raises(JournalError, match="cannot be opened"):
        SqliteJournal(path / "below" / "journal.db", notices)


def test_a_file_name_with_signs_of_a_url_is_a_file_name(folder: Path, notices: Notices) -> None:
    with ExitStack() as stack:
        for name in ("a?mode=memory.db", "50%41.db", "hash#.db"):
            stack.enter_context(SqliteJournal(folder / name, notices))
            assert (folder / name).is_file()


# --- reading and following --------------------------------------------------------------------------------------------


def test_the_newest_events_are_kept_up_to_a_size() -> None:
    recent = Recent(limit=10)
    assert recent.after(0, 5) is None
    recent.add([(1, b"aaaa"), (2, b"bbbb"), (3, b"cccc")])
    assert recent.after(0, 5) is None
    assert recent.after(1, 5) == [(2, b"bbbb"), (3, b"cccc")]
    assert recent.after(1, 1) == [(2, b"bbbb")]
    assert recent.after(3, 5) == []
    recent.add([(4, b"d" * 11)])
    assert recent.after(3, 5) is None


# --- copies -----------------------------------------------------------------------------------------------------------


def test_a_backup_of_a_live_journal_is_a_journal_to_go_on_from(
    journal: SqliteJournal, notices: Notices, folder: Path
) -> None:
    for number in range(1, 51):
        journal.append(entry(number))
    notices.durable(50)
    copy = folder / "copies" / "copy.db"
    copy.parent.mkdir()
    backup(journal.path, copy)
    assert [one.name for one in copy.parent.iterdir()] == ["copy.db"]
    again = Notices()
    with SqliteJournal(copy, again) as resumed:
        assert list(resumed.events()) == [event(number) for number in range(1, 51)]
        assert resumed.secrets() == journal.secrets()
        resumed.append(entry(51))
        again.durable(1)
    assert journal.last_seq == 50


def test_a_backup_replaces_nothing_and_leaves_no_half_file(journal: SqliteJournal, folder: Path) -> None:
    target = folder / "copy.db"
    target.write_text("precious")
    with pytest.raises(JournalError, match="exists already"):
        backup(journal.path, target)
    assert target.read_text() == "precious"
    with pytest.raises(JournalError, match="there is no journal"):
        backup(folder / "none.db", folder / "other.db")
    with pytest.raises(JournalError, match="cannot be written"):
        backup(journal.path, folder / "no folder" / "copy.db")
    assert not list(folder.glob("*.part"))


def test_where_there_is_no_flock_a_file_beside_the_journal_is_locked(
    path: Path, notices: Notices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_lock, "HAS_FLOCK", False)
    with SqliteJournal(path, notices) as journal:
        with pytest.raises(JournalError, match=r"is in use by another process$"):
            SqliteJournal(path, notices)
        journal.append(entry(1))
        assert notices.durable(1).entries == 1
    SqliteJournal(path, notices).close()
