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
    assert urls.parse(text) == urls.FilePlace(Path(path))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("postgresql://league:hunter2@db/league?schema=Hunter", "cannot be the schema of a journal"),
        ("postgres://league:hunter2@db/league?schema=", "cannot be the schema of a journal"),
        ("postgresql://league:hunter2@db/league#2", "is not the URL of a database"),
        ("postgresql://league:hunter2@db/league?schema", "is not the URL of a database"),
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
    assert urls.default("league_2026") == urls.FilePlace(Path("league-data/league_2026/journal.db"))
    for odd in ("", "..", "a/b", ".hidden", "x" * 200):
        with pytest.raises(JournalError, match="say where its journal is"):
            urls.default(odd)


@pytest.mark.parametrize(
    ("text", "dsn", "schema", "shown"),
    [
        ("postgresql://db/cup", "postgresql://db/cup", "league", "postgresql://db/cup?schema=league"),
        (
            "postgres://anna:hunter2@db:5433/cup?schema=spring&sslmode=require",
            "postgresql://anna:hunter2@db:5433/cup?sslmode=require",
            "spring",
            "postgresql://anna@db:5433/cup?sslmode=require&schema=spring",
        ),
        (
            "postgresql:///cup?host=/run/db&password=hunter2&schema=spring*",
            "postgresql:///cup?host=%2Frun%2Fdb&password=hunter2",
            "spring*",
            "postgresql:///cup?host=/run/db&schema=spring*",
        ),
    ],
)
def test_a_journal_in_a_database_is_shown_without_its_password(text: str, dsn: str, schema: str, shown: str) -> None:
    place = urls.parse(text)
    assert place == urls.DatabasePlace(dsn, schema)
    assert str(place) == shown
    assert place.is_of_many == ("*" in schema)


def test_the_journals_of_one_process_are_numbered() -> None:
    assert str(urls.parse("a.b/journal.db").numbered(2)) == "a.b/journal-2.db"
    assert str(urls.parse("a.b/journal").numbered(3)) == "a.b/journal-3"
    assert str(urls.parse("postgresql://db/cup?schema=cup").numbered(2)) == "postgresql://db/cup?schema=cup_2"
