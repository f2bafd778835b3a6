"""Where a journal is."""

from __future__ import annotations

from pathlib import Path

import pytest

from league.storage import urls
from league.storage.notices import JournalError


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("journal.db", "journal.db"),
        ("/data/journal.db", "/data/journal.db"),
        ("odd:name?.db", "odd:name?.db"),
        ("sqlite:///journal.db", "journal.db"),
        ("sqlite:////data/my%20league.db", "/data/my league.db"),
        ("SQLite:///a%3Fb%23c.db", "a?b#c.db"),
    ],
)
def test_a_journal_is_named_by_a_file_or_a_url(text: str, path: str) -> None:
    assert urls.parse(text) == urls.Location(Path(path))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("postgresql://league:hunter2@db/league", "PostgreSQL is not in this version"),
        ("postgres://league:hunter2@db/league", "PostgreSQL is not in this version"),
        ("mysql://league:hunter2@db/league", "cannot be kept in mysql"),
        ("sqlite://journal.db", "names no host"),
        ("sqlite:///journal.db?mode=ro", "takes no options"),
        ("sqlite:///", "has no name"),
        ("", "has no name"),
        ("a\0b", "has no name"),
    ],
)
def test_a_journal_that_cannot_be_is_refused_in_words(text: str, sentence: str) -> None:
    with pytest.raises(JournalError, match=sentence) as raised:
        urls.parse(text)
    assert "hunter2" not in str(raised.value)


def test_the_default_journal_lies_in_a_folder_of_its_league() -> None:
    assert urls.default("league_2026") == urls.Location(Path("league-data/league_2026/journal.db"))
    for odd in ("", "..", "a/b", ".hidden", "x" * 200):
        with pytest.raises(JournalError, match="say where its journal is"):
            urls.default(odd)
