"""What every kept journal promises, in a file and in a database: epochs, identity, reading and following, copies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event as Flag

import pytest

from league import __version__
from league.machine import Entry
from league.storage.formats import FORMAT
from league.storage.group_commit import KeptJournal
from league.storage.notices import Durable, JournalError, JournalInUseError, WriteFailed
from league.storage.opening import copy, exists, journals_at, journals_beside, stored_format, watch_hold
from league.storage.reading import open_for_reading
from league.storage.urls import DatabasePlace, FilePlace
from tests.support.homes import DatabaseHome, FileHome, Home, read, write
from tests.support.journals import WATCHDOG_S, Notices, entry, event
from tests.support.postgres import PostgresServer


@pytest.fixture
def journal(home: Home, notices: Notices) -> Iterator[KeptJournal]:
    with write(home, notices) as opened:
        yield opened


def _fail(home: Home, journal: KeptJournal, notices: Notices, number: int = 100) -> WriteFailed:
    with home.refusing():
        journal.append(entry(number))
        return notices.failed()


def test_what_is_enqueued_is_written_as_one_group_when_the_writer_is_woken(
    journal: KeptJournal, notices: Notices
) -> None:
    for number in (1, 2, 3):
        journal.enqueue(entry(number))
    journal.wake_writer()
    assert notices.next() == Durable(epoch=0, entries=3)
    assert [one for _, one in journal.events_after(0)] == [event(1), event(2), event(3)]


def test_what_is_appended_after_a_failure_is_dropped_until_the_failure_is_answered(
    home: Home, journal: KeptJournal, notices: Notices
) -> None:
    journal.append(entry(1))
    notices.durable(1)
    failed = _fail(home, journal, notices)
    # The lock is gone and the disk would take these, but they rest on what was never stored.
    journal.append(entry(101))
    journal.append(entry(102))
    assert journal.try_again(failed)
    journal.append(entry(2))
    assert notices.durable(1) == Durable(epoch=1, entries=1)
    assert [one for _, one in journal.events_after(0)] == [event(1), event(2)]


def test_a_failure_is_notified_once_however_much_is_appended_behind_it(home: Home) -> None:
    notices, goes_on = Notices(), Flag()

    def slowly(notice: Durable | WriteFailed) -> None:
        notices(notice)
        goes_on.wait(WATCHDOG_S)

    with write(home, slowly) as journal:
        failed = _fail(home, journal, notices)
        for number in range(101, 120):
            journal.append(entry(number))
        goes_on.set()
        assert journal.try_again(failed)
        journal.append(entry(1))
        assert notices.durable(1).epoch == 1
    assert [type(one) for one in notices.seen] == [WriteFailed, Durable]
    assert notices.is_empty


def test_only_the_failure_the_journal_is_in_can_be_ended(home: Home, journal: KeptJournal, notices: Notices) -> None:
    first = _fail(home, journal, notices)
    assert journal.try_again(first)
    with pytest.raises(ValueError, match="not the failure"):
        journal.try_again(first)
    second = _fail(home, journal, notices)
    assert second.epoch == first.epoch + 1
    # Somebody who has not seen the second failure must not reopen the journal for what was computed before it.
    with pytest.raises(ValueError, match="not the failure"):
        journal.try_again(first)
    assert journal.try_again(second)


def test_trying_again_fails_as_long_as_nothing_can_be_written(
    home: Home, journal: KeptJournal, notices: Notices
) -> None:
    failed = _fail(home, journal, notices)
    with home.refusing():
        assert not journal.try_again(failed)
        journal.append(entry(1))
        assert not journal.try_again(failed)
    assert journal.try_again(failed)
    assert list(journal.events()) == []


def test_a_failed_journal_can_still_be_read(home: Home, journal: KeptJournal, notices: Notices) -> None:
    journal.append(entry(1))
    notices.durable(1)
    failed = _fail(home, journal, notices)
    assert "cannot be written: " in failed.error
    assert failed.can_read
    assert list(journal.events()) == [event(1)]
    assert journal.secrets() == {"token/1": "secret 1"}
    assert journal.last_seq == 1


def test_durable_counts_the_entries_of_the_epoch(journal: KeptJournal, notices: Notices) -> None:
    for number in range(1, 51):
        journal.append(entry(number))
    assert notices.durable(50) == Durable(epoch=0, entries=50)
    counts = [one.entries for one in notices.seen if isinstance(one, Durable)]
    assert counts == sorted(set(counts))


def test_closing_stores_what_is_queued(home: Home, notices: Notices) -> None:
    with write(home, notices) as journal:
        for number in range(1, 101):
            journal.append(entry(number))
    with read(home) as reader:
        assert reader.last_seq == 100


def test_a_closed_journal_refuses_to_be_used(home: Home, notices: Notices) -> None:
    journal = write(home, notices)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="is closed"):
        journal.append(entry(1))
    with pytest.raises(JournalError, match="cannot be read"):
        list(journal.events())


def test_an_event_that_cannot_be_encoded_fails_where_it_is_appended(journal: KeptJournal, notices: Notices) -> None:
    with pytest.raises(UnicodeEncodeError):
        journal.append(Entry((), {"token": "\ud800"}))
    journal.append(entry(1))
    assert notices.durable(1).entries == 1


def test_a_journal_knows_what_it_is_and_does_not_become_another(home: Home, notices: Notices) -> None:
    identity = {"role": "manager", "league_id": "spring", "created": "2026-01-15T10:00:00Z"}
    with write(home, notices, identity) as journal:
        assert journal.meta == {**identity, "schema_version": str(FORMAT), "written_by": __version__, "opened": "0"}
    with write(home, notices, {"role": "manager", "created": "later"}) as journal:
        assert journal.meta["created"] == identity["created"]
    with pytest.raises(JournalError, match="is the journal of the role manager, not referee"):
        write(home, notices, {"role": "referee"})
    with pytest.raises(JournalError, match="is the journal of the league spring, not autumn"):
        write(home, notices, {"league_id": "autumn"})


def test_a_journal_of_a_newer_version_is_refused(home: Home, notices: Notices) -> None:
    write(home, notices).close()
    newer = FORMAT + 1
    set_format = f"UPDATE meta SET value = '{newer}' WHERE key = 'schema_version'"
    if isinstance(home, FileHome):
        set_format = f"PRAGMA user_version = {newer}"
    home.change(set_format, "UPDATE meta SET value = '9.0.0' WHERE key = 'written_by'")
    sentence = (
        f"was written by version 9.0.0 in format {newer}; this version, {__version__}, reads formats 2 to {FORMAT}$"
    )
    with pytest.raises(JournalError, match=sentence):
        write(home, notices)
    with pytest.raises(JournalError, match=sentence):
        read(home)


def test_a_reader_is_told_that_there_is_nothing(home: Home) -> None:
    with pytest.raises(JournalError, match="there is no journal at"):
        read(home)
    assert not exists(home.place)


def test_an_event_of_an_unknown_kind_is_a_sentence_and_no_traceback(home: Home, notices: Notices) -> None:
    write(home, notices).close()
    body = """CAST('{"event":"Eclipse","at":0}' AS BLOB), x''"""
    if isinstance(home, DatabaseHome):
        body = """'{"event":"Eclipse","at":0}'::bytea, ''::bytea"""
    home.change(f"INSERT INTO events VALUES (1, 1, 0, 'Eclipse', {body})")
    with read(home) as reader, pytest.raises(JournalError, match=r"is damaged: event 1 cannot be read"):
        list(reader.events())


def test_an_event_that_is_missing_is_noticed(home: Home, notices: Notices) -> None:
    with write(home, notices) as journal:
        journal.append(entry(1, events=5))
    trigger = "events_are_never_deleted"
    if isinstance(home, DatabaseHome):
        trigger = "events_are_never_changed ON events"
    home.change(f"DROP TRIGGER {trigger}", "DELETE FROM events WHERE seq = 3")
    with read(home) as reader, pytest.raises(JournalError, match="is damaged: event 3 is missing"):
        list(reader.events())


def test_readers_see_what_is_durable_while_the_journal_is_written(
    journal: KeptJournal, notices: Notices, home: Home
) -> None:
    with read(home) as reader:
        assert list(reader.events()) == []
        journal.append(entry(1, events=3))
        notices.durable(1)
        assert list(reader.events_after(1)) == [(2, event(1)), (3, event(1))]
        assert reader.last_seq == 3
        assert list(reader.events_after(3)) == []


def test_who_reads_slowly_gets_what_was_durable_when_it_began(journal: KeptJournal, notices: Notices) -> None:
    journal.append(entry(1))
    notices.durable(1)
    reading = journal.events()
    assert next(reading) == event(1)
    journal.append(entry(2))
    notices.durable(2)
    assert list(reading) == []


def test_a_follower_is_woken_after_the_commit_and_takes_what_is_new(journal: KeptJournal, notices: Notices) -> None:
    journal.append(entry(1))
    notices.durable(1)
    woken = Flag()
    follower = journal.follow(0, woken.set)
    assert follower.take() == [(1, event(1))]
    assert follower.take() == []
    journal.append(entry(2, events=2))
    assert woken.wait(WATCHDOG_S)
    assert follower.take(limit=1) == [(2, event(2))]
    assert follower.take() == [(3, event(2))]
    assert follower.position == 3


def test_a_follower_that_left_is_not_woken(journal: KeptJournal, notices: Notices) -> None:
    woken, others = Flag(), Flag()
    journal.follow(0, woken.set).close()
    journal.follow(0, others.set)
    journal.append(entry(1))
    assert others.wait(WATCHDOG_S)
    assert not woken.is_set()


@pytest.mark.requirement("KEEPING.bounded")
def test_a_follower_that_lags_reads_the_disk(home: Home, notices: Notices) -> None:
    with write(home, notices, recent_bytes=1000) as journal:
        follower = journal.follow(0, lambda: None)
        for number in range(1, 1101):
            journal.append(entry(number))
        notices.durable(1100)
        taken = []
        while pairs := follower.take():
            taken += pairs
        assert taken == [(number, event(number)) for number in range(1, 1101)]


# --- who holds it -----------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused_and_disturbs_nobody(home: Home, journal: KeptJournal, notices: Notices) -> None:
    with pytest.raises(JournalInUseError, match="is in use by"):
        write(home, Notices())
    journal.append(entry(1))
    assert notices.durable(1).entries == 1
    assert journal.is_ours()


def test_one_can_see_whether_a_journal_is_held(home: Home, notices: Notices) -> None:
    with watch_hold(home.place) as watch:
        assert not watch.is_held(), "nobody has made it yet"
        with write(home, notices):
            assert watch.is_held()
            assert watch.is_held()
        assert not watch.is_held()


# --- copies -----------------------------------------------------------------------------------------------------------


def _head(home: Home) -> object:
    with read(home) as reader:
        return reader._rows("SELECT seq, entry, digest FROM events ORDER BY seq DESC LIMIT 1")[0][2]


def test_a_copy_has_the_same_chain_and_a_league_goes_on_from_it(
    home: Home, journal: KeptJournal, notices: Notices, folder: Path, postgres: PostgresServer
) -> None:
    for number in range(1, 601):
        journal.append(entry(number))
    notices.durable(600)
    homes: list[Home] = [FileHome(folder / "copies"), DatabaseHome(postgres)]
    (folder / "copies").mkdir()
    for target in homes:
        copy(home.place, target.place)
        with pytest.raises(JournalError, match="exists already"):
            copy(home.place, target.place)
        assert _head(target) == _head(home)
        again = Notices()
        with write(target, again) as resumed:
            assert list(resumed.events()) == list(journal.events())
            assert resumed.secrets() == journal.secrets()
            resumed.append(entry(601))
            again.durable(1)
        with read(target) as reader:
            assert reader.last_seq == 601
    assert journal.last_seq == 600


def test_a_damaged_journal_is_not_copied(home: Home, notices: Notices, postgres: PostgresServer) -> None:
    with write(home, notices) as journal:
        journal.append(entry(1, events=5))
    trigger = "events_are_never_changed"
    if isinstance(home, DatabaseHome):
        trigger += " ON events"
    home.change(f"DROP TRIGGER {trigger}", "UPDATE events SET at = 0 WHERE seq = 3")
    target = DatabaseHome(postgres)
    with pytest.raises(JournalError, match="is not as it was written"):
        copy(home.place, target.place)
    assert not exists(target.place)
    with pytest.raises(JournalError, match="is not as it was written"):
        write(home, notices)


def test_journals_are_found_beside_each_other(home: Home, notices: Notices) -> None:
    second = home.place.numbered(2)
    write(home, notices).close()
    copy(home.place, second)
    assert {home.place, second} <= set(journals_beside(home.place))
    assert journals_at(home.place) == [home.place]
    together = DatabasePlace(home.place.dsn, f"{home.place.schema}*") if isinstance(home.place, DatabasePlace) else None
    if isinstance(home.place, FilePlace):
        assert journals_at(FilePlace(home.place.path.parent)) == [second, home.place]
    else:
        assert together is not None
        assert journals_at(together) == [home.place, second]
        with pytest.raises(JournalError, match="names several journals"):
            open_for_reading(together)
    assert stored_format(second) == FORMAT
