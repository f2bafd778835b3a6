"""The long suites are run in parts: what was done is not done again, and what failed is where the next run begins."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from scripts import deep
from scripts.deep import Part


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def parts(ran: list[str], failing: str = "") -> list[Part]:
    def part(name: str) -> Part:
        def run() -> bool:
            ran.append(name)
            return name != failing

        return Part(name, run)

    return [part(name) for name in "abc"]


def test_the_next_run_begins_with_the_part_that_failed() -> None:
    ran: list[str] = []
    assert deep.run(parts(ran, failing="b"), math.inf) == 1
    assert deep.run(parts(ran), math.inf) == 0
    assert deep.run(parts(ran), math.inf) == 0
    assert ran == ["a", "b", "b", "c"]


def test_when_the_time_is_up_no_part_is_begun() -> None:
    ran: list[str] = []
    assert deep.run(parts(ran), -math.inf) == 0
    assert ran == []


def test_the_leagues_of_a_part_are_played_and_judged(capsys: pytest.CaptureFixture[str]) -> None:
    (part,) = deep._leagues(101, 102)
    assert part.name == "leagues 101 to 102"
    assert part.run()
    assert "seeds 101 to 102" in capsys.readouterr().out
