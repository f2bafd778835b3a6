"""Reading a journal, or the part of it that is about one match."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from league.events import RoundFinished
from league.storage.notices import JournalError
from league.storage.reading import open_for_reading
from tests.support.old_journals import unpack


def test_what_is_read_about_a_match_leaves_out_others_and_who_was_told(tmp_path: Path) -> None:
    path = unpack(4, "finished", tmp_path) / "journal.db"
    with open_for_reading(path) as journal:
        whole = Counter(type(event).__name__ for event in journal.events())
        part = Counter(type(event).__name__ for event in journal.events_about("R1M1"))
    assert whole["BulletinsDelivered"] > 1
    assert part["BulletinsDelivered"] == 0
    assert whole["ResultAccepted"] > part["ResultAccepted"] == 1
    assert whole["RoundFinished"] > part["RoundFinished"] == 0
    everything_else = ("LeagueCreated", "AgentRegistered", "ScheduleMade", "RoundOpened", "LeagueFinished")
    assert {kind: part[kind] for kind in everything_else} == {kind: whole[kind] for kind in everything_else}


def test_the_ends_of_rounds_are_read_about_a_match_that_was_voided(tmp_path: Path) -> None:
    path = unpack(4, "orders", tmp_path) / "journal.db"
    with open_for_reading(path) as journal:
        ends = {
            match_id: sum(isinstance(event, RoundFinished) for event in journal.events_about(match_id))
            for match_id in ("R1M1", "R2M1")
        }
    assert ends == {"R1M1": 3, "R2M1": 0}


@pytest.mark.parametrize(
    "kind", ["MatchAssigned", "ResultAccepted", "AgentRegistered", "ScheduleMade", "LeagueCreated"]
)
def test_nothing_is_read_about_a_match_that_was_changed_after_it_was_written(kind: str, tmp_path: Path) -> None:
    path = unpack(4, "finished", tmp_path) / "journal.db"
    _change(path, f"UPDATE events SET at = at + 1 WHERE kind = '{kind}'")
    with open_for_reading(path) as journal, pytest.raises(JournalError, match="is not as it was written"):
        journal.events_about("R1M1")


def test_a_match_is_read_though_something_was_changed_about_another(tmp_path: Path) -> None:
    path = unpack(4, "finished", tmp_path) / "journal.db"
    with open_for_reading(path) as journal:
        before = journal.events_about("R1M1")
    _change(path, "UPDATE events SET at = at + 1 WHERE kind = 'DrawReleased' AND instr(body, 'R2M1')")
    with open_for_reading(path) as journal:
        assert journal.events_about("R1M1") == before
        with pytest.raises(JournalError, match="is not as it was written"):
            list(journal.events())


def test_nothing_is_read_about_a_match_beside_an_event_that_is_missing(tmp_path: Path) -> None:
    path = unpack(4, "finished", tmp_path) / "journal.db"
    _change(path, "DELETE FROM events WHERE seq = (SELECT min(seq) + 1 FROM events WHERE kind = 'MatchAssigned')")
    with open_for_reading(path) as journal, pytest.raises(JournalError, match="is not as it was written"):
        journal.events_about("R1M1")


def _change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TRIGGER events_are_never_changed")
        connection.execute("DROP TRIGGER events_are_never_deleted")
        assert connection.execute(statement).rowcount > 0
