"""What every journal promises, held against the one in memory and those that are kept."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from league.machine import Entry
from league.storage.journal import Journal, MemoryJournal
from tests.support.homes import DatabaseHome, FileHome, Home, write
from tests.support.journals import Notices, all_shapes, entry, event, fast_folder
from tests.support.postgres import PostgresServer


class Kept(Protocol):
    """A journal under test, with what a disk does to it."""

    journal: Journal

    def settle(self) -> int:
        """Wait until all appended entries are durable; their number since the journal was opened or failed."""
        ...

    def fail(self, entries: Sequence[Entry]) -> None:
        """Append these; they cannot be stored; then writing works again."""
        ...

    def reopen(self) -> None:
        """The process ends, and another goes on."""
        ...

    def close(self) -> None: ...


class InMemory:
    def __init__(self) -> None:
        self.memory = MemoryJournal()
        self.journal: Journal = self.memory
        self._base = 0

    def settle(self) -> int:
        return self.memory.sync() - self._base

    def fail(self, entries: Sequence[Entry]) -> None:
        self.settle()
        for one in entries:
            self.memory.append(one)
        self.memory.fail()
        self._base = self.memory.entries

    def reopen(self) -> None:
        self.settle()
        self._base = self.memory.entries

    def close(self) -> None:
        pass


class Counting:
    """The journal on disk, counting what is appended to it."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.appended = 0
        self.events, self.secrets = journal.events, journal.secrets

    def append(self, entry: Entry) -> None:
        self.appended += 1
        self._journal.append(entry)


class Stored:
    """A journal in a file or a database."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._open()

    def _open(self) -> None:
        self.notices = Notices()
        self._durable = 0
        self.stored = write(self._home, self.notices)
        self._counting = Counting(self.stored)
        self.journal: Journal = self._counting

    def settle(self) -> int:
        if self._durable < self._counting.appended:
            self._durable = self.notices.durable(self._counting.appended).entries
        return self._durable

    def fail(self, entries: Sequence[Entry]) -> None:
        self.settle()
        if not entries:
            return
        with self._home.refusing():
            for one in entries:
                self.stored.append(one)
            failed = self.notices.failed()
        assert self.stored.try_again(failed)
        self._durable = self._counting.appended = 0

    def reopen(self) -> None:
        self.close()
        self._open()

    def close(self) -> None:
        self.stored.close()


@pytest.fixture(params=["memory", "file", pytest.param("database", marks=pytest.mark.slow)])
def kept(request: pytest.FixtureRequest, folder: Path) -> Iterator[Kept]:
    made: Kept
    if request.param == "memory":
        made = InMemory()
    elif request.param == "file":
        made = Stored(FileHome(folder))
    else:
        made = Stored(DatabaseHome(request.getfixturevalue("postgres")))
    yield made
    made.close()


def test_a_new_journal_is_empty(kept: Kept) -> None:
    assert list(kept.journal.events()) == []
    assert kept.journal.secrets() == {}


def test_what_is_durable_is_read_back_as_it_was(kept: Kept) -> None:
    kept.journal.append(Entry(all_shapes()))
    assert kept.settle() == 1
    assert tuple(kept.journal.events()) == all_shapes()


def test_entries_stay_in_the_order_in_which_they_were_appended(kept: Kept) -> None:
    for number in range(1, 1201):
        kept.journal.append(entry(number, events=1 + number % 3))
    assert kept.settle() == 1200
    expected = [event(number) for number in range(1, 1201) for _ in range(1 + number % 3)]
    assert list(kept.journal.events()) == expected


def test_the_newest_value_of_a_secret_counts(kept: Kept) -> None:
    kept.journal.append(Entry((event(1),), {"token/1": "old", "other": "stays"}))
    kept.journal.append(Entry((), {"token/1": "new"}))
    kept.settle()
    assert kept.journal.secrets() == {"token/1": "new", "other": "stays"}


def test_an_entry_may_hold_secrets_only_or_nothing_and_counts(kept: Kept) -> None:
    kept.journal.append(Entry((), {"admin": "hash"}))
    kept.journal.append(Entry(()))
    kept.journal.append(entry(1))
    assert kept.settle() == 3
    assert list(kept.journal.events()) == [event(1)]


def test_what_changes_after_the_append_does_not_change_the_entry(kept: Kept) -> None:
    secrets = {"token/1": "as it was"}
    kept.journal.append(Entry((event(1),), secrets))
    secrets["token/1"] = "changed"
    kept.settle()
    assert kept.journal.secrets() == {"token/1": "as it was"}


@pytest.mark.requirement("KEEPING.acknowledged_survives")
def test_what_was_durable_survives_the_process(kept: Kept) -> None:
    kept.journal.append(entry(1))
    kept.settle()
    kept.reopen()
    kept.journal.append(entry(2))
    assert kept.settle() == 1
    assert list(kept.journal.events()) == [event(1), event(2)]
    assert kept.journal.secrets() == {"token/1": "secret 1", "token/2": "secret 2"}


@pytest.mark.requirement("KEEPING.storage_unavailable")
def test_of_a_group_that_could_not_be_stored_nothing_is_there(kept: Kept) -> None:
    kept.journal.append(entry(1))
    kept.fail([entry(2), entry(3), entry(4)])
    kept.journal.append(entry(5))
    assert kept.settle() == 1
    assert list(kept.journal.events()) == [event(1), event(5)]
    assert kept.journal.secrets() == {"token/1": "secret 1", "token/5": "secret 5"}


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(0, 4)),
        st.tuples(st.just("fail"), st.integers(1, 3)),
        st.tuples(st.sampled_from(["settle", "reopen"]), st.just(0)),
    ),
    max_size=12,
)


def _run(kept: Kept, operations: Sequence[tuple[str, int]]) -> list[object]:
    numbers = itertools.count(1)
    settled: list[object] = []
    for operation, size in operations:
        if operation == "append":
            kept.journal.append(entry(next(numbers), events=size))
        elif operation == "fail":
            kept.fail([entry(next(numbers)) for _ in range(size)])
        elif operation == "reopen":
            kept.reopen()
        else:
            settled.append(kept.settle())
    settled.append(kept.settle())
    return [settled, list(kept.journal.events()), kept.journal.secrets()]


@settings(max_examples=50, deadline=None)
@given(operations=OPERATIONS)
def test_memory_and_disk_keep_the_same(operations: Sequence[tuple[str, int]]) -> None:
    with fast_folder() as folder:
        assert _outcome(InMemory(), operations) == _outcome(Stored(FileHome(folder)), operations)


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=OPERATIONS)
def test_memory_and_database_keep_the_same(postgres: PostgresServer, operations: Sequence[tuple[str, int]]) -> None:
    assert _outcome(InMemory(), operations) == _outcome(Stored(DatabaseHome(postgres)), operations)


def _outcome(kept: Kept, operations: Sequence[tuple[str, int]]) -> list[object]:
    try:
        return _run(kept, operations)
    finally:
        kept.close()
