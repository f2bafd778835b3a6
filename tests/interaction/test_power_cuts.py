"""The power is cut at any moment, and the disk has any part of what was not synced: no acknowledged row is lost."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path

import pytest

from league.storage.files.sqlite import SqliteJournal
from league.storage.notices import JournalError
from league.storage.reading import open_for_reading
from tests.support.journals import Notices, fast_folder, make, numbers
from tests.support.power_cuts import Mark, Note, Sync, Write, acknowledged, image, recorded

ENTRIES = 120
LONG = 40_000
"""Bytes of a long entry: the log of SQLite outgrows its bound, and is copied into the database, several times."""


def _life() -> list[Note]:
    """A journal that is written, closed, opened again and written once more."""
    with fast_folder() as folder, recorded() as notes:
        path = folder / "journal.db"
        for first in (1, ENTRIES // 2 + 1):
            notices = Notices()
            with SqliteJournal(path, notices) as journal:
                for place in range(ENTRIES // 2):
                    number = first + place
                    journal.append(make(number, padding=LONG if number % 5 == 0 else 0))
                    notices.durable(place + 1)
                    notes.append(Mark(number))
    return notes


def _check(notes: list[Note], cut: int, seed: int, folder: Path) -> int:
    """Build an image, open it for reading and for writing, and return the number of entries it holds."""
    for name, content in image(notes, cut, random.Random(seed)).items():
        (folder / name).write_bytes(content)
    path = folder / "journal.db"
    entries = acknowledged(notes, cut)
    if not path.exists():
        assert entries == 0
        return 0
    if entries > 0:
        with open_for_reading(path) as reader:
            assert len(numbers(reader)) >= entries
    with SqliteJournal(path, Notices()) as journal:
        stored = numbers(journal)
    assert stored == list(range(1, len(stored) + 1))
    assert len(stored) >= entries, f"{entries} entries were acknowledged, and {len(stored)} are left"
    return len(stored)


def _check_images(count: int) -> None:
    notes = _life()
    assert sum(isinstance(note, Write) for note in notes) > ENTRIES
    dice = random.Random(20261116)
    for number in range(count):
        cut = dice.randrange(len(notes) + 1)
        with fast_folder() as folder:
            try:
                _check(notes, cut, number, folder)
            except Exception as error:
                raise AssertionError(f"image {number}, cut behind note {cut}") from error


@pytest.mark.requirement("KEEPING.acknowledged_survives")
def test_200_power_cuts_lose_no_acknowledged_row() -> None:
    _check_images(200)


@pytest.mark.deep
@pytest.mark.requirement("KEEPING.acknowledged_survives")
def test_10_000_power_cuts_lose_no_acknowledged_row() -> None:
    _check_images(10_000)


def test_nothing_is_acknowledged_before_it_is_synced() -> None:
    """The same notes without the syncs between acknowledgements lose rows: the images can tell."""
    notes = _life()
    marks = [place for place, note in enumerate(notes) if isinstance(note, Mark)]
    for earlier, later in pairwise(marks):
        assert any(isinstance(note, Sync) for note in notes[earlier:later])
    unsynced: list[Note] = [note for note in notes if not isinstance(note, Sync)]
    lost = 0
    for seed in range(20):
        with fast_folder() as folder:
            try:
                _check(unsynced, len(unsynced), seed, folder)
            except (AssertionError, JournalError):
                lost += 1
    assert lost > 10
