"""A class graded as "Grade a class" says it: from an empty folder to the files that are uploaded."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from tests.support.pages import ROOT, Reader, blocks, not_printed
from tests.support.processes import Processes

PAGE = (ROOT / "docs" / "how-to" / "grade-a-class.md").read_text(encoding="utf-8")


def test_the_page_leads_from_an_empty_folder_to_the_upload(tmp_path: Path) -> None:
    typed = blocks(PAGE)
    for block in typed:
        kind, _, name = block.note.partition(": ")
        if kind == "file":
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    with Processes(tmp_path) as processes:
        reader = Reader(processes)
        reader.follow(typed)
        reader.leave()
        assert processes.bugs == []
    with (tmp_path / "grades" / "grades.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert {name: (row["name"], row["group"], row["status"]) for name, row in rows.items()} == {
        "ann": ("Ann Abel", "10a", "ok"),
        "bo": ("Bo Brand", "10b", "ok"),
        "cleo": ("Cleo Clay", "10b", "failed"),
        "dora": ("Dora Dahl", "10a", "failed"),
    }
    for reason in ("no player.py", "outside its folder", rows["dora"]["reason"]):
        assert f"| {reason} |" in PAGE
    uploaded = json.loads((tmp_path / "grades" / "students" / "ann.json").read_text())
    assert uploaded["score"] == float(rows["ann"]["points"]) > 0


def test_a_line_that_is_not_printed_is_noticed() -> None:
    [graded] = [block for block in blocks(PAGE) if block.text.startswith("$ league grade")]
    [(_, shown)] = graded.runs
    assert not_printed(shown, "") != []
