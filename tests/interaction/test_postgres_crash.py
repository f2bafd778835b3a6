"""The journal in PostgreSQL against what really happens to connections, servers and writers.

Each test has a server of its own where it stops or kills it. Writers that are killed or suspended are processes.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from league.events import PlayerJoined
from league.machine import Entry
from league.storage import urls
from league.storage.database.postgres import LEASE_S, PostgresJournal
from league.storage.notices import Durable, JournalError, JournalInUseError, JournalLostError, WriteFailed
from league.storage.opening import stored_format, watch_hold
from league.storage.reading import open_for_reading
from league.storage.urls import DatabasePlace
from tests.support.journals import WATCHDOG_S, Notices, entry, make, numbers
from tests.support.postgres import PostgresServer, can_mount, postgres_server, server_on_small_disk

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-W", "error", "-m", "tests.support.journals"]


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that the test may stop."""
    with postgres_server() as server:
        yield server


def _place(server: PostgresServer) -> DatabasePlace:
    place = urls.parse(server.new_url())
    assert isinstance(place, DatabasePlace)
    return place


def _stored(place: DatabasePlace) -> list[int]:
    with open_for_reading(place) as reader:
        return numbers(reader)


def _go_on(journal: PostgresJournal, failed: WriteFailed) -> None:
    """Try until the server can be written again."""
    deadline = time.monotonic() + WATCHDOG_S
    while not journal.try_again(failed):
        assert time.monotonic() < deadline
        time.sleep(0.1)


CUT = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'league'"


@pytest.mark.requirement("KEEPING.acknowledged_survives")
def test_a_connection_that_is_cut_again_and_again_costs_nothing(postgres: PostgresServer) -> None:
    place = _place(postgres)
    notices = Notices()
    over = threading.Event()

    def cut() -> None:
        while not over.wait(0.05):
            postgres.sql(f"SELECT pg_terminate_backend(backend) FROM {place.schema}.writer WHERE backend > 0")

    cutting = threading.Thread(target=cut)
    try:
        with PostgresJournal(place, notices) as journal:
            cutting.start()
            durable = 0
            for number in range(1, 301):
                journal.append(make(number))
                notice = notices.next()
                while isinstance(notice, WriteFailed):  # two cuts in a row: the second hit the new connection
                    _go_on(journal, notice)
                    stored = numbers(journal)
                    assert stored == list(range(1, len(stored) + 1))
                    assert len(stored) in (number - 1, number), "nothing durable is lost, and nothing is stored twice"
                    durable = 0
                    if len(stored) == number:
                        break
                    journal.append(make(number))
                    notice = notices.next()
                else:
                    durable += 1
                    assert notice == Durable(notice.epoch, durable)
    finally:
        over.set()
        cutting.join()
    assert _stored(place) == list(range(1, 301))


class _Cutter:
    """Cuts the connection while a statement is under way: before the server stores it, or after."""

    def __init__(self, journal: PostgresJournal, postgres: PostgresServer, *, stores: bool) -> None:
        database = journal._writer._database  # type: ignore[attr-defined]  # the test plays the network
        run = database.run
        self.cuts = 0

        def cut(work: object, timeout_s: float = 30.0) -> object:
            if self.cuts:
                return run(work, timeout_s)
            self.cuts += 1
            if stores:
                run(work, timeout_s)
            postgres.sql(CUT)
            return run(work, timeout_s)  # fails as it does for somebody whose connection is gone

        database.run = cut


@pytest.mark.parametrize("stores", [True, False], ids=["stored", "not stored"])
def test_a_group_of_unknown_outcome_is_stored_once(postgres: PostgresServer, stores: bool) -> None:
    place = _place(postgres)
    notices = Notices()
    with PostgresJournal(place, notices) as journal:
        journal.append(make(1))
        notices.durable(1)
        cutter = _Cutter(journal, postgres, stores=stores)
        journal.append(make(2))
        assert notices.durable(2) == Durable(0, 2)
        assert cutter.cuts == 1
        journal.append(make(3))
        notices.durable(3)
        assert journal.is_confirmed
    assert _stored(place) == [1, 2, 3]


def test_a_server_that_restarts_costs_only_what_was_not_acknowledged(own_server: PostgresServer) -> None:
    place = _place(own_server)
    notices = Notices()
    with PostgresJournal(place, notices) as journal:
        for ending in (own_server.stop, own_server.kill):
            before = numbers(journal)
            following = len(before) + 1
            ending()
            journal.append(make(following))
            failed = notices.failed()
            assert "cannot be written" in failed.error
            assert not failed.can_read
            assert not failed.is_final
            assert not journal.try_again(failed)
            with pytest.raises(JournalError, match="cannot be read"):
                list(journal.events())
            own_server.start()
            _go_on(journal, failed)
            assert numbers(journal) == before
            journal.append(make(following))
            notices.durable(1)
    assert _stored(place) == [1, 2]


def test_a_server_that_stands_still_fails_a_group_in_time(own_server: PostgresServer) -> None:
    place = _place(own_server)
    notices = Notices()
    with PostgresJournal(place, notices) as journal:
        journal.append(make(1))
        notices.durable(1)
        own_server.signal(signal.SIGSTOP)
        began = time.monotonic()
        journal.append(make(2))
        failed = notices.failed()
        assert time.monotonic() - began < 4 * LEASE_S
        assert not journal.is_confirmed
        own_server.signal(signal.SIGCONT)
        _go_on(journal, failed)
        # Nobody knew whether it was stored. Now it is certain, and stays so.
        stored = numbers(journal)
        assert stored in ([1], [1, 2])
        journal.append(make(len(stored) + 1))
        notices.durable(1)
    assert _stored(place) == list(range(1, len(stored) + 2))


def _incompressible(number: int) -> Entry:
    padding = random.Random(number).randbytes(100_000).hex()
    return Entry((PlayerJoined(at=float(number), match_id=f"R1M{number}", attempt=1, player_id=padding),))


@pytest.mark.requirement("KEEPING.storage_unavailable")
def test_a_full_disk_of_the_server_fails_groups_until_there_is_room() -> None:
    if not can_mount():
        pytest.skip("this system lets nobody mount a disk of his own")
    with server_on_small_disk(megabytes=200, ballast=60) as server:
        place = _place(server)
        notices = Notices()
        with PostgresJournal(place, notices) as journal:
            durable = 0
            journal.append(_incompressible(1))
            while isinstance(notice := notices.next(), Durable):
                durable = notice.entries
                journal.append(_incompressible(durable + 1))
            assert durable > 1
            assert not notice.is_final
            assert not journal.try_again(notice)
            server.make_room()
            _go_on(journal, notice)
            assert journal.last_seq == durable
            journal.append(_incompressible(durable + 1))
            notices.durable(1)
        with open_for_reading(place) as reader:
            assert [event.at for event in reader.events()] == list(range(1, durable + 2))


# --- writers ----------------------------------------------------------------------------------------------------------


@contextmanager
def _appending(place: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that appends as fast as it can; killed at the end at the latest."""
    process = subprocess.Popen([*COMMAND, "append", place], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None
    with process:
        try:
            assert process.stdout.readline() == b"open\n"
            yield process
        finally:
            process.kill()


def _acknowledged(process: subprocess.Popen[bytes], notices: int) -> int:
    assert process.stdout is not None
    return [int(process.stdout.readline()) for _ in range(notices)][-1]


def _killed(process: subprocess.Popen[bytes]) -> list[int]:
    process.kill()
    assert process.stdout is not None
    lines = process.stdout.read().splitlines(keepends=True)
    process.wait(WATCHDOG_S)
    return [int(line) for line in lines if line.endswith(b"\n")]


@pytest.mark.requirement("KEEPING.acknowledged_survives")
def test_what_was_durable_survives_sigkill_of_the_writer_at_any_moment(postgres: PostgresServer) -> None:
    place = _place(postgres)
    dice = random.Random(20260115)
    for _ in range(6):
        with _appending(postgres.url(place.schema)) as process:
            acknowledged = _acknowledged(process, dice.randint(1, 20))
            acknowledged = max([acknowledged, *_killed(process)])
        stored = _stored(place)
        assert stored == list(range(1, len(stored) + 1))
        assert len(stored) >= acknowledged


@pytest.mark.requirement("KEEPING.acknowledged_survives")
def test_what_was_durable_survives_sigkill_of_the_server(own_server: PostgresServer) -> None:
    place = _place(own_server)
    for _ in range(3):
        with _appending(own_server.url(place.schema)) as process:
            acknowledged = _acknowledged(process, 10)
            own_server.kill()
            acknowledged = max([acknowledged, *_killed(process)])
        own_server.start()
        stored = _stored(place)
        assert stored == list(range(1, len(stored) + 1))
        assert len(stored) >= acknowledged


def test_a_writer_that_stood_still_beyond_its_lease_stores_nothing_more(postgres: PostgresServer) -> None:
    place = _place(postgres)
    with _appending(postgres.url(place.schema)) as process:
        _acknowledged(process, 5)
        process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        notices = Notices()
        with PostgresJournal(place, notices) as successor:
            assert time.monotonic() - began < LEASE_S + 2
            stored = numbers(successor)
            successor.append(make(len(stored) + 1))
            notices.durable(1)
            process.send_signal(signal.SIGCONT)
            assert process.stderr is not None
            assert "is written by process" in process.stderr.read().decode()
            assert process.wait(WATCHDOG_S) != 0
            assert numbers(successor) == list(range(1, len(stored) + 2))


def test_a_writer_that_lost_its_journal_learns_it_before_it_does_anything(postgres: PostgresServer) -> None:
    place = _place(postgres)
    notices = Notices()
    with PostgresJournal(place, notices) as journal:
        journal.append(entry(1))
        notices.durable(1)
        # As if this process had stood still while another took over.
        journal._writer.lease_until = 0.0
        postgres.sql(f"UPDATE {place.schema}.writer SET fence = fence + 1, token = 'other', holder = 'another one'")
        assert not journal.is_ours()
        failed = notices.failed()
        assert failed.is_final
        assert "is written by another one now" in failed.error
        assert not journal.try_again(failed)


def test_a_writer_that_lost_its_connection_learns_that_it_was_replaced(own_server: PostgresServer) -> None:
    place = _place(own_server)
    notices = Notices()
    with PostgresJournal(place, notices) as journal:
        own_server.stop()
        journal.append(entry(1))
        failed = notices.failed()
        own_server.start()
        own_server.sql(f"UPDATE {place.schema}.writer SET fence = fence + 1, token = 'other', holder = 'another one'")
        with pytest.raises(JournalLostError, match="is written by another one now"):
            _go_on(journal, failed)


def test_a_restart_of_the_server_is_no_reason_to_take_a_journal_over(own_server: PostgresServer) -> None:
    place = _place(own_server)
    notices = Notices()
    with PostgresJournal(place, notices) as journal:
        own_server.stop()
        own_server.start()
        with watch_hold(place) as watch:
            assert watch.is_held()
        journal.append(entry(1))
        notice = notices.next()
        if isinstance(notice, WriteFailed):  # it noticed while the server was down
            _go_on(journal, notice)
        with pytest.raises(JournalInUseError):
            PostgresJournal(place, Notices())
        assert journal.is_ours()


def test_the_journal_is_confirmed_while_nothing_is_stored(postgres: PostgresServer) -> None:
    with PostgresJournal(_place(postgres), Notices()) as journal:
        deadline = time.monotonic() + LEASE_S + 1
        while time.monotonic() < deadline:
            assert journal.is_confirmed
            time.sleep(0.1)


# --- what is refused --------------------------------------------------------------------------------------------------


def test_a_schema_of_another_program_is_left_alone(postgres: PostgresServer) -> None:
    place = _place(postgres)
    postgres.sql(f"CREATE SCHEMA {place.schema}; CREATE TABLE {place.schema}.cookies(name text)")
    with pytest.raises(JournalError, match="is a schema of another program"):
        PostgresJournal(place, Notices())
    with pytest.raises(JournalError, match="there is no journal at"):
        open_for_reading(place)
    tables = postgres.sql(f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{place.schema}'")
    assert tables.split() == ["cookies"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET at = 0",
        "DELETE FROM events WHERE seq = 2",
        "TRUNCATE events",
        "INSERT INTO events VALUES (1, 1, 0, '', '', '')",
    ],
)
def test_the_database_itself_refuses_to_change_an_event(postgres: PostgresServer, statement: str) -> None:
    place = _place(postgres)
    with PostgresJournal(place, Notices()) as journal:
        journal.append(entry(1, events=3))
    with pytest.raises(subprocess.CalledProcessError):
        postgres.sql(f"\\set ON_ERROR_STOP on\nSET search_path TO {place.schema};\n{statement};")
    with open_for_reading(place) as reader:
        assert reader.last_seq == 3


def test_no_server_and_no_database_are_sentences_without_the_password(tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.url("league")
    for wrong in (
        url.replace("/postgres?", "/nowhere?").replace("league@", "league:hunter2@"),
        f"postgresql://league:hunter2@/postgres?host={tmp_path}",
        "postgresql://league:hunter2@127.0.0.1:1/postgres",
    ):
        place = urls.parse(wrong)
        assert isinstance(place, DatabasePlace)
        for opening in (open_for_reading, lambda place: PostgresJournal(place, Notices())):
            with pytest.raises(JournalError, match="cannot be") as raised:
                opening(place)
            assert "hunter2" not in str(raised.value)


def test_answers_of_a_server_that_does_not_wait_for_its_disk_count_all_the_same(postgres: PostgresServer) -> None:
    place = _place(postgres)
    postgres.sql("ALTER ROLE league SET synchronous_commit = off")
    try:
        with PostgresJournal(place, Notices()) as journal:
            assert journal._writer._value("SHOW synchronous_commit") == "on"  # type: ignore[attr-defined]
    finally:
        postgres.sql("ALTER ROLE league RESET synchronous_commit")


# --- formats ----------------------------------------------------------------------------------------------------------


def test_a_journal_of_an_older_format_is_read_as_it_is_and_brought_up_to_date_by_a_writer(
    postgres: PostgresServer,
) -> None:
    place = _place(postgres)
    notices = Notices()
    with PostgresJournal(place, notices) as journal:
        for number in range(1, 4):
            journal.append(make(number))
        notices.durable(3)
    postgres.sql(f"UPDATE {place.schema}.meta SET value = '3' WHERE key = 'schema_version'")
    assert _stored(place) == [1, 2, 3]
    assert postgres.sql(f"SELECT value FROM {place.schema}.meta WHERE key = 'schema_version'") == "3\n"
    with PostgresJournal(place, notices) as journal:
        assert journal.upgrade is not None
        assert journal.upgrade.old_format == 3
        backup = journal.upgrade.backup
        journal.append(make(4))
    assert _stored(place) == [1, 2, 3, 4]
    assert isinstance(backup, DatabasePlace)
    assert _stored(backup) == [1, 2, 3]
    assert stored_format(backup) == 3


@pytest.mark.usefixtures("postgres")
def test_a_server_ends_with_the_tests_even_if_they_are_killed() -> None:
    command = [sys.executable, "-m", "tests.support.postgres", "serve"]
    tests = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert tests.stdin is not None
    assert tests.stdout is not None
    host = parse_qs(urlsplit(tests.stdout.readline()).query)["host"][0]
    folder = Path(host)
    server = int((folder / "data" / "postmaster.pid").read_text().split()[0])
    tests.kill()
    tests.wait()
    tests.stdin.close()
    tests.stdout.close()
    deadline = time.monotonic() + WATCHDOG_S
    while folder.exists() or Path(f"/proc/{server}").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
