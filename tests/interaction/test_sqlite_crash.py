"""The journal on disk against what really happens to disks and processes."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from league.storage.files.journal_files import backup
from league.storage.files.sqlite import SqliteJournal
from league.storage.notices import JournalError
from league.storage.reading import JournalReader, open_for_reading
from league.storage.transcripts.transcript import LetterNote
from tests.support.journals import WATCHDOG_S, Notices, make, numbers

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-W", "error", "-m", "tests.support.journals"]


@contextmanager
def _appending(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that appends as fast as it can; killed at the end at the latest."""
    process = subprocess.Popen([*COMMAND, "append", str(path)], stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    with process:
        try:
            assert process.stdout.readline() == b"open\n"
            yield process
        finally:
            process.kill()


def _told(process: subprocess.Popen[bytes], notices: int) -> int:
    """The last entry that was durable after so many notices."""
    assert process.stdout is not None
    return [int(process.stdout.readline()) for _ in range(notices)][-1]


def _kill(process: subprocess.Popen[bytes]) -> list[int]:
    """End it on the spot; what it had still told."""
    process.kill()
    assert process.stdout is not None
    told = [int(line) for line in process.stdout.read().splitlines(keepends=True) if line.endswith(b"\n")]
    assert process.wait(WATCHDOG_S) == -signal.SIGKILL
    return told


def _lives(path: Path, lives: int, dice: random.Random) -> Iterator[int]:
    """A process that appends is killed again and again; each time the last entry it was told to be durable."""
    for _ in range(lives):
        with _appending(path) as process:
            told = _told(process, dice.randint(1, 20))
            yield max([told, *_kill(process)])


@pytest.mark.requirement("KEEPING.acknowledged_survives")
def test_what_was_durable_survives_sigkill_at_any_moment(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    for durable in _lives(path, 12, random.Random(20260115)):
        with open_for_reading(path) as reader:
            stored = numbers(reader)
        assert stored == list(range(1, len(stored) + 1))
        assert len(stored) >= durable
    with SqliteJournal(path, Notices()) as journal:
        assert numbers(journal) == stored
        letters = list(journal.letters())
    assert {one.match_id for one in letters} <= {f"R1M{number}" for number in stored}


@pytest.mark.requirement("KEEPING.acknowledged_survives")
def test_a_transaction_that_was_cut_is_not_there_and_all_before_it_is(tmp_path: Path) -> None:
    path, dice = tmp_path / "journal.db", random.Random(7)
    for _ in _lives(path, 1, dice):
        pass
    log = Path(f"{path}-wal").read_bytes()
    lengths = set()
    for number, cut in enumerate(sorted(dice.sample(range(len(log)), 25))):
        copy = tmp_path / str(number) / "journal.db"
        copy.parent.mkdir()
        shutil.copy(path, copy)
        Path(f"{copy}-wal").write_bytes(log[:cut])
        with _whatever_is_left(copy) as journal:
            stored = numbers(journal) if journal else []
        assert stored == list(range(1, len(stored) + 1))
        lengths.add(len(stored))
    assert len(lengths) > 3


@contextmanager
def _whatever_is_left(path: Path) -> Iterator[JournalReader | None]:
    """Read it, then write to it; None if not even the schema got as far as the disk."""
    notices = Notices()
    try:
        before: JournalReader | None = open_for_reading(path)
    except JournalError as error:
        assert "is empty" in str(error)  # noqa: PT017
        before = None
    with SqliteJournal(path, notices) as journal:
        yield before
        if before:
            before.close()
        journal.append(make(max(numbers(journal), default=0) + 1))
        notices.durable(1)


@pytest.mark.requirement("KEEPING.storage_unavailable")
def test_a_file_that_may_not_grow_fails_the_commit_and_nothing_else(tmp_path: Path) -> None:
    subprocess.run([*COMMAND, "limit", tmp_path / "journal.db"], cwd=ROOT, check=True, timeout=WATCHDOG_S)


@pytest.mark.requirement("KEEPING.storage_unavailable")
def test_a_disk_that_is_full_fails_the_commit_and_nothing_else(tmp_path: Path) -> None:
    own_mounts = ["unshare", "--map-root-user", "--mount"]
    if (
        not shutil.which("unshare")
        or subprocess.run([*own_mounts, "true"], check=False, stderr=subprocess.DEVNULL).returncode
    ):
        pytest.skip("this system lets nobody mount a disk of his own")
    subprocess.run([*own_mounts, *COMMAND, "fill", tmp_path / "journal.db"], cwd=ROOT, check=True, timeout=WATCHDOG_S)


@pytest.mark.requirement("KEEPING.storage_unavailable")
def test_a_group_whose_fsync_failed_does_not_come_back_after_a_crash(tmp_path: Path) -> None:
    """The group stands whole in the write-ahead log; SQLite alone would find it there after the restart."""
    path = tmp_path / "journal.db"
    faulty = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "inject=fdatasync,fsync:error=EIO:when=40+"]
    if (
        not shutil.which("strace")
        or subprocess.run([*faulty, "true"], check=False, stderr=subprocess.DEVNULL).returncode
    ):
        pytest.skip("strace, which makes a disk fail, is not here or may not trace")
    ended = subprocess.run(
        [*faulty, *COMMAND, "die", path], cwd=ROOT, check=False, stdout=subprocess.PIPE, timeout=WATCHDOG_S
    )
    number, word = ended.stdout.split()
    assert word == b"failed"
    assert int(number) <= 40, "there were commits without an fsync"
    with open_for_reading(path) as reader:
        assert numbers(reader) == list(range(1, int(number)))
    with SqliteJournal(path, Notices()) as journal:
        assert numbers(journal) == list(range(1, int(number)))


def test_two_processes_do_not_write_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with _appending(path) as process:
        with pytest.raises(JournalError, match=f"is in use by process {process.pid}$"):
            SqliteJournal(path, Notices())
        _kill(process)
    SqliteJournal(path, Notices()).close()


def test_a_journal_can_be_read_and_copied_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with _appending(path) as process, open_for_reading(path) as reader:
        last: list[int] = []
        for number in range(5):
            told = _told(process, 20)
            events = list(reader.events_after(0))
            assert [seq for seq, _ in events] == list(range(1, len(events) + 1))
            copy = tmp_path / f"copy{number}.db"
            backup(path, copy)
            with open_for_reading(copy) as copied:
                stored = numbers(copied)
            assert stored == list(range(1, len(stored) + 1))
            assert len(stored) >= max(told, len(last))
            last = stored


def test_a_damaged_journal_is_a_sentence_and_no_traceback(tmp_path: Path) -> None:
    path, dice = tmp_path / "journal.db", random.Random(3)
    with SqliteJournal(path, Notices()) as journal:
        for number in range(1, 400):
            journal.append(make(number))
            journal.note(LetterNote(number, "in", "P01", "PING", "R1M1", "request", "200", b"%d" % number))
    whole, sentences = path.read_bytes(), set()
    for number in range(150):
        damaged = bytearray(whole)
        for _ in range(dice.choice([1, 30, 3000])):
            damaged[dice.randrange(len(damaged))] = dice.randrange(256)
        path.write_bytes(damaged if number % 3 else damaged[: dice.randrange(1, len(damaged))])
        try:
            _use(path)
        except JournalError as error:
            sentences.add(str(error).partition(":")[2])
    assert len(sentences) > 3


def _use(path: Path) -> None:
    """Everything one does with a journal."""
    with open_for_reading(path) as reader:
        assert reader.meta
        assert list(reader.letters("R1M1")) is not None
        numbers_found = sum(1 for _ in reader.events())
        assert len(reader.secrets()) <= 400 + numbers_found
    notices = Notices()
    with SqliteJournal(path, notices) as journal:
        journal.append(make(401))
        notices.next()
