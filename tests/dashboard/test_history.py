"""A league at any position of its journal is the league that a replay up to there gives, and is reached from nearby."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from league.events import Event, RoundFinished
from league.features.dashboard import league_history
from league.features.dashboard.league_history import LeagueHistory
from league.reading.journals import replay
from league.storage.reading import JournalReader, open_for_reading
from tests.support.managed import Managed
from tests.support.stories import on_disk


class CountingReader(JournalReader):
    """Counts the events it was asked for."""

    events_read = 0

    def events_after(self, seq: int, until: int | None = None) -> Iterator[tuple[int, Event]]:
        for one in super().events_after(seq, until):
            self.events_read += 1
            yield one


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[CountingReader]:
    managed = Managed(players=4, referees=1).fill()
    managed.play("A")
    path = on_disk(tmp_path / "journal.db", managed.events)
    with open_for_reading(path) as found:
        yield CountingReader(found.place, found._tables)


def test_every_position_is_the_league_that_a_replay_gives(
    journal: CountingReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(league_history, "SPACING", 4)
    asked = LeagueHistory(journal)
    positions = list(range(1, journal.last_seq + 1))
    for seq in random.Random(7).sample(positions, len(positions)):
        moment = asked.at(seq)
        assert moment is not None
        assert (moment.seq, moment.last) == (seq, journal.last_seq)
        assert moment.manager.snapshot() == replay(journal.place, seq).manager.snapshot()
        assert [moment.event] == [event for _, event in journal.read_chunk(seq - 1, 1)]
    assert [asked.at(one) for one in (0, -1, journal.last_seq + 1)] == [None, None, None]


def test_a_position_costs_a_part_of_the_journal_and_checkpoints_are_few(
    journal: CountingReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(league_history, "SPACING", 2)
    asked = LeagueHistory(journal)
    asked.at(journal.last_seq)
    assert len(asked._checkpoints) <= league_history.CHECKPOINTS
    for seq in range(1, journal.last_seq + 1):
        journal.events_read = 0
        asked.at(seq)
        assert journal.events_read <= journal.last_seq / 2
    assert len(asked._checkpoints) <= league_history.CHECKPOINTS


def test_what_a_manager_wrote_down_of_a_match_is_found(journal: CountingReader) -> None:
    told = journal.events_of("R2M1")
    assert {getattr(one, "match_id", None) for one in told} == {"R2M1"}
    assert told == [one for one in journal.events() if getattr(one, "match_id", None) == "R2M1"]
    assert journal.events_of('"') == journal.events_of("") == []


def test_a_round_is_found_where_it_was_over(journal: CountingReader) -> None:
    asked = LeagueHistory(journal)
    for round_id in (1, 2, 3):
        moment = asked.after_round(round_id)
        assert moment is not None
        assert isinstance(moment.event, RoundFinished)
        assert moment.manager.ledger.finished_rounds == round_id
    assert asked.after_round(4) is None
