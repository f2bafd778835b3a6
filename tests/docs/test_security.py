"""SECURITY.md: one table of threats, each with a defence, tests that exist, and the risk that remains."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from league.features.audit.promises import PROMISES

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
HEADING = "| threat | defence | tests | remaining risk |"


def rows() -> list[list[str]]:
    """The cells of each row of the table."""
    lines = TEXT.split(HEADING)[1].strip().splitlines()[1:]
    table = []
    for line in lines:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return table


def test_there_is_one_table() -> None:
    assert TEXT.count(HEADING) == 1
    assert len(rows()) >= 25


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:60])
def test_every_threat_has_a_defence_tests_that_exist_and_a_remaining_risk(row: list[str]) -> None:
    assert len(row) == 4
    assert all(row)
    _, _, tests, _ = row
    named = re.findall(r"`([\w/.]+)`", tests)
    promises = [int(number) for numbers in re.findall(r"promises? ([0-9, ]+)", tests) for number in numbers.split(",")]
    assert named or promises, "no test is named"
    for name in named:
        assert (ROOT / "tests" / name).exists(), f"there is no tests/{name}"
    known = {promise.number for promise in PROMISES}
    assert set(promises) <= known
