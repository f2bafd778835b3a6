"""Whoever does what the tutorial and "Read a journal" say gets what they show: typed in, in an empty folder."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pages import ROOT, Reader, blocks, not_printed, sections
from tests.support.processes import Processes

TUTORIAL = sections((ROOT / "docs" / "tutorial" / "first-player.md").read_text(encoding="utf-8"))
JOURNAL = (ROOT / "docs" / "how-to" / "read-a-journal.md").read_text(encoding="utf-8")
TRIES = 40
"""Every other league is won: to lose so many in a row takes a fault."""


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    with Processes(tmp_path) as processes:
        one = Reader(processes)
        yield one
        one.leave()
    assert processes.bugs == []


def section(number: int) -> str:
    return next(text for title, text in TUTORIAL.items() if title.startswith(f"{number}. "))


def over(reader: Reader) -> None:
    """Players and referee end with the league, as the page says."""
    assert [reader.terminals[name].wait() for name in ("yours", "opponent", "referee")] == [0, 0, 0]


def win(reader: Reader) -> None:
    """Play the league of the tutorial until it is won, as it says."""
    *terminals, look = blocks(section(5))
    [(standings, shown)] = look.runs
    for _ in range(TRIES):
        reader.follow(terminals)
        over(reader)
        table = reader.run(standings).stdout
        if re.search(r"^ *1 +P[0-9]+ +First ", table, re.MULTILINE):
            assert not_printed(shown, table) == []
            return
        reader.stop("manager")
        shutil.rmtree(reader.processes.folder / "league-data")
    pytest.fail(f"{TRIES} leagues and none is won:\n{table}")


def test_the_tutorial_leads_from_nothing_to_a_won_match_and_its_explanation(reader: Reader) -> None:
    assert list(reader.processes.folder.iterdir()) == []
    for number in (2, 3, 4):
        reader.follow(blocks(section(number)))
    win(reader)
    reader.follow(blocks(section(6)))


def test_the_wrong_choice_would_have_been_explained_as_shown(reader: Reader) -> None:
    [wrong, *_] = blocks(section(2))
    [explain, shown] = blocks(section(6))
    reader.follow([wrong, *blocks(section(5))[:-1]])
    over(reader)
    [(command, _)] = explain.runs
    assert not_printed(shown.text.splitlines(), reader.run(command).stdout) == []


def test_the_journal_page_shows_what_its_commands_print(reader: Reader) -> None:
    reader.follow(blocks(JOURNAL))


def test_a_line_that_was_not_printed_is_found() -> None:
    printed = "rank  player\n   1  P01\n"
    assert not_printed(["rank player", "…", "1 P02"], printed) == []
    assert not_printed(["rank player", "1 P02 First"], printed) == ["1 P02 First"]
    assert not_printed(["1 P02", "rank player"], printed) == ["rank player"]
