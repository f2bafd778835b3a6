"""A journal that a stranger sends: whatever is in it, every command that reads it ends soon, with a sentence."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from league.cli.main import main
from league.features.lab.simulation.runs import Plan
from league.features.lab.simulation.world import World
from league.machine import Entry
from league.storage.files.sqlite import SqliteJournal
from tests.support import played
from tests.support.journals import Notices

CASES = 60
READERS = (
    ("verify", "{}"),
    ("verify", "{}", "--json"),
    ("replay", "{}"),
    ("explain", "R1M1", "--journal", "{}"),
    ("export", "{}", "--to", "{}.out"),
    ("export", "{}", "--to", "{}.site", "--format", "site"),
    ("statistics", "--journal", "{}"),
    ("standings", "--journal", "{}"),
    ("match", "R1M1", "--journal", "{}"),
)
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "journal.db"
    events = World(Plan(players=4, faults=0.0).settings(5), 5, 0.0).run().manager
    with SqliteJournal(path, Notices(), identity={"role": "manager"}) as made:
        for event in events:
            made.append(Entry((event,)))
    return path


@pytest.fixture
def evil(journal: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(journal, tmp_path / "journal.db"))


def read_with_everything(path: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Read the journal with every command; return what they said, and fail if one calls it a bug."""
    sentences = []
    for command in READERS:
        status = main([word.format(path) for word in command])
        said = capsys.readouterr().err
        assert "bug" not in said, (command, said)
        assert status in (0, 1), (command, said)
        sentences.append(said)
    return sentences


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("events", "i AS seq, i AS entry, 1.0 AS at, 'LeagueFinished' AS kind, x'7b7d' AS body, x'' AS digest"),
        ("meta", "'role' AS key, 'manager' AS value"),
        ("letters", "i AS id, 1.0 AS at, 'in' AS direction, '' AS peer, 'x' AS message_type, 'R1M1' AS match_id"),
    ],
)
def test_a_view_in_the_place_of_a_table_is_refused(
    table: str, columns: str, evil: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with played.opened(evil) as connection:
        connection.execute(f"DROP TABLE {table}")
        connection.execute(f"CREATE VIEW {table} AS {ENDLESS.format(columns)}")
    for said in read_with_everything(evil, capsys):
        assert f"was not made by this program: the view {table} is not part of a journal" in said


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER also AFTER INSERT ON meta BEGIN SELECT randomblob(1000000000); END",
        "CREATE INDEX slow ON events(length(body))",
        "CREATE TABLE more(x)",
        "CREATE VIEW more AS SELECT * FROM events",
    ],
)
def test_what_is_no_part_of_a_journal_is_refused(
    statement: str, evil: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with played.opened(evil) as connection:
        connection.execute(statement)
    assert all("is not part of a journal" in said for said in read_with_everything(evil, capsys))


def test_a_journal_without_a_table_is_none(evil: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with played.opened(evil) as connection:
        connection.execute("DROP TABLE letters")
    assert all("it has no table letters" in said for said in read_with_everything(evil, capsys))


def test_a_value_that_is_larger_than_any_event_is_refused(evil: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with played.opened(evil) as connection:
        connection.execute("UPDATE events SET body = zeroblob(100000000) WHERE seq = 3")
    assert any("has more than 64 MB" in said for said in read_with_everything(evil, capsys))


@pytest.mark.parametrize("depth", [100, 900, 100_000])
def test_deep_json_is_refused(depth: int, evil: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with played.opened(evil) as connection:
        query = "SELECT seq, body FROM events WHERE kind = 'ResultAccepted'"
        seq, body = connection.execute(query).fetchone()
        deep = body.replace(b'"details":{', b'"details":{"x":' + b"[" * depth + b"]" * depth + b",")
        connection.execute("UPDATE events SET body = ? WHERE seq = ?", (deep, seq))
        played.reseal(connection)
    assert sum("nested deeper than 32 levels" in said for said in read_with_everything(evil, capsys)) >= 6


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE events SET body = 5 WHERE seq = 4",
        "UPDATE events SET body = CAST(body AS TEXT) WHERE seq = 4",
        "UPDATE events SET digest = 'x', entry = 'y', at = 'z' WHERE seq = 4",
        "UPDATE events SET kind = x'00' WHERE seq = 4",
        "UPDATE meta SET value = x'00'",
        "UPDATE meta SET value = 'migrations' WHERE key = 'opened'",
        "INSERT INTO meta VALUES ('migrations', '7')",
        "INSERT INTO letters VALUES (1, 'x', 5, x'', 7, 'R1M1', 'request', 1, 'text', 99)",
        "INSERT INTO letters VALUES (-5, 1e300, 'in', '', NULL, 'R1M1', 'remark', '', x'ff', 0)",
        "INSERT INTO secrets VALUES (x'00', 5)",
    ],
)
def test_values_of_any_type_are_survived(change: str, evil: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with played.opened(evil) as connection:
        connection.execute(change)
    read_with_everything(evil, capsys)


VALUES: tuple[Callable[[random.Random], Any], ...] = (
    lambda _: None,
    lambda _: -1,
    lambda _: 2**63 - 1,
    lambda _: 1e300,
    lambda _: "",
    lambda _: "\u202e\x1b[2J" + "x" * 300,
    lambda dice: f"P{dice.randrange(99):02}",
    lambda dice: f"R{dice.randrange(9)}M{dice.randrange(9)}",
    lambda _: [],
    lambda _: {},
    lambda _: [[[]]],
    lambda _: True,
)


def disturbed(value: Any, dice: random.Random) -> Any:
    """The value with something else somewhere in it (Any: JSON)."""
    if isinstance(value, dict) and value and dice.random() < 0.9:
        name = dice.choice([key for key in value if key != "event"] or list(value))
        return {**value, name: disturbed(value[name], dice)}
    if isinstance(value, list) and value and dice.random() < 0.8:
        place = dice.randrange(len(value))
        return [*value[:place], disturbed(value[place], dice), *value[place + 1 :]]
    return dice.choice(VALUES)(dice)


def disturb(journal: Path, seed: int) -> None:
    """Replace a few values in the events, and compute the digests anew."""
    dice = random.Random(seed)
    with played.opened(journal) as connection:
        rows = connection.execute("SELECT seq, body FROM events").fetchall()
        for seq, body in dice.sample(rows, dice.choice((1, 1, 3, 10))):
            event = disturbed(json.loads(body), dice)
            connection.execute("UPDATE events SET body = ? WHERE seq = ?", (json.dumps(event).encode(), seq))
        played.reseal(connection)


@pytest.mark.slow
def test_whatever_the_events_say_no_command_hangs_or_falls(
    journal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(CASES):
        path = Path(shutil.copy(journal, tmp_path / "journal.db"))
        disturb(path, seed)
        read_with_everything(path, capsys)


def test_a_file_that_leads_in_circles_is_given_up(evil: Path) -> None:
    """A statement has a budget of steps, whatever the file makes it do."""
    from league.storage.files import bounds

    with closing(bounds.connect(evil.absolute().as_uri(), lambda: 0)) as connection:
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            connection.execute(ENDLESS.format("count(*)")).fetchall()
        # The next statement has a budget of its own.
        assert connection.execute("SELECT count(*) FROM events").fetchone()[0] > 50
