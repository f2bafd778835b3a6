"""A manager's journal after what disks and people do to files: it opens as it was, or a sentence says what is wrong
with it, how much of it is sound and what to do. Nobody is ever told that it is a bug."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from league.cli.main import main
from league.features.lab.simulation.runs import Plan
from league.features.lab.simulation.world import World
from league.machine import Entry
from league.reading.journals import replay
from league.storage.files.journal_files import backup
from league.storage.files.sqlite import SqliteJournal
from league.storage.notices import JournalError
from tests.support.journals import Notices
from tests.support.processes import Processes

SOUND = re.compile(r"its events 1 to (\d+) can be read; 'league replay .* --until \1' shows")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a whole league of four."""
    path = tmp_path_factory.mktemp("whole") / "journal.db"
    events = World(Plan(players=4, faults=0.0).settings(5), 5, 0.0).run().manager
    with SqliteJournal(path, Notices(), identity={"role": "manager"}) as made:
        for event in events:
            made.append(Entry((event,)))
    return path


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with Processes(tmp_path) as started:
        yield started
    assert started.bugs == []


def _damage(whole: bytes, number: int, dice: random.Random) -> bytes:
    if number % 3 == 0:
        return whole[: dice.randrange(1, len(whole))]
    damaged = bytearray(whole)
    for _ in range(dice.choice([1, 1, 20, 2000])):
        damaged[dice.randrange(len(damaged))] ^= 1 << dice.randrange(8)
    return bytes(damaged)


def test_whatever_happens_to_its_bytes_a_journal_is_read_or_told_of(
    journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, dice, told = tmp_path / "journal.db", random.Random(20261115), 0
    whole = journal.read_bytes()
    for number in range(120):
        path.write_bytes(_damage(whole, number, dice))
        for command in (["replay", str(path)], ["verify", str(path)], ["backup", str(path), str(tmp_path / "copy.db")]):
            status = main(command)
            said = capsys.readouterr().err
            assert "bug" not in said, (number, command, said)
            assert (status == 0 or command[0] == "verify") or str(path) in said, (number, command, said)
            told += "can be read" in said
        (tmp_path / "copy.db").unlink(missing_ok=True)
    assert told > 50


def test_what_is_said_to_be_sound_can_be_replayed(journal: Path, tmp_path: Path) -> None:
    path, dice, replayed = tmp_path / "journal.db", random.Random(7), 0
    whole = journal.read_bytes()
    for number in range(60):
        path.write_bytes(_damage(whole, number, dice))
        try:
            replay(str(path))
        except JournalError as error:
            if sound := SOUND.search(str(error)):
                assert replay(str(path), int(sound[1])).seq == int(sound[1])
                replayed += 1
    assert replayed > 3


def test_a_bit_that_flipped_in_an_event_is_noticed_wherever_it_is(journal: Path, tmp_path: Path) -> None:
    path, dice = tmp_path / "journal.db", random.Random(11)
    whole = journal.read_bytes()
    with closing(sqlite3.connect(journal)) as connection:
        bodies = [row[0] for row in connection.execute("SELECT body FROM events")]
    for body in dice.sample(bodies, 40):
        at = whole.index(body) + dice.randrange(len(body))
        damaged = bytearray(whole)
        damaged[at] ^= 1 << dice.randrange(8)
        path.write_bytes(damaged)
        with pytest.raises(JournalError, match=r"is damaged: .* put a copy made by 'league backup' in its place"):
            SqliteJournal(path, Notices())
        assert path.read_bytes() == bytes(damaged)


def test_a_damaged_journal_is_not_copied(journal: Path, tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    shutil.copy(journal, path)
    with closing(sqlite3.connect(path)) as connection:
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()[0]
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    damaged = bytearray(path.read_bytes())
    damaged[(page - 1) * size : (page - 1) * size + 64] = bytes(64)
    path.write_bytes(damaged)
    with pytest.raises(JournalError, match="is damaged"):
        backup(path, tmp_path / "copy.db")
    assert [one.name for one in tmp_path.iterdir() if "copy" in one.name] == []


# --- a manager that is started with it --------------------------------------------------------------------------------


def _forged(path: Path) -> None:
    """An event that can be read, but cannot have happened."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER events_are_never_changed")
        connection.execute(
            "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'R1M1', 'R9M9') AS BLOB) WHERE kind = ?",
            ("MatchAssigned",),
        )


def _holed(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER events_are_never_deleted")
        connection.execute("DELETE FROM events WHERE seq = 9")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:30_000])


def _emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (_forged, "is not as it was written"),
        (_holed, "what follows event 8 is not as it was written; its events 1 to 8 can be read"),
        (_cut, "is damaged"),
        (_emptied, "is empty, which no journal is"),
    ],
)
def test_a_manager_does_not_start_with_a_damaged_journal(
    processes: Processes, journal: Path, damage: type[Path], sentence: str
) -> None:
    path = processes.folder / "journal.db"
    shutil.copy(journal, path)
    damage(path)
    before = path.read_bytes()
    done = processes.run("manager", "--port", "0", "--journal", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert sentence in done.stderr
    assert "league backup" in done.stderr
    assert path.read_bytes() == before


def test_a_manager_ends_when_its_log_is_removed_and_goes_on_with_all_it_knew(processes: Processes) -> None:
    manager = processes.manager(players=2)
    players = processes.players(manager, count=1)
    players.said("ready: ")
    log = Path(f"{processes.journal('manager')}-wal")
    log.unlink()
    other = processes.begin("player", "late", manager=manager.endpoint, name="late")
    assert manager.wait() == 1
    assert f"{log} is gone" in manager.output
    assert "all that was stored is in" in manager.output
    again = processes.manager(players=2, port=manager.port)
    referee = processes.referee(again, time_scale=10)
    assert (players.wait(), other.wait(), referee.wait(), again.stop()) == (0, 0, 0, 0)
