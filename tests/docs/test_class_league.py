"""A term, typed in as "Run a league for a class" says it: from the first evening to the grades, on one machine."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.support.pages import ROOT, Reader, blocks
from tests.support.processes import Processes

PAGE = (ROOT / "docs" / "how-to" / "run-a-class-league.md").read_text(encoding="utf-8")
HERE = {
    "--host 0.0.0.0 --endpoints lan": "--host 127.0.0.1",
    "http://192.0.2.2:8000": "http://127.0.0.1:8000",
}
"""What is said for a network, as it is said for this machine alone."""
NOT_TYPED = ("league doctor", "openssl", "--tls-cert")
COLUMNS = ["display_name", "group", "rank", "points", "matches", "wins", "draws", "losses", "technical_losses"]


def page() -> str:
    text = PAGE
    for there, here in HERE.items():
        assert there in text
        text = text.replace(there, here)
    return text


def test_the_page_leads_from_the_first_evening_to_the_grades(tmp_path: Path) -> None:
    typed = [one for one in blocks(page()) if not any(word in one.text for word in NOT_TYPED)]
    with Processes(tmp_path) as processes:
        reader = Reader(processes)
        reader.follow(typed)
        assert reader.terminals["stranger"].wait() == 1, "it was turned away"
        assert [reader.terminals.pop(name).wait() for name in ("ann", "bo", "cleo")] == [0, 0, 0]
        reader.terminals.pop("stranger")
        reader.leave()
        assert processes.bugs == []
    with (tmp_path / "results" / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:-1] == COLUMNS
    assert f"| {' | '.join(rows[0])} |" in PAGE
    assert {(row["display_name"], row["group"]) for row in rows} == {
        ("Ann", "10a"),
        ("Bo", "10b"),
        ("Cleo", "10b"),
        ("Dora", "10a"),
    }
    assert [row["rank"] for row in rows] == ["1", "2", "3", ""]
    assert {row["technical_losses"] for row in rows[:3]} == {"0"}
